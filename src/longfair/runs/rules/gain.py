"""Rules about how much better a method is than the others: it must beat every one of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.paired import PairedRule, Shared
from longfair.runs.rules.rule import EVERYWHERE, Asked, Ends, RuleFields, plain, register
from longfair.runs.rules.words import Word, within
from longfair.runs.statistics import (
    Effect,
    Estimate,
    Floats,
    interquartile_mean,
    mean_effect,
    reduction_effect,
    share,
    within_ends,
)

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


def of_effect(low: float, high: float, size: float) -> Word:
    """Judge the interval of an effect that is claimed to be positive and at least of a size.

    - *reproduced*: ``low > 0`` and ``low >= size``;
    - *direction only*: ``low > 0`` but ``low < size``. The method is better; by as much as
      claimed is not shown;
    - *contradicted*: ``high < 0``. The claimed direction is excluded;
    - *not reproduced*: ``low <= 0 <= high``, and no point of the interval satisfies the claim,
      that is ``high < size`` or ``high = 0``. A tie is therefore not reproduced;
    - *inconclusive*: anything else. Points of the interval satisfy the claim, and others do not.
    """
    if low > 0:
        return "reproduced" if low >= size else "direction only"
    if high < 0:
        return "contradicted"
    return "not reproduced" if high < size or high == 0 else "inconclusive"


@dataclass(frozen=True)
class Target:
    """A size that is claimed from both sides: the effect is the target, give or take a tolerance.

    With target ``t`` and tolerance ``e``:

    - *reproduced*: the interval lies within ``[t - e, t + e]``, ends included;
    - *direction only*: it does not, but lies beyond zero on the side of the target. An effect that
      is larger than claimed ends here too: its size is not the one that is claimed;
    - *contradicted*: the interval lies beyond zero on the other side;
    - *not reproduced*: the interval holds zero, and no point of it lies within ``[t - e, t + e]``;
    - *inconclusive*: anything else.
    """

    target: float
    tolerance: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read ``target``, which is the reported value unless it is given, and ``tolerance``."""
        reported = ... if fields.reported is None else fields.reported
        target, tolerance = fields.number("target", reported), fields.number("tolerance", low=0.0)
        if tolerance >= abs(target):
            wanted = f"below {abs(target):g}: with 0 among what is claimed there is no direction"
            raise fields.wrong("tolerance", tolerance, wanted)
        return cls(target, tolerance)

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the effect."""
        word = within(low, high, self.asked.low, self.asked.high)
        if word == "reproduced":
            return word
        if low > 0 or high < 0:
            return "direction only" if (low > 0) == (self.target > 0) else "contradicted"
        return "not reproduced" if word == "contradicted" else word

    @property
    def asked(self) -> Asked:
        """The target, give or take the tolerance."""
        return Asked.around(self.target, self.tolerance)


@dataclass(frozen=True)
class GainRule(PairedRule):
    """The effect is the smallest of the amounts by which the method is better than the others."""

    @abstractmethod
    def single(self, method: Floats, other: Floats) -> Floats:
        """Return the effect of every run alone; above 0 where the method is better."""

    @abstractmethod
    def effect(self, method: Floats, other: Floats) -> Effect:
        """Return by how much the method is better than one other."""

    @abstractmethod
    def middle(self, method: Floats, other: Floats) -> float:
        """Return the same with interquartile means; not finite if it is undefined."""

    @abstractmethod
    def measured(self, case: Case, other: str) -> str:
        """Say in plain words which number is measured."""

    @abstractmethod
    def sentence(self, what: str, found: Estimate, other: str) -> str:
        """Say what was found and what is claimed."""

    def ends(self, case: Case) -> Ends:
        """Return the least and the largest effect that can occur."""
        return EVERYWHERE

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Judge the smallest gain."""
        effects = case.once(self, "effects", lambda: self._effects(shared))
        for other, effect in effects.items():
            if not np.isfinite(effect.value):
                return case.undecided(
                    f"no reduction from {plain(other)}, whose mean is not positive",
                    seeds=shared.seeds,
                    missing=shared.missing,
                )
        worst = min(effects, key=lambda other: effects[other].value)
        found = self._smallest(case, list(effects.values()))
        middle = case.once(self, "middle", lambda: self.middle(shared.method, shared.others[worst]))
        single = {
            other: self.single(shared.method, array) for other, array in shared.others.items()
        }
        finding = Finding(
            estimate=found,
            measured=self.measured(case, worst),
            detail=self.sentence(case.measured(self.quantity), found, plain(worst))
            + _over_all(len(effects))
            + self._left_open_by(case, found, effects, worst)
            + shared.left_out,
            seeds=shared.seeds,
            interquartile_mean=middle if np.isfinite(middle) else None,
            single=np.min(list(single.values()), axis=0),
            single_against=single[worst],
            better=case.once(self, "better", lambda: _better(single[worst])),
            missing=shared.missing,
        )
        return case.decided(finding, self.method, self.word)

    def _effects(self, shared: Shared) -> dict[str, Effect]:
        """Return the effect by each other method."""
        return {other: self.effect(shared.method, array) for other, array in shared.others.items()}

    def _smallest(self, case: Case, effects: Sequence[Effect]) -> Estimate:
        """Estimate the smallest effect; no end of its interval is beyond what can occur."""
        return within_ends(case.smallest(effects), *self.ends(case))

    def _left_open_by(
        self, case: Case, found: Estimate, effects: Mapping[str, Effect], named: str
    ) -> str:
        """End of a sentence about an open number: another comparison than the named is open."""
        if found.interval is None or self.word(*found.interval) != "inconclusive":
            return ""
        alone = {other: self._smallest(case, [effect]) for other, effect in effects.items()}
        lows = {other: one.interval[0] for other, one in alone.items() if one.interval}
        lowest = min(lows, key=lambda other: lows[other])
        if lows[lowest] == lows.get(named):
            return ""
        return f", and its lower end comes from {plain(lowest)}: {alone[lowest]}"


