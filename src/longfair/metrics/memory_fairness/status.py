r"""Status functions: how well everybody has fared so far.

A status function :math:`U` maps a trace of states and actions to one number per person. Here it
maps what everybody received at each of :math:`T` steps to the whole history :math:`U(\tau_1),
\dots, U(\tau_T)`, an array of shape (..., T, n). Leading axes are separate traces. Every status
looks at the past only: cutting a trace short does not change its beginning.

References
----------
Alamdari et al. (2024), Section 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics._arrays import finite
from longfair.settings import Share, checked


def counts(received: ArrayLike) -> FloatArray:
    """How much everybody received so far; the status of both experiments of the paper.

    Parameters
    ----------
    received
        Shape (..., T, n).

    Returns
    -------
    numpy.ndarray
        Shape (..., T, n).
    """
    return _histories(received, "received").cumsum(axis=-2)


def capped_counts(received: ArrayLike, cap: float) -> FloatArray:
    """Count up to a cap: beyond it, more makes nobody better off.

    With whole units and a whole cap this status is value-regular, which plain counts are not.

    Parameters
    ----------
    received
        Shape (..., T, n), not negative.
    cap
        The cap, above 0.

    Returns
    -------
    numpy.ndarray
        Shape (..., T, n).
    """
    if not cap > 0:
        raise UsageError(f"cap must be above 0; given {cap}")
    if np.size(received) and np.min(received) < 0:
        raise UsageError("received must not be negative where counts are capped")
    return np.minimum(counts(received), cap)


def count_gap_modulo(received: ArrayLike, modulus: int) -> FloatArray:
    """Tell by how much the first of two is ahead of the second, modulo a number.

    Of little use as a measure of fairness. It is value-regular although the gap itself is not,
    which makes it a test case for the theorems on memory.

    Parameters
    ----------
    received
        Shape (..., T, 2), whole numbers.
    modulus
        At least 2.

    Returns
    -------
    numpy.ndarray
        Shape (..., T, 1), whole numbers from 0 to `modulus` - 1.
    """
    if modulus < 2:
        raise UsageError(f"modulus must be at least 2; given {modulus}")
    return np.mod(_first_ahead(received), modulus)


def equal_so_far(received: ArrayLike) -> FloatArray:
    """Tell whether two people have received equally much so far: 1 or 0.

    Only two values, and yet not value-regular: no finite memory can compute it.

    Parameters
    ----------
    received
        Shape (..., T, 2).

    Returns
    -------
    numpy.ndarray
        Shape (..., T, 1).
    """
    equal: FloatArray = (_first_ahead(received) == 0.0).astype(np.float64)
    return equal


def returns(rewards: ArrayLike, discount: float = 1.0) -> FloatArray:
    r"""Discounted return of everybody so far, :math:`\sum_{k \le t} \gamma^{k-1} R_i(k)`.

    Parameters
    ----------
    rewards
        Shape (..., T, n): what every person got out of each step.
    discount
        In (0, 1].

    Returns
    -------
    numpy.ndarray
        Shape (..., T, n).
    """
    discount = checked("discount", discount, Share)
    history = _histories(rewards, "rewards")
    weights = discount ** np.arange(history.shape[-2])
    return (history * weights[:, None]).cumsum(axis=-2)


def envy(valuations: ArrayLike) -> FloatArray:
    """How much everybody would rather have somebody else's share than the own one.

    Larger is worse; the status of somebody is the envy with a minus sign.

    Parameters
    ----------
    valuations
        Shape (..., n, n): entry (i, j) is the worth, in the eyes of person i, of what person j has
        received so far.

    Returns
    -------
    numpy.ndarray
        Shape (..., n), zero or more.
    """
    worth = finite(valuations, "valuations")
    if worth.ndim < 2 or worth.shape[-1] != worth.shape[-2] or worth.shape[-1] == 0:
        raise UsageError(f"valuations must end with two equal axes (n, n); given {worth.shape}")
    own: FloatArray = np.diagonal(worth, axis1=-2, axis2=-1)
    wanted: FloatArray = worth.max(axis=-1)
    return wanted - own


def _histories(values: ArrayLike, name: str) -> FloatArray:
    array = finite(values, name)
    if array.ndim < 2 or array.shape[-1] == 0:
        raise UsageError(f"{name} must end with the axes (steps, people); given {array.shape}")
    return array


def _first_ahead(received: ArrayLike) -> FloatArray:
    """Return (..., T, 1): count of the first less that of the second person."""
    total = counts(received)
    if total.shape[-1] != 2:
        raise UsageError(f"received must be of exactly 2 people; given {total.shape[-1]}")
    return total[..., :1] - total[..., 1:]
