r"""What an agent keeps account of, and which other accounts it can imagine.

FairQCM imagines other counts of what people received. It may, because the counts do not change what
happens next: who turns up tomorrow does not depend on what was remembered today. The same is true
of everything else that is mere bookkeeping. The *clock* counts steps. The bank's *profit* adds up
repayments. So all of it can be imagined together.

Here everything that is booked forms the **ledger**, a row of whole numbers with the clock last, and
the rest of what is observed is the **scene**. Every number of a ledger is a sum. What one real step
added to the real ledger :math:`m`, its *entry*, can therefore be added to any other ledger:

.. math::

    e_t = m_{t+1} - m_t, \qquad \hat m_{t+1} = \hat m_t + e_t .

That is the update :math:`\mu` of Equation 2, for imagined and real ledgers alike.

Rewards are functions of the ledger and of whether anything was granted. A ledger also knows how to
show itself to a network: as the bits that the paper's networks see, or person by person in numbers
that stay the same when people are renumbered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longfair.arrays import BoolArray, Float32Array, FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import Count, Range, validate

_NAMES_OF_RULES = {"length": "episode_length"}
"""What environments call a number of a ledger, where they call it otherwise."""


class Situation(NamedTuple):
    """What is known in B situations."""

    scene: IntArray
    """(B, S): what is at hand; first, for every person, whether they are there."""
    ledger: IntArray
    """(B, E): what everybody received, and what else was booked; the clock comes last."""


@dataclass(frozen=True)
class Ledger(ABC):
    """What the two problems share. The observation ends with the counts and the clock.

    Parameters
    ----------
    length
        Steps of an episode.
    """

    length: Count

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    def require_rules_of(self, params: object) -> None:
        """Refuse an environment whose rules are not those that imagined steps are rewarded by.

        Parameters
        ----------
        params
            Parameters of the environment; what they do not say is not compared.

        Raises
        ------
        UsageError
            Naming the first rule that differs, and what to give.
        """
        for field in fields(self):
            theirs = getattr(params, _NAMES_OF_RULES.get(field.name, field.name), None)
            if theirs is not None and theirs != getattr(self, field.name):
                raise UsageError(
                    f"{type(self).__name__}: {field.name}={getattr(self, field.name)!r}, but the "
                    f"environment has {theirs!r}: give {field.name}={theirs!r}"
                )

    @property
    @abstractmethod
    def unit_of_person(self) -> IntArray:
        """(P,): the count, of a person or a group, that each person's share is added to."""

    @property
    def people(self) -> int:
        """Number of people P."""
        return len(self.unit_of_person)

    @property
    def units(self) -> int:
        """Number of counts U, the first numbers of a ledger."""
        return int(self.unit_of_person.max()) + 1

    @property
    @abstractmethod
    def observed(self) -> int:
        """How many numbers an observation has."""

    @abstractmethod
    def read(self, observation: NDArray[np.floating]) -> Situation:
        """Take observations (B, `observed`) apart into scene and ledger."""

    def granted(self, entries: IntArray) -> BoolArray:
        """Return whether the entries (B, E) gave anything to anybody, (B,)."""
        given: BoolArray = np.asarray(entries[:, : self.units].any(axis=1))
        return given

    def granted_anyway(self, entries: IntArray, actions: IntArray) -> IntArray:
        """Return the entries as if everybody chosen had received something (code)."""
        entries = entries.copy()
        rows = np.arange(len(entries))
        entries[:, : self.units] = 0
        entries[rows, self.unit_of_person[actions]] = 1
        return entries

    def ended(self, ledgers: IntArray) -> BoolArray:
        """Return whether episodes with these ledgers (B, E) are over, (B,)."""
        over: BoolArray = ledgers[:, -1] >= self.length
        return over

    @abstractmethod
    def rewards(self, after: IntArray, granted: BoolArray) -> FloatArray:
        """Return the reward (B,) of steps that led to ledgers `after` (B, E)."""

    @abstractmethod
    def coded_rewards(self, before: IntArray, after: IntArray, granted: BoolArray) -> FloatArray:
        """Return what the authors' code takes as the reward of an imagined step, (B,)."""

    @abstractmethod
    def equal_shares(self, after: IntArray) -> FloatArray:
        """Return the welfare (B,) if all that the clock allowed had been shared equally."""

    @abstractmethod
    def nearby(self, ledgers: IntArray, generator: np.random.Generator) -> IntArray:
        """Imagine one of the memories that the paper imagines for each of the ledgers (B, E)."""

    @abstractmethod
    def anything(self, size: int, generator: np.random.Generator) -> IntArray:
        """Imagine ledgers (B, E) at any time of an episode."""

    @abstractmethod
    def bits(self, situation: Situation) -> Float32Array:
        """Return what the paper's networks see, (B, I), without the clock."""

    @abstractmethod
    def by_person(self, situation: Situation, clock: bool) -> Float32Array:
        """Return what there is to know about every person, (B, P, F).

        Renumbering the people renumbers the rows and changes nothing else.

        Parameters
        ----------
        situation
            Scenes and ledgers.
        clock
            Whether the time left is shown.
        """

    def left(self, ledgers: IntArray) -> Float32Array:
        """Return the share of the episode that is left, (B, 1)."""
        share: Float32Array = (1.0 - ledgers[:, -1:] / self.length).astype(np.float32)
        return share


