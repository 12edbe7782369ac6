r"""Short-term fairness: the same quantities over the last few steps only.

A window of :math:`w` steps ends at the current step and includes it.  Before :math:`w` steps have
passed it holds what there is, so a window at least as long as the history gives the running value
since the start.  All functions take time on one axis, treat every other axis (environments,
groups, scores) as separate series, and cost one pass over the data whatever the window.

References
----------
Hu, Lear and Zhang (2024), Section 4: the windowed true-positive-rate gap of the lending problem
and the share deviation of the attention problem.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics._arrays import axes_of, finite, non_negative, with_groups
from longfair.metrics.benefit import benefit_rate, bias
from longfair.settings import Count, checked


def windowed_sum(signal: ArrayLike, window: int, *, axis: int = 0) -> FloatArray:
    """Sum of the last `window` steps at every step.

    The sum is the difference of two cumulative sums: exact for counts, and for other numbers
    accurate to rounding of the total.

    Parameters
    ----------
    signal
        Any finite array.
    window
        Number of steps, at least 1.
    axis
        The time axis.

    Returns
    -------
    numpy.ndarray
        The shape of `signal`.

    Raises
    ------
    UsageError
        If `window` is smaller than 1, `axis` does not fit, or a value is not finite.
    """
    array = finite(signal, "signal")
    (time,) = axes_of(axis, array.ndim)
    window = checked("window", window, Count)
    totals = np.moveaxis(array, time, 0).cumsum(axis=0)
    totals[window:] = totals[window:] - totals[:-window]
    return np.moveaxis(totals, 0, time)


def windowed_rates(
    supply: ArrayLike,
    demand: ArrayLike,
    window: int,
    *,
    axis: int = 0,
    offset: float = 0.0,
    no_demand: float = 0.0,
) -> FloatArray:
    """Benefit rates of the last `window` steps, at every step.

    Parameters
    ----------
    supply, demand
        Supply and demand at every step, equal shapes, for example (time, groups).
    window
        Number of steps, at least 1.
    axis
        The time axis.
    offset
        Added to the demand of each window.
    no_demand
        The rate of a window without demand; zero in the published code of F-PPO and ELBERT.

    Returns
    -------
    numpy.ndarray
        The shape of `supply`.

    Raises
    ------
    UsageError
        As `windowed_sum` and `longfair.metrics.benefit.benefit_rate`.
    """
    return benefit_rate(
        windowed_sum(supply, window, axis=axis),
        windowed_sum(non_negative(demand, "demand"), window, axis=axis),
        offset=offset,
        no_demand=no_demand,
    )


def windowed_gap(
    supply: ArrayLike,
    demand: ArrayLike,
    window: int,
    *,
    axis: int = 0,
    offset: float = 0.0,
    no_demand: float = 0.0,
) -> FloatArray:
    """Short-term gap: highest minus lowest group rate within the last `window` steps.

    With true positives as supply and positives as demand this is F-PPO's windowed gap of true
    positive rates.

    Parameters
    ----------
    supply, demand
        Supply and demand at every step, equal shapes, groups on the last axis.
    window
        Number of steps, at least 1.
    axis
        The time axis; not the last one.
    offset
        Added to the demand of each window.
    no_demand
        The rate of a window without demand.

    Returns
    -------
    numpy.ndarray
        The shape of `supply` without its last axis.

    Raises
    ------
    UsageError
        If `axis` is the group axis, or as `windowed_rates`.
    """
    _require_time_axis(axis, np.ndim(supply))
    rates = windowed_rates(supply, demand, window, axis=axis, offset=offset, no_demand=no_demand)
    return bias(rates)


def windowed_share_deviation(allocation: ArrayLike, window: int, *, axis: int = 0) -> FloatArray:
    r"""Largest deviation of a group's share from an equal share, over the last steps.

    With :math:`a_k` units for group :math:`k` of :math:`K` this is
    :math:`\max_k |\sum_w a_k / \sum_{w,k} a_k - 1/K|`.  A window in which nothing was given out
    treats all groups alike and has deviation zero.

    Parameters
    ----------
    allocation
        Units given at every step, not negative, groups on the last axis.
    window
        Number of steps, at least 1.
    axis
        The time axis; not the last one.

    Returns
    -------
    numpy.ndarray
        The shape of `allocation` without its last axis.

    Raises
    ------
    UsageError
        If `axis` is the group axis, there is no group, a unit count is negative, or as
        `windowed_sum`.
    """
    units = non_negative(with_groups(allocation, "allocation"), "allocation")
    _require_time_axis(axis, units.ndim)
    given = windowed_sum(units, window, axis=axis)
    equal = np.full(given.shape[-1], 1.0 / given.shape[-1])
    deviation: FloatArray = np.abs(_shares(given, equal) - equal).max(axis=-1)
    return deviation


def _require_time_axis(axis: int, dimensions: int) -> None:
    """Refuse the last of some axes, which holds the groups."""
    if axes_of(axis, dimensions)[0] == dimensions - 1:
        raise UsageError(f"axis {axis} is the last axis, which holds the groups; name another one")


def _shares(amounts: FloatArray, without: FloatArray) -> FloatArray:
    """Normalise over the last axis; rows without any amount become `without`."""
    total = amounts.sum(axis=-1, keepdims=True)
    nothing = total <= 0.0
    shares = amounts / np.where(nothing, 1.0, total)
    return np.where(nothing, without, shares)
