"""A rule about how often methods end alike: for runs that end in more than one place."""

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


@register("ties")
@dataclass(frozen=True)
class TiesRule(PairedRule):
    """``kind: ties``. In more than half of the runs the method is as good as every other one.

    The effect is the share of seeds in which the method differs from each other by no more than a
    margin, in either direction.

    - *reproduced*: the Clopper-Pearson interval of the share lies above one half;
    - *contradicted*: it lies below one half;
    - *inconclusive*: anything else. Runs of ours that end before the claim's horizon are, too: the
      less is trained, the more alike all are.
    """

    effect_name: ClassVar[str] = "share"
    margin: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        margin = fields.number("margin", low=0.0)
        if margin == 0:
            raise fields.wrong("margin", margin, "above 0: no two runs end with the same number")
        return cls(**cls.keys(fields), margin=margin)

    @property
    def asked(self) -> Asked:
        """More than half."""
        return Asked(0.5, 1.0, "more than half")

    def words(self, measure: str) -> str:
        """Say in which runs the methods are to be alike."""
        return (
            f"in more than half of the runs {self.about(measure)} is within {self.margin:g} of "
            f"{self.each_other}"
        )

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Count the seeds in which the methods are alike."""
        near = [abs(shared.method - other) <= self.margin for other in shared.others.values()]
        alike = np.all(near, axis=0)
        others = " and ".join(plain(other) for other in shared.others)
        found = share(alike, case.level)
        finding = Finding(
            estimate=found,
            measured=f"share of runs with {self.quantity.measured(case.blank.measure)} of "
            f"{plain(self.method)} within {self.margin:g} of {others}",
            detail=f"in {int(alike.sum())} of {alike.size} runs {case.measured(self.quantity)} of "
            f"{plain(self.method)} is within {self.margin:g} of that of {others}: {found}, claimed "
            f"more than half{shared.left_out}",
            seeds=shared.seeds,
            missing=shared.missing,
        )
        return case.decided(finding, self.method, self.word, alike=True)
