"""Policies of the loan problem are evaluated exactly, so no episode is played."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from longfair.papers.setting import Evaluating


@dataclass(frozen=True)
class Exactly(Evaluating):
    """Every policy evaluated exactly, along the way and at the end."""

    measure: str = "exact-lending"

    rollouts: ClassVar[int] = 10

    def shortened(self) -> Exactly:
        """Return the same, once every rollout; a search is told of at every iteration anyway."""
        return self if self.measure == "searched-lending" else replace(self, every=1)
