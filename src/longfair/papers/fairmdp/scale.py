"""How long the exact solvers take as problems grow, in processor seconds of one core."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from longfair.agents.fair_mdp.model import SeparableMDP, demographic_parity
from longfair.agents.finite import column_generation, lagrangian, linear_program
from longfair.agents.finite.problem import FiniteProblem
from longfair.papers.fairmdp.exact import FINITE, episode_problem
from longfair.papers.fairmdp.loans import finite_loan_problem

SOLVERS = {
    "linear program": linear_program.solve,
    "column generation": column_generation.solve,
    "duality": lagrangian.solve,
}

LARGEST_PROGRAM = 4000
"""Pairs of state and action from which the whole linear program is left out: it takes minutes."""

TOLERANCE = 0.05


def counted_loans(bound: int) -> FiniteProblem:
    """Return the loan problem with counts up to a bound: 4 (bound + 1)^2 pairs."""
    return demographic_parity(finite_loan_problem(replace(FINITE, largest_count=bound))[0])


def random_network(states: int, seed: int = 0) -> FiniteProblem:
    """Return a problem in which every action leads to three states of the group drawn at random.

    Its states have no order that a factorisation could use.

    Parameters
    ----------
    states
        Number of states, even; there are two actions.
    seed
        Seed of the numbers.
    """
    generator = np.random.default_rng(seed)
    half, pairs = states // 2, 2 * states
    group = np.repeat([0, 1], half)
    targets = generator.integers(half, size=(pairs, 3)) + half * np.repeat(group, 2)[:, None]
    chances = generator.dirichlet(np.ones(3), size=pairs)
    rows = np.repeat(np.arange(pairs), 3)
    return demographic_parity(
        SeparableMDP(
            transition=csr_array((chances.ravel(), (rows, targets.ravel())), (pairs, states)),
            reward=generator.random((states, 2)),
            individual_reward=generator.random((states, 2)) + 0.3 * group[:, None],
            group=group,
            initial_distribution=np.full(states, 1.0 / states),
            discount=0.95,
        )
    )


PROBLEMS: dict[str, Callable[[], FiniteProblem]] = {
    "loans counted up to 30": lambda: counted_loans(30),
    "loans counted up to 158": lambda: counted_loans(158),
    "loans of an episode": lambda: episode_problem("dp", "discounted"),
    "random network, small": lambda: random_network(2_000),
    "random network, large": lambda: random_network(50_000),
}
"""Problems of growing size."""


def measurements() -> Iterator[dict[str, Any]]:
    """Yield how long every solver takes on every problem, and what it finds."""
    for name, make in PROBLEMS.items():
        problem = make()
        for solver, solve in SOLVERS.items():
            if solver == "linear program" and problem.reward.size > LARGEST_PROGRAM:
                continue
            begun = time.process_time()
            found = solve(problem, TOLERANCE)
            yield {
                "problem": name,
                "pairs": int(problem.reward.size),
                "solver": solver,
                "processor_seconds": round(time.process_time() - begun, 2),
                "reward": found.value.reward,
                "gap": found.value.gap,
            }
