"""Section 5: the accounts of regret, and the plan when nothing has to be learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from longfair.envs.loan_mdp import LoanMDPParams
from longfair.envs.loan_mdp.exact import evaluate
from longfair.papers.fairmdp import exploration
from longfair.papers.fairmdp.exploration import (
    EXPLORATION,
    VARIANTS,
    ExplorationConfig,
    Setting,
    best_reward,
    committed,
    learn_and_measure,
)
from longfair.runs.tables import checked

SMALL = ExplorationConfig(Setting(0.8, "discounted", episode_length=6))


def final(table: pd.DataFrame) -> dict[str, float]:
    rows = table[(table["phase"] == "final") & (table["group"] < 0)]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def curve(table: pd.DataFrame, metric: str) -> pd.Series[float]:
    rows = table[(table["phase"] == "curve") & (table["metric"] == metric)]
    return rows.set_index("step")["value"]


def test_best_rewards_are_the_known_ones() -> None:
    assert best_reward(VARIANTS["discounted"]) == pytest.approx(10.41072, abs=5e-6)
    assert best_reward(VARIANTS["as_coded"]) == pytest.approx(10.43296, abs=5e-6)


def test_regret_is_what_was_lost_so_far() -> None:
    table = checked(learn_and_measure(SMALL, 0), "run")
    found, regret, gap = final(table), curve(table, "regret"), curve(table, "gap")
    assert regret[0] == 0.0
    assert regret[100] == pytest.approx(found["regret_exploring"])
    assert regret[1000] == pytest.approx(found["regret"])
    slopes = np.diff(regret) / np.diff(regret.index)
    assert slopes[:5] == pytest.approx(found["regret_exploring"] / 100)
    assert slopes[5:] == pytest.approx(found["reward_best"] - found["reward"])
    assert found["slope_ratio"] == pytest.approx(slopes[-1] / slopes[0])
    assert gap[100] == pytest.approx(0.0, abs=1e-12)
    assert gap[120] == pytest.approx(found["gap_dp_discounted"])
    assert found["gap_largest"] == pytest.approx(gap.max())
    assert found["fair"] == float(gap.max() <= 0.1)


@pytest.mark.parametrize("rates", ["discounted", "as_coded"])
def test_who_guesses_right_has_no_regret_after_exploring(
    rates: exploration.Rates, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = np.array(LoanMDPParams.fico().prior)
    monkeypatch.setattr(exploration, "estimate_strangers", lambda loans, drift: truth)
    config = replace(SMALL, setting=replace(SMALL.setting, rates=rates, tolerance=0.05))
    found = final(learn_and_measure(replace(config, planned_tolerance=0.05), 0))
    assert found["regret"] == pytest.approx(found["regret_exploring"])
    assert found["gap_largest"] == pytest.approx(0.05)
    assert found["fair"] == 1.0
    # A margin costs reward and is kept.
    careful = final(learn_and_measure(replace(config, planned_tolerance=0.03), 0))
    assert careful["gap_largest"] == pytest.approx(0.03)
    assert careful["regret"] > found["regret"]


def test_who_guesses_wrong_may_be_unfair(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = np.array([[8.0, 2.0], [1.9, 0.25]])
    monkeypatch.setattr(exploration, "estimate_strangers", lambda loans, drift: wrong)
    found = final(learn_and_measure(SMALL, 0))
    assert found["reward"] < found["reward_best"] or found["gap_largest"] > 0.1
    assert found["gap_largest"] != pytest.approx(0.1, abs=1e-3)


def test_knowing_the_first_law_changes_the_plan_only_through_it() -> None:
    known, own = (committed(replace(SMALL, knows_first_law=knows), 1) for knows in (True, False))
    assert known is not None
    assert own is not None
    assert np.array_equal(known.strangers, own.strangers)
    problem = exploration._true_problem(SMALL.setting)
    gaps = [evaluate(problem, plan.chances).gap(discounted=True)[0] for plan in (known, own)]
    assert abs(gaps[0] - gaps[1]) > 1e-4


def test_without_constraint_it_is_unfair_and_earns_more() -> None:
    free = final(learn_and_measure(replace(SMALL, planned_tolerance=None), 0))
    fair = final(learn_and_measure(SMALL, 0))
    assert free["fair"] == 0.0
    assert free["reward"] > fair["reward"]


def test_the_coin_never_commits() -> None:
    config = replace(SMALL, exploring=1000)
    assert committed(config, 0) is None
    found = final(learn_and_measure(config, 0))
    assert found["slope_ratio"] == 1.0
    assert found["regret"] == pytest.approx(found["regret_exploring"])
    assert found["fair"] == 1.0


def test_same_seed_same_estimates_and_another_seed_others() -> None:
    plans = [committed(SMALL, seed) for seed in (5, 5, 6)]
    strangers = [plan.strangers for plan in plans if plan is not None]
    assert np.array_equal(strangers[0], strangers[1])
    assert not np.array_equal(strangers[0], strangers[2])


def test_every_variant_has_every_learner() -> None:
    arms = {(arm.method, arm.variant) for arm in EXPLORATION.arms["book"]}
    assert len(arms) == len(VARIANTS) * len(exploration.LEARNERS)
    configs = {arm.method: arm.config for arm in EXPLORATION.arms["book"]}
    assert configs["explore-commit-margin"].planned_tolerance == pytest.approx(0.08)
    assert configs["explore-commit-030"].exploring == 30
    assert configs["coin"].exploring == configs["coin"].episodes == 1000