def _over_all(others: int) -> str:
    """End of a sentence that names the nearest of several others: the interval is of no pair."""
    return f"; the interval holds for the nearest of all {others}" if others > 1 else ""


def _better(single: Floats) -> tuple[float, float, float]:
    """Share of the seeds on which a method is better than another, with its interval."""
    found = share(single > 0)
    low, high = found.interval or (0.0, 1.0)
    return found.value, low, high


@dataclass(frozen=True)
class DifferenceOfMeans(GainRule):
    """The effect is a difference of means: the method less the other, or the other way round."""

    sign: ClassVar[float] = 1.0

    def single(self, method: Floats, other: Floats) -> Floats:
        """Return by how much the method is better, run by run."""
        return self.sign * (method - other)

    def effect(self, method: Floats, other: Floats) -> Effect:
        """Return by how much the method is better."""
        return mean_effect(self.single(method, other))

    def middle(self, method: Floats, other: Floats) -> float:
        """Return the interquartile mean of the differences."""
        return float(interquartile_mean(self.single(method, other)))

    def ends(self, case: Case) -> Ends:
        """Return the least and the largest difference that can occur."""
        return self.ends_of_difference(case)

    def measured(self, case: Case, other: str) -> str:
        """Say in plain words which number is measured."""
        first, second = (self.method, other)[:: int(self.sign)]
        return self.difference(case, first, second)

    def sentence(self, what: str, found: Estimate, other: str) -> str:
        """Say what was found and what is claimed."""
        less = f"{what} of {plain(self.method)} less that of {other} is {found}"
        return f"{less}, claimed {self.asked.words}"


