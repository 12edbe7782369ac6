"""Which unsure decisions action massaging in lending flips, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from longfair.arrays import FloatArray


@njit(cache=True)
def massaged(
    actions: NDArray[Any], accept: FloatArray, gaps: FloatArray, band: float, as_coded: bool
) -> NDArray[Any]:
    """Flip the unsure decisions whose opposite is fairer.

    Parameters
    ----------
    actions, accept
        (N,): 0 or 1, and the probability of 1.
    gaps
        (N, 2): short-term gap after a refusal and after an approval.
    band
        Probability from which on a decision is unsure.
    as_coded
        Flip ties too, and include the ends of the band.
    """
    changed = actions.copy()
    for copy, action in enumerate(actions):
        chance = accept[copy] if action == 1 else 1.0 - accept[copy]
        present, opposite = gaps[copy, action], gaps[copy, 1 - action]
        if as_coded:
            flip = band <= chance <= 1.0 - band and present >= opposite
        else:
            flip = abs(2.0 * chance - 1.0) < 1.0 - 2.0 * band and present > opposite
        if flip:
            changed[copy] = 1 - action
    return changed


@njit(cache=True)
def gaps_of_decisions(supply: FloatArray, demand: FloatArray, applicant: FloatArray) -> FloatArray:
    """Return (N, 2): the gap of true positive rates after a refusal and after an approval.

    Parameters
    ----------
    supply, demand
        (N, G): true positives and positives of the window, without the applicant.
    applicant
        (N, G): what the applicant adds to the demand, and to the supply if approved.
    """
    gaps = np.empty((len(supply), 2))
    for copy in range(len(supply)):
        for approved in range(2):
            low, high = np.inf, -np.inf
            for group in range(supply.shape[1]):
                needed = demand[copy, group] + applicant[copy, group]
                possible = supply[copy, group] + approved * applicant[copy, group]
                rate = possible / (needed if needed > 0 else 1.0)
                low, high = min(low, rate), max(high, rate)
            gaps[copy, approved] = high - low
    return gaps
