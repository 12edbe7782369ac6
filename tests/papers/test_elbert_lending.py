"""ELBERT's lending: the experiment runs, its streams are what they should be, its tables add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from longfair.agents.evaluation import EpisodeTotals
from longfair.envs.lending import LendingParams
from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers.elbert import lending
from longfair.papers.elbert import lending_results as tidy
from longfair.papers.elbert.lending import (
    LENDING,
    Evaluating,
    ReferenceConfig,
    evaluate_reference,
    train_and_evaluate,
)
from longfair.papers.elbert.measures import measured
from longfair.runs.experiment import Arm, Run
from longfair.runs.statistics import Estimate, estimate
from longfair.runs.store import Store
from longfair.runs.tables import checked

ARMS = {arm.name: arm for arm in LENDING.arms["smoke"]}
LEARNED = [arm for arm in ARMS.values() if arm.variant != "reference"]
STATIC = [arm for arm in ARMS.values() if arm.variant == "reference"]
SHORT = Evaluating(final_episodes=4, episode_length=300)

# The experiment ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """Run every arm of the smoke profile once."""
    return {name: arm.work(arm.config, 3) for name, arm in ARMS.items()}


@pytest.mark.parametrize("arm", ARMS.values(), ids=lambda arm: arm.name)
def test_every_arm_gives_a_valid_table(tables: dict[str, pd.DataFrame], arm: Arm) -> None:
    table = checked(tables[arm.name], arm.name)
    final = table[table["phase"] == "final"]
    assert set(final["metric"]) == {
        "reward",
        "bias",
        "bias_exact",
        "episode_bias",
        "rate",
        "supply",
        "demand",
    }
    assert set(final.loc[final["metric"] == "rate", "group"]) == {0, 1}
    values = final.set_index(["metric", "group"])["value"]
    assert -1.0 <= values["reward", -1] <= 1.0
    assert values["bias", -1] == pytest.approx(abs(values["rate", 0] - values["rate", 1]))
    assert values["supply", 0] <= values["demand", 0] <= 0.5


def test_learned_methods_have_a_curve_from_zero_to_the_horizon(
    tables: dict[str, pd.DataFrame],
) -> None:
    horizon = LENDING.horizon["smoke"]
    for arm in LEARNED:
        table = tables[arm.name]
        steps = table.loc[table["phase"] == "curve", "step"]
        assert (steps.min(), steps.max()) == (0, horizon)
        assert set(table.loc[table["phase"] == "final", "step"]) == {horizon}
    for arm in STATIC:
        assert set(tables[arm.name]["phase"]) == {"final"}


def test_learning_changes_the_policy_and_methods_differ(tables: dict[str, pd.DataFrame]) -> None:
    rewards = {}
    for arm in LEARNED:
        table = tables[arm.name]
        curve = table[(table["phase"] == "curve") & (table["metric"] == "reward")]["value"]
        assert curve.iloc[0] != curve.iloc[-1]
        rewards[arm.name] = table[(table["phase"] == "final")]["value"].iloc[0]
    assert len(set(rewards.values())) == len(rewards)


def test_the_same_seed_gives_the_same_table(tables: dict[str, pd.DataFrame]) -> None:
    for name in ("elbert-po.as_coded", "accept-half.reference"):
        arm = ARMS[name]
        pd.testing.assert_frame_equal(arm.work(arm.config, 3), tables[name])
        assert not arm.work(arm.config, 4).equals(tables[name])


def test_settings_of_a_profile_are_shared_by_all_methods() -> None:
    for profile, arms in LENDING.arms.items():
        learned = [arm.config for arm in arms if arm.variant != "reference"]
        assert len({(c.learning, c.evaluating, c.episode_length) for c in learned}) == 1
        assert {arm.config.evaluating for arm in arms} == {learned[0].evaluating}
        assert learned[0].learning.total_steps == LENDING.horizon[profile]


def played(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Record the seeds of the learner and of everything it is evaluated on."""
    seeds: dict[str, list[int]] = {"learner": [], "evaluation": []}
    play = lending.play_episodes

    def recorded(act: Any, env: Any, seed: int) -> EpisodeTotals:
        seeds["evaluation"].append(seed)
        return play(act, env, seed)

    class Recorded(lending.FairPPO):
        def __init__(self, *arguments: Any, seed: int, **keywords: Any) -> None:
            seeds["learner"].append(seed)
            super().__init__(*arguments, seed=seed, **keywords)

    monkeypatch.setattr(lending, "play_episodes", recorded)
    monkeypatch.setattr(lending, "FairPPO", Recorded)
    return seeds


