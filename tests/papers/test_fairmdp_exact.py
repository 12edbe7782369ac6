"""Exact numbers of the loan problem, against values computed independently.

Reference values hold to the digits given: an absolute tolerance of half a unit in the last one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longfair.papers.fairmdp.checks as fairmdp_checks
from longfair.agents.finite import column_generation, lagrangian, linear_program
from longfair.agents.finite.problem import value_of
from longfair.envs.loan_mdp import LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem, evaluate
from longfair.papers import registry
from longfair.papers.fairmdp import exact
from longfair.papers.fairmdp.loans import (
    GAPS,
    loan_episode,
    measures,
    offset_total,
    step_weights,
)
from longfair.papers.fairmdp.measured import mean_quantities
from longfair.papers.fairmdp.scale import counted_loans, random_network

FOUR, FIVE = 5.1e-5, 5.1e-6
STORED = Path(__file__).parents[2] / "results" / "exact" / "fairmdp.json"


@cache
def programs() -> dict[tuple[str, float | None], dict[str, Any]]:
    return {(row["notion"], row["tolerance"]): row for row in exact.programs()}


# The finite problem ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tolerance", "profit", "gap", "rates"),
    [
        (None, 0.4331, 0.2640, (0.486, 0.750)),
        (0.1, 0.4108, 0.1000, (0.631, 0.731)),
        (0.01, 0.3885, 0.0100, (0.640, 0.650)),
        (0.0, 0.3860, 0.0000, (0.643, 0.643)),
    ],
)
def test_linear_programs_under_demographic_parity(
    tolerance: float | None, profit: float, gap: float, rates: tuple[float, float]
) -> None:
    row = programs()["dp", tolerance]
    assert row["profit"] == pytest.approx(profit, abs=FOUR)
    assert row["gap"] == row["gap_dp"] == pytest.approx(gap, abs=FOUR)
    assert (row["rate_0"], row["rate_1"]) == pytest.approx(rates, abs=5.1e-4)


@pytest.mark.parametrize(
    ("tolerance", "state", "chance"),
    [(0.1, [0, 6, 3], 0.035), (0.01, [1, 9, 1], 0.025), (0.0, [0, 8, 4], 0.641)],
)
def test_one_state_is_random(tolerance: float, state: list[int], chance: float) -> None:
    (mixed,) = programs()["dp", tolerance]["randomised"]
    assert mixed["state"] == state
    assert mixed["lends"] == pytest.approx(chance, abs=5.1e-4)


@pytest.mark.parametrize(
    ("tolerance", "profit", "gap_dp", "gap"),
    [
        (None, 0.4331, 0.2640, 0.1114),
        (0.1, 0.4330, 0.2575, 0.1000),
        (0.01, 0.4286, 0.2040, 0.0100),
        (0.0, 0.4278, 0.1983, 0.0000),
    ],
)
def test_linear_programs_under_equal_opportunity(
    tolerance: float | None, profit: float, gap_dp: float, gap: float
) -> None:
    row = programs()["eo", tolerance]
    assert row["profit"] == pytest.approx(profit, abs=FOUR)
    assert row["gap_dp"] == pytest.approx(gap_dp, abs=FOUR)
    assert row["gap"] == pytest.approx(gap, abs=FOUR)


@pytest.mark.parametrize("tolerance", [None, 0.1, 0.01, 0.0])
def test_forward_simulation_of_the_recovered_policy(tolerance: float | None) -> None:
    """Step by step from the start, until what is left weighs 1e-12."""
    problem, found = exact.finite_problem("dp"), exact.program("dp", tolerance)
    arriving, visited = problem.inflow, np.zeros_like(found.policy)
    for _ in range(125):
        here = arriving[:, None] * found.policy
        visited += here
        arriving = here.ravel() @ problem.continuation
    assert visited.sum() == pytest.approx(1.0, abs=1e-9)
    value = value_of(problem, visited)
    assert found.value.reward == pytest.approx(value.reward, abs=1e-9)
    assert found.value.gap == pytest.approx(value.gap, abs=1e-9)


def test_duality() -> None:
    """Linear program, duality and column generation agree on reward and price."""
    problem = exact.finite_problem("dp")
    for tolerance in (0.1, 0.01):
        found = [s.solve(problem, tolerance) for s in (linear_program, lagrangian)]
        found.append(column_generation.solve(problem, tolerance))
        assert np.ptp([one.value.reward for one in found]) < 1e-10
        assert np.ptp([one.price for one in found]) < 1e-8


def test_a_hundred_thousand_pairs() -> None:
    """A tolerance of 0.1 costs what it costs with counts up to 30: larger counts do not matter."""
    problem = counted_loans(158)
    assert problem.reward.size == 101_124
    found = column_generation.solve(problem, 0.1)
    assert found.value.gap == pytest.approx(0.1, abs=1e-9)
    assert found.value.reward * 5 == pytest.approx(0.41083, abs=FIVE)


def test_random_networks_are_problems_of_two_groups() -> None:
    problem = random_network(200)
    found = [s.solve(problem, 0.05) for s in (linear_program, lagrangian, column_generation)]
    assert np.ptp([one.value.reward for one in found]) < 1e-9


# The episode -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notion", "rates", "rewards"),
    [
        (
            "dp",
            "as_coded",
            {0.0: 10.43288, 0.025: 10.43291, 0.05: 10.43293, 0.1: 10.43296, 0.2: 10.43299},
        ),
        (
            "dp",
            "discounted",
            {0.0: 10.38589, 0.025: 10.39213, 0.05: 10.39834, 0.1: 10.41072, 0.2: 10.42805},
        ),
        ("eo", "as_coded", {0.0: 10.43298, 0.05: 10.43299, 0.1: 10.43300, None: 10.43301}),
        ("eo", "discounted", {0.0: 10.42778, 0.05: 10.43116, 0.1: 10.43290, None: 10.43301}),
    ],
)
def test_best_fair_rewards(notion: Any, rates: Any, rewards: dict[float | None, float]) -> None:
    for tolerance, reward in rewards.items():
        found = exact.best_in_episode(notion, rates, tolerance)
        assert found.value.reward == pytest.approx(reward, abs=FIVE)
        if tolerance is not None:
            assert found.value.gap <= tolerance + 1e-9


def test_lending_rates_without_constraint() -> None:
    rates = {name: exact.best_in_episode(*which, None) for name, which in GAPS.items()}
    expected = {
        "gap_dp": (0.406, 0.737),
        "gap_eo": (0.725, 0.961),
        "gap_dp_discounted": (0.486, 0.750),
    }
    for name, pair in expected.items():
        assert tuple(rates[name].value.group_values) == pytest.approx(pair, abs=5.1e-4)


def test_policies_without_training() -> None:
    rows = {row["policy"]: row for row in exact.policies()}
    rewards = {
        "never-lend": 9.999886,
        "lend-half": 9.9317,
        "always-lend": 9.9415,
        "unconstrained": 10.43301,
        "optimistic-exact": 10.4280,
        "parity-as-coded": 10.43296,
        "parity-discounted": 10.41072,
    }
    for policy, reward in rewards.items():
        assert rows[policy]["reward"] == pytest.approx(reward, abs=FOUR)
    assert rows["conservative-exact"]["reward"] == pytest.approx(10.032, abs=5.1e-4)
    best = rows["unconstrained"]
    gaps = [best[name] for name in ("gap_dp", "gap_dp_discounted", "gap_eo", "gap_eo_discounted")]
    assert gaps == pytest.approx([0.330, 0.264, 0.236, 0.111], abs=5.1e-4)
    assert all(
        row["profit"] == pytest.approx(row["reward"] - 9.999886, abs=1e-6) for row in rows.values()
    )


def test_the_conservative_constraint_leaves_a_band() -> None:
    """A low band is better than a high one, and a wide one is best."""
    rewards = {
        low: measures(exact.episode(), exact.within_band(low, 0.1))["reward"] for low in (0.0, 0.5)
    }
    assert rewards[0.0] > rewards[0.5]
    everything = measures(exact.episode(), exact.within_band(0.0, 1.0))["reward"]
    assert everything == pytest.approx(10.43301, abs=FIVE)


def test_offset() -> None:
    assert offset_total(exact.episode().params) == pytest.approx(9.999886, abs=5.1e-7)


def test_weights_of_steps() -> None:
    params = exact.episode().params
    assert step_weights(params, "as_coded").sum() == pytest.approx(1.02)
    assert step_weights(params, "discounted").sum() == pytest.approx(1.0)
    assert step_weights(params, "first_step").tolist() == [1.0] + [0.0] * 50


def test_both_evaluations_of_a_policy_agree() -> None:
    """The batched recursion that learning uses, and the occupancy used here, share no code."""
    params = replace(exact.episode().params, episode_length=12)
    small = loan_episode(params)
    # Equal beliefs must be treated alike there, so the chance is a function of the belief.
    alpha, beta = LoanModel(params).belief(small.states[:, 0], small.states[:, 1:])
    lending = 0.5 + 0.5 * np.sin(3 * alpha + 5 * beta + small.states[:, 0])
    problem = LoanProblem.of(LoanModel(params))
    chances = [
        (0.5 + 0.5 * np.sin(3 * g.beliefs[:, 0] + 5 * g.beliefs[:, 1] + number))[None]
        for number, g in enumerate(problem.applicants)
    ]
    expected = mean_quantities(evaluate(problem, chances))
    found = measures(small, lending)
    assert found == {name: pytest.approx(expected[name], abs=1e-9) for name in found}


def test_frontiers_pass_through_the_optima() -> None:
    """Corners left out change the episode's reward by less than the resolution."""
    offset = offset_total(exact.episode().params)
    problem = exact.episode_problem("dp", "discounted")
    found = lagrangian.frontier(problem, 1e-6)
    assert found.error <= 1e-6
    for tolerance in (0.0, 0.05, 0.1, 0.2):
        best = exact.best_in_episode("dp", "discounted", tolerance).value.reward
        assert found.at(tolerance) == pytest.approx(best, abs=1e-6)
    assert found.reward[-1] - offset == pytest.approx(0.43312, abs=FIVE)
    assert found.gap[-1] == pytest.approx(0.26399, abs=FIVE)


