"""A rule about who gets somewhere first: on the mean learning curve, as figures show it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import pandas as pd

from longfair.errors import UsageError
from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.gain import of_effect
from longfair.runs.rules.paired import Shared, SharedRule
from longfair.runs.rules.rule import OfQuantity, RuleFields, listed, plain, register
from longfair.runs.rules.words import Word
from longfair.runs.statistics import ROUNDING, Floats

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


@register("earliest")
@dataclass(frozen=True)
class EarliestRule(OfQuantity, SharedRule):
    """``kind: earliest``. The method's mean curve reaches a level in fewer steps than each other's.

    A single run that jumps up and down reaches a level early by luck, so the first moment of each
    run rewards variance. Here the curves are averaged over runs first, as in a figure. The effect
    is the smallest of the numbers of steps by which the method is earlier; runs are resampled
    together for its interval. A curve that never reaches the level counts as reaching it one
    evaluation after its last. Words as for ``highest``.
    """

    effect_name: ClassVar[str] = "steps earlier"
    others: tuple[str, ...]
    level: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        method = fields.method()
        quantity = replace(fields.quantity(), phase="curve", window=(0.0, 1.0))
        return cls(quantity, method, fields.others(method), fields.number("level"))

    @property
    def methods(self) -> tuple[str, ...]:
        """The method and the others."""
        return (self.method, *self.others)

    def words(self, measure: str) -> str:
        """Say which curve is to reach the level first."""
        what = plain(self.quantity.metrics[measure])
        return (
            f"the mean curve of {what} of {plain(self.method)} reaches {self.level:g} in fewer "
            f"steps than that of {listed(self.others, 'or')}"
        )

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the steps by which the method is earlier."""
        return of_effect(low, high, 0.0)

    def tables(self, case: Case, method: str) -> list[pd.DataFrame | None]:
        """Return the curves of a method."""
        return [case.curves(self.quantity, method)]

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Judge the moments at which the mean curves reach the level."""
        curves = [table.T for (table,) in shared.tables.values()]
        seeds = len(shared.seeds)
        equal = np.full(seeds, 1 / seeds)
        with case.named():
            moments = [first_reached(curve, equal, self.level) for curve in curves]
        leads = [partial(self._lead, curves[0], other) for other in curves[1:]]
        found = case.percentile(self, leads, seeds)
        said = [
            f"{plain(method)} {'never' if moment > curve.index[-1] else f'after {moment:,.0f}'}"
            for method, moment, curve in zip(self.methods, moments, curves, strict=True)
        ]
        finding = Finding(
            estimate=found,
            measured=f"steps by which the mean {case.measured(self.quantity)} of "
            f"{plain(self.method)} is the first to reach {self.level:g}",
            detail=f"steps until the mean curve of {plain(case.metric(self.quantity))} reaches "
            f"{self.level:g}: {', '.join(said)}; {plain(self.method)} is {found} earlier, claimed "
            "more than 0",
            seeds=shared.seeds,
        )
        return case.decided(finding, self.method, self.word)

    def _lead(self, own: pd.DataFrame, other: pd.DataFrame, weights: Floats) -> Floats:
        """Return by how many steps one mean curve is earlier than another."""
        later, earlier = (first_reached(curve, weights, self.level) for curve in (other, own))
        return later - earlier


def first_reached(curve: pd.DataFrame, weights: Floats, level: float) -> Floats:
    """Return when the mean of weighted runs first reaches a level.

    Parameters
    ----------
    curve
        One row per step, one column per seed.
    weights
        Shape (..., seeds).
    level
        The level.

    Returns
    -------
    numpy.ndarray
        Shape (...): the step; one evaluation after the last where it is never reached.

    Raises
    ------
    UsageError
        If there are fewer than two evaluations.
    """
    steps = curve.index.to_numpy(dtype=np.float64)
    if len(steps) < 2:
        raise UsageError(
            f"a curve with {len(steps)} evaluations cannot tell when it reaches {level:g}: "
            "give one with at least two"
        )
    above = weights @ curve.to_numpy().T >= level - ROUNDING * abs(level)
    never = 2 * steps[-1] - steps[-2]
    first: Floats = np.where(above.any(axis=-1), steps[above.argmax(axis=-1)], never)
    return first
