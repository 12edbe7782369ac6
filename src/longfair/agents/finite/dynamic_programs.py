"""The best policy for a reward when there is no constraint."""

from __future__ import annotations

import numpy as np

from longfair.agents.finite.linear_systems import fixed_point, require_end
from longfair.agents.finite.problem import FiniteProblem, deterministic, policy_rows
from longfair.arrays import FloatArray, IntArray

_ROUNDING = 1e-12
"""Relative gains below this are rounding errors."""


def best_actions(problem: FiniteProblem, reward: FloatArray) -> IntArray:
    """Return the best action (S,) in every state for a reward (S, A), without any constraint.

    Groups never mix, so each of them is a dynamic program of its own; both are solved side by side.

    Parameters
    ----------
    problem
        Where actions lead. Its own reward is not used.
    reward
        Shape (S, A).

    Returns
    -------
    numpy.ndarray
        Shape (S,). Of equally good actions the first, in episodes.
    """
    if problem.stages is not None:
        return _backward_induction(problem, reward)
    return _policy_iteration(problem, reward)


def _backward_induction(problem: FiniteProblem, reward: FloatArray) -> IntArray:
    assert problem.stages is not None
    actions = np.zeros(problem.states, dtype=np.int64)
    cuts = problem.stages
    later = np.zeros(0)
    for step in reversed(range(len(cuts) - 1)):
        here = slice(cuts[step], cuts[step + 1])
        worth = reward[here]
        if step < len(cuts) - 2:
            worth = worth + (problem.of_stage[step] @ later).reshape(worth.shape)
        actions[here] = worth.argmax(axis=1)
        later = worth.max(axis=1)
    return actions


def _policy_iteration(problem: FiniteProblem, reward: FloatArray) -> IntArray:
    """Improve a policy until no state has an action that is better by more than rounding."""
    states = np.arange(problem.states)
    actions: IntArray = reward.argmax(axis=1)
    while True:
        moved = policy_rows(problem.continuation, deterministic(problem, actions))
        require_end(moved)
        values = fixed_point(moved, reward[states, actions])
        worth = reward + (problem.continuation @ values).reshape(reward.shape)
        rounding = _ROUNDING * max(1.0, float(np.abs(values).max()))
        better = worth.max(axis=1) > worth[states, actions] + rounding
        if not better.any():
            return actions
        actions = np.where(better, worth.argmax(axis=1), actions)