@dataclass(frozen=True)
class DoughnutLedger(Ledger):
    """Doughnuts: everybody's count, and the clock.

    Observed are who is there (P numbers), the counts as whole numbers (P) and the elapsed share
    of the episode: `ElapsedTime(FullMemory(env, encoding="counts"))` of `longfair.envs`.

    Parameters
    ----------
    length
        Doughnuts in an episode.
    crowd
        Number of people P.
    """

    length: Count = 100
    crowd: Count = 5

    @property
    def unit_of_person(self) -> IntArray:
        """(P,): everybody has a count of their own."""
        return np.arange(self.crowd)

    @property
    def observed(self) -> int:
        """Two numbers for every person, and the clock."""
        return 2 * self.crowd + 1

    def read(self, observation: NDArray[np.floating]) -> Situation:
        """Return who is there (B, P); counts and clock (B, P + 1)."""
        whole = observation.astype(np.float64)
        whole[:, -1] *= self.length
        numbers = np.rint(whole).astype(np.int64)
        return Situation(numbers[:, : self.crowd], numbers[:, self.crowd :])

    def rewards(self, after: IntArray, granted: BoolArray) -> FloatArray:
        """Return the Nash welfare of the counts, or 0 for a wasted doughnut."""
        welfare: FloatArray = np.log(after[:, :-1] + 1.0).sum(axis=1)
        return welfare * granted

    def coded_rewards(self, before: IntArray, after: IntArray, granted: BoolArray) -> FloatArray:
        """Return the same: the code's rewards of imagined doughnuts are right."""
        return self.rewards(after, granted)

    def equal_shares(self, after: IntArray) -> FloatArray:
        """Return the welfare of equal, divided counts."""
        welfare: FloatArray = self.crowd * np.log(after[:, -1] / self.crowd + 1.0)
        return welfare

    def nearby(self, ledgers: IntArray, generator: np.random.Generator) -> IntArray:
        """Give everybody one or two doughnuts more; counts stay below the episode's length."""
        imagined = ledgers.copy()
        imagined[:, :-1] += generator.integers(1, 3, size=(len(ledgers), self.crowd))
        within = np.asarray(imagined[:, :-1] < self.length).all(axis=1, keepdims=True)
        return np.where(within, imagined, ledgers)

    def anything(self, size: int, generator: np.random.Generator) -> IntArray:
        """Draw the clock uniformly and counts around equal shares, with deviation 1.5.

        The counts add up to about the clock: little is wasted.
        """
        clock = generator.integers(self.length, size=(size, 1))
        spread = 1.5 * generator.standard_normal((size, self.crowd))
        counts = clock / self.crowd + spread - spread.mean(axis=1, keepdims=True)
        counts = np.maximum(np.rint(counts), 0.0).astype(np.int64)
        return np.concatenate([counts, clock], axis=1)

    def bits(self, situation: Situation) -> Float32Array:
        """Return who is there, then all counts in bits."""
        counts = _bits(situation.ledger[:, :-1], self.length)
        return np.concatenate([situation.scene, counts], axis=1, dtype=np.float32)

    def by_person(self, situation: Situation, clock: bool) -> Float32Array:
        """Return (B, P, F) numbers about every person.

        In order: whether the person is there; lead over whoever had least; everybody's leads in
        rising order, without the first, which is 0; the mean count m, as log(m + 1) and as
        1 / (m + 1), which is about what a further doughnut adds to the welfare; the time left.
        """
        counts = situation.ledger[:, :-1].astype(np.float32)
        lead = (counts - counts.min(axis=1, keepdims=True)) / np.float32(3.0)
        mean = counts.mean(axis=1, keepdims=True) + np.float32(1.0)
        shared = [np.sort(lead, axis=1)[:, 1:], np.log(mean) / np.float32(3.0), 1.0 / mean]
        if clock:
            shared.append(self.left(situation.ledger))
        return _rows([situation.scene, lead], np.concatenate(shared, axis=1))


