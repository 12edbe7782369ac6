"""One backward step of dynamic programming for the population, compiled.

Everything that is compiled stands in this one file. Machine code is kept beside the source until
the file changes, and a caller in another file would keep an old copy of what it calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.compiling import njit


class Tables(NamedTuple):
    """What every knot of a threshold does in every state of a grid.

    Axes are the rate of group 1, the rate of group 2, the group, and the knot.
    """

    worth: FloatArray
    """(S, S, 2, A): the group's part of the reward."""
    compared: FloatArray
    """(S, S, 2, A, 2): numbers whose squared differences between the groups are the disparity."""
    cell: NDArray[np.int64]
    """(S, S, 2, A): knot of the grid at or before the state that the group goes to."""
    part: FloatArray
    """(S, S, 2, A): how far the group lands past that knot, in cells."""
    state_gap: FloatArray
    """(S, S): disparity that does not depend on the thresholds."""


@njit(cache=True, error_model="numpy")
def back_up(
    tables: Tables, price: float, reward: FloatArray, fairness: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Choose the best pair of knots in every state, given what the steps after this one bring.

    Parameters
    ----------
    tables
        The problem.
    price
        What a unit of fairness is worth in units of reward.
    reward, fairness
        (S, S): sums over the following steps.

    Returns
    -------
    reward, fairness
        (S, S): sums with this step.
    """
    states, knots = tables.worth.shape[1], tables.worth.shape[3]
    combined = reward + price * fairness
    new_reward, new_fairness = np.empty_like(reward), np.empty_like(reward)
    row = np.empty(states)
    for i in range(states):
        for j in range(states):
            worth, compared = tables.worth[i, j], tables.compared[i, j]
            cell, part = tables.cell[i, j], tables.part[i, j]
            best, first, second = -np.inf, 0, 0
            for a in range(knots):
                above, passed = cell[0, a], part[0, a]
                for m in range(states):
                    row[m] = combined[above, m] + passed * (
                        combined[above + 1, m] - combined[above, m]
                    )
                for b in range(knots):
                    left = cell[1, b]
                    later = row[left] + part[1, b] * (row[left + 1] - row[left])
                    gap = (compared[0, a, 0] - compared[1, b, 0]) ** 2 + (
                        compared[0, a, 1] - compared[1, b, 1]
                    ) ** 2
                    value = worth[0, a] + worth[1, b] - price * gap + later
                    if value > best:
                        best, first, second = value, a, b
            gap = (compared[0, first, 0] - compared[1, second, 0]) ** 2 + (
                compared[0, first, 1] - compared[1, second, 1]
            ) ** 2
            above, left = cell[0, first], cell[1, second]
            p, q = part[0, first], part[1, second]
            new_reward[i, j] = worth[0, first] + worth[1, second]
            new_fairness[i, j] = 1.0 - tables.state_gap[i, j] - gap
            for down, right, weight in (
                (0, 0, (1.0 - p) * (1.0 - q)),
                (0, 1, (1.0 - p) * q),
                (1, 0, p * (1.0 - q)),
                (1, 1, p * q),
            ):
                new_reward[i, j] += weight * reward[above + down, left + right]
                new_fairness[i, j] += weight * fairness[above + down, left + right]
    return new_reward, new_fairness
