"""Figures 1, 2a and 2b: what is run, and whether small runs mean what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from longfair.agents.fair_mdp.baselines import ConstantPolicy
from longfair.agents.fair_mdp.cross_entropy import Generation, search
from longfair.agents.fair_mdp.policy_network import PolicyNetwork
from longfair.agents.fair_mdp.softmax_network import SoftmaxNetwork
from longfair.papers.fairmdp import cross_entropy as deciding
from longfair.papers.fairmdp.cross_entropy import (
    EXPERIMENTS,
    FIGURE1,
    INGREDIENTS,
    METHODS,
    SWEEP,
    setting_of,
)
from longfair.papers.fairmdp.loans import loan_problem
from longfair.papers.fairmdp.search_training import Scorer, final_rows, lending
from longfair.papers.fairmdp.searching import Sampling
from longfair.papers.protocol import train_and_evaluate, two_seeds
from longfair.papers.setting import Setting
from longfair.runs.experiment import Arm
from longfair.runs.keys import revisions_of
from longfair.runs.tables import checked


def final(table: pd.DataFrame) -> dict[str, float]:
    rows = table[(table["phase"] == "final") & (table["group"] < 0)]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def with_settings(setting: Setting, **settings: float) -> Setting:
    learning = setting.learning
    changed = replace(learning, settings=replace(learning.settings, **settings))
    return replace(setting, learning=changed)


@pytest.mark.parametrize("arm", FIGURE1.arms["smoke"], ids=lambda arm: arm.name)
def test_every_method_gives_a_table_that_its_seed_decides(arm: Arm) -> None:
    setting = with_settings(arm.config, population=5, elites=2, iterations=1)
    table = checked(train_and_evaluate(setting, 1), arm.name)
    pd.testing.assert_frame_equal(table, checked(train_and_evaluate(setting, 1), arm.name))
    assert final(table)["reward"] != final(train_and_evaluate(setting, 2))["reward"]
    assert set(table.loc[table["phase"] == "curve", "step"]) == {1}
    assert final(table)["profit"] == pytest.approx(final(table)["reward"] - 9.999886, abs=1e-6)


def test_variants_differ_as_documented() -> None:
    coded, published, offset = (
        setting_of("cce-dp", variant, "book") for variant in deciding.VARIANTS
    )
    assert coded.learning.sampling is None
    assert not coded.method.constraint.discounted
    settings = coded.learning.settings
    assert (settings.weights, settings.tightening) == ("exponential", 0.0)
    assert (settings.population, settings.elites) == (50, 5)
    assert (settings.iterations, settings.smoothing) == (80, 0.5)
    assert published.learning.sampling == Sampling(0.1, 0.05)
    assert published.method.constraint.discounted
    settings = published.learning.settings
    assert settings.weights == "linear with floor"
    assert settings.tightening == offset.learning.settings.tightening == 0.1
    assert offset.learning.settings.weights == "linear"
    assert (coded.method.sees, published.method.sees) == ("reward", "profit")
    # Only Algorithm 2 keeps something of its tolerance; the baselines do not.
    for method in ("race-blind", "optimistic-dp", "conservative"):
        assert setting_of(method, "as_published", "book").learning.settings.tightening == 0.0
    conservative = setting_of("conservative", "as_coded", "book")
    assert conservative.learning.settings.iterations == 50
    assert isinstance(conservative.method.policy, ConstantPolicy)
    # Only the code's networks have two outputs that are rounded one by one.
    assert isinstance(coded.method.policy, SoftmaxNetwork)
    assert setting_of("race-blind", "as_coded", "book").method.policy.race_blind
    assert type(published.method.policy) is type(offset.method.policy) is PolicyNetwork


def test_experiments_hold_what_the_figures_need() -> None:
    assert [experiment.id for experiment in EXPERIMENTS] == [
        "fairmdp/figure1",
        "fairmdp/tolerances",
        "fairmdp/ingredients",
    ]
    assert FIGURE1.methods("book") == tuple(METHODS)
    tolerances = {arm.method: arm.config.method.tolerance for arm in SWEEP.arms["book"]}
    assert tolerances["cce-dp-0025"] == 0.025
    assert tolerances["optimistic-dp-0050"] == 0.05
    assert tolerances["cce-dp-0200"] == 0.2

    # Every ingredient changes one thing of the code's settings, the last one of the paper's.
    def flat(setting: Setting) -> dict[str, object]:
        method, learning = setting.method, setting.learning
        return {**vars(method), "sampling": learning.sampling, **vars(learning.settings)}

    coded, published = (
        flat(setting_of("cce-dp", variant, "book")) for variant in ("as_coded", "with_offset")
    )
    ingredients = {
        arm.method.removeprefix("cce-dp-"): flat(arm.config) for arm in INGREDIENTS.arms["book"]
    }
    changed = {
        name: {field for field, value in setting.items() if value != coded[field]}
        for name, setting in ingredients.items()
    }
    assert changed == {
        "linear-weights": {"weights"},
        "linear-profit": {"weights", "sees"},
        "discounted-gap": {"constraint"},
        "tightened": {"tightening"},
        "sampled": {"sampling"},
        "exponential-weights": {"constraint", "tightening", "sampling", "policy"},
    }
    assert ingredients["exponential-weights"] | {"weights": "linear"} == published


def test_only_exponential_weights_have_a_revision_in_the_key() -> None:
    arms = {
        (arm.method, arm.variant): arm for arm in (*FIGURE1.arms["book"], *INGREDIENTS.arms["book"])
    }
    weighed = {name for name, arm in arms.items() if "exponential-weights" in revisions_of(arm)}
    assert weighed == {
        *((method, "as_coded") for method in METHODS),
        *(
            (f"cce-dp-{name}", "one_change")
            for name in ("discounted-gap", "tightened", "sampled", "exponential-weights")
        ),
    }


def test_as_published_the_search_sees_no_constant() -> None:
    parameters = (
        setting_of("cce-dp", "as_coded", "smoke")
        .method.policy.start()
        .sample(5, np.random.default_rng(1))
    )
    for variant, constant in (("as_coded", True), ("with_offset", True), ("as_published", False)):
        scorer = Scorer(setting_of("cce-dp", variant, "smoke"), np.random.default_rng(0))
        rewards = scorer(parameters).reward
        assert rewards == pytest.approx(9.999886 if constant else 0.0, abs=1.0)
    ingredient = {arm.method: arm.config for arm in INGREDIENTS.arms["smoke"]}
    exact = Scorer(ingredient["cce-dp-linear-profit"], np.random.default_rng(0))
    assert exact(parameters).reward == pytest.approx(exact.exact(parameters).profit)


def last_generation(setting: Setting, run: int) -> Generation:
    training, _ = two_seeds(run)
    scorer = Scorer(setting, np.random.default_rng((training, 1)))
    generator = np.random.default_rng((training, 0))
    wanted = setting.method
    start = wanted.policy.start()
    *_, last = search(scorer, start, wanted.tolerance, setting.learning.settings, generator)
    return last


def test_final_numbers_are_those_of_elites_population_and_last_sample() -> None:
    setting = with_settings(setting_of("cce-dp", "as_coded", "smoke"), iterations=2)
    last = last_generation(setting, 3)
    outcome = Scorer(setting, np.random.default_rng(0)).exact(last.parameters)
    found = final(train_and_evaluate(setting, 3))
    assert found["reward"] == pytest.approx(outcome.reward[last.elites].mean())
    assert found["gap_dp"] == pytest.approx(outcome.gap()[last.elites].mean())
    assert found["gap_dp_population"] == pytest.approx(outcome.gap().mean())
    assert found["reward_returned"] == pytest.approx(outcome.reward[-1])
    assert found["share_fair"] == pytest.approx((outcome.gap() <= 0.1).mean())


def test_optimistic_is_judged_by_the_truth_and_not_by_what_it_looks_at() -> None:
    setting = setting_of("optimistic-dp", "as_coded", "smoke")
    setting = with_settings(setting, iterations=3, population=20)
    last = last_generation(setting, 4)
    outcome = Scorer(setting, np.random.default_rng(0)).exact(last.parameters)
    assert last.scores.violation == pytest.approx(outcome.first_gap())
    found = final(train_and_evaluate(setting, 4))
    assert found["share_fair"] == pytest.approx((outcome.gap() <= 0.1).mean())
    assert found["share_fair"] != pytest.approx((outcome.first_gap() <= 0.1).mean())


def test_the_tightened_check_passes_no_unfair_policy() -> None:
    """Theorem 4.2: with as many episodes as it asks for, estimates are within the margin."""
    setting = setting_of("cce-dp", "as_published", "smoke")
    wanted = setting.method
    scorer = Scorer(setting, np.random.default_rng(0))
    parameters = wanted.policy.start().sample(40, np.random.default_rng(1))
    estimated, exact = scorer(parameters), scorer.exact(parameters)
    margin = 0.1 * wanted.tolerance
    assert np.abs(estimated.violation - exact.gap(discounted=True)).max() < margin
    assert np.abs(estimated.reward - exact.profit).max() < 0.1
    last = Generation(1, parameters, estimated, np.arange(5), wanted.policy.start())
    found = final(final_rows(scorer, last, parameters[:1], 0.1))
    limit = 0.09
    assert found["share_passing"] == pytest.approx((estimated.violation <= limit).mean())
    assert 0 < found["share_passing"] < 1
    assert found["share_passing_unfair"] == 0.0


def test_equal_opportunity_is_estimated_among_the_qualified() -> None:
    setting = setting_of("cce-eo", "as_published", "smoke")
    scorer = Scorer(setting, np.random.default_rng(0))
    parameters = setting.method.policy.start().sample(20, np.random.default_rng(1))
    exact = scorer.exact(parameters)
    wanted = exact.gap(1, discounted=True)
    assert np.abs(scorer(parameters).violation - wanted).max() < 0.01
    assert np.abs(wanted - exact.gap(discounted=True)).max() > 0.05


def test_conservative_search_ends_with_never_lending() -> None:
    setting = setting_of("conservative", "as_coded", "book")
    found = final(train_and_evaluate(with_settings(setting, population=20, iterations=30), 0))
    assert found["reward"] == pytest.approx(9.99989, abs=1e-3)
    assert found["gap_dp"] == pytest.approx(0.0, abs=1e-9)


def test_a_searched_policy_plays_as_it_is_evaluated() -> None:
    """Episodes of the environment give the reward that backward recursion computes."""
    setting, problem, episodes = setting_of("cce-dp", "as_coded", "smoke"), loan_problem(), 2_000
    policy = setting.method.policy
    some = policy.start().sample(20, np.random.default_rng(0))
    outcome = Scorer(setting, np.random.default_rng(0)).exact(some)
    lent = outcome.rates() @ problem.group_probability
    chosen = int(np.abs(lent - 0.5).argmin())
    act = lending(policy, np.repeat(some[[chosen]], episodes, axis=0), seed=7)
    env = setting.world.make(episodes)
    observation, info = env.reset(seed=8)
    discount, total, loans = problem.discount, np.zeros(episodes), 0.0
    for step in range(problem.decisions):
        actions = act(observation, info)
        observation, reward, _, _, info = env.step(actions)
        total += discount**step * reward
        loans += actions.mean()
    assert 0.1 < lent[chosen] < 0.9
    assert loans / (problem.decisions - 1) == pytest.approx(lent[chosen], abs=0.03)
    error = total.std(ddof=1) / np.sqrt(episodes)
    assert abs(total.mean() - outcome.reward[chosen]) < 4 * error
    assert abs(problem.offset_total - outcome.reward[chosen]) > 8 * error


def test_snapshots_of_a_search_play_their_best_elite() -> None:
    setting = setting_of("cce-dp", "as_coded", "smoke")
    snapshots = setting.learning.train(setting, two_seeds(5)[0], 5, None)
    generations = snapshots.policies[0].generations
    best = [generations[number].parameters[generations[number].elites[0]] for number in (0, 3)]
    env = setting.world.make(6)
    observation, info = env.reset(seed=1)
    same = lending(setting.method.policy, np.repeat(best, 3, axis=0), 9)(observation, info)
    assert (snapshots.acting([0, 3], 3, 9)(observation, info) == same).all()
    assert snapshots.steps == [1, 2, 3, 4]