@dataclass(frozen=True)
class _MarginRule(DifferenceOfMeans):
    """The effect is a difference of means, claimed to exceed a margin."""

    side: ClassVar[str] = "above"
    margin: float = 0.0

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        return cls(**cls.keys(fields), margin=fields.number("margin", 0.0, low=0.0))

    @property
    def asked(self) -> Asked:
        """More than 0, or the margin at least."""
        return Asked.above(self.margin)

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the difference; see `of_effect`."""
        return of_effect(low, high, self.margin)

    def words(self, measure: str) -> str:
        """Say on which side of the others the method is to be, and by how much."""
        by = f" by at least {self.margin:g}" if self.margin else ""
        return f"{self.about(measure)} is {self.side} {self.each_other}{by}"

    def sentence(self, what: str, found: Estimate, other: str) -> str:
        """Say on which side of the other method it is, and what is claimed."""
        beyond = f"{what} of {plain(self.method)} is {found} {self.side} {other}"
        return f"{beyond}, claimed {self.asked.words}"


@register("highest")
class HighestRule(_MarginRule):
    """``kind: highest``. The method is higher than every other one by more than a margin."""


@register("lowest")
class LowestRule(_MarginRule):
    """``kind: lowest``. The method is lower than every other one by more than a margin."""

    sign: ClassVar[float] = -1.0
    side: ClassVar[str] = "below"


@register("at_least")
@dataclass(frozen=True)
class AtLeastRule(DifferenceOfMeans):
    """``kind: at_least``. The method is no lower than the others, less a margin ``m``.

    - *reproduced*: ``low >= -m``;
    - *contradicted*: ``high < -m``;
    - *inconclusive*: anything else.

    A margin below zero asks for a method that is higher by that much.
    """

    margin: float = 0.0

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        return cls(**cls.keys(fields), margin=fields.number("margin", 0.0))

    @property
    def asked(self) -> Asked:
        """No less than 0, less the margin."""
        return Asked.between(0.0 - self.margin, math.inf)

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the difference."""
        if low >= -self.margin:
            return "reproduced"
        return "contradicted" if high < -self.margin else "inconclusive"

    def words(self, measure: str) -> str:
        """Say by how much the method may be lower."""
        where = f"at most {self.margin:g} below" if self.margin > 0 else "no lower than"
        if self.margin < 0:
            where = f"at least {-self.margin:g} above"
        return f"{self.about(measure)} is {where} {self.each_other}"


@register("difference")
@dataclass(frozen=True)
class DifferenceRule(DifferenceOfMeans):
    """``kind: difference``. The method's mean less that of one other is of a claimed size.

    The words are those of `Target`; a target below zero claims that the method is lower.
    """

    size: Target

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        return cls(**cls.keys(fields, one=True), size=Target.read(fields))

    @property
    def asked(self) -> Asked:
        """The target, give or take its tolerance."""
        return self.size.asked

    def words(self, measure: str) -> str:
        """Say what the difference is to be."""
        return f"{self.about(measure)} less {self.each_other} is {self.asked.words}"

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the difference."""
        return self.size.word(low, high)


@register("reduction")
@dataclass(frozen=True)
class ReductionRule(GainRule):
    """``kind: reduction``. ``1 - mean(method) / mean(other)`` has a claimed size.

    It is at least ``threshold``, with the words of `of_effect`; or, with one other method, it is
    ``target`` give or take ``tolerance``, with the words of `Target`.
    """

    effect_name: ClassVar[str] = "reduction"
    size: float | Target

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        if fields.has("target") or fields.has("tolerance"):
            return cls(**cls.keys(fields, one=True), size=Target.read(fields))
        return cls(**cls.keys(fields), size=fields.number("threshold", low=0.0))

    @property
    def asked(self) -> Asked:
        """The size of the reduction."""
        if isinstance(self.size, Target):
            return self.size.asked
        return Asked.between(self.size, math.inf)

    def words(self, measure: str) -> str:
        """Say what part of the others' number is to be gone."""
        what = f"{self.about(measure)} is lower by {self.asked.words}"
        return f"{what}, as a part of {self.each_other}"

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the reduction."""
        if isinstance(self.size, Target):
            return self.size.word(low, high)
        return of_effect(low, high, self.size)

    def single(self, method: Floats, other: Floats) -> Floats:
        """Return the reduction run by run, not finite where there is nothing to reduce."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 - method / other

    def effect(self, method: Floats, other: Floats) -> Effect:
        """Return the reduction, undefined where there is nothing to reduce."""
        return reduction_effect(method, other)

    def middle(self, method: Floats, other: Floats) -> float:
        """Return the reduction of the interquartile means."""
        denominator = float(interquartile_mean(other))
        return 1 - float(interquartile_mean(method)) / denominator if denominator > 0 else np.nan

    def measured(self, case: Case, other: str) -> str:
        """Say in plain words which number is measured."""
        what = case.measured(self.quantity)
        return f"{what}, {plain(self.method)}: reduction from {plain(other)}"

    def sentence(self, what: str, found: Estimate, other: str) -> str:
        """Say what was found and what is claimed."""
        reduced = f"{what} of {plain(self.method)} is reduced by {found} against {other}"
        return f"{reduced}, claimed {self.asked.words}"
