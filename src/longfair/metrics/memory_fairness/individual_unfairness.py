r"""To whom was it unfair, and by how much: every person against the average of all.

.. math::

    \mathrm{unf}_i(\tau, t) = \bar U(\tau_t) - U(\tau_t)_i, \qquad
    \mathrm{Unf}_i(\tau_T) = \sum_{t=1}^{T} \mathrm{unf}_i(\tau, t) .

Positive means disadvantaged.  The sum has a sign, so a time of plenty makes good for a time of
want.  The paper's printed formula is not readable in every copy; the sign is our choice, and the
squared form at the end does not depend on it.

References
----------
Alamdari et al. (2024), Definitions 4.10 and 4.11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import BoolArray, FloatArray
from longfair.metrics._arrays import with_groups
from longfair.metrics.memory_fairness.over_time import discounted_sum


def unfairness(statuses: ArrayLike) -> FloatArray:
    """By how much everybody is below the average, at every moment.

    Parameters
    ----------
    statuses
        Shape (..., n).

    Returns
    -------
    numpy.ndarray
        Shape (..., n), negative for those above the average; sums to zero over the people.
    """
    amounts = with_groups(statuses, "statuses")
    average: FloatArray = amounts.mean(axis=-1, keepdims=True)
    return average - amounts


def unfair_to(statuses: ArrayLike) -> BoolArray:
    """Whom the moment is unfair to: those below the average.

    Parameters
    ----------
    statuses
        Shape (..., n).

    Returns
    -------
    numpy.ndarray
        Shape (..., n), boolean.
    """
    return unfairness(statuses) > 0.0


def unfair_in_favour_of(statuses: ArrayLike) -> BoolArray:
    """Whom the moment favours: those above the average.

    Parameters
    ----------
    statuses
        Shape (..., n).

    Returns
    -------
    numpy.ndarray
        Shape (..., n), boolean.
    """
    return unfairness(statuses) < 0.0


def overall_unfairness(statuses: ArrayLike, counted: ArrayLike = True) -> FloatArray:
    """Add up the unfairness to everybody over time, with its sign.

    Parameters
    ----------
    statuses
        Shape (..., T, n).
    counted
        Shape (..., T): which moments count, true or false.

    Returns
    -------
    numpy.ndarray
        Shape (..., n).
    """
    by_person = np.moveaxis(unfairness(statuses), -1, 0)
    return np.moveaxis(discounted_sum(by_person, counted), 0, -1)


def least_squared_unfairness(statuses: ArrayLike, counted: ArrayLike = True) -> FloatArray:
    r"""Score a whole time by :math:`-\sum_i \mathrm{Unf}_i(\tau_T)^2`.

    An extended aggregation that is not timepoint-first: it follows each person through time
    before it looks at all of them together.

    Parameters
    ----------
    statuses
        Shape (..., T, n).
    counted
        Shape (..., T): which moments count, true or false.

    Returns
    -------
    numpy.ndarray
        Shape (...), at most 0.
    """
    total: FloatArray = np.square(overall_unfairness(statuses, counted)).sum(axis=-1)
    return 0.0 - total
