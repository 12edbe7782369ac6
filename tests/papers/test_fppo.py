"""F-PPO's experiments: what is told of an evaluation, the settings, the anchors, the checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from longfair.agents.cpo import CPOSettings
from longfair.papers.fppo import CHECKS, EXPERIMENTS, attention, epidemic, lending, measures
from longfair.papers.fppo import checks as fppo_checks
from longfair.papers.fppo.checks import INITIAL, REPAY, bounds_and_gaps
from longfair.papers.fppo.learning import TrunkPPO
from longfair.papers.fppo.methods import VARIANTS, CaseStudy
from longfair.papers.fppo.training import learner
from longfair.papers.registry import checks, select_claims
from longfair.papers.setting import Evaluating, Setting
from longfair.runs.checkpoints import Checkpoint
from longfair.runs.tables import checked

# Numbers of the paper and its code ---------------------------------------------------------------

TOLD = {
    lending: (
        ((0.25, 0.005), (1.12, 1.0, 0.005), (1.0, 0.05)),
        (2000, (256, 256, 256, 128), 700_000),
    ),
    attention: (
        ((0.15, 0.05), (0.15, 0.15, 0.1), (0.15, 0.1)),
        (2048, (128, 128, 128, 64), 2_000_000),
    ),
    epidemic: (
        ((0.1, 0.05), (0.25, 0.25, 0.05), (0.25, 0.05)),
        (2048, (512, 512, 512, 256), 500_000),
    ),
}
"""Per case study: A-PPO's weight and tolerance, F-PPO's weights and tolerance in the code, and its
weight and tolerance in the text; then steps of a rollout, networks, steps in all."""


@pytest.mark.parametrize("module", TOLD, ids=lambda module: module.__name__.split(".")[-1])
def test_settings_are_those_of_text_and_scripts(module: Any) -> None:
    case: CaseStudy = module.CASE
    (timidity, coded, published), (rollout, hidden, steps) = TOLD[module]
    written = TrunkPPO(rollout, hidden, steps, minibatch=64, epochs=10, learning_rate=1e-5)
    assert case.learning["paper"] == case.learning["book"] == written
    weight, tolerance = published
    for as_coded, terms in ((True, coded), (False, (weight, weight, tolerance))):
        methods = {name: strategy for name, (strategy, _) in case.methods(as_coded).items()}
        for name in ("f-ppo", "f-ppo-l"):
            chosen = methods[name]
            assert (chosen.penalty_weight, chosen.bonus_weight, chosen.tolerance) == terms
        assert methods["f-ppo-s"].penalty_weight == methods["f-ppo-s"].bonus_weight == 0.0
        timid = methods["a-ppo"]
        assert (timid.level_weight, timid.change_weight) == (timidity[0],) * 2
        assert timid.tolerance == timidity[1]


def test_rewards_are_smoothed_as_the_peaks_of_figure_3c_say() -> None:
    """The authors' code holds 6 and 10; about 50 steps from peak to peak fit 10."""
    assert measures.SMOOTHING == 10.0


# What is told ------------------------------------------------------------------------------------


def test_lending_curves_by_hand() -> None:
    rng = np.random.default_rng(0)
    steps, copies = 40, 20
    demand = rng.integers(0, 2, (steps, copies, 2)).astype(float)
    supply = demand * rng.integers(0, 2, (steps, copies, 2))
    states = rng.dirichlet(np.ones(7), (steps + 1, copies, 2))
    played = {
        "supply": supply,
        "demand": demand,
        "cash": rng.random((steps, copies)),
        "reward": rng.random((steps, copies)),
        "group_state": states,
    }
    curves = measures.lending_curves(played)
    told, values = curves["at_short_term_gap"]
    assert told.tolist() == list(range(1, steps + 1))
    totals = supply.sum(axis=0) / np.maximum(demand.sum(axis=0), 1)
    each = [np.abs(np.subtract(*part.mean(axis=0))) for part in (totals[:10], totals[10:])]
    assert values[-1] == pytest.approx(np.mean(each))
    assert curves["at_short_term_gap_each"][1][-1] == pytest.approx(np.ptp(totals, axis=1).mean())
    told, values = curves["at_distance"]
    assert told.tolist() == list(range(steps))
    moved = np.abs(np.cumsum(states[3, :, 0] - states[3, :, 1], axis=1)).sum(axis=1)
    assert values[3] == pytest.approx(moved.mean())
    assert curves["late_peak"][1] == curves["at_short_term_gap"][1][20:].max()


