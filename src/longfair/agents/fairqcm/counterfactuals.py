r"""Experience of memories that did not occur: what FairQCM adds to Q-learning.

The environment does not depend on what an agent remembers. So what happened at
:math:`s_t, a_t, s_{t+1}` tells what would have happened to an agent with another memory
:math:`\hat m_t`: its memory would have become :math:`\hat m_{t+1} = \mu(\hat m_t, s_t, a_t,
s_{t+1})` and its reward :math:`R(s_{t+1}, \hat m_{t+1})` (Equation 2 of the paper).

A class here says three things for one problem: which memories are imagined, what each of them
becomes, and the reward. The memories are listed in a fixed order, nothing is drawn. They are given
as counts of what every person, or every group, has received; an agent that remembers less shortens
them with its own memory update.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from longfair.arrays import FloatArray, IntArray
from longfair.settings import Count, validate


class Occurrence(NamedTuple):
    """What one step did, apart from the observations."""

    counts: IntArray
    """(U,): what every unit (person or group) had received before the step."""
    unit: int
    """The unit of the person chosen."""
    granted: bool
    """Whether the chosen person was there to receive."""
    excepted: bool
    """Whether the reward was an exception instead of the welfare of the counts."""
    reward: float
    """The environment's reward."""

    def received(self) -> IntArray:
        """Return what every unit really received, (U,)."""
        share = np.zeros_like(self.counts)
        share[self.unit] = self.granted
        return share


@dataclass(frozen=True)
class Counterfactuals(ABC):
    """Which memories are imagined at a step, and what becomes of them.

    Parameters
    ----------
    largest
        Largest count, before or after the step, that the memory's encoding has room for.
    always_received
        False: imagined memories change as Equation 2 says. True: the chosen one is taken to receive
        something even when in truth nothing was handed over (code). That breaks Equation 2, and
        the premise of Theorem 5.7 with it.
    """

    largest: Count
    always_received: bool = False

    @abstractmethod
    def imagined(self, occurrence: Occurrence) -> IntArray:
        """Return the imagined counts before the step, (K, U); K may be 0."""

    @abstractmethod
    def rewards(self, before: IntArray, after: IntArray, occurrence: Occurrence) -> FloatArray:
        """Return the reward (K,) of counts `before` and `after` the step, both (K, U)."""

    def received(self, occurrence: Occurrence) -> IntArray:
        """Return what every unit is taken to have received, (U,)."""
        if not self.always_received:
            return occurrence.received()
        share = np.zeros_like(occurrence.counts)
        share[occurrence.unit] = 1
        return share


@dataclass(frozen=True)
class DoughnutCounterfactuals(Counterfactuals):
    """Everybody has had one or two doughnuts more than in truth: up to 2^P memories.

    Parameters
    ----------
    largest
        Doughnuts in an episode.
    always_received
        True: a wasted doughnut is counted all the same.
    people
        Number of people P.

    Notes
    -----
    A memory is left out when one of its counts has reached `largest` before the step. A wasted
    doughnut earns 0, else the Nash welfare of the counts after the step, without smoothing.
    """

    people: Count = 5

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    @cached_property
    def _offsets(self) -> IntArray:
        """What is added to the counts, (2^P, P)."""
        return np.array(list(product((1, 2), repeat=self.people)))

    @cached_property
    def _welfare(self) -> FloatArray:
        """Logarithms of all counts plus one."""
        logarithms: FloatArray = np.log(np.arange(self.largest + 1) + 1.0)
        return logarithms

    def imagined(self, occurrence: Occurrence) -> IntArray:
        """Return the real counts plus one or two for everybody, in lexicographic order."""
        counts = occurrence.counts + self._offsets
        if counts[-1].max() >= self.largest:
            counts = counts[(counts < self.largest).all(axis=1)]
        return counts

    def rewards(self, before: IntArray, after: IntArray, occurrence: Occurrence) -> FloatArray:
        """Return the Nash welfare afterwards, or the real reward of a wasted doughnut."""
        if occurrence.excepted:
            return np.full(len(after), occurrence.reward)
        welfare: FloatArray = self._welfare.take(after).sum(axis=1)
        return welfare


@dataclass(frozen=True)
class LoanCounterfactuals(Counterfactuals):
    """One of the two groups has had one to five loans more than in truth: up to 10 memories.

    Parameters
    ----------
    largest
        Loans in an episode.
    always_received
        True: a loan is counted also when the chosen person had not asked.
    extra
        Largest number of loans added.
    gap_before
        False: the reward is minus the gap after the step, and what a wrong grant or a missed
        margin costs is copied. True: minus the gap *before* the step, and only a missed margin is
        copied (code). Then a wrong grant looks cheap in ten of eleven stored transitions.

    Notes
    -----
    A memory is left out when a count would exceed `largest` before or after the step.
    """

    extra: Count = 5
    gap_before: bool = False

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    @cached_property
    def _offsets(self) -> IntArray:
        """What is added to the groups' loans, (2 * extra, 2)."""
        steps = np.arange(1, self.extra + 1)
        none = np.zeros_like(steps)
        return np.concatenate([np.stack([steps, none], 1), np.stack([none, steps], 1)])

    def imagined(self, occurrence: Occurrence) -> IntArray:
        """Return the real loans plus 1, ..., `extra` for the first group, then for the second."""
        counts = occurrence.counts + self._offsets
        if counts.max() >= self.largest:
            room = (counts <= self.largest).all(axis=1)
            counts = counts[room & (counts[:, occurrence.unit] < self.largest)]
        return counts

    def rewards(self, before: IntArray, after: IntArray, occurrence: Occurrence) -> FloatArray:
        """Return minus the gap between the groups' loans, or the real reward of an exception."""
        copied = occurrence.excepted
        if self.gap_before:
            # The code compares with the cost of one wrong grant, which is the episode's length.
            copied = occurrence.reward < -self.largest
        if copied:
            return np.full(len(after), occurrence.reward)
        loans = before if self.gap_before else after
        gap: FloatArray = -np.abs(loans[:, 0] - loans[:, 1]).astype(np.float64)
        return gap