@dataclass(frozen=True)
class LoanLedger(Ledger):
    """Loans: the counts of both groups, the bank's profit, and the clock.

    Observed are the numbers of the discrete loan pool (who asks, profit and credit in bits), the
    loans of both groups as whole numbers and the elapsed share of the episode. Persons 0 and 1
    are group A, 2 and 3 are group B, as in the paper.

    Parameters
    ----------
    length
        Steps of an episode.
    required_profit
        Profit below which an episode has missed its margin.
    invalid_reward
        Reward of granting a loan to somebody who did not ask.
    missed_reward
        Reward of a last step after which the margin is missed.
    levels
        Number of credit levels.
    """

    length: Count = 40
    required_profit: int = 4
    invalid_reward: float = -40.0
    missed_reward: float = -400.0
    levels: Annotated[int, Range(2)] = 8

    @property
    def unit_of_person(self) -> IntArray:
        """(4,): the group of everybody."""
        return np.array([0, 0, 1, 1])

    @property
    def observed(self) -> int:
        """Who asks, profit, credit of four people, two counts and the clock."""
        return 4 + _width(2 * self.length) + 4 * _width(self.levels - 1) + 3

    def read(self, observation: NDArray[np.floating]) -> Situation:
        """Return who asks and everybody's credit level (B, 8); loans, profit, clock (B, 4)."""
        of_profit = 4 + _width(2 * self.length)
        asks, profit = observation[:, :4], _number(observation[:, 4:of_profit]) - self.length
        levels = observation[:, of_profit:-3].reshape(len(observation), 4, -1)
        clock = observation[:, -1:] * self.length
        return Situation(
            np.concatenate([np.rint(asks).astype(np.int64), _number(levels)], axis=1),
            np.concatenate(
                [np.rint(observation[:, -3:-1]), profit[:, None], np.rint(clock)], axis=1
            ).astype(np.int64),
        )

    def rewards(self, after: IntArray, granted: BoolArray) -> FloatArray:
        """Return minus the gap between the groups' loans, or what an exception costs."""
        return self._unless_missed(np.where(granted, -_gap(after), self.invalid_reward), after)

    def coded_rewards(self, before: IntArray, after: IntArray, granted: BoolArray) -> FloatArray:
        """Return minus the gap *before* the step, also for a loan that was not asked for."""
        return self._unless_missed(-_gap(before), after)

    def _unless_missed(self, rewards: FloatArray, after: IntArray) -> FloatArray:
        missed = self.ended(after) & (after[:, 2] < self.required_profit)
        return np.where(missed, self.missed_reward, rewards)

    def equal_shares(self, after: IntArray) -> FloatArray:
        """Return 0: equal groups have no gap."""
        return np.zeros(len(after))

    def nearby(self, ledgers: IntArray, generator: np.random.Generator) -> IntArray:
        """Give one of the groups one to five loans more."""
        imagined = ledgers.copy()
        group = generator.integers(2, size=len(ledgers))
        imagined[np.arange(len(ledgers)), group] += generator.integers(1, 6, size=len(ledgers))
        return imagined

    def anything(self, size: int, generator: np.random.Generator) -> IntArray:
        """Draw the clock uniformly, any profit possible by then, and a gap with deviation 2."""
        clock = generator.integers(self.length, size=size)
        profit = generator.integers(-clock, clock + 1)
        gap = np.clip(np.rint(2.0 * generator.standard_normal(size)), -clock, clock)
        columns = [np.maximum(gap, 0), np.maximum(-gap, 0), profit, clock]
        return np.stack(columns, axis=1).astype(np.int64)

    def bits(self, situation: Situation) -> Float32Array:
        """Return who asks, then profit, credit and loans less the smaller number, in bits."""
        asks, levels = situation.scene[:, :4], situation.scene[:, 4:]
        loans, profit = situation.ledger[:, :2], situation.ledger[:, 2:3]
        parts = [
            asks,
            _bits(profit + self.length, 2 * self.length),
            _bits(levels, self.levels - 1),
            _bits(loans - loans.min(axis=1, keepdims=True), self.length),
        ]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def by_person(self, situation: Situation, clock: bool) -> Float32Array:
        """Return (B, 4, F) numbers about every person.

        In order: whether the person asks; own credit, that of the other one of the group, the
        lower and the higher credit of the other group; the lead of the own group, and the gap
        after a loan to it; the profit still missing, and whether any is; the time left, and the
        profit missing per step left.
        """
        batch = len(situation.ledger)
        credit = (situation.scene[:, 4:] / (self.levels - 1)).reshape(batch, 2, 2)
        ordered = np.repeat(np.sort(credit, axis=2)[:, ::-1], 2, axis=1)
        gap = situation.ledger[:, :1] - situation.ledger[:, 1:2]
        lead = gap * (1 - 2 * self.unit_of_person)
        missing = self.required_profit - situation.ledger[:, 2:3]
        own = [
            situation.scene[:, :4],
            credit.reshape(batch, 4),
            credit[:, :, ::-1].reshape(batch, 4),
            ordered[..., 0],
            ordered[..., 1],
            lead / 3.0,
            np.abs(lead + 1) / 3.0,
        ]
        shared = [np.clip(missing / 8.0, -3.0, 3.0), missing > 0]
        if clock:
            steps = np.maximum(self.length - situation.ledger[:, -1:], 1)
            shared += [self.left(situation.ledger), np.clip(missing / steps, -2.0, 2.0)]
        return _rows(own, np.concatenate(shared, axis=1))


