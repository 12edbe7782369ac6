"""A rule about how often a method is the best: for runs that end in more than one place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from longfair.runs.rules.count import CountRule
from longfair.runs.rules.rule import Asked, RuleFields, register

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from longfair.runs.statistics import Floats


@register("wins")
@dataclass(frozen=True)
class WinsRule(CountRule):
    """``kind: wins``. In more than half of the runs the method is better than every other one.

    A seed counts in which the method is ``better: higher`` (or ``lower``) than each other by more
    than a margin, which may be negative: then it may be worse by that much.
    """

    higher: bool

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        keys = cls.keys(fields)
        better = fields.choice("better", ("higher", "lower"))
        return cls(**keys, higher=better == "higher", margin=fields.number("margin", 0.0))

    @property
    def counted(self) -> Asked:
        """More than the margin."""
        return Asked(self.margin, math.inf, f"above {self.margin:g}")

    @property
    def sign(self) -> int:
        """1 if higher is better."""
        return 1 if self.higher else -1

    def hardest(self, gains: Floats) -> Floats:
        """Return the smallest gain."""
        least: Floats = gains.min(axis=1)
        return least

    def counts(self, hardest: Floats) -> NDArray[np.bool_]:
        """Say in which seeds it is larger than the margin."""
        return hardest > self.margin

    def relation(self, other: str) -> str:
        """Say on which side of another method it is, and by how much."""
        by = f" by more than {self.margin:g}" if self.margin else ""
        return f"{'above' if self.higher else 'below'} {other}{by}"
