"""What rules that compare methods share: their keys, and the numbers of the seeds in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from longfair.runs.rules.case import Case
from longfair.runs.rules.rule import Quantity, Rule, RuleFields, plain
from longfair.runs.rules.words import Word
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
        names = ", ".join(self.missing)
        return f"; not compared with {names}, which was not run" if names else ""


@dataclass(frozen=True)
class PairedRule(Rule):
    """A method is compared with others, paired by seed.

    With ``among: available`` it is judged against those of the others that have results, and the
    verdict names those that have not.
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

    @abstractmethod
    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the effect."""

    @abstractmethod
    def compared(self, case: Case, name: str, paired: Paired) -> Verdict:
        """Judge the numbers of the methods."""

    def judge(self, case: Case, name: str) -> Verdict:
        """Judge over the seeds that the methods share, if there are any."""
        columns = {name: case.values(self.quantity, name) for name in self.methods}
        present = {name: column for name, column in columns.items() if column is not None}
        missing = tuple(name for name in columns if name not in present)
        others = [name for name in self.others if name in present]
        if self.method in missing or not others or (missing and self.among == "all"):
            return case.not_attempted(missing)
        seeds = sorted(set.intersection(*(set(column.index) for column in present.values())))
        if not seeds:
            return case.undecided("the methods share no seed: run the same")
        method, *rest = joined(*(present[one].loc[seeds] for one in (self.method, *others)))
        paired = Paired(method, dict(zip(others, rest, strict=True)), seeds, missing)
        return self.compared(case, name, paired)

    def difference(self, case: Case, first: str, second: str) -> str:
        """Say in plain words which difference is measured."""
        what = case.measured(self.quantity)
        return f"{what}, {plain(first)} less {plain(second)}"
