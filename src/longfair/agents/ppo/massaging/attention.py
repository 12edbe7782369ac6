r"""Action massaging in attention allocation: one unit is moved where that makes shares more equal.

A policy draws logits :math:`l`, and their softmax :math:`p` shares out N units. For every pair of
sites the allocation with one unit moved from r to k is looked at. The best fairer one that changes
the policy little enough is executed, by logits :math:`l'` that move the probability mass
:math:`\sigma = \min(p_r - 0.005, 1/N)` and keep the softmax's denominator Z:

.. math:: l'_r = \log Z + \log(p_r - \sigma), \qquad l'_k = \log Z + \log(p_k + \sigma) .
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

import numpy as np
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
        mean, deviation = moment.policy.output(moment.observation), moment.policy.deviation
        moves = Moves.of(moment.actions.astype(np.float64), self.units)
        assert deviation is not None
        if self.as_coded:
            allowed = moves.density_change(mean, deviation) <= self.threshold
            allowed &= moment.info["steps_before"][:, None] > 0
        else:
            allowed = moves.difference < self.threshold
        return moves.fairest(moment.info["window_units"], allowed).astype(moment.actions.dtype)


class Moves(NamedTuple):
    """All M moves of one unit from one site to another, for logits (N, K)."""

    logits: FloatArray
    """(N, K): as drawn."""
    units: FloatArray
    """(N, K): the allocation that they stand for."""
    possible: NDArray[np.bool_]
    """(N, M): whether the giving site has a unit and more than `LEAST` probability."""
    difference: FloatArray
    """(N, M): how far the probabilities of the two sites are apart."""
    changed: FloatArray
    """(N, M, 2): logits of the giving and the taking site after the move."""

    @classmethod
    def of(cls, logits: FloatArray, units: int) -> Moves:
        """Work out the moves for logits (N, K) that share out some units."""
        top = logits.max(axis=1, keepdims=True)
        total = np.log(np.exp(logits - top).sum(axis=1, keepdims=True)) + top
        shares = np.exp(logits - total)
        given = handed_out(shares, units)
        giving, taking = pairs(logits.shape[1])
        giver, taker = shares[:, giving], shares[:, taking]
        possible = (given[:, giving] >= 1) & (giver > LEAST)
        moved = np.minimum(np.maximum(giver - LEAST, 0.0), 1.0 / units)
        after = np.stack([np.maximum(giver - moved, LEAST), taker + moved], axis=2)
        changed = total[:, :, None] + np.log(after)
        return cls(logits, given, possible, np.abs(giver - taker), changed)

    def density_change(self, mean: NDArray[Any], deviation: NDArray[Any]) -> FloatArray:
        """Return (N, M): the larger change of the two logits' Gaussian densities."""
        sites = np.stack(pairs(self.logits.shape[1]), axis=1)

        def density(values: FloatArray) -> FloatArray:
            scaled = (values - mean[:, sites]) / deviation[sites]
            found: FloatArray = np.exp(-0.5 * scaled**2) / (deviation[sites] * np.sqrt(2 * np.pi))
            return found

        change: FloatArray = np.abs(density(self.changed) - density(self.logits[:, sites]))
        larger: FloatArray = change.max(axis=2)
        return larger

    def fairest(self, window: FloatArray, allowed: NDArray[np.bool_]) -> FloatArray:
        """Return logits (N, K) after the best move, or as they are where none is fairer.

        Parameters
        ----------
        window
            (N, K): units of the window beside this allocation.
        allowed
            (N, M): moves that change the policy little enough.
        """
        sites = self.logits.shape[1]
        giving, taking = pairs(sites)
        held = window + self.units
        step = np.zeros((len(giving), sites))
        step[np.arange(len(giving)), giving] -= 1.0
        step[np.arange(len(giving)), taking] += 1.0
        gaps = unevenness(held[:, None] + step)
        gaps[~(self.possible & allowed)] = np.inf
        best = gaps.argmin(axis=1)
        rows = np.flatnonzero(gaps.min(axis=1) < unevenness(held))
        chosen, logits = best[rows], self.logits.copy()
        logits[rows, giving[chosen]] = self.changed[rows, chosen, 0]
        logits[rows, taking[chosen]] = self.changed[rows, chosen, 1]
        return logits


def pairs(sites: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the giving and the taking site (M,) of all moves among some sites."""
    giving, taking = np.array(list(permutations(range(sites), 2))).T
    return giving, taking


def unevenness(units: FloatArray) -> FloatArray:
    """Return K times the largest deviation of any site's units (..., K) from the mean; exact."""
    deviation: FloatArray = np.abs(units.shape[-1] * units - units.sum(axis=-1, keepdims=True)).max(
        axis=-1
    )
    return deviation


def handed_out(shares: FloatArray, units: int) -> FloatArray:
    """Give out units one by one, each to the site (N, K) whose share has most of it left."""
    left, given = shares.copy(), np.zeros_like(shares)
    rows = np.arange(len(shares))
    for _ in range(units):
        site = left.argmax(axis=1)
        given[rows, site] += 1.0
        left[rows, site] -= 1.0 / units
    return given
