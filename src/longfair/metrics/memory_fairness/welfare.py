r"""Aggregation functions: from everybody's status at one moment to one number.

In the paper they are called :math:`W`. All take the people on the last axis and treat the other
axes as separate moments or traces. Higher is better.

References
----------
Alamdari et al. (2024), Sections 3, 4 and 6.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics._arrays import non_negative, with_groups
from longfair.settings import NonNegative, checked


def utilitarian_welfare(status: ArrayLike) -> FloatArray:
    r"""Sum, :math:`\sum_i u_i`: indifferent to who has it.

    Parameters
    ----------
    status
        Shape (..., n).

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    total: FloatArray = with_groups(status, "status").sum(axis=-1)
    return total


def rawlsian_welfare(status: ArrayLike) -> FloatArray:
    r"""Worst-off person, :math:`\min_i u_i`.

    Parameters
    ----------
    status
        Shape (..., n).

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    least: FloatArray = with_groups(status, "status").min(axis=-1)
    return least


def nash_welfare(status: ArrayLike) -> FloatArray:
    r"""Product, :math:`\prod_i u_i`; zero while anybody has nothing.

    Parameters
    ----------
    status
        Shape (..., n), not negative.

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    product: FloatArray = with_groups(non_negative(status, "status"), "status").prod(axis=-1)
    return product


def log_nash_welfare(status: ArrayLike, smoothing: float = 0.0) -> FloatArray:
    r"""Logarithmic form of the Nash welfare, :math:`\sum_i \log(u_i + 1 + \lambda)`.

    Parameters
    ----------
    status
        Shape (..., n), not negative.
    smoothing
        The small constant :math:`\lambda` of the published code; 0 in the paper.

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    amounts = with_groups(non_negative(status, "status"), "status")
    added = checked("smoothing", smoothing, NonNegative)
    total: FloatArray = np.log(amounts + 1.0 + added).sum(axis=-1)
    return total


def all_equal(status: ArrayLike) -> FloatArray:
    r"""Whether all are equal, :math:`\mathbb{1}[u_1 = \dots = u_n]`, as 1 or 0.

    Parameters
    ----------
    status
        Shape (..., n).

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    amounts = with_groups(status, "status")
    equal: FloatArray = (amounts == amounts[..., :1]).all(axis=-1).astype(np.float64)
    return equal


def relaxed_parity(status: ArrayLike, group_of_person: Sequence[int] | None = None) -> FloatArray:
    r"""Score of relaxed demographic parity, :math:`-|\sum_{i \in A} u_i - \sum_{i \in B} u_i|`.

    Parameters
    ----------
    status
        Shape (..., n).
    group_of_person
        For each person 0 (group A) or 1 (group B). By default there are two people, who are their
        own groups.

    Returns
    -------
    numpy.ndarray
        Shape (...), at most 0.
    """
    amounts = with_groups(status, "status")
    group = np.array((0, 1) if group_of_person is None else group_of_person)
    if group.shape != amounts.shape[-1:] or set(group.tolist()) != {0, 1}:
        raise UsageError(
            f"group_of_person needs a 0 or 1 for each of {amounts.shape[-1]} people and both "
            f"groups; given {group.tolist()}"
        )
    gap: FloatArray = np.abs(amounts @ np.where(group == 0, 1.0, -1.0))
    return 0.0 - gap  # equal groups score 0, not -0