def test_a_cloud_of_equal_points_is_as_far_as_its_points() -> None:
    states = np.zeros((1, 4, 2, 3))
    states[0, :, 1, 0] = [3.0, 1.0, 2.0, 2.0]
    assert measures._cloud_distances(states, 2) == pytest.approx(2.0)


def test_attention_curves_by_hand() -> None:
    steps, copies = 30, 10
    units = np.tile([2.0, 1.0, 1.0, 1.0, 1.0], (steps, copies, 1))
    rates = np.tile([4.0, 1.0, 1.0, 1.0, 1.0], (steps + 1, copies, 1))[..., None]
    played = {"allocation": units, "group_state": rates, "reward": np.full((steps, copies), 1.5)}
    curves = measures.attention_curves(played)
    ends = {name: values[-1] for name, (_, values) in curves.items()}
    assert ends["at_short_term_gap"] == pytest.approx(1 / 3 - 0.2)
    assert ends["at_long_term_gap"] == pytest.approx(4 - 1.6)
    assert ends["at_distance"] == pytest.approx(0.5 - 0.2)
    assert (ends["at_reward"], ends["swing"]) == pytest.approx((1.5, 0.0))


def test_summaries_of_a_curve() -> None:
    found = measures.summaries({"at_gap": (np.arange(11), np.arange(11.0) ** 2)})
    late = np.arange(2, 11.0) ** 2
    expected = {"gap": 35.0, "late_gap": late.mean(), "end_gap": 100.0, "change_gap": 96.0}
    assert found == pytest.approx(expected)


# Settings ----------------------------------------------------------------------------------------


def test_every_sentence_that_was_found_about_results_has_a_claim() -> None:
    """Twenty: panels 1a to 4c, several of some, the general conclusion, and the proposition."""
    asked = {claim.id.removeprefix("fppo-") for claim in select_claims(paper="fppo")}
    panels = {f"{figure}{panel}" for figure in "1234" for panel in "abc"}
    assert {name.partition("-")[0] for name in asked} >= {*panels, "g", "t"}
    assert asked >= {"1a-below", "1a-ppo", "3a", "3b-best", "3b-a-ppo", "4a-a-ppo", "4a-f-ppo"}
    assert asked >= {"1b-smallest", "1b-decreasing", "1b-a-ppo", "1b-a-ppo-worst", "1b-order"}


def test_runs_as_published_have_our_settings_where_we_chose_what_decides() -> None:
    """Lending's massaging reads expectations and attention's has our start; PPO is the authors'."""
    for world in ("lending", "attention", "epidemic"):
        chosen = experiment(world).chosen_here
        assert {"a-ppo.as_published", "f-ppo.as_published"} <= set(chosen)
        assert not any(name.endswith("as_coded") or name.startswith("ppo") for name in chosen)


def experiment(world: str) -> Any:
    return next(found for found in EXPERIMENTS if found.name == world)


@pytest.mark.parametrize(
    ("world", "numbers", "rollouts"),
    [("lending", 25, 350), ("attention", 160, 977), ("epidemic", 136, 245)],
)
def test_agents_see_what_the_authors_do(world: str, numbers: int, rollouts: int) -> None:
    for arm in experiment(world).arms["paper"]:
        env = arm.config.world.make(1)
        assert env.single_observation_space.shape == (numbers,)
        if isinstance(arm.config.learning, TrunkPPO):
            fewer = arm.method.endswith("-200k")
            assert arm.config.learning.last_rollout == (100 if fewer else rollouts) - 1
    assert experiment(world).arms["book"] == experiment(world).arms["paper"]


