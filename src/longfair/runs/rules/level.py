"""Rules about one method's mean: it is a value, or lies within bounds."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from longfair.errors import UsageError
from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.rule import EVERYWHERE, Asked, OfQuantity, RuleFields, plain, register
from longfair.runs.rules.words import Word
from longfair.runs.statistics import Floats, interquartile_mean, mean_effect, within_ends

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


@dataclass(frozen=True)
class LevelRule(OfQuantity):
    """The effect is the mean of one method.

    Its interval ends where a mean cannot lie, if the file of claims says where that is.
    """

    @property
    @abstractmethod
    def asked(self) -> Asked:
        """What it asks of the mean."""

    def words(self, measure: str) -> str:
        """Say what is claimed of the mean."""
        what = f"the mean {self.quantity.words(measure)} of {plain(self.method)}"
        return f"{what} is {self.asked.words}"

    def judge(self, case: Case) -> Verdict:
        """Judge the mean by its interval."""
        values = case.values(self.quantity, self.method)
        if values is None:
            return case.not_attempted([self.method])
        numbers: Floats = np.asarray(values, dtype=np.float64)
        ends = self.quantity.possible.get(case.metric(self.quantity), EVERYWHERE)
        found = within_ends(case.smallest([mean_effect(numbers)]), *ends)
        middle = case.once(self, "middle", lambda: float(interquartile_mean(numbers)))
        finding = Finding(
            estimate=found,
            measured=f"{case.measured(self.quantity)}, {plain(self.method)}",
            detail=f"{case.measured(self.quantity)} of {plain(self.method)} is {found}, "
            f"claimed {self.asked.words}",
            seeds=values.index.tolist(),
            interquartile_mean=middle,
            single=numbers,
        )
        return case.decided(finding, self.method, self.word)


@register("value")
@dataclass(frozen=True)
class ValueRule(LevelRule):
    """``kind: value``. The method's mean is the target, give or take the tolerance.

    With target ``t`` and tolerance ``e``:

    - *reproduced*: the interval lies within ``[t - e, t + e]``, ends included;
    - *not reproduced*: the interval has no point in common with ``[t - e, t + e]``;
    - *inconclusive*: anything else.

    In YAML the target is the reported value unless it is given.
    """

    target: float
    tolerance: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        reported = ... if fields.reported is None else fields.reported
        return cls(
            fields.quantity(),
            fields.method(),
            target=fields.number("target", reported),
            tolerance=fields.number("tolerance", low=0.0),
        )

    @property
    def asked(self) -> Asked:
        """The target, give or take the tolerance."""
        return Asked.around(self.target, self.tolerance)

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the mean."""
        word = super().word(low, high)
        return "not reproduced" if word == "contradicted" else word


@register("bound")
@dataclass(frozen=True)
class BoundRule(LevelRule):
    """``kind: bound``. The method's mean lies between ``low`` and ``high``, ends included.

    - *reproduced*: the interval lies between the ends, ends included;
    - *contradicted*: the interval has no point in common with what lies between the ends;
    - *inconclusive*: anything else.

    In YAML one of the two may be left out: there is no bound on that side.
    """

    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        low = fields.number("low") if fields.has("low") else -math.inf
        high = fields.number("high") if fields.has("high") else math.inf
        if math.isinf(low) and math.isinf(high):
            raise UsageError(f"{fields.where}: no bound: give 'low', 'high' or both")
        if low > high:
            raise fields.wrong("low", low, f"at most high, which is {high:g}")
        return cls(fields.quantity(), fields.method(), low, high)

    @property
    def asked(self) -> Asked:
        """The bounds."""
        return Asked.between(self.low, self.high)
