"""What rules that compare methods share: their keys, and the numbers of the seeds in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from longfair.runs.rules.case import Case
from longfair.runs.rules.rule import Numbers, Quantity, Rule, RuleFields, listed, plain
from longfair.runs.rules.words import IN_FAVOUR, Word
from longfair.runs.statistics import Floats, joined

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict

Among = Literal["all", "available"]


@dataclass(frozen=True)
class Paired:
    """The numbers a comparison rests on, over the seeds that all its methods share.

    Parameters
    ----------
    method
        Shape (seeds,).
    others
        The same of each other method that has results.
    seeds
        In ascending order.
    missing
        Methods that have no results.
    """

    method: Floats
    others: dict[str, Floats]
    seeds: list[int]
    missing: tuple[str, ...]

    @property
    def left_out(self) -> str:
        """End of a sentence that names the methods without results."""
        names = ", ".join(map(plain, self.missing))
        return f"; not compared with {names}, which was not run" if names else ""


@dataclass(frozen=True)
class PairedRule(Rule):
    """A method is compared with others, paired by seed.

    With ``among: available`` it is judged against those of the others that have results, and the
    verdict names those that have not. They can speak against the claim; for it, all must.
    """

    quantity: Quantity
    method: str
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

    @property
    def numbers(self) -> tuple[Numbers, ...]:
        """The quantity, of all methods."""
        return (Numbers(self.quantity, self.methods),)

    def about(self, measure: str) -> str:
        """Name the number of the method."""
        return f"{self.quantity.words(measure)} of {plain(self.method)}"

    @property
    def each_other(self) -> str:
        """Name the others, one or each of several."""
        several = "each of " * (len(self.others) > 1)
        run = " (inconclusive at best until all were run)" if self.among == "available" else ""
        return f"that of {several}{listed(self.others)}{run}"

    @abstractmethod
    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the effect."""

    @abstractmethod
    def compared(self, case: Case, name: str, paired: Paired) -> Verdict:
        """Judge the numbers of the methods."""

    def judge(self, case: Case, name: str) -> Verdict:
        """Judge over the seeds that the methods share, if there are any."""
        paired = case.once(self, "paired", lambda: self._paired(case))
        if not paired.others or (paired.missing and self.among == "all"):
            return case.not_attempted(paired.missing)
        if not paired.seeds:
            return case.undecided("the methods share no seed: run the same")
        verdict = self.compared(case, name, paired)
        if paired.missing and verdict.word in IN_FAVOUR:
            until, so_far = case.told("inconclusive"), case.told(verdict.word)
            detail = f"{verdict.detail}: {until} until it is, {so_far} so far"
            return replace(verdict, word="inconclusive", detail=detail)
        return verdict

    def _paired(self, case: Case) -> Paired:
        columns = {name: case.values(self.quantity, name) for name in self.methods}
        present = {name: column for name, column in columns.items() if column is not None}
        missing = tuple(name for name in columns if name not in present)
        if self.method in missing:
            return Paired(np.empty(0), {}, [], missing)
        seeds = sorted(set.intersection(*(set(column.index) for column in present.values())))
        arrays = joined(*(column.loc[seeds] for column in present.values()))
        others = dict(zip(present, arrays, strict=True))
        return Paired(others.pop(self.method), others, seeds, missing)

    def difference(self, case: Case, first: str, second: str) -> str:
        """Say in plain words which difference is measured."""
        what = case.measured(self.quantity)
        return f"{what}, {plain(first)} less {plain(second)}"
