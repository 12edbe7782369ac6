r"""Exact numbers for the loan problem: optima, frontiers, programs, simple policies.

Nothing here is random. `scripts/write_fairmdp_exact.py` stores the numbers for the book.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, kron

from longfair.agents.fair_mdp.model import demographic_parity, equal_opportunity
from longfair.agents.finite import lagrangian, linear_program
from longfair.agents.finite.dynamic_programs import best_actions
from longfair.agents.finite.lagrangian import Frontier
from longfair.agents.finite.problem import FiniteProblem, value_of
from longfair.agents.finite.solution import FairSolution
from longfair.arrays import FloatArray
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.papers.fairmdp.loans import (
    LoanEpisode,
    finite_loan_problem,
    loan_episode,
    measures,
    offset_total,
    qualified,
)
from longfair.papers.fairmdp.notions import Notion, Rates

TOLERANCES = (0.0, 0.01, 0.025, 0.05, 0.1, 0.2, None)
"""Tolerances of the tables; None for no constraint."""

RESOLUTION = 1e-8
"""Corners of a frontier that change a reward of an episode by less than this are left out."""

FINITE = LoanMDPParams.discretised()
"""Parameters of the finite problem."""

Row = dict[str, Any]


@cache
def episode() -> LoanEpisode:
    """Return the loan problem of the paper's first figure, written out once."""
    return loan_episode()


@cache
def episode_problem(notion: Notion, rates: Rates) -> FiniteProblem:
    """Return the fair problem of the first figure for a notion and weights of the steps."""
    return episode().problem(notion, rates)


@cache
def best_in_episode(notion: Notion, rates: Rates, tolerance: float | None) -> FairSolution:
    """Return the best policy of the first figure's problem within a tolerance.

    The policy may depend on the step, and for equal opportunity on whether the applicant started
    qualified.
    """
    return lagrangian.solve(episode_problem(notion, rates), tolerance)


def optima() -> Iterator[Row]:
    """Yield the best rewards by notion, weights of the steps and tolerance."""
    offset = offset_total(episode().params)
    for notion, rates in (
        ("dp", "as_coded"),
        ("dp", "discounted"),
        ("eo", "as_coded"),
        ("eo", "discounted"),
    ):
        for tolerance in TOLERANCES:
            found = best_in_episode(notion, rates, tolerance)
            yield {
                "notion": notion,
                "rates": rates,
                "tolerance": tolerance,
                "reward": found.value.reward,
                "profit": found.value.reward - offset,
                "gap": found.value.gap,
                "rate_0": float(found.value.group_values[0]),
                "rate_1": float(found.value.group_values[1]),
                "price": found.price,
                "randomised_states": len(found.randomised_states),
            }


def frontiers() -> Iterator[Row]:
    """Yield the corners of every frontier: reward without offset as a function of the gap.

    The finite problem's rewards are divided by one less the discount, so that all are sums.
    """
    offset = offset_total(episode().params)
    for notion in ("dp", "eo"):
        for rates in ("as_coded", "discounted"):
            found = lagrangian.frontier(episode_problem(notion, rates), RESOLUTION)
            yield from _corners("episode", notion, rates, found, found.reward - offset)
        problem = finite_problem(notion)
        found = lagrangian.frontier(problem)
        yield from _corners(
            "finite", notion, "discounted", found, found.reward * discounted_steps()
        )


def _corners(
    problem: str, notion: str, rates: str, found: Frontier, profit: FloatArray
) -> Iterator[Row]:
    for gap, reward in zip(found.gap, profit, strict=True):
        yield {
            "problem": problem,
            "notion": notion,
            "rates": rates,
            "gap": float(gap),
            "profit": float(reward),
        }


# The finite problem ------------------------------------------------------------------------------


@cache
def finite_problem(notion: Notion) -> FiniteProblem:
    """Return the problem with bounded counts and an infinite horizon, for Algorithm 1."""
    mdp, model = finite_loan_problem()
    if notion == "dp":
        return demographic_parity(mdp)
    return equal_opportunity(mdp, qualified(FINITE, model.states))


@cache
def program(notion: Notion, tolerance: float | None) -> FairSolution:
    """Return the solution of the linear program of the finite problem."""
    return linear_program.solve(finite_problem(notion), tolerance)


def programs() -> Iterator[Row]:
    """Yield the linear programs of the finite problem, rewards as sums without offset."""
    states = finite_loan_problem()[1].states
    for notion in ("dp", "eo"):
        for tolerance in (None, 0.1, 0.01, 0.0):
            found = program(notion, tolerance)
            folded = found.occupancy.reshape(-1, len(states), 2).sum(axis=0)
            parity = value_of(finite_problem("dp"), folded)
            mixed = found.randomised_states
            where = [tuple(int(n) for n in states[s % len(states)][:3]) for s in mixed]
            yield {
                "notion": notion,
                "tolerance": tolerance,
                "profit": found.value.reward * discounted_steps(),
                "gap_dp": parity.gap,
                "gap": found.value.gap,
                "rate_0": float(parity.group_values[0]),
                "rate_1": float(parity.group_values[1]),
                "price": found.price * discounted_steps(),
                "randomised": [
                    {"state": list(state), "lends": float(found.policy[s, 1])}
                    for state, s in zip(where, mixed, strict=True)
                ],
            }


