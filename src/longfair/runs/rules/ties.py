"""A rule about how often methods end alike: for runs that end in more than one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from longfair.runs.rules.count import CountRule
from longfair.runs.rules.rule import Asked, RuleFields, register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longfair.runs.statistics import Floats


@register("ties")
@dataclass(frozen=True)
class TiesRule(CountRule):
    """``kind: ties``. In more than half of the runs the method is as good as every other one.

    A seed counts in which the method differs from each other by no more than a margin, in either
    direction. Runs of ours that end before the claim's horizon decide nothing: the less is trained,
    the more alike all are.
    """

    alike: ClassVar[bool] = True

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        margin = fields.number("margin", low=0.0)
        if margin == 0:
            raise fields.wrong("margin", margin, "above 0: no two runs end with the same number")
        return cls(**cls.keys(fields), margin=margin)

    @property
    def counted(self) -> Asked:
        """No more than the margin, on either side."""
        return Asked(-self.margin, self.margin, f"within {self.margin:g} of 0")

    @property
    def sign(self) -> int:
        """Always 1."""
        return 1

    def hardest(self, gains: Floats) -> Floats:
        """Return the largest difference in size."""
        largest = np.abs(gains).argmax(axis=1, keepdims=True)
        return np.take_along_axis(gains, largest, axis=1)[:, 0]

    def counts(self, hardest: Floats) -> NDArray[np.bool_]:
        """Say in which seeds it is no larger than the margin."""
        return np.abs(hardest) <= self.margin

    def relation(self, other: str) -> str:
        """Say how near to another method it is."""
        return f"within {self.margin:g} of {other}"
