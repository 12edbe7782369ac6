r"""Exact values of finite decision problems: backward induction over a finite horizon.

With :math:`h` steps to go the optimal value of a state is

.. math::

    V_0(s) = 0, \qquad
    Q_h(s, a) = r(s, a) + \gamma \sum_{s'} P(s' \mid s, a) \, V_{h-1}(s'), \qquad
    V_h(s) = \max_a Q_h(s, a),

and the value of a policy follows the same recursion with the policy's average over actions in
place of the maximum. The arrays come from an environment's `tabular` face. Transitions are sparse:
in the problems of this library a state leads to a handful of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from longfair.errors import UsageError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class FiniteHorizonSolution:
    """Optimal values and actions at every step of a finite horizon H."""

    values: FloatArray
    """(H + 1, S): row t is the value from step t on; the last row is zero."""
    action_values: FloatArray
    """(H, S, A): expected return of an action at step t and optimal play after it."""

    @property
    def actions(self) -> IntArray:
        """(H, S): an optimal action at every step; of equally good ones the lowest."""
        best: IntArray = self.action_values.argmax(axis=2)
        return best


def backward_induction(
    transition: Any, reward: ArrayLike, horizon: int, discount: float = 1.0
) -> FiniteHorizonSolution:
    """Solve a finite-horizon problem exactly.

    Parameters
    ----------
    transition
        Shape (S * A, S), SciPy sparse or dense, row `state * A + action`; or dense (S, A, S).
    reward
        Shape (S, A): expected reward.
    horizon
        Number of steps H, at least 1.
    discount
        Factor in [0, 1] by which every step's reward counts less than the one before.

    Raises
    ------
    UsageError
        When shapes do not fit, rows are no probability distributions, or a number is out of range.
    """
    rows, expected = _checked(transition, reward, horizon, discount)
    values = np.zeros((horizon + 1, len(expected)))
    action_values = np.empty((horizon, *expected.shape))
    for step in reversed(range(horizon)):
        future = (rows @ values[step + 1]).reshape(expected.shape)
        action_values[step] = expected + discount * future
        values[step] = action_values[step].max(axis=1)
    return FiniteHorizonSolution(values, action_values)


def policy_values(
    transition: Any, reward: ArrayLike, policy: ArrayLike, horizon: int, discount: float = 1.0
) -> FloatArray:
    """Return the exact value of a policy from every step on, shape (H + 1, S).

    Parameters
    ----------
    transition, reward, horizon, discount
        As in `backward_induction`.
    policy
        Shape (S, A), or (H, S, A) when it depends on the step: probability of every action.

    Raises
    ------
    UsageError
        As `backward_induction`.
    """
    rows, expected = _checked(transition, reward, horizon, discount)
    chances = np.broadcast_to(np.asarray(policy, dtype=np.float64), (horizon, *expected.shape))
    _require_distributions("policy", chances.sum(axis=2), float(chances.min()))
    values = np.zeros((horizon + 1, len(expected)))
    for step in reversed(range(horizon)):
        future = (rows @ values[step + 1]).reshape(expected.shape)
        values[step] = ((expected + discount * future) * chances[step]).sum(axis=1)
    return values


def _checked(
    transition: Any, reward: ArrayLike, horizon: int, discount: float
) -> tuple[csr_array, FloatArray]:
    """Return transitions (S * A, S) and rewards (S, A), or raise `UsageError`."""
    expected = np.asarray(reward, dtype=np.float64)
    if expected.ndim != 2:
        raise UsageError(f"reward has shape {expected.shape}: give (states, actions)")
    states, actions = expected.shape
    if not issparse(transition):
        dense = np.asarray(transition, dtype=np.float64)
        transition = dense.reshape(-1, dense.shape[-1]) if dense.ndim == 3 else dense
    if transition.shape != (states * actions, states):
        raise UsageError(
            f"transition has shape {transition.shape}: "
            f"give ({states} * {actions}, {states}) for this reward"
        )
    rows = csr_array(transition)
    least = float(rows.data.min()) if rows.nnz else 0.0
    _require_distributions("transition", rows.sum(axis=1), least)
    if horizon < 1:
        raise UsageError(f"horizon={horizon}: give an integer of at least 1")
    if not 0.0 <= discount <= 1.0:
        raise UsageError(f"discount={discount}: give a number in [0, 1]")
    return rows, expected


def _require_distributions(name: str, sums: FloatArray, least: float) -> None:
    if least < 0:
        raise UsageError(f"{name} has an entry {least:g}: give probabilities")
    worst = float(np.abs(sums - 1.0).max())
    if worst > _SUM_TOLERANCE:
        raise UsageError(f"{name} has a row that misses 1 by {worst:g}: give probabilities")
