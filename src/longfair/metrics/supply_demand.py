r"""Supply and demand behind the usual static notions of group fairness.

Each notion compares a ratio across groups.  Its numerator is the group's supply and its
denominator the group's demand, per person decided on, or per incident:

=====================  ===============================  =========================
notion                 supply counts                    demand counts
=====================  ===============================  =========================
demographic parity     accepted                         everybody
equal opportunity      accepted and would succeed       would succeed
accuracy parity        decided as the outcome shows     everybody
equalised odds         equal opportunity, and also:     would succeed, and also:
                       accepted and would fail          would fail
discovery probability  discovered                       every incident
=====================  ===============================  =========================

Summing over people and time and dividing once gives the long-term benefit rate
(`longfair.metrics.benefit.long_term_benefit_rate`).

References
----------
Xu et al. (2024), Section 2.1, Section 5.1 and Appendix A.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics._arrays import same_shape
from longfair.settings import Count, checked


class SupplyDemand(NamedTuple):
    """Supply and demand of every group.

    Attributes
    ----------
    supply, demand
        Zeros and ones, shape (..., groups).
    """

    supply: FloatArray
    demand: FloatArray


class EqualisedOdds(NamedTuple):
    """The two pairs whose rates equalised odds compares.

    Attributes
    ----------
    true_positive
        Accepted among those who would succeed.
    false_positive
        Accepted among those who would fail.
    """

    true_positive: SupplyDemand
    false_positive: SupplyDemand


def demographic_parity(decision: ArrayLike, group: ArrayLike, groups: int) -> SupplyDemand:
    """Count acceptances among all members of each group.

    Parameters
    ----------
    decision
        Zeros and ones, shape (...): was the person accepted?
    group
        Group number of each person, from 0 to `groups` - 1, shape (...).
    groups
        Number of groups.

    Returns
    -------
    SupplyDemand
        Each of shape (..., groups).

    Raises
    ------
    UsageError
        If shapes differ, a decision is not 0 or 1, or a group number is out of range.
    """
    accepted, member = _flags(decision, "decision"), _membership(group, groups)
    return _pair(accepted, np.ones_like(accepted), member)


def equal_opportunity(
    decision: ArrayLike, outcome: ArrayLike, group: ArrayLike, groups: int
) -> SupplyDemand:
    """Count acceptances among those members of each group who would succeed.

    Parameters
    ----------
    decision
        Zeros and ones, shape (...): was the person accepted?
    outcome
        Zeros and ones, shape (...): would the person succeed (repay)?
    group
        Group number of each person, from 0 to `groups` - 1, shape (...).
    groups
        Number of groups.

    Returns
    -------
    SupplyDemand
        Each of shape (..., groups).

    Raises
    ------
    UsageError
        If shapes differ, a decision or outcome is not 0 or 1, or a group number is out of range.
    """
    return equalised_odds(decision, outcome, group, groups).true_positive


def equalised_odds(
    decision: ArrayLike, outcome: ArrayLike, group: ArrayLike, groups: int
) -> EqualisedOdds:
    """Count acceptances among those who would succeed, and among those who would fail.

    Parameters
    ----------
    decision, outcome, group, groups
        As `equal_opportunity`.

    Returns
    -------
    EqualisedOdds
        Two pairs of supply and demand, each array of shape (..., groups).

    Raises
    ------
    UsageError
        As `equal_opportunity`.
    """
    accepted, good = _flags(decision, "decision"), _flags(outcome, "outcome")
    member = _membership(group, groups)
    return EqualisedOdds(_pair(accepted, good, member), _pair(accepted, ~good, member))


def discovery_probability(discovered: ArrayLike, group: ArrayLike, groups: int) -> SupplyDemand:
    """Count discovered incidents among all incidents of each group.

    This is equal opportunity where every incident is a person who would succeed.

    Parameters
    ----------
    discovered
        Zeros and ones, shape (...): was the incident discovered?
    group
        Group (site) of each incident, from 0 to `groups` - 1, shape (...).
    groups
        Number of groups.

    Returns
    -------
    SupplyDemand
        Each of shape (..., groups).

    Raises
    ------
    UsageError
        If shapes differ, a value is not 0 or 1, or a group number is out of range.
    """
    found = _flags(discovered, "discovered")
    return _pair(found, np.ones_like(found), _membership(group, groups), name="discovered")


def accuracy_parity(
    decision: ArrayLike, outcome: ArrayLike, group: ArrayLike, groups: int
) -> SupplyDemand:
    """Count decisions that agree with the outcome among all members of each group.

    Parameters
    ----------
    decision, outcome, group, groups
        As `equal_opportunity`.

    Returns
    -------
    SupplyDemand
        Each of shape (..., groups).

    Raises
    ------
    UsageError
        As `equal_opportunity`.
    """
    accepted, good = _flags(decision, "decision"), _flags(outcome, "outcome")
    same_shape(accepted, good, "decision and outcome")
    return _pair(accepted == good, np.ones_like(accepted), _membership(group, groups))


def _pair(
    served: NDArray[np.bool_],
    asking: NDArray[np.bool_],
    member: NDArray[np.bool_],
    name: str = "decision",
) -> SupplyDemand:
    same_shape(served, asking, f"{name} and outcome")
    same_shape(served, member[..., 0], f"{name} and group")
    demand = asking[..., None] & member
    supply = served[..., None] & demand
    return SupplyDemand(supply.astype(np.float64), demand.astype(np.float64))


def _flags(values: ArrayLike, name: str) -> NDArray[np.bool_]:
    array = _even(values, name)
    if not np.isin(array, (0, 1)).all():
        raise UsageError(f"{name} must hold only 0 and 1")
    return array.astype(np.bool_)


def _membership(group: ArrayLike, groups: int) -> NDArray[np.bool_]:
    numbers, groups = _even(group, "group"), checked("groups", groups, Count)
    if not np.isin(numbers, np.arange(groups)).all():
        raise UsageError(f"group must hold whole numbers from 0 to {groups - 1}")
    return np.asarray(numbers[..., None] == np.arange(groups))


def _even(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array; refuse rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise UsageError(f"{name} must be an array whose rows are equally long: {error}") from None
