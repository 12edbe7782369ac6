"""What rules share that count the runs in which a method does well beside every other one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.paired import PairedRule, Shared
from longfair.runs.rules.rule import Asked, plain
from longfair.runs.statistics import Floats, share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longfair.runs.verdicts import Verdict


@dataclass(frozen=True)
class CountRule(PairedRule):
    """The effect is the share of seeds that count, claimed to be more than half.

    Where some runs fail altogether, the mean is theirs alone. What a single run can be expected to
    show, as in a paper with one, is what happens more often than not.

    - *reproduced*: the Clopper-Pearson interval of the share lies above one half;
    - *contradicted*: it lies below one half;
    - *inconclusive*: anything else.
    """

    effect_name: ClassVar[str] = "share"
    alike: ClassVar[bool] = False
    """Whether runs count in which methods are alike, which too little training makes true."""
    margin: float

    @property
    @abstractmethod
    def counted(self) -> Asked:
        """Where the difference from the hardest other method lies in a seed that counts."""

    @property
    @abstractmethod
    def sign(self) -> int:
        """1 if the other method is taken from the method, -1 if it is the other way round."""

    @abstractmethod
    def hardest(self, gains: Floats) -> Floats:
        """Return the difference from the hardest other method, (seeds,), of (seeds, others)."""

    @abstractmethod
    def counts(self, hardest: Floats) -> NDArray[np.bool_]:
        """Say which seeds count, by what `hardest` returned."""

    @abstractmethod
    def relation(self, other: str) -> str:
        """Say how the method stands to another one in a seed that counts, as in "below X"."""

    @property
    def asked(self) -> Asked:
        """More than half."""
        return Asked(0.5, 1.0, "more than half")

    def words(self, measure: str) -> str:
        """Say in which runs what is to be."""
        relation = self.relation(self.each_other)
        return f"in more than half of the runs {self.about(measure)} is {relation}"

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Count the seeds."""
        others = " and ".join(plain(other) for other in shared.others)
        gains = [self.sign * (shared.method - other) for other in shared.others.values()]
        counted = self.counts(self.hardest(np.stack(gains, axis=1)))
        found = share(counted, case.level)
        finding = Finding(
            estimate=found,
            measured=f"share of runs with {self.quantity.measured(case.blank.measure)} of "
            f"{plain(self.method)} {self.relation(others)}",
            detail=f"in {int(counted.sum())} of {counted.size} runs {case.measured(self.quantity)} "
            f"of {plain(self.method)} is {self.relation(f'that of {others}')}: {found}, claimed "
            f"more than half{shared.left_out}",
            seeds=shared.seeds,
            missing=shared.missing,
        )
        return case.decided(finding, self.method, self.word, alike=self.alike)
