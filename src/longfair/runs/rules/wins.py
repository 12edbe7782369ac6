"""A rule about how often a method is the best: for runs that end in more than one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.paired import PairedRule, Shared
from longfair.runs.rules.rule import Asked, RuleFields, plain, register
from longfair.runs.statistics import share

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


@register("wins")
@dataclass(frozen=True)
class WinsRule(PairedRule):
    """``kind: wins``. In more than half of the runs the method is better than every other one.

    Where some runs fail altogether, the mean is theirs alone. What a single run can be expected to
    show, as in a paper with one, is which method is better more often than not. The effect is the
    share of seeds in which the method is ``better: higher`` (or ``lower``) than each other by more
    than a margin, which may be negative: then it may be worse by that much.

    - *reproduced*: the Clopper-Pearson interval of the share lies above one half;
    - *contradicted*: it lies below one half;
    - *inconclusive*: anything else.
    """

    effect_name: ClassVar[str] = "share"
    higher: bool
    margin: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        keys = cls.keys(fields)
        better = fields.choice("better", ("higher", "lower"))
        return cls(**keys, higher=better == "higher", margin=fields.number("margin", 0.0))

    @property
    def asked(self) -> Asked:
        """More than half."""
        return Asked(0.5, 1.0, "more than half")

    def words(self, measure: str) -> str:
        """Say in which runs the method is to be the best."""
        side = "above" if self.higher else "below"
        by = f" by more than {self.margin:g}" if self.margin else ""
        return (
            f"in more than half of the runs {self.about(measure)} is {side} {self.each_other}{by}"
        )

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Count the seeds in which the method is the best."""
        sign = 1.0 if self.higher else -1.0
        gains = [sign * (shared.method - other) > self.margin for other in shared.others.values()]
        best = np.all(gains, axis=0)
        others = " and ".join(plain(other) for other in shared.others)
        side = "above" if self.higher else "below"
        by = f" by more than {self.margin:g}" if self.margin else ""
        found = share(best, case.level)
        finding = Finding(
            estimate=found,
            measured=f"share of runs with {self.quantity.measured(case.blank.measure)} of "
            f"{plain(self.method)} {side} {others}{by}",
            detail=f"in {int(best.sum())} of {best.size} runs {case.measured(self.quantity)} of "
            f"{plain(self.method)} is {side} that of {others}{by}: {found}, claimed more than half"
            f"{shared.left_out}",
            seeds=shared.seeds,
            missing=shared.missing,
        )
        return case.decided(finding, self.method, self.word)
