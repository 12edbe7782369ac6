"""What rules that compare methods share: the seeds that all methods have, and their keys."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from longfair.runs.rules.case import Case
from longfair.runs.rules.rule import EVERYWHERE, Ends, OfQuantity, Rule, RuleFields, listed, plain
from longfair.runs.rules.words import IN_FAVOUR, Word
from longfair.runs.statistics import Floats

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict

Among = Literal["all", "available"]


@dataclass(frozen=True)
class Shared:
    """What methods gave, on the seeds that all of them have.

    Parameters
    ----------
    tables
        By each method that has results, the judged one first: a series for each of the rule's
        numbers, or a frame, with one row per seed.
    seeds
        In ascending order.
    missing
        Methods that have no results.
    """

    tables: dict[str, list[Any]]
    seeds: list[int]
    missing: tuple[str, ...]

    @cached_property
    def arrays(self) -> dict[str, Floats]:
        """The first of the rule's numbers by method, shape (seeds,) each."""
        return {name: np.asarray(one[0], dtype=np.float64) for name, one in self.tables.items()}

    @property
    def method(self) -> Floats:
        """The first number of the judged method, shape (seeds,)."""
        return next(iter(self.arrays.values()))

    @property
    def others(self) -> dict[str, Floats]:
        """The same of each other method that has results."""
        return dict(list(self.arrays.items())[1:])

    @property
    def left_out(self) -> str:
        """End of a sentence that names the methods without results."""
        names = ", ".join(map(plain, self.missing))
        return f"; not compared with {names}, which was not run" if names else ""


class SharedRule(Rule):
    """A rule about the seeds that all its methods have."""

    @abstractmethod
    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the effect."""

    @abstractmethod
    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Judge what the methods gave on the seeds that they share."""

    def tables(self, case: Case, method: str) -> list[Any]:
        """Return what a method gave, one row per seed; None in the list without results."""
        return [case.values(one.quantity, method) for one in self.numbers]

    def lacks(self, shared: Shared) -> bool:
        """Say whether too few methods have results."""
        return bool(shared.missing)

    def judge(self, case: Case) -> Verdict:
        """Judge over the seeds that the methods share, if there are any."""
        shared = case.once(self, "shared", lambda: self._shared(case))
        if self.lacks(shared):
            return case.not_attempted(shared.missing)
        if not shared.seeds:
            return case.undecided("the methods share no seed: run the same")
        return self.compared(case, shared)

    def _shared(self, case: Case) -> Shared:
        found = {name: self.tables(case, name) for name in self.methods}
        present = {name: tables for name, tables in found.items() if tables[0] is not None}
        seeds_of_each = [set(table.index) for tables in present.values() for table in tables]
        seeds = sorted(set.intersection(*seeds_of_each)) if present else []
        tables = {name: [table.loc[seeds] for table in own] for name, own in present.items()}
        return Shared(tables, seeds, tuple(name for name in found if name not in present))


@dataclass(frozen=True)
class PairedRule(OfQuantity, SharedRule):
    """A method is compared with others, paired by seed.

    With ``among: available`` it is judged against those of the others that have results, and the
    verdict names those that have not. They can speak against the claim; for it, all must.
    """

    others: tuple[str, ...]
    among: Among

    @property
    def methods(self) -> tuple[str, ...]:
        """The method and the others."""
        return (self.method, *self.others)

    @classmethod
    def keys(cls, fields: RuleFields, *, one: bool = False) -> dict[str, Any]:
        """Read the keys that all comparisons have, perhaps with one other method only."""
        method = fields.method()
        return {
            "quantity": fields.quantity(),
            "method": method,
            "others": fields.others(method, one=one),
            "among": fields.choice("among", ("all", "available"), "all"),
        }

    def about(self, measure: str) -> str:
        """Name the number of the method."""
        return f"{self.quantity.words(measure)} of {plain(self.method)}"

    @property
    def each_other(self) -> str:
        """Name the others, one or each of several."""
        several = "each of " * (len(self.others) > 1)
        run = " (open at best until all were run)" if self.among == "available" else ""
        return f"that of {several}{listed(self.others)}{run}"

    def ends_of_difference(self, case: Case) -> Ends:
        """Return the least and the largest difference that can occur."""
        low, high = self.quantity.possible.get(case.metric(self.quantity), EVERYWHERE)
        return low - high, high - low

    def lacks(self, shared: Shared) -> bool:
        """Say whether the method, all others, or one that must be there have no results."""
        needed = self.methods if self.among == "all" else (self.method,)
        return len(shared.tables) < 2 or not set(needed).isdisjoint(shared.missing)

    def judge(self, case: Case) -> Verdict:
        """Judge over the seeds that the methods share; only all of the others speak for it."""
        verdict = super().judge(case)
        if verdict.missing and verdict.word in IN_FAVOUR:
            until, so_far = case.told("inconclusive"), case.told(verdict.word)
            detail = f"{verdict.detail}: {until} until it is, {so_far} so far"
            return replace(verdict, word="inconclusive", detail=detail)
        return verdict

    def difference(self, case: Case, first: str, second: str) -> str:
        """Say in plain words which difference is measured."""
        what = case.measured(self.quantity)
        return f"{what}, {plain(first)} less {plain(second)}"