LEDGERS: Mapping[str, type[Ledger]] = {
    ledger.__name__: ledger for ledger in (DoughnutLedger, LoanLedger)
}
"""By name, as they are saved under."""


def _gap(ledgers: IntArray) -> FloatArray:
    """Return the difference (B,) between the loans of the groups."""
    gap: FloatArray = np.abs(ledgers[:, 0] - ledgers[:, 1]).astype(np.float64)
    return gap


def _rows(own: list[NDArray[np.generic]], shared: NDArray[np.generic]) -> Float32Array:
    """Put what belongs to one person (each (B, P)) before what all share (B, F): (B, P, ...)."""
    people = own[0].shape[1]
    every = np.broadcast_to(shared[:, None, :], (len(shared), people, shared.shape[1]))
    return np.concatenate([np.stack(own, axis=2), every], axis=2, dtype=np.float32)


def _width(largest: int) -> int:
    """Return how many bits the numbers up to `largest` need."""
    return max(1, largest.bit_length())


def _bits(numbers: IntArray, largest: int) -> IntArray:
    """Write whole numbers (B, N) in bits (B, N * width), most significant first."""
    bits: IntArray = numbers[..., None] >> np.arange(_width(largest))[::-1] & 1
    return bits.reshape(len(numbers), -1)


def _number(bits: NDArray[np.floating]) -> IntArray:
    """Read whole numbers (...) from bits (..., W), most significant first."""
    numbers: IntArray = np.rint(bits).astype(np.int64) @ (1 << np.arange(bits.shape[-1])[::-1])
    return numbers