# Store and checks --------------------------------------------------------------------------------


def test_the_stored_numbers_are_those_of_the_code() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert set(stored) == {"optima", "programs", "policies", "frontiers", "discretisations"}
    rows = {(row["notion"], row["tolerance"]): row for row in stored["programs"]}
    for key, row in programs().items():
        assert rows[key]["profit"] == pytest.approx(row["profit"], abs=1e-9)
        assert rows[key]["gap_dp"] == pytest.approx(row["gap_dp"], abs=1e-7)
    for row in stored["optima"]:
        if row["notion"] == "dp":
            best = exact.best_in_episode("dp", row["rates"], row["tolerance"])
            assert row["reward"] == pytest.approx(best.value.reward, abs=1e-9)
    kinds = {(row["problem"], row["notion"], row["rates"]) for row in stored["frontiers"]}
    assert len(kinds) == 6


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ("fair-mdp-randomness", True),
        ("fair-mdp-price-as-coded", False),
        ("fair-mdp-price-as-published", True),
        ("fair-mdp-appendix-g-gap", True),
        ("fair-mdp-appendix-g-level", False),
        ("fair-mdp-without-the-step", True),
    ],
)
def test_checks(check: str, passed: bool) -> None:
    result = registry.checks()[check]()
    assert result.passed is passed
    assert result.detail.endswith(".")


def test_the_check_of_the_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes, and it fails when one of the solvers is wrong or stays silent.

    The loan problem is not needed to see that: the random problems show it.
    """
    monkeypatch.setattr(fairmdp_checks, "RANDOM_PROBLEMS", 3)
    assert fairmdp_checks.linear_program_is_exact().passed
    right = lagrangian.solve
    monkeypatch.setattr(fairmdp_checks, "LOANS", ())
    assert fairmdp_checks.linear_program_is_exact().passed
    with monkeypatch.context() as patched:
        patched.setattr(lagrangian, "solve", lambda problem, _: right(problem, None))
        assert not fairmdp_checks.linear_program_is_exact().passed
    monkeypatch.setattr(fairmdp_checks, "_says_infeasible", lambda *_: False)
    assert not fairmdp_checks.linear_program_is_exact().passed