@pytest.mark.parametrize("world", ["lending", "attention", "epidemic"])
def test_a_run_reports_curves_of_training_and_evaluation(world: str) -> None:
    arms = {arm.name: arm for arm in experiment(world).arms["smoke"]}
    assert {f"f-ppo.{variant}" for variant in VARIANTS} <= set(arms)
    tables = {}
    for name in ("f-ppo.as_published", "ppo.as_coded"):
        setting: Setting = arms[name].config
        rollout = setting.learning.rollout
        setting = replace(setting, learning=replace(setting.learning, total_steps=2 * rollout - 1))
        tables[name] = checked(arms[name].work(setting, 0), name)
        final = tables[name]["phase"] == "final"
        assert set(tables[name].loc[final, "step"]) == {2 * rollout}
    metrics = {name: set(table["metric"]) for name, table in tables.items()}
    told = {"training_gap", "massaged_at_reward", "massaging_late_reward"}
    assert told <= metrics["f-ppo.as_published"]
    assert not any(name.startswith(("massag", "training")) for name in metrics["ppo.as_coded"])


def test_the_same_seed_gives_the_same_run() -> None:
    arm = next(a for a in experiment("epidemic").arms["smoke"] if a.name == "f-ppo.as_coded")
    setting = replace(arm.config, learning=replace(arm.config.learning, total_steps=150))
    pd.testing.assert_frame_equal(arm.work(setting, 3), arm.work(setting, 3))


@pytest.mark.parametrize(
    ("world", "same"), [("lending", set()), ("attention", {"ppo"}), ("epidemic", set())]
)
def test_variants_share_the_runs_of_a_method_to_which_they_are_the_same(
    world: str, same: set[str]
) -> None:
    arms = {arm.name: arm for arm in experiment(world).arms["paper"]}
    methods = [name.partition(".")[0] for name in arms if name.endswith(".as_published")]
    pairs = {name: [arms[f"{name}.{variant}"].config for variant in VARIANTS] for name in methods}
    assert {name for name, (coded, published) in pairs.items() if coded == published} == same
    for setting in (one for pair in pairs.values() for one in pair):
        assert [wrapper.only_tells for wrapper in setting.world.wrappers][-1]


def test_in_attention_the_world_of_either_variant_gives_ppo_the_same_bits() -> None:
    arm = next(a for a in experiment("attention").arms["smoke"] if a.name == "ppo.as_published")
    told = {name: attention.world(as_coded) for name, as_coded in VARIANTS.items()}
    assert told["as_coded"] != told["as_published"]
    tables = [arm.work(replace(arm.config, world=world), 0) for world in told.values()]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_cpo_is_judged_beside_the_others_in_attention() -> None:
    arms = {arm.name: arm for arm in experiment("attention").arms["paper"]}
    setting = arms["cpo.as_coded"].config
    assert setting.method == CPOSettings(as_coded=True)
    batch = setting.learning.copies * setting.episode_length
    assert setting.learning.total_steps == 600 * batch
    assert setting.world == arms["f-ppo.as_coded"].config.world
    assert "cpo.as_published" not in arms  # the text's is a rule made by people
    assert not any(arm.method == "cpo" for arm in experiment("lending").arms["paper"])


def test_a_run_of_cpo_goes_on_from_its_checkpoint_to_the_same_table(tmp_path: Path) -> None:
    arm = next(a for a in experiment("attention").arms["smoke"] if a.name == "cpo.as_coded")
    shorter = replace(arm.config.learning, copies=2, total_steps=600)
    setting = replace(arm.config, learning=shorter)
    whole = arm.work(setting, 3)
    checked(whole, "cpo")
    checkpoint = Checkpoint(tmp_path / "cpo", "key", seconds=0.0)
    half = replace(setting, learning=replace(shorter, total_steps=400))
    arm.work(half, 3, checkpoint)
    assert checkpoint.read() is not None
    pd.testing.assert_frame_equal(arm.work(setting, 3, checkpoint), whole)
    assert {"end_short_term_gap", "late_long_term_gap", "late_reward"} <= set(whole["metric"])


def test_a_network_without_a_trunk_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden"):
        TrunkPPO(100, (64, 64), 1000)


