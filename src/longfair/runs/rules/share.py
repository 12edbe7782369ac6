"""A rule about how many runs end on one side of a number: for catastrophes, not for means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from longfair.errors import UsageError
from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.paired import Shared, SharedRule
from longfair.runs.rules.rule import Asked, OfQuantity, RuleFields, plain, register
from longfair.runs.statistics import Floats, share, share_difference

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


@register("share")
@dataclass(frozen=True)
class ShareRule(OfQuantity, SharedRule):
    """``kind: share``. The share of runs above (or below) a number lies between two ends.

    Where one run in seven fails, a mean says nothing about the other six, and no interval of it
    can be trusted. The share of runs that fail can: its Clopper-Pearson interval covers at least
    as often as it says, however few the runs. With ``others: [one]`` the effect is the method's
    share less that of the other, paired by seed; see
    `longfair.runs.statistics.share_difference`.

    - *reproduced*: the interval lies between ``low`` and ``high``, ends included;
    - *contradicted*: the interval has no point in common with what lies between the ends;
    - *inconclusive*: anything else.

    In YAML one of ``above`` and ``below`` is given, and ``low``, ``high`` or both. A run that is
    exactly at the number is neither above nor below.
    """

    effect_name: ClassVar[str] = "share"
    other: str | None
    side: str
    edge: float
    low: float
    high: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        method = fields.method()
        other = fields.others(method, one=True)[0] if fields.has("others") else None
        sides = [side for side in ("above", "below") if fields.has(side)]
        if len(sides) != 1:
            raise UsageError(f"{fields.where}: give one of 'above' and 'below', and not both")
        lowest = 0.0 if other is None else -1.0
        if not fields.has("low") and not fields.has("high"):
            raise UsageError(f"{fields.where}: no share is claimed: give 'low', 'high' or both")
        low, high = fields.number("low", lowest), fields.number("high", 1.0)
        if not lowest <= high <= 1:
            raise fields.wrong("high", high, f"between {lowest:g} and 1")
        if not lowest <= low <= high:
            raise fields.wrong("low", low, f"between {lowest:g} and high, which is {high:g}")
        return cls(fields.quantity(), method, other, sides[0], fields.number(sides[0]), low, high)

    @property
    def methods(self) -> tuple[str, ...]:
        """The method, and the other one if there is one."""
        return (self.method,) if self.other is None else (self.method, self.other)

    @property
    def asked(self) -> Asked:
        """The ends of the share, or of the difference of shares."""
        return Asked.between(self.low, self.high)

    @property
    def counted(self) -> Asked:
        """The numbers of the runs that it counts."""
        ends = (self.edge, math.inf) if self.side == "above" else (-math.inf, self.edge)
        return Asked(*ends, f"{self.side} {self.edge:g}")

    def words(self, measure: str) -> str:
        """Say what the share is to be."""
        other = "" if self.other is None else f", less that of {plain(self.other)},"
        return (
            f"the share of runs of {plain(self.method)} with {self.quantity.words(measure)} "
            f"{self.counted.words}{other} is between {self.low:g} and {self.high:g}"
        )

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Count the runs, and judge their share by its interval."""
        hits = [self._hits(values) for values in shared.arrays.values()]
        found = (
            share(hits[0], case.level)
            if self.other is None
            else share_difference(hits[0], hits[1], case.level)
        )
        where = self.counted.words
        counts = [
            f"{int(one.sum())} of {len(shared.seeds)} runs of {plain(method)}"
            for one, method in zip(hits, self.methods, strict=True)
        ]
        finding = Finding(
            estimate=found,
            measured=self._measured(case, where),
            detail=f"{' and '.join(counts)} have {case.measured(self.quantity)} {where}: "
            f"{found}, claimed between {self.low:g} and {self.high:g}",
            seeds=shared.seeds,
        )
        return case.decided(finding, self.method, self.word)

    def _hits(self, values: Floats) -> np.ndarray:
        return values > self.edge if self.side == "above" else values < self.edge

    def _measured(self, case: Case, where: str) -> str:
        what = f"share of runs with {case.measured(self.quantity)} {where}"
        other = "" if self.other is None else f" less {plain(self.other)}"
        return f"{what}, {plain(self.method)}{other}"
