"""Policies for handing one thing at a time to one of a few people.

They play `longfair/Doughnut-v0`, where people are present or not, and `longfair/LoanPool-v0`, where
they ask or not. Both observations begin with one number per person, 1 for those who are there; what
follows is ignored. When nobody is there, somebody has to be chosen all the same; the choice does
not matter.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from longfair.agents.policies.policy import Policy
from longfair.arrays import BoolArray, IntArray
from longfair.errors import UsageError
from longfair.settings import Count, Length, Natural, Range, Seed, validated


class AllocationPolicy(Policy):
    """The shape that all policies of this module share.

    Parameters
    ----------
    people
        Number of people P, at least 1.
    """

    @validated
    def __init__(self, people: Count) -> None:
        self.people = people

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> IntArray:
        """Return the person chosen in every copy (N,) for observations (N, ...).

        Raises
        ------
        UsageError
            If the observations do not begin with 0 or 1 for so many people.
        """
        there = observation[:, : self.people]
        if there.shape[1] < self.people or not ((there == 0) | (there == 1)).all():
            raise UsageError(
                f"observations do not begin with 0 or 1 for each of {self.people} people: make the "
                "policy for as many as this environment has"
            )
        return self._choose(there > 0)

    @abstractmethod
    def _choose(self, there: BoolArray) -> IntArray:
        """Return the person chosen (N,), given who is there (N, P)."""


class AnybodyAtRandom(AllocationPolicy):
    """Choose anybody with equal probability, there or not: the paper's Random.

    Parameters
    ----------
    people
        Number of people.
    seed
        Seed of the policy's own generator.
    """

    @validated
    def __init__(self, people: Count, seed: Seed | None = None) -> None:
        super().__init__(people)
        self._rng = np.random.default_rng(seed)

    def _choose(self, there: BoolArray) -> IntArray:
        return self._rng.integers(self.people, size=len(there))


class SomebodyThereAtRandom(AllocationPolicy):
    """Choose among those who are there with equal probability: what can be had without memory.

    Parameters
    ----------
    people
        Number of people.
    seed
        Seed of the policy's own generator.
    """

    @validated
    def __init__(self, people: Count, seed: Seed | None = None) -> None:
        super().__init__(people)
        self._rng = np.random.default_rng(seed)

    def _choose(self, there: BoolArray) -> IntArray:
        chosen: IntArray = (self._rng.random(there.shape) * there).argmax(axis=1)
        return chosen


class AlwaysTheSame(AllocationPolicy):
    """Choose one person, there or not.

    Parameters
    ----------
    people
        Number of people.
    person
        The person, counted from 0.
    """

    @validated
    def __init__(self, people: Count, person: Natural = 0) -> None:
        super().__init__(people)
        if person >= people:
            raise UsageError(f"person={person}: give an integer in 0..{people - 1}")
        self._person = person

    def _choose(self, there: BoolArray) -> IntArray:
        return np.full(len(there), self._person)


class FixedPriority(AllocationPolicy):
    """Choose the first person of a fixed order who is there.

    Parameters
    ----------
    order
        All people, the most favoured first.
    """

    @validated
    def __init__(self, order: Annotated[Sequence[Natural], Length(1)]) -> None:
        super().__init__(len(order))
        if sorted(order) != list(range(len(order))):
            raise UsageError(f"order={order!r}: give each of 0..{len(order) - 1} once")
        self._order = np.asarray(order)

    def _choose(self, there: BoolArray) -> IntArray:
        chosen: IntArray = self._order[there[:, self._order].argmax(axis=1)]
        return chosen


class Rotation(AllocationPolicy):
    """Take turns. A strict rotation counts steps; a lenient one skips whoever is not there.

    Parameters
    ----------
    people
        Number of people. Person 0 has the first turn of every episode.
    skip_absent
        True (default): the turn passes to the next person who is there, and the person after the
        last one who received something comes next. False: turns follow the steps, and the turn of
        a person who is not there is lost.

    Notes
    -----
    Needs `observe`. The `info` of a `reset` starts all copies anew.
    """

    @validated
    def __init__(self, people: Count, skip_absent: bool = True) -> None:
        super().__init__(people)
        self._skip_absent = skip_absent
        self._turn: IntArray | None = None

    def observe(self, info: dict[str, Any]) -> None:
        """Note whose turn it is after a step or a reset."""
        copies = len(info["group_state"])
        if "supply" not in info or self._turn is None:
            self._turn = np.zeros(copies, dtype=np.int64)
        if "supply" not in info:
            return
        if self._skip_absent:
            supply = info["supply"]
            last = supply.argmax(axis=1)
            self._turn = np.where(supply.any(axis=1), (last + 1) % self.people, self._turn)
        else:
            self._turn = (self._turn + 1) % self.people
        if "_final_obs" in info:
            self._turn = np.where(info["_final_obs"], 0, self._turn)

    def _choose(self, there: BoolArray) -> IntArray:
        if self._turn is None:
            raise UsageError("the rotation does not know whose turn it is: call observe(info)")
        if not self._skip_absent:
            return self._turn
        candidates = (self._turn[:, None] + np.arange(self.people)) % self.people
        first = np.take_along_axis(there, candidates, axis=1).argmax(axis=1)
        return np.take_along_axis(candidates, first[:, None], axis=1)[:, 0]


class LeastServedThere(AllocationPolicy):
    """Choose whoever is there and has received least: the doughnut problem's Oracle.

    With equal presence probabilities this is optimal; dynamic programming shows it for the paper's
    tabular problem. Ties go to the person with the lowest number.

    Notes
    -----
    Needs `observe`: reads the first column of `group_state`, what everybody has received.
    """

    @validated
    def __init__(self, people: Count) -> None:
        super().__init__(people)
        self._received: NDArray[np.float64] | None = None

    def observe(self, info: dict[str, Any]) -> None:
        """Look at what everybody has received, `info["group_state"][..., 0]` (N, P)."""
        self._received = info["group_state"][..., 0]

    def _choose(self, there: BoolArray) -> IntArray:
        if self._received is None:
            raise UsageError("the policy does not know what anybody received: call observe(info)")
        chosen: IntArray = np.where(there, self._received, np.inf).argmin(axis=1)
        return chosen


class LaggingGroupBestCredit(AllocationPolicy):
    """Lend to the group with fewer loans, there to the applicant with the best credit.

    So the groups take turns. When they are level, or nobody of the lagging group asks, the
    applicant with the best credit of all gets the loan.

    Parameters
    ----------
    groups
        Group of each person, 0 or 1.

    Notes
    -----
    Needs `observe`: reads `group_state`, the loans and the repayment probability of everybody.
    """

    @validated
    def __init__(self, groups: Annotated[Sequence[Annotated[int, Range(0, 1)]], Length(1)]) -> None:
        super().__init__(len(groups))
        self._sign = 1.0 - 2.0 * np.asarray(groups)
        self._seen: NDArray[np.float64] | None = None

    def observe(self, info: dict[str, Any]) -> None:
        """Look at everybody's loans and credit, `info["group_state"]` (N, P, 2)."""
        self._seen = info["group_state"]

    def _choose(self, there: BoolArray) -> IntArray:
        if self._seen is None:
            raise UsageError("the lender does not know the loans made: call observe(info)")
        loans, credit = self._seen[..., 0], self._seen[..., 1]
        lagging = (loans @ self._sign)[:, None] * self._sign < 0
        chosen: IntArray = np.where(there, credit + lagging, -1.0).argmax(axis=1)
        return chosen