@pytest.mark.parametrize("world", ["lending", "epidemic", "attention"])
def test_what_is_massaged_is_executed_and_learned_from(world: str) -> None:
    arm = next(a for a in experiment(world).arms["smoke"] if a.name == "f-ppo.as_published")
    changed_threshold = {} if world == "lending" else {"threshold": 0.5}
    method = replace(arm.config.method, first=0, **changed_threshold)
    setting = replace(arm.config, method=method)
    model = learner(setting.learning, setting, 1)
    if world == "lending":
        # The band of unsure decisions opens after the first rollout.
        model.learn(setting.learning.rollout)
    executed, chosen = [], []
    step, intervene = model.env.step, type(setting.method).intervene

    def noted(strategy: Any, moment: Any) -> Any:
        chosen.append(moment.actions.copy())
        return intervene(strategy, moment)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(setting.method), "intervene", noted)
        patch.setattr(
            model.env, "step", lambda actions: [executed.append(actions), *step(actions)][1:]
        )
        model.learn(setting.learning.rollout, reset_num_timesteps=False)
    stored = model.rollout_buffer.actions
    assert np.array_equal(stored, np.stack(executed))
    changed = (stored != np.stack(chosen)).reshape(len(stored), -1).any(axis=1)
    assert 0 < changed.sum() < len(stored)
    samples = model._samples
    assert np.array_equal(samples.actions.numpy().reshape(stored.shape), stored)


@pytest.mark.parametrize("world", ["lending", "attention", "epidemic"])
def test_before_its_first_rollout_massaging_changes_nothing_at_all(world: str) -> None:
    """F-PPO that has not begun to massage is F-PPO-L, to the last bit of actions and networks."""
    arms = {arm.name: arm.config for arm in experiment(world).arms["smoke"]}
    massaged, without = arms["f-ppo.as_coded"], arms["f-ppo-l.as_coded"]
    assert massaged.world == without.world
    # In the epidemic the threshold of a far rollout is 0 by itself; here it is high in all.
    high = {"threshold": 0.5, "growth": 1.0} if world == "epidemic" else {}
    never = replace(massaged, method=replace(massaged.method, first=1000, **high))
    models = [learner(one.learning, one, 1) for one in (never, without)]
    for model in models:
        model.learn(2 * never.learning.rollout)
    actions = [model.rollout_buffer.actions for model in models]
    assert np.array_equal(*actions)
    for own, other in zip(*(model.policy.parameters() for model in models), strict=True):
        assert torch.equal(own, other)


def test_old_log_probabilities_are_those_of_the_executed_actions() -> None:
    arm = next(a for a in experiment("epidemic").arms["smoke"] if a.name == "f-ppo.as_published")
    method = replace(arm.config.method, first=0, threshold=0.5)
    setting = replace(arm.config, method=method)
    model = learner(replace(setting.learning, learning_rate=1e-12), setting, 1)
    model.learn(setting.learning.rollout)
    outputs, _ = model.policy.evaluated(model._samples.observations.numpy())
    taken = model._samples.actions[:, 0].long()
    expected = model.policy.distribution(torch.from_numpy(outputs)).log_prob(taken)
    assert torch.allclose(model._samples.old_log_prob, expected, atol=1e-4)


# Anchors -----------------------------------------------------------------------------------------


def end_of(world: str, name: str, **evaluating: Any) -> dict[str, float]:
    arms = {arm.method: arm for arm in experiment(world).arms["paper"]}
    setting = arms[name].config
    shorter: Evaluating = replace(setting.evaluating, **evaluating)
    table = arms[name].work(replace(setting, evaluating=shorter), 5)
    final = table[table["phase"] == "final"]
    return dict(zip(final["metric"], final["value"], strict=True))


@pytest.mark.parametrize(
    ("name", "reward", "short", "long"),
    [
        ("max-degree", (0.283, 0.015), (1.82, 0.12), (7.1, 0.9)),
        ("max-exposed", (0.205, 0.015), (1.34, 0.12), (2.97, 0.6)),
        ("nobody", (0.091, 0.01), (0.0, 0.0), (3.8, 0.6)),
        ("uniform", (0.130, 0.01), (0.59, 0.08), (3.3, 0.6)),
    ],
)
def test_epidemic_anchors(name: str, reward: Any, short: Any, long: Any) -> None:
    # Three times the deviation of batches of 200 episodes, of which there are five.
    found = end_of("epidemic", name)
    assert found["end_reward"] == pytest.approx(reward[0], abs=reward[1])
    assert found["end_short_term_gap"] == pytest.approx(short[0], abs=short[1])
    assert found["end_long_term_gap"] == pytest.approx(long[0], abs=long[1])


