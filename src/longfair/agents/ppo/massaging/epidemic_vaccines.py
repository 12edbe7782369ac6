"""Who gets the vaccine that action massaging in epidemic control takes from another, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from longfair.arrays import FloatArray


@njit(cache=True)
def massaged_as_coded(
    actions: NDArray[Any],
    chances: FloatArray,
    gaps: FloatArray,
    susceptible: NDArray[np.bool_],
    community: NDArray[Any],
    limit: float,
) -> NDArray[Any]:
    """Replace unlikely actions by the likeliest one of the fairest option.

    Parameters
    ----------
    actions
        (N,): a person, or V for nobody.
    chances
        (N, V + 1): the policy's probabilities.
    gaps
        (N, G + 1): short-term gap if a community gets the vaccine, and if nobody does.
    susceptible, community
        (N, V): whether a person is, and where a person belongs.
    limit
        The threshold.
    """
    changed = actions.copy()
    people, nobody = susceptible.shape[1], gaps.shape[1] - 1
    for copy, action in enumerate(actions):
        option = nobody if action == people else community[copy, action]
        fairest = gaps[copy].argmin()
        if chances[copy, action] > limit or fairest == option:
            continue
        if fairest == nobody:
            changed[copy] = people
            continue
        members = community[copy] == fairest
        wanted = members & susceptible[copy]
        likeliest = _likeliest(chances[copy], wanted if wanted.any() else members)
        changed[copy] = max(likeliest, 0)
    return changed


@njit(cache=True)
def massaged_as_published(
    actions: NDArray[Any],
    chances: FloatArray,
    gaps: FloatArray,
    susceptible: NDArray[np.bool_],
    community: NDArray[Any],
    limit: float,
) -> NDArray[Any]:
    """Give the vaccine to an about equally likely person of a fairer community.

    Parameters are those of `massaged_as_coded`.
    """
    changed = actions.copy()
    people, nobody = susceptible.shape[1], gaps.shape[1] - 1
    for copy, action in enumerate(actions):
        if action == people:
            continue
        fairest = gaps[copy, :nobody].argmin()
        if gaps[copy, fairest] >= gaps[copy, community[copy, action]]:
            continue
        close = np.abs(chances[copy, :people] - chances[copy, action]) < limit
        wanted = close & susceptible[copy] & (community[copy] == fairest)
        likeliest = _likeliest(chances[copy], wanted)
        changed[copy] = action if likeliest < 0 else likeliest
    return changed


@njit(cache=True)
def gaps_of_options(vaccines: FloatArray, infections: FloatArray) -> FloatArray:
    """Return (N, G + 1): the gap if each community gets one vaccine more, and if none does.

    Parameters
    ----------
    vaccines, infections
        (N, G): of the episode so far. A community's rate is vaccines over infections plus one.
    """
    copies, groups = vaccines.shape
    gaps = np.empty((copies, groups + 1))
    for copy in range(copies):
        for option in range(groups + 1):
            low, high = np.inf, -np.inf
            for group in range(groups):
                given = vaccines[copy, group] + (1.0 if group == option else 0.0)
                rate = given / (infections[copy, group] + 1.0)
                low, high = min(low, rate), max(high, rate)
            gaps[copy, option] = high - low
    return gaps


@njit(cache=True)
def _likeliest(chances: FloatArray, wanted: NDArray[np.bool_]) -> int:
    """Return which of the wanted people (V,) has the highest chance, the first; -1 if nobody is."""
    likeliest, highest = -1, -1.0
    for person, one in enumerate(wanted):
        if one and chances[person] > highest:
            likeliest, highest = person, chances[person]
    return likeliest
