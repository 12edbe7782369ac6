r"""Notions that take the ratio before they aggregate, and the example that shows what they miss.

A *ratio-before-aggregation* notion first computes every step's own rate
:math:`r_g(t) = S_g(t)/D_g(t)`, then the gap between two groups at every step, and only then adds
up over time:

.. math::

    \text{signed} = \sum_t \big(r_1(t) - r_2(t)\big), \qquad
    \text{squared} = \sum_t \big(r_1(t) - r_2(t)\big)^2 .

A person is then worth :math:`1/D_g(t)`, so people of the same group count more on a quiet day
than on a busy one.  Xu et al. (2024) call this *temporal discrimination*.  The long-term benefit
rate (`longfair.metrics.benefit`) sums first and divides once, and weighs everybody of a group
alike.

References
----------
Xu et al. (2024), Section 2.3.  The signed sum stands for the notions of Wen et al. (2021) and Chi
et al. (2022), the squared sum for that of Yin et al. (2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics.benefit import benefit_rate
from longfair.settings import Count, checked


@dataclass(frozen=True)
class Trajectory:
    """Supply and demand of two groups over a few steps, as whole numbers of people.

    Attributes
    ----------
    name
        What the trajectory is called.
    groups
        Names of the groups.
    supply, demand
        One row per time step, one column per group: people approved, people who applied.
    """

    name: str
    groups: tuple[str, str]
    supply: tuple[tuple[int, int], ...]
    demand: tuple[tuple[int, int], ...]


def two_trajectories(crowd: int = 100) -> tuple[Trajectory, Trajectory]:
    """Build the two trajectories that tell the notions apart.

    Two groups apply for loans on two days.  On the first day 1 blue and `crowd` red people come,
    on the second day `crowd` blue people and 1 red.  In both trajectories every blue person of the
    second day and exactly one red person get the loan.  In trajectory A that one red person comes
    on the second day, in trajectory B on the first.

    Parameters
    ----------
    crowd
        How many people the large crowds hold, at least 1: 100 in the paper, 5 on its poster.

    Returns
    -------
    tuple of Trajectory
        Trajectory A and trajectory B.

    Raises
    ------
    UsageError
        If `crowd` is smaller than 1.
    """
    crowd = checked("crowd", crowd, Count)
    groups = ("blue", "red")
    demand = ((1, crowd), (crowd, 1))
    return (
        Trajectory("A", groups, ((0, 0), (crowd, 1)), demand),
        Trajectory("B", groups, ((0, 1), (crowd, 0)), demand),
    )


def step_gaps(
    supply: ArrayLike, demand: ArrayLike, *, no_demand: float | None = None
) -> FloatArray:
    """Gap between the two groups' rates at every single step: first group minus second.

    Parameters
    ----------
    supply, demand
        Shape (..., time, 2).
    no_demand
        The rate of a step without demand; by default that is an error.

    Returns
    -------
    numpy.ndarray
        Shape (..., time).

    Raises
    ------
    UsageError
        If there are not exactly two groups, or as `longfair.metrics.benefit.benefit_rate`.
    """
    shape = np.shape(supply)
    if len(shape) < 2 or shape[-1] != 2:
        raise UsageError(f"supply must end with the axes (time, 2 groups); given {shape}")
    rates = benefit_rate(supply, demand, no_demand=no_demand)
    return rates[..., 0] - rates[..., 1]


def signed_gap_sum(
    supply: ArrayLike, demand: ArrayLike, *, no_demand: float | None = None
) -> FloatArray:
    """Add the gaps of all steps with their signs (Wen et al. 2021, Chi et al. 2022).

    Parameters
    ----------
    supply, demand
        Shape (..., time, 2).
    no_demand
        The rate of a step without demand; by default that is an error.

    Returns
    -------
    numpy.ndarray
        Shape (...); zero also where gaps of opposite sign cancel.

    Raises
    ------
    UsageError
        As `step_gaps`.
    """
    total: FloatArray = step_gaps(supply, demand, no_demand=no_demand).sum(axis=-1)
    return total


def squared_gap_sum(
    supply: ArrayLike, demand: ArrayLike, *, no_demand: float | None = None
) -> FloatArray:
    """Add the squared gaps of all steps (Yin et al. 2023).

    Parameters
    ----------
    supply, demand
        Shape (..., time, 2).
    no_demand
        The rate of a step without demand; by default that is an error.

    Returns
    -------
    numpy.ndarray
        Shape (...); zero only if every step has equal rates.

    Raises
    ------
    UsageError
        As `step_gaps`.
    """
    total: FloatArray = np.square(step_gaps(supply, demand, no_demand=no_demand)).sum(axis=-1)
    return total