def test_the_searched_rule_of_the_epidemic_puts_community_1_first() -> None:
    """What pages and claims say of it."""
    arms = {arm.method: arm for arm in experiment("epidemic").arms["paper"]}
    setting = arms["static-reward"].config
    env, rule = setting.world.make(50, 20), setting.method.make(setting.world, 0)
    group = np.array(env.unwrapped.params.group)
    assert (group == 1).sum() > (group == 0).sum()
    observation, _ = env.reset(seed=1)
    in_turn, given = 0, np.zeros(2)
    for _ in range(20):
        states = observation[:, : 3 * len(group)].reshape(len(observation), len(group), 3)
        left = states[:, group == 1, 0].any(axis=1)
        actions = rule.choose(observation)
        where = np.append(group, -1)[actions]
        assert (where[left] == 1).all()
        in_turn += left.sum()
        given += [(where == one).sum() for one in (0, 1)]
        observation, *_ = env.step(actions)
    assert in_turn > 0
    assert given[0] < 0.05 * given[1]


def test_lending_anchors() -> None:
    # Ten episodes: the deviation of batches is 50 in cash, 0.03 in the plotted distance.
    oracle = end_of("lending", "equal-opportunity", final_episodes=20)
    assert oracle["end_cash"] == pytest.approx(11_670, abs=150)
    assert oracle["end_long_term_gap"] == pytest.approx(0.35, abs=0.1)
    assert oracle["end_distance"] == pytest.approx(0.75, abs=0.15)
    assert oracle["late_short_term_gap"] == pytest.approx(0.02, abs=0.01)
    everybody = end_of("lending", "accept-all", final_episodes=20)
    assert everybody["late_short_term_gap"] == 0.0
    assert everybody["end_cash"] == pytest.approx(8_950, abs=200)


def test_attention_anchors() -> None:
    served = end_of("attention", "equal")
    assert (served["end_long_term_gap"], served["end_reward"]) == pytest.approx((0.0, 0.0))
    drawn = end_of("attention", "gaussian")
    assert drawn["end_short_term_gap"] == pytest.approx(0.008, abs=0.002)
    assert drawn["end_long_term_gap"] == pytest.approx(28, abs=8)


# Checks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_the_exact_checks_pass(name: str) -> None:
    result = checks()[name]()
    assert result.passed
    assert result.instances > 0


@pytest.mark.parametrize("step", [1, 3, 6])
def test_the_bounds_go_by_how_steep_a_lender_is(step: int) -> None:
    """Accepting surely from a score on, and with chance one half below or never."""
    surely = (np.arange(7) >= step).astype(float)
    bounds, gaps = bounds_and_gaps(np.stack([surely, 0.5 + 0.5 * surely]))
    share, steepest = max(INITIAL @ REPAY), max(np.diff(REPAY))
    assert bounds[:, 0] == pytest.approx([1.0, 0.5])
    assert bounds[:, 1] == pytest.approx([(1.0 + steepest) / share, (0.5 + steepest) / share])
    assert gaps[0, 0] == pytest.approx(abs(INITIAL[0, step:].sum() - INITIAL[1, step:].sum()))
    repaid = [group[step:] @ REPAY[step:] / (group @ REPAY) for group in INITIAL]
    assert gaps[0, 1] == pytest.approx(abs(np.subtract(*repaid)))
    assert gaps[1] == pytest.approx(0.5 * gaps[0])


def test_close_groups_would_fail_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that are close make the bounds say something."""
    monkeypatch.setattr(fppo_checks, "INITIAL", 0.8 * INITIAL + 0.2 * INITIAL[::-1])
    result = fppo_checks.vacuous_bound()
    assert not result.passed
    assert result.computed["smallest_bound"] == pytest.approx(0.6)