def discounted_steps() -> float:
    """Return by what normalised rewards of the finite problem are multiplied to become sums."""
    return 1.0 / (1.0 - FINITE.discount)


SCANNED_BOUNDS = (6, 8, 10, 12, 15, 20, 30)
SCANNED_HISTORIES = ((0, 0), (1, 3), (1, 5), (3, 5), (7, 10))
SCANNED_DISCOUNTS = (0.5, 0.8, 0.9, 0.95, 0.99)


def discretisations() -> Iterator[Row]:
    """Yield rewards and gap of Appendix G under many discretisations, as the paper gives none.

    Rewards are sums; multiplied by one less the discount they are normalised.
    """
    grid = product(SCANNED_BOUNDS, SCANNED_HISTORIES, SCANNED_DISCOUNTS, (0.1, 1.0))
    for bound, history, discount, drift in grid:
        if bound < max(history):
            continue
        params = replace(
            FINITE,
            largest_count=bound,
            exploration=history,
            discount=discount,
            denial_drift=drift,
        )
        problem = demographic_parity(finite_loan_problem(params)[0])
        free, fair = (lagrangian.solve(problem, tolerance).value for tolerance in (None, 0.01))
        yield {
            "bound": bound,
            "history": list(history),
            "discount": discount,
            "drift": drift,
            "profit_free": free.reward / (1.0 - discount),
            "profit_fair": fair.reward / (1.0 - discount),
            "gap_free": free.gap,
        }


# Policies without learning -----------------------------------------------------------------------


def belief_mean() -> FloatArray:
    """Return the chance of repayment (S,) in every state of the episode."""
    states = episode().states
    alpha, beta = LoanModel(episode().params).belief(states[:, 0], states[:, 1:])
    mean: FloatArray = alpha / (alpha + beta)
    return mean


def break_even() -> float:
    """Return the chance of repayment from which a loan earns, without its risk."""
    params = episode().params
    return params.principal / (params.interest + params.principal)


def constant(chance: float) -> FloatArray:
    """Return a policy that lends with one chance (S,) everywhere."""
    return np.full(len(episode().states), chance)


def threshold(least: float) -> FloatArray:
    """Return a policy (S,) that lends when repayment is at least that likely."""
    return (belief_mean() >= least).astype(np.float64)


def within_band(low: float, width: float) -> FloatArray:
    """Return the best policy (S,) with chances of a loan between `low` and `low + width`.

    Such a policy satisfies the conservative constraint of Equation 8 with tolerance `width`: no two
    distributions of applicants can have rates that differ by more.
    """
    problem = episode_problem("dp", "discounted")
    # An action now means: toss a coin that lends with the lower, or with the higher chance.
    chances = np.array([low, low + width])
    coins = np.stack([1.0 - chances, chances], axis=1)
    tossing = kron(eye_array(problem.states), coins, format="csr")
    banded = replace(problem, continuation=csr_array(tossing @ problem.continuation))
    chosen: FloatArray = chances[best_actions(banded, problem.reward @ coins.T)]
    return chosen


def optimum(notion: Notion, rates: Rates, tolerance: float | None) -> Callable[[], FloatArray]:
    """Return a function that gives the chances of a loan (S,) of the best policy."""

    def lending() -> FloatArray:
        chances: FloatArray = best_in_episode(notion, rates, tolerance).policy[:, 1]
        return chances

    return lending


POLICIES: dict[str, Callable[[], FloatArray]] = {
    "never-lend": lambda: constant(0.0),
    "lend-half": lambda: constant(0.5),
    "always-lend": lambda: constant(1.0),
    "break-even": lambda: threshold(break_even()),
    "qualified": lambda: threshold(episode().params.qualified_mean),
    "unconstrained": optimum("dp", "discounted", None),
    "optimistic-exact": optimum("dp", "first_step", 0.1),
    "conservative-exact": lambda: within_band(0.0, 0.1),
    "parity-as-coded": optimum("dp", "as_coded", 0.1),
    "parity-discounted": optimum("dp", "discounted", 0.1),
}
"""Policies that need no training, as chances of a loan in every state of the episode."""


def policies() -> Iterator[Row]:
    """Yield what the policies of `POLICIES` are worth, by all measures."""
    for name, lending in POLICIES.items():
        yield {"policy": name, **measures(episode(), lending())}


def exact_numbers() -> dict[str, list[Row]]:
    """Compute everything that the book reads from the store."""
    return {
        "optima": list(optima()),
        "programs": list(programs()),
        "policies": list(policies()),
        "frontiers": list(frontiers()),
        "discretisations": list(discretisations()),
    }
