"""Section 5: the accounts of regret, and the plan when nothing has to be learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from longfair.envs.loan_mdp import LoanMDPParams
from longfair.errors import UsageError
from longfair.papers.fairmdp import committing, exploration
from longfair.papers.fairmdp.committing import Plan, true_problem
from longfair.papers.fairmdp.exploration import (
    EXPLORATION,
    LEARNERS,
    OPPORTUNITY,
    UNDER_OPPORTUNITY,
    VARIANTS,
    Bank,
    Exploring,
    Learners,
    learned,
    world,
)
from longfair.papers.fairmdp.loans import loan_episode
from longfair.papers.fairmdp.notions import Notion
from longfair.papers.fairmdp.regret import best_reward, parity
from longfair.papers.protocol import play, train_and_evaluate
from longfair.papers.setting import Setting
from longfair.papers.untrained import params
from longfair.runs.experiment import Experiment
from longfair.runs.tables import checked

SMALL = learned("discounted", Bank(), Exploring(), length=6)


def wanting(setting: Setting = SMALL, **changes: Any) -> Setting:
    """Return the same for a bank that wants something else."""
    return replace(setting, method=replace(setting.method, **changes))


def last_plan(setting: Setting, seed: int) -> Plan:
    plan: Plan = setting.learning.train(setting, seed, 0, None).policies[-1]
    return plan


def final(table: pd.DataFrame) -> dict[str, float]:
    rows = table[(table["phase"] == "final") & (table["group"] < 0)]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def curve(table: pd.DataFrame, metric: str) -> pd.Series[float]:
    rows = table[(table["phase"] == "curve") & (table["metric"] == metric)]
    return rows.set_index("step")["value"]


@pytest.mark.parametrize(("variant", "best"), [("discounted", 10.41072), ("as_coded", 10.43296)])
def test_best_rewards_are_the_known_ones(variant: str, best: float) -> None:
    bank = Bank(rates=VARIANTS[variant][1])
    assert best_reward(bank, params(world(variant))) == pytest.approx(best, abs=5e-6)


def test_regret_is_what_was_lost_so_far() -> None:
    table = checked(train_and_evaluate(SMALL, 0), "run")
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


@pytest.mark.parametrize("notion", ["dp", "eo"])
@pytest.mark.parametrize("rates", ["discounted", "as_coded"])
def test_who_guesses_right_has_no_regret_after_exploring(
    notion: str, rates: exploration.Rates, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = np.array(LoanMDPParams.fico().prior)
    monkeypatch.setattr(committing, "estimate_strangers", lambda loans, drift, groups: truth)
    setting = wanting(notion=notion, rates=rates, tolerance=0.05, planned_tolerance=0.05)
    found = final(train_and_evaluate(setting, 0))
    assert found["regret"] == pytest.approx(found["regret_exploring"])
    assert found["gap_largest"] == pytest.approx(0.05)
    assert found["fair"] == 1.0
    # A margin costs reward and is kept.
    careful = final(train_and_evaluate(wanting(setting, planned_tolerance=0.03), 0))
    assert careful["gap_largest"] == pytest.approx(0.03)
    assert careful["regret"] > found["regret"]


def test_who_guesses_wrong_may_be_unfair(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = np.array([[8.0, 2.0], [1.9, 0.25]])
    monkeypatch.setattr(committing, "estimate_strangers", lambda loans, drift, groups: wrong)
    found = final(train_and_evaluate(SMALL, 0))
    assert found["reward"] < found["reward_best"] or found["gap_largest"] > 0.1
    assert found["gap_largest"] != pytest.approx(0.1, abs=1e-3)


def test_knowing_the_first_law_changes_the_plan_only_through_it() -> None:
    known, own = (last_plan(wanting(knows_first_law=knows), 1) for knows in (True, False))
    assert np.array_equal(known.strangers, own.strangers)
    true = params(SMALL.world)
    gaps = [parity(SMALL.method, true, plan.policy).gap for plan in (known, own)]
    assert abs(gaps[0] - gaps[1]) > 1e-4


@pytest.mark.parametrize("notion", ["dp", "eo"])
def test_errors_about_transitions_alone_leave_the_counts_of_people_right(notion: Notion) -> None:
    """With the true law a plan keeps its tolerance, by the true numbers of people and qualified."""
    wrong = np.array([[1.2, 0.65], [1.5, 0.2]])
    bank, true = Bank(notion=notion, planned_tolerance=0.05), params(SMALL.world)
    policy = committing.committed(bank, true, wrong)
    prior = tuple((float(alpha), float(beta)) for alpha, beta in wrong)
    estimated = loan_episode(replace(true, prior=prior)).problem(notion, bank.rates)
    known = true_problem(true, notion, bank.rates)
    judged = replace(estimated, inflow=known.inflow, group_values=known.group_values)
    assert judged.evaluate(policy).gap == pytest.approx(0.05)
    by_estimates = replace(estimated, inflow=known.inflow).evaluate(policy).gap
    assert (by_estimates == pytest.approx(0.05)) == (notion == "dp")


def test_without_constraint_it_is_unfair_and_earns_more() -> None:
    free = final(train_and_evaluate(wanting(planned_tolerance=None), 0))
    fair = final(train_and_evaluate(SMALL, 0))
    assert free["fair"] == 0.0
    assert free["reward"] > fair["reward"]


def test_the_coin_never_commits() -> None:
    setting = replace(SMALL, learning=Exploring(1000))
    assert last_plan(setting, 0).strangers is None
    found = final(train_and_evaluate(setting, 0))
    assert found["slope_ratio"] == 1.0
    assert found["regret"] == pytest.approx(found["regret_exploring"])
    assert found["fair"] == 1.0


def test_nobody_explores_for_more_than_all_episodes() -> None:
    with pytest.raises(UsageError, match="exploring=101: give at most episodes=100"):
        Exploring(101, episodes=100)


def test_same_seed_same_estimates_and_another_seed_others() -> None:
    strangers = [last_plan(SMALL, seed).strangers for seed in (5, 5, 6)]
    assert np.array_equal(strangers[0], strangers[1])
    assert not np.array_equal(strangers[0], strangers[2])


@pytest.mark.parametrize("notion", ["dp", "eo"])
def test_played_episodes_lend_as_often_as_computed(notion: Notion) -> None:
    setting = wanting(notion=notion, rates="as_coded")
    kept = setting.learning.train(setting, 3, 0, None)
    episodes, length = 50_000, 6
    env = setting.world.make(2 * episodes)
    totals = play(kept.acting([0, 1], episodes, 4), env, ("qualified",), 5)
    # After the last step the next applicant is told of.
    counted = (totals["qualified"] > 1) | (notion == "dp")
    for number, plan in enumerate(kept.policies):
        problem = true_problem(params(setting.world), notion, "as_coded")
        rows = np.repeat([0, 1], episodes) == number
        lent = [
            totals["supply"][rows & counted & (totals["demand"][:, group] > 0), group].mean()
            for group in (0, 1)
        ]
        exact = problem.evaluate(plan.policy).group_values
        assert np.array(lent) / (length - 1) == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(
    ("experiment", "learners"), [(EXPLORATION, LEARNERS), (OPPORTUNITY, UNDER_OPPORTUNITY)]
)
def test_every_variant_has_every_learner(experiment: Experiment, learners: Learners) -> None:
    arms = {(arm.method, arm.variant) for arm in experiment.arms["book"]}
    assert arms == {(learner, variant) for learner in learners for variant in VARIANTS}
    settings = {arm.method: arm.config for arm in experiment.arms["book"]}
    assert settings["explore-commit-margin"].method.planned_tolerance == pytest.approx(0.08)
    assert settings["coin"].learning.exploring == settings["coin"].learning.episodes == 1000
    assert {setting.method.notion for setting in settings.values()} == (
        {"dp"} if experiment is EXPLORATION else {"eo"}
    )
