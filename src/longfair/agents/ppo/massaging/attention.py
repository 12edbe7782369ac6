r"""Action massaging in attention allocation: one unit is moved where that makes shares more equal.

A policy draws logits :math:`l`, and their softmax :math:`p` shares out N units. For every pair of
sites the allocation with one unit moved from r to k is looked at. The best fairer one that changes
the policy little enough is executed, by logits :math:`l'` that move the probability mass
:math:`\sigma = \min(p_r - 0.005, 1/N)` and keep the softmax's denominator Z:

.. math:: l'_r = \log Z + \log(p_r - \sigma), \qquad l'_k = \log Z + \log(p_k + \sigma) .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from longfair.agents.ppo.f_ppo import FPPOL, GAPS
from longfair.agents.ppo.strategy import FloatArray, Moment
from longfair.agents.register import FAIR_PPO, register
from longfair.settings import Count, Natural, NonNegative

NEEDS = (*GAPS, "window_units", "steps_before")

LEAST = 0.005
"""Probability that stays at a site that gives a unit away (code)."""


@register(
    label="F-PPO in attention",
    place=100,
    loaded_by=FAIR_PPO,
    needs=NEEDS,
    environments=("longfair/Attention-v0",),
)
@dataclass(frozen=True)
class AttentionFPPO(FPPOL):
    """F-PPO in attention allocation: terms in the advantage, and massaged allocations.

    Parameters
    ----------
    units
        Units that the environment shares out.
    threshold
        How much the policy may change: as coded the Gaussian density of each of the two logits,
        as published the two sites' softmax probabilities may differ by less than this.
    first
        Last rollout without massaging, as coded; as published there is none.

    Notes
    -----
    Implementation details, with their source:

    1. The info `window_units` holds the units of the window that stay beside the new allocation.
       As coded the newest row is the one replaced, so that nothing happens in the first step.
    2. The allocation that the environment makes of the new logits need not be the one whose gap
       was looked at (code).
    3. Of equally fair moves the first counts, by r and then by k.
    """

    name: ClassVar[str] = "f-ppo-attention"
    revision: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = NEEDS
    units: Count = 6
    threshold: NonNegative = 0.08
    first: Natural = 15

    def intervene(self, moment: Moment) -> NDArray[Any]:
        """Move one unit where that is fairer and changes the policy little."""
        if self.as_coded and moment.rollout <= self.first:
            return moment.actions
        deviation = moment.policy.deviation
        assert deviation is not None
        steps = moment.info["steps_before"]
        logits = massaged(
            moment.actions.astype(np.float64),
            moment.output,
            deviation,
            moment.info["window_units"],
            steps > 0 if self.as_coded else np.ones_like(steps, np.bool_),
            self.units,
            self.threshold,
            self.as_coded,
        )
        return logits.astype(moment.actions.dtype)


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
        As for `AttentionFPPO`.
    """
    changed = logits.copy()
    for copy in np.flatnonzero(begun):
        drawn = logits[copy]
        total = np.log(np.exp(drawn - drawn.max()).sum()) + drawn.max()
        shares = np.exp(drawn - total)
        given = handed_out(shares, units)
        held = window[copy] + given
        fairest = unevenness(held)
        for giving in range(len(drawn)):
            if given[giving] < 1 or shares[giving] <= LEAST:
                continue
            moved = min(shares[giving] - LEAST, 1.0 / units)
            for taking in range(len(drawn)):
                if taking == giving:
                    continue
                held[giving] -= 1.0
                held[taking] += 1.0
                gap = unevenness(held)
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
def unevenness(units: FloatArray) -> float:
    """Return K times the largest deviation of any site's units (K,) from the mean; exact."""
    total, largest = units.sum(), 0.0
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
