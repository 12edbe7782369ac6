"""The moves of one unit that action massaging in attention allocation looks at, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from longfair.arrays import FloatArray

LEAST = 0.005
"""Probability that stays at a site that gives a unit away (code)."""


@njit(cache=True)
def massaged(
    logits: FloatArray,
    mean: NDArray[Any],
    deviation: NDArray[Any],
    window: FloatArray,
    begun: NDArray[np.bool_],
    units: int,
    threshold: float,
    as_coded: bool,
) -> FloatArray:
    """Return logits (N, K) after the fairest allowed move; as they are where none is fairer.

    Parameters
    ----------
    logits, mean
        (N, K): as drawn, and their means under the policy.
    deviation
        (K,): their standard deviations.
    window
        (N, K): units of the window beside this allocation.
    begun
        (N,): whether a copy may be massaged.
    units, threshold, as_coded
        As for `longfair.agents.ppo.massaging.attention.AttentionFPPO`.
    """
    changed = logits.copy()
    for copy in np.flatnonzero(begun):
        drawn = logits[copy]
        total = np.log(np.exp(drawn - drawn.max()).sum()) + drawn.max()
        shares = np.exp(drawn - total)
        given = handed_out(shares, units)
        held = window[copy] + given
        fairest = unevenness(held, as_coded)
        for giving in range(len(drawn)):
            if given[giving] < 1 or shares[giving] <= LEAST:
                continue
            moved = min(shares[giving] - LEAST, 1.0 / units)
            for taking in range(len(drawn)):
                if taking == giving:
                    continue
                held[giving] -= 1.0
                held[taking] += 1.0
                gap = unevenness(held, as_coded)
                held[giving] += 1.0
                held[taking] -= 1.0
                if gap >= fairest:
                    continue
                less = total + np.log(shares[giving] - moved)
                more = total + np.log(shares[taking] + moved)
                if as_coded:
                    allowed = True
                    for site, after in ((giving, less), (taking, more)):
                        center, width = mean[copy, site], deviation[site]
                        change = density(after, center, width) - density(drawn[site], center, width)
                        allowed = allowed and abs(change) <= threshold
                else:
                    allowed = abs(shares[giving] - shares[taking]) < threshold
                if allowed:
                    fairest = gap
                    changed[copy] = drawn
                    changed[copy, giving], changed[copy, taking] = less, more
    return changed


@njit(cache=True)
def density(logit: float, mean: float, deviation: float) -> float:
    """Return the density of a Gaussian at a logit."""
    return float(
        np.exp(-0.5 * ((logit - mean) / deviation) ** 2) / (deviation * np.sqrt(2.0 * np.pi))
    )


@njit(cache=True)
def unevenness(units: FloatArray, as_coded: bool) -> float:
    """Return the largest deviation of any site's units (K,) from the mean, in some unit.

    As coded those are shares, where equal deviations can differ in the last digit. Otherwise they
    are whole numbers: K times the deviation.
    """
    total, largest = units.sum(), 0.0
    if as_coded:
        shares = units / total
        mean = shares.sum() / len(shares)
        for share in shares:
            largest = max(largest, abs(share - mean))
        return largest
    for held in units:
        largest = max(largest, abs(len(units) * held - total))
    return largest


@njit(cache=True)
def handed_out(shares: FloatArray, units: int) -> FloatArray:
    """Give out units one by one, each to the site (K,) whose share has most of it left.

    So does the published code. The environment takes the largest remainders, which gives the same
    units but where shares are level to rounding.
    """
    left, given = shares.copy(), np.zeros_like(shares)
    for _ in range(units):
        site = left.argmax()
        given[site] += 1.0
        left[site] -= 1.0 / units
    return given
