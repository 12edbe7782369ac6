r"""Aggregation over time: from one number per moment to one number for the whole time.

In the paper it is called :math:`W_{time}`. All functions take time on the last axis, and
which of the moments count.  The other moments are passed over as if they were not there.

References
----------
Alamdari et al. (2024), Section 4.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import BoolArray, FloatArray
from longfair.errors import UsageError
from longfair.metrics._arrays import finite
from longfair.settings import Share, checked


def last_moment(values: ArrayLike, counted: ArrayLike = True) -> FloatArray:
    r"""Only the last moment that counts, :math:`x_k`: long-term fairness.

    Parameters
    ----------
    values
        Shape (..., T).
    counted
        Which moments count, true or false, broadcast to the shape of `values`.

    Returns
    -------
    numpy.ndarray
        Shape (...).

    Raises
    ------
    UsageError
        If a trace has no moment that counts.
    """
    numbers, counts = _some(values, counted)
    places = numbers.shape[-1] - 1 - counts[..., ::-1].argmax(axis=-1)
    return np.take_along_axis(numbers, places[..., None], axis=-1)[..., 0]


def average_moment(values: ArrayLike, counted: ArrayLike = True) -> FloatArray:
    r"""Mean over the moments that count, :math:`\frac{1}{k} \sum_t x_t`.

    Parameters
    ----------
    values
        Shape (..., T).
    counted
        Which moments count, true or false, broadcast to the shape of `values`.

    Returns
    -------
    numpy.ndarray
        Shape (...).

    Raises
    ------
    UsageError
        If a trace has no moment that counts.
    """
    numbers, counts = _some(values, counted)
    mean: FloatArray = (numbers * counts).sum(axis=-1) / counts.sum(axis=-1)
    return mean


def discounted_sum(
    values: ArrayLike, counted: ArrayLike = True, *, discount: float = 1.0
) -> FloatArray:
    r"""Discounted sum over the moments that count, :math:`\sum_t \gamma^{t-1} x_t`.

    Parameters
    ----------
    values
        Shape (..., T).
    counted
        Which moments count, true or false, broadcast to the shape of `values`. The first that
        counts has weight 1, the second weight :math:`\gamma`, and so on.
    discount
        In (0, 1]; 1 gives the plain sum.

    Returns
    -------
    numpy.ndarray
        Shape (...); 0 for a trace without a moment that counts.

    Raises
    ------
    UsageError
        If the discount is out of range.
    """
    discount = checked("discount", discount, Share)
    numbers, counts = _moments(values, counted)
    weights = counts * discount ** (counts.cumsum(axis=-1) - 1.0)
    total: FloatArray = (numbers * weights).sum(axis=-1)
    return total


def worst_moment(values: ArrayLike, counted: ArrayLike = True) -> FloatArray:
    r"""Worst moment that counts, :math:`\min_t x_t`: Rawlsian in time.

    Parameters
    ----------
    values
        Shape (..., T).
    counted
        Which moments count, true or false, broadcast to the shape of `values`.

    Returns
    -------
    numpy.ndarray
        Shape (...).

    Raises
    ------
    UsageError
        If a trace has no moment that counts.
    """
    numbers, counts = _some(values, counted)
    worst: FloatArray = np.where(counts, numbers, np.inf).min(axis=-1)
    return worst


def _moments(values: ArrayLike, counted: ArrayLike) -> tuple[FloatArray, BoolArray]:
    numbers = finite(values, "values")
    if numbers.ndim == 0:
        raise UsageError("values need time on their last axis; given a single number")
    try:
        return numbers, np.broadcast_to(np.asarray(counted, dtype=bool), numbers.shape)
    except ValueError:
        raise UsageError(
            f"counted has the shape {np.shape(counted)}, which does not fit {numbers.shape}"
        ) from None


def _some(values: ArrayLike, counted: ArrayLike) -> tuple[FloatArray, BoolArray]:
    numbers, counts = _moments(values, counted)
    if not counts.any(axis=-1).all():
        raise UsageError(
            "a trace has no moment that counts, and only discounted_sum is defined then; "
            "use longer traces or another filter"
        )
    return numbers, counts
