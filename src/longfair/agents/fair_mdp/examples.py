"""The smallest problems in which fairness needs randomness, or is out of reach (Theorem 2.5).

Both have one state per group that is never left, two actions, and groups of equal size. The
decision maker earns one whenever action 1 is taken. The paper's own numbers are lost; these
problems have the structure that its proof describes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from longfair.agents.fair_mdp.model import SeparableMDP
from longfair.agents.finite.problem import FiniteProblem, PolicyValue, deterministic, evaluate
from longfair.arrays import FloatArray
from longfair.errors import UsageError

MOST_POLICIES = 100_000
"""More deterministic policies than this are not listed one by one."""


def needs_randomness() -> SeparableMDP:
    """Return claim (i): group 0 always receives one half, group 1 receives the action.

    Every deterministic policy gives group 1 either nothing or one, so its gap is one half. The
    policy that tosses a coin for group 1 has no gap.
    """
    return _two_states(individual_reward=np.array([[0.5, 0.5], [0.0, 1.0]]))


def cannot_be_fair() -> SeparableMDP:
    """Return claim (ii): group 0 receives nothing and group 1 one, whatever is done."""
    return _two_states(individual_reward=np.array([[0.0, 0.0], [1.0, 1.0]]))


def deterministic_policies(problem: FiniteProblem) -> Iterator[tuple[tuple[int, ...], PolicyValue]]:
    """Yield the actions of every deterministic policy and what it is worth.

    Raises
    ------
    UsageError
        If there are too many to list.
    """
    count = problem.actions**problem.states
    if count > MOST_POLICIES:
        raise UsageError(
            f"there are {problem.actions}^{problem.states} deterministic policies: "
            f"at most {MOST_POLICIES:,} can be listed; use a solver"
        )
    for actions in product(range(problem.actions), repeat=problem.states):
        yield actions, evaluate(problem, deterministic(problem, actions))


def _two_states(individual_reward: FloatArray) -> SeparableMDP:
    stays = np.repeat(np.eye(2), 2, axis=0)
    return SeparableMDP(
        transition=csr_array(stays),
        reward=np.array([[0.0, 1.0], [0.0, 1.0]]),
        individual_reward=individual_reward,
        group=np.array([0, 1]),
        initial_distribution=np.array([0.5, 0.5]),
        discount=0.5,
    )