def test_training_and_evaluation_draw_from_different_streams(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds = played(monkeypatch)
    config = ARMS["g-ppo.as_published"].config
    for seed in (0, 1):
        train_and_evaluate(config, seed)
    together = seeds["learner"] + seeds["evaluation"]
    assert len(seeds["learner"]) == 2
    assert len(seeds["evaluation"]) == 4
    assert len(set(together)) == len(together)


def test_the_last_policies_of_all_methods_meet_the_same_applicants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds = played(monkeypatch)
    train_and_evaluate(ARMS["elbert-po.as_published"].config, 5)
    evaluate_reference(ReferenceConfig("threshold-2-1", SHORT), 5)
    evaluate_reference(ReferenceConfig("accept-half", SHORT), 5)
    _, *final = seeds["evaluation"]
    assert len(final) == 3
    assert len(set(final)) == 1


@pytest.mark.parametrize(
    ("policy", "same"), [("accept-all", "threshold-0-0"), ("reject-all", "threshold-7-7")]
)
def test_equal_policies_get_equal_results(policy: str, same: str) -> None:
    first, second = (evaluate_reference(ReferenceConfig(p, SHORT), 7) for p in (policy, same))
    pd.testing.assert_frame_equal(first, second)


# Its results as tables --------------------------------------------------------------------------


def results_of(values: dict[tuple[str, str], list[float]]) -> pd.DataFrame:
    """Results whose reward is given and whose bias is a tenth of it, one row set per seed."""
    frames = []
    for (method, variant), rewards in values.items():
        for seed, reward in enumerate(rewards):
            rows: list[tuple[str, int, str, int, float]] = [
                ("curve", 0, "reward", -1, 0.0),
                ("curve", 100, "reward", -1, reward),
                ("final", 100, "reward", -1, reward),
                ("final", 100, "bias", -1, reward / 10),
                ("final", 100, "bias_exact", -1, reward / 9),
                ("final", 100, "rate", 0, 0.5),
                ("final", 100, "rate", 1, 0.25),
            ]
            frame = pd.DataFrame(rows, columns=["phase", "step", "metric", "group", "value"])
            frames.append(frame.assign(method=method, variant=variant, seed=seed))
    return pd.concat(frames, ignore_index=True)


RESULTS = results_of(
    {
        ("g-ppo", "as_coded"): [0.1, 0.2, 0.3, 0.4],
        ("elbert-po", "as_coded"): [0.3, 0.3, 0.5, 0.5],
        ("threshold-2-1", "reference"): [0.2, 0.2, 0.2],
    }
)


def test_estimates_are_those_of_the_statistics_module() -> None:
    rows = tidy.curve(RESULTS, "reward", ["as_coded"])
    assert list(rows.columns) == ["method", "variant", "seed", "step", "value"]
    bands = tidy.over_seeds(rows, ["method", "variant", "step"])
    assert list(bands["method"]) == ["g-ppo", "g-ppo", "elbert-po", "elbert-po"]
    last = bands.iloc[1]
    expected = estimate([0.1, 0.2, 0.3, 0.4], name="g-ppo as_coded 100")
    assert (last["value"], last["low"], last["high"]) == (
        expected.value,
        expected.low,
        expected.high,
    )
    assert last["seeds"] == 4
    # The rate of a group is not a curve of all groups together.
    assert tidy.curve(RESULTS.assign(phase="curve"), "rate", ["as_coded"]).empty


def test_one_seed_has_no_interval() -> None:
    one = tidy.over_seeds(
        tidy.final(results_of({("g-ppo", "as_coded"): [0.5]})), ["metric", "group"]
    )
    assert (one["low"] == one["value"]).all()
    assert (one["high"] == one["value"]).all()
    assert tidy.seeds_in_words(RESULTS) == "3 to 4 seeds"
    assert tidy.seeds_in_words(RESULTS[RESULTS["variant"] == "as_coded"]) == "4 seeds"
    assert "no interval" in tidy.seeds_in_words(RESULTS[RESULTS["seed"] == 0])


def test_references_are_averaged_in_the_order_asked_for() -> None:
    asked = ["reject-all", "threshold-2-1"]
    found = tidy.references(RESULTS, "reward", asked)
    assert found.to_dict("records") == [{"method": "threshold-2-1", "value": pytest.approx(0.2)}]
    assert tidy.references(RESULTS, "reward", ["reject-all"]).empty


def test_one_row_per_run_and_one_column_per_quantity() -> None:
    runs = tidy.by_seed(RESULTS)
    assert list(runs.columns) == [
        "method",
        "variant",
        "seed",
        "reward",
        "bias",
        "bias_exact",
        "rate_0",
        "rate_1",
    ]
    assert list(runs["reward"].iloc[:5]) == [0.1, 0.2, 0.3, 0.4, 0.3]
    assert list(dict.fromkeys(runs["method"])) == ["g-ppo", "elbert-po", "threshold-2-1"]


@pytest.mark.parametrize(("metric", "divisor"), [("bias", 10), ("bias_exact", 9)])
def test_trade_off_takes_the_bias_asked_for(metric: str, divisor: int) -> None:
    summary = tidy.trade_off_summary(RESULTS, metric).set_index("method")
    assert summary.loc["g-ppo", "reward"] == pytest.approx(0.25)
    assert summary.loc["g-ppo", "bias"] == pytest.approx(0.25 / divisor)
    row = summary.loc["g-ppo"]
    assert 0.1 < row["reward_low"] < 0.25 < row["reward_high"] < 0.4
    assert row["bias_low"] == pytest.approx(row["reward_low"] / divisor, abs=0.004)


def test_final_table_names_mean_interval_middle_and_seeds() -> None:
    row = tidy.final_table(RESULTS).loc[("g-ppo", "as_coded")]
    assert row["reward"].startswith("0.250 [0.1")
    assert row["reward, IQM"] == "0.250"
    assert row["bias"].startswith("0.025 [")
    assert row["exact bias"].startswith("0.028 [")
    assert row["seeds"] == 4
    assert tidy.written(Estimate(0.12345, None, None, 1, "mean")) == "0.123"


def test_differences_are_paired_by_shared_seeds() -> None:
    arms = ("elbert-po", "as_coded"), ("threshold-2-1", "reference")
    found = tidy.difference(RESULTS, "reward", *arms)
    assert found is not None
    assert found.seeds == 3
    assert found.value == pytest.approx((0.1 + 0.1 + 0.3) / 3)
    assert tidy.difference(RESULTS, "reward", arms[0], ("r-ppo", "as_coded")) is None


def test_the_poster_agrees_within_interval_and_reading_error() -> None:
    near = results_of({("g-ppo", "as_coded"): [0.1505, 0.1510], ("g-ppo", "as_published"): [0.9]})
    table = tidy.beside_poster(near).set_index("metric")
    assert list(table.index) == ["reward", "bias"]
    assert table.loc["reward", "at two million"] == 0.150
    assert table.loc["reward", "at two million agrees"]  # 0.1505 less the reading error of 0.003
    assert not table.loc["reward", "at the end agrees"]  # 0.148 is 0.0025 away, beyond 0.002
    assert not table.loc["bias", "at the end agrees"]


def test_what_is_stored_and_what_is_missing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert tidy.stored(store, "smoke").empty
    assert tidy.gaps(store, "smoke")["missing"].sum() == 2 * len(ARMS)
    for name in ("reject-all.reference", "accept-all.reference"):
        arm = ARMS[name]
        run = Run(LENDING.id, "smoke", arm, 0)
        store.write(run, arm.work(arm.config, 0), {"key": "of older code"})
    in_order = ["reject-all", "accept-all"]  # of the experiment, not of the alphabet
    assert list(dict.fromkeys(tidy.stored(store, "smoke")["method"])) == in_order
    gaps = tidy.gaps(store, "smoke").set_index("method").loc["accept-all"]
    assert (gaps["stale"], gaps["missing"]) == (1, 1)


def test_cost_adds_up() -> None:
    provenance = pd.DataFrame(
        {
            "method": ["elbert-po", "elbert-po", "g-ppo"],
            "variant": "as_coded",
            "steps": 2000,
            "core_seconds": [10.0, 26.0, 3600.0],
        }
    )
    table = tidy.cost(provenance)
    assert list(table.index) == [("g-ppo", "as_coded"), ("elbert-po", "as_coded")]
    assert table.loc[("elbert-po", "as_coded"), "core seconds per run"] == 18.0
    assert list(table["runs"]) == [1, 2]
    assert table["core hours in all"].sum() == pytest.approx(1.01)


def test_the_published_band_is_narrower_than_three_runs_allow() -> None:
    low, high = tidy.published_band([0.0, 1.0, 2.0], np.random.default_rng(0))
    # 30 draws with standard deviation sqrt(2/3): the 10th to 90th percentile is 2 * 1.28 * 0.149.
    assert high - low == pytest.approx(0.38, abs=0.1)
    assert low < 1.0 < high


# Lenders that need no training ------------------------------------------------------------------


def test_playing_is_seeded_and_agents_have_their_own_stream() -> None:
    first, again, other = (tidy.play_reference("accept-half", 50, 200, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(*pair) for pair in zip(first, again, strict=True))
    assert not np.array_equal(first.reward, other.reward)
    # With the applicants' own numbers the coin would favour one group in the first step.
    one_step = tidy.play_reference("accept-half", 4000, 1, seed=1)
    rates = one_step.supply.sum(axis=0) / one_step.demand.sum(axis=0)
    assert rates == pytest.approx([0.5, 0.5], abs=0.06)


def test_scores_move_where_loans_are_given_and_only_there() -> None:
    start = np.array(LendingParams().initial_distribution)
    steps, refused = tidy.score_history("reject-all", copies=2, episode_length=60, every=20, seed=0)
    assert list(steps) == [0, 20, 40, 60]
    np.testing.assert_allclose(refused, np.broadcast_to(start, (4, 2, 7)))
    _, moved = tidy.score_history("threshold-3-3", copies=8, episode_length=300, every=50, seed=0)
    np.testing.assert_allclose(moved.sum(axis=2), 1.0)
    np.testing.assert_allclose(moved[:, 1, :2], np.broadcast_to(start[1, :2], (7, 2)))
    assert (moved[1:, :, 2] > start[:, 2]).all()  # the trap below the threshold, at the end too
    assert moved[-1, 0, 6] > 0.05


def test_all_threshold_pairs_agree_with_playing_one() -> None:
    pairs = tidy.threshold_pairs(episodes=6, episode_length=500, seed=1)
    table = pairs.set_index(["group 0", "group 1"])
    assert len(table) == 64
    assert (table.loc[(7, 7), ["reward", "bias"]] == 0.0).all()
    assert (table.loc[(0, 0), ["rate 0", "rate 1"]] == 1.0).all()
    assert table.loc[(7, 0), "bias"] == 1.0
    single = measured(tidy.play_reference("threshold-3-2", 40, 500, 2), "final", 0)
    values = single.set_index(["metric", "group"])["value"]
    assert table.loc[(3, 2), "reward"] == pytest.approx(values["reward", -1], abs=0.05)
    assert table.loc[(3, 2), "rate 1"] == pytest.approx(values["rate", 1], abs=0.06)


def test_resampled_evaluations_use_the_authors_formula() -> None:
    totals = EpisodeTotals(
        np.zeros(2), np.array([[3.0, 1.0]] * 2), np.array([[4.0, 4.0]] * 2), np.full(2, 10.0)
    )
    draws = tidy.resampled_bias(totals, 3, 5, np.random.default_rng(0))
    np.testing.assert_allclose(draws, 9 / 15 - 3 / 15)
    many = tidy.play_reference("threshold-3-3", 40, 300, 3)
    few, more = (
        tidy.resampled_bias(many, size, 2000, np.random.default_rng(1)).std() for size in (1, 16)
    )
    assert more < few / 2
    pooled = bias(benefit_rate(many.supply.sum(axis=0), many.demand.sum(axis=0) + 40))
    large = tidy.resampled_bias(many, 400, 200, np.random.default_rng(2))
    assert large.mean() == pytest.approx(pooled, abs=0.01)
