"""ELBERT's attention and infectious experiments: they run, and untrained policies are as known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from longfair.agents.evaluation import EpisodeTotals, acting, play_episodes
from longfair.papers import ppo_training
from longfair.papers.counting import Counting
from longfair.papers.elbert import attention, infectious
from longfair.papers.elbert.attention import ATTENTION, ATTENTION_HARDER
from longfair.papers.elbert.infectious import INFECTIOUS, INFECTIOUS_HARDER
from longfair.papers.elbert.measures import measured, measured_with_extremes
from longfair.papers.elbert.world_results import settings_table
from longfair.papers.protocol import stream, train_and_evaluate, two_seeds
from longfair.papers.setting import Setting
from longfair.runs.experiment import Arm, Experiment
from longfair.runs.tables import checked

EXPERIMENTS = (ATTENTION, ATTENTION_HARDER, INFECTIOUS, INFECTIOUS_HARDER)
SMOKE = [(experiment, arm) for experiment in EXPERIMENTS for arm in experiment.arms["smoke"]]
METHODS = ("g-ppo", "r-ppo", "a-ppo", "elbert-po")


def final(table: pd.DataFrame) -> Any:
    return table[table["phase"] == "final"].set_index(["metric", "group"])["value"]


@pytest.fixture(scope="module")
def tables() -> dict[tuple[str, str], pd.DataFrame]:
    """Run every arm of the smoke profiles once."""
    return {(e.id, arm.name): arm.work(arm.config, 3) for e, arm in SMOKE}


@pytest.mark.parametrize(("experiment", "arm"), SMOKE, ids=lambda part: getattr(part, "name", ""))
def test_every_arm_gives_a_valid_table(
    tables: dict[tuple[str, str], pd.DataFrame], experiment: Experiment, arm: Arm
) -> None:
    table = checked(tables[experiment.id, arm.name], arm.name)
    values = final(table)
    rates = values["rate"]
    assert values["bias", -1] == pytest.approx(rates.max() - rates.min())
    assert ("wasted" in values.index.get_level_values(0)) == ("infectious" in experiment.id)
    curve = table[table["phase"] == "curve"]
    if arm.variant == "reference":
        assert curve.empty
        return
    assert (curve["step"].min(), curve["step"].max()) == (0, experiment.horizon["smoke"])
    rewards = curve[curve["metric"] == "reward"]["value"]
    assert rewards.iloc[0] != rewards.iloc[-1]


def test_methods_differ_and_runs_repeat(tables: dict[tuple[str, str], pd.DataFrame]) -> None:
    for experiment in EXPERIMENTS:
        learned = [a for a in experiment.arms["smoke"] if a.variant != "reference"]
        assert {arm.method for arm in learned if arm.variant != "ablation"} == set(METHODS)
        found = {tuple(final(tables[experiment.id, arm.name])) for arm in learned}
        assert len(found) == len(learned)
        arm = learned[-1]
        pd.testing.assert_frame_equal(arm.work(arm.config, 3), tables[experiment.id, arm.name])


def test_the_paper_profile_has_the_authors_settings() -> None:
    for experiment, steps, rollout, rate, hidden in (
        (ATTENTION, 20_000_000, 4096, 1e-6, (128, 64)),
        (ATTENTION_HARDER, 5_000_000, 4096, 1e-5, (128, 64)),
        (INFECTIOUS, 10_000_000, 5000, 1e-5, (512, 256)),
        (INFECTIOUS_HARDER, 5_000_000, 5000, 1e-5, (512, 256)),
    ):
        assert experiment.horizon["paper"] == steps
        for arm in experiment.arms["paper"]:
            if arm.variant == "reference":
                continue
            learning = arm.config.learning
            assert learning.copies * arm.config.episode_length == rollout
            assert (learning.learning_rate, learning.hidden) == (rate, hidden)
            assert (learning.minibatch, learning.epochs) == (64, 10)
            assert not learning.annealed
            assert arm.config.evaluating.every == 5


def test_alphas_of_table_and_scripts() -> None:
    found = {
        (experiment.name, arm.variant): arm.config.method.alpha
        for experiment in EXPERIMENTS
        for arm in experiment.arms["paper"]
        if arm.method == "elbert-po"
    }
    assert found == {
        ("attention", "as_coded"): 50,
        ("attention", "as_published"): 50,
        ("attention-harder", "as_coded"): 2e4,
        ("attention-harder", "as_published"): 2e4,
        ("infectious", "as_coded"): 20,
        ("infectious", "as_published"): 10,
        ("infectious-harder", "as_coded"): 50,
        ("infectious-harder", "as_published"): 50,
    }


def test_weights_of_the_rivals_are_those_of_the_fact_sheet() -> None:
    for experiment, penalty, level in (
        (ATTENTION, 10.0, 0.15),
        (ATTENTION_HARDER, 20.0, 0.15),
        (INFECTIOUS, 0.1, 0.1),
        (INFECTIOUS_HARDER, 0.1, 0.1),
    ):
        for arm in experiment.arms["paper"]:
            method = arm.config.method
            if arm.method == "r-ppo":
                assert (method.penalty, method.tolerance, method.offset) == (penalty, 0.05, 1.0)
            if arm.method == "a-ppo":
                assert (method.level_weight, method.change_weight) == (level, level)
                assert (method.tolerance, method.offset) == (0.05, 1.0)


# Values of policies that need no training --------------------------------------------------------
#
# From a simulator written apart from this package: reward per step and bias with one added to the
# demand per episode. Tolerances are four standard errors of both sides together.

KNOWN: list[tuple[Any, str, str, int, float, float, float, float]] = [
    (infectious, "elbert", "nobody", 3000, 0.0802, 0.004, 0.0, 0.0),
    (infectious, "elbert", "uniform", 3000, 0.1175, 0.004, 0.420, 0.03),
    (infectious, "elbert", "highest-degree", 3000, 0.2707, 0.009, 0.592, 0.03),
    (infectious, "elbert", "most-exposed", 3000, 0.2061, 0.007, 0.112, 0.02),
    (infectious, "elbert_harder", "nobody", 3000, 0.0582, 0.002, 0.0, 0.0),
    (infectious, "elbert_harder", "uniform", 3000, 0.0686, 0.003, 0.347, 0.03),
    (infectious, "elbert_harder", "highest-degree", 3000, 0.1983, 0.008, 0.807, 0.04),
    (infectious, "elbert_harder", "most-exposed", 3000, 0.1443, 0.005, 0.001, 0.03),
    (attention, "elbert", "equal", 100, 0.096, 0.006, 0.308, 0.05),
    (attention, "elbert", "gaussian", 100, 0.212, 0.009, 0.363, 0.04),
    (attention, "elbert", "proportional", 100, 0.348, 0.009, 0.155, 0.03),
    (attention, "elbert_harder", "equal", 60, -4.219, 0.022, 0.354, 0.01),
    (attention, "elbert_harder", "gaussian", 60, -4.79, 0.06, 0.374, 0.02),
    (attention, "elbert_harder", "proportional", 60, -2.105, 0.016, 0.159, 0.008),
]


def untrained(module: Any, preset: str, policy: str, episodes: int) -> Setting:
    problem = module.HARDER if preset == "elbert_harder" else module.ORIGINAL
    evaluating = replace(problem.evaluating["book"], final_episodes=episodes)
    setting: Setting = problem.untrained(module.references(preset)[policy][0], evaluating)
    return setting


@pytest.mark.parametrize(
    ("module", "preset", "policy", "episodes", "reward", "reward_error", "bias", "bias_error"),
    KNOWN,
)
def test_untrained_policies_reach_their_known_values(
    module: Any,
    preset: str,
    policy: str,
    episodes: int,
    reward: float,
    reward_error: float,
    bias: float,
    bias_error: float,
) -> None:
    values = final(train_and_evaluate(untrained(module, preset, policy, episodes), 0))
    assert values["reward", -1] == pytest.approx(reward, abs=reward_error)
    assert values["bias", -1] == pytest.approx(bias, abs=bias_error)
    if (module, policy) == (infectious, "uniform"):
        given = values["supply"].sum()
        assert values["wasted", -1] / given == pytest.approx(0.92, abs=0.01)


@pytest.mark.parametrize(
    ("module", "preset", "policies"),
    [
        (attention, "elbert_harder", ("constant-optimum", "constant-reward")),
        (attention, "elbert_harder", ("static-optimum", "static-reward")),
        (infectious, "elbert_harder", ("static-optimum", "static-reward")),
        (infectious, "elbert", ("static-optimum", "static-reward")),
    ],
)
def test_the_optimum_is_fairer_and_the_other_earns_more(
    module: Any, preset: str, policies: tuple[str, str]
) -> None:
    episodes = 2000 if module is infectious else 20
    fair, greedy = (
        final(train_and_evaluate(untrained(module, preset, policy, episodes), 0))
        for policy in policies
    )
    assert fair["bias", -1] < greedy["bias", -1] - 0.1
    assert fair["reward", -1] < greedy["reward", -1]


def test_each_formula_of_the_bias_has_a_wasteful_schedule_of_its_own() -> None:
    look = replace(infectious.EVALUATING["book"], final_episodes=4000)
    coded, text = (
        final(train_and_evaluate(infectious.WITH_CLOCK.untrained(policy, look), 0))
        for policy, _ in infectious.WASTEFUL.values()
    )
    assert coded["bias", -1] < 0.02 < text["bias", -1]
    assert text["bias_exact", -1] < 0.02 < coded["bias_exact", -1]


# How evaluations are made ------------------------------------------------------------------------


def test_advantaged_and_disadvantaged_are_those_of_the_evaluation() -> None:
    totals = EpisodeTotals(
        np.zeros(2),
        np.array([[3.0, 1.0, 0.0], [3.0, 1.0, 3.0]]),
        np.array([[4.0, 4.0, 9.0], [4.0, 4.0, 9.0]]),
        np.full(2, 10.0),
    )
    table = measured_with_extremes(totals, "final", 7)
    values = final(table)
    assert (values["advantaged_supply", -1], values["advantaged_demand", -1]) == (0.3, 0.4)
    assert (values["disadvantaged_supply", -1], values["disadvantaged_demand", -1]) == (
        0.15,
        0.9,
    )
    pd.testing.assert_frame_equal(table[:-4].reset_index(drop=True), measured(totals, "final", 7))


def test_counting_adds_up_over_the_episode() -> None:
    setting = untrained(infectious, "elbert", "uniform", 30)
    table = train_and_evaluate(setting, 1)
    env = Counting(setting.world.make(30, 20), ("wasted",))
    _, evaluation = two_seeds(1)
    agent = setting.method.make(setting.world, stream(evaluation, 1))
    wasted = []

    def act(observation: Any, info: dict[str, Any]) -> Any:
        wasted.append(np.array(info.get("wasted", np.zeros(30))))
        return acting(agent)(observation, info)

    play_episodes(act, env, stream(evaluation, 2))
    # The waste of the last step is not among those seen before acting.
    before_last = np.sum(wasted, axis=0)
    assert ((env.counts["wasted"] - before_last >= 0) & (env.counts["wasted"] <= 20)).all()
    assert final(table)["wasted", -1] == pytest.approx(env.counts["wasted"].sum() / 600)


def test_an_annealed_learning_rate_ends_at_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    original = ppo_training.FairPPO.train

    def train(model: Any) -> None:
        original(model)
        rates.append(model.policy.optimizer.learning_rate)

    monkeypatch.setattr(ppo_training.FairPPO, "train", train)
    config = next(a.config for a in INFECTIOUS.arms["smoke"] if a.method == "g-ppo")
    train_and_evaluate(config, 0)
    assert rates[0] > rates[-1]
    assert rates == pytest.approx(1e-3 * (1.0 - np.arange(1, len(rates) + 1) / len(rates)))


def test_settings_are_laid_out_by_environment_and_profile() -> None:
    table = settings_table({"harder": ATTENTION_HARDER, "epidemic": INFECTIOUS})
    assert list(table.columns) == [
        (name, which) for name in ("harder", "epidemic") for which in ("paper", "book")
    ]
    assert table.loc["learning_rate", ("harder", "paper")] == 1e-5
    assert table.loc["total_steps", ("epidemic", "paper")] == 10_000_000
    every = ATTENTION_HARDER.arms["book"][0].config.evaluating.every
    assert table.loc["evaluated every", ("harder", "book")] == every
