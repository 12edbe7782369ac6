"""A claim in one variant, by one measure, with the results: what rules are asked about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from longfair.errors import UsageError
from longfair.runs.outcomes import Arm, Outcomes
from longfair.runs.rules.rule import Quantity, Rule, plain
from longfair.runs.rules.words import (
    AGAINST,
    CANNOT_REFUTE,
    CANNOT_SHOW,
    IN_FAVOUR,
    Lacks,
    Word,
    answer,
    sentence,
)
from longfair.runs.statistics import (
    Effect,
    Estimate,
    Floats,
    Kind,
    resampled,
    share,
    smallest,
    smallest_percentile,
)
from longfair.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from longfair.runs.claims import Check
    from longfair.runs.verdicts import Verdict

Result = TypeVar("Result")

FEWEST = 5
"""Runs below which nothing is decided, however few a claim asks for."""


@dataclass(frozen=True)
class Finding:
    """The number that a rule found, before there is a word.

    Parameters
    ----------
    estimate
        The effect with its interval.
    measured, detail
        What it is an estimate of, and the sentence about it.
    seeds
        Seeds it rests on.
    interquartile_mean
        The effect with interquartile means; None if it is undefined.
    single
        Shape (seeds,), the effect of every run alone; None where it is a share, or has none.
    single_against
        The same where runs speak against the claim, if that is another number: beside the one
        method that decides, and not beside whichever is best in a run.
    better
        The share of seeds on which a compared method is the better one, and its interval.
    missing
        Methods that have no results.
    """

    estimate: Estimate
    measured: str
    detail: str
    seeds: Sequence[int]
    interquartile_mean: float | None = None
    single: Floats | None = None
    single_against: Floats | None = None
    better: tuple[float, float, float] | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One claim in one variant, by one measure, on runs that may stand beside each other.

    Parameters
    ----------
    blank
        The verdict before anything is known; rules fill in what they find.
    outcomes
        Results of the claim's experiment.
    checks
        Executable checks by name.
    level, kind
        Level of the intervals, and where their quantiles come from.
    """

    blank: Verdict
    outcomes: Outcomes
    checks: Mapping[str, Check]
    level: float = 0.95
    kind: Kind = "both"

    def metric(self, quantity: Quantity) -> str:
        """Name the metric of a quantity by this measure."""
        return quantity.metrics[self.blank.measure]

    def measured(self, quantity: Quantity) -> str:
        """Say in plain words which number a quantity is by this measure."""
        return quantity.measured(self.blank.measure)

    def values(self, quantity: Quantity, method: str) -> pd.Series[float] | None:
        """Return one number per seed, or None if the method has no results.

        Raises
        ------
        UsageError
            If the results have no such metric, group, phase or window.
        """
        arm = self._arm(method)
        with self.named():
            return None if arm is None else arm.by_seed(quantity, self.metric(quantity))

    def curves(self, quantity: Quantity, method: str) -> pd.DataFrame | None:
        """Return one number per seed (rows) and step, or None if the method has no results.

        Raises
        ------
        UsageError
            As for `values`.
        """
        arm = self._arm(method)
        with self.named():
            return None if arm is None else arm.curves(quantity, self.metric(quantity)).T

    def smallest(self, effects: Sequence[Effect]) -> Estimate:
        """Estimate the smallest of one or more effects over the same seeds."""
        return smallest(effects, self.level, self.kind)

    def percentile(
        self, rule: Rule, statistics: Sequence[Callable[[Floats], Floats]], seeds: int
    ) -> Estimate:
        """Estimate the smallest of a rule's statistics that have no standard error.

        See `longfair.runs.statistics.smallest_percentile`.
        """
        drawn = self.once(
            rule, "resamples", lambda: [resampled(statistic, seeds) for statistic in statistics]
        )
        return smallest_percentile(drawn, seeds, self.level)

    def once(self, rule: Rule, what: str, compute: Callable[[], Result]) -> Result:
        """Compute what a rule needs once, because it is judged at many levels of intervals.

        Parameters
        ----------
        rule
            Who asks.
        what
            Which of its numbers; the same for every level and kind of interval.
        compute
            Called the first time.
        """
        key = (id(rule), what, self.blank.variant, self.blank.measure)
        kept = self.outcomes.kept
        if key not in kept:
            kept[key] = rule, compute()  # with the rule, or another could get its id
        found: Result = kept[key][1]
        return found

    def decided(
        self,
        finding: Finding,
        method: str,
        word_of: Callable[[float, float], Word],
        alike: bool = False,
    ) -> Verdict:
        """Return the verdict on a number, whose word needs an interval from enough seeds.

        Parameters
        ----------
        finding
            The number.
        method
            The judged method.
        word_of
            Word for the two ends of an interval.
        alike
            Whether it is claimed that two methods are alike, which too little training makes true.
        """
        used = tuple(sorted(int(seed) for seed in finding.seeds))
        needed = max(self.blank.claim.seeds, FEWEST)
        steps = self._steps(method)
        interval, detail = finding.estimate.interval, finding.detail
        word: Word = "inconclusive"
        enough: int | None = None
        with_enough: Word | None = None
        lacks: Lacks = ""
        if len(used) < needed:
            detail = f"{detail}; {counted(len(used), 'seed')} of the {needed} needed"
            enough, lacks = needed, "runs"
        elif interval is None:
            detail = f"{detail}; the interval is undefined"
        else:
            word = word_of(*interval)
            if word == "inconclusive":
                enough = _enough(finding.estimate, word_of)
                lacks = "width" if enough else "effect"
                with_enough = word_of(finding.estimate.value, finding.estimate.value)
            few = self._few_agree(word, finding, word_of)
            if few is not None:
                word, detail = "inconclusive", f"{detail}; {few}"
            if self._is_short(steps) and (word in AGAINST or (alike and word in IN_FAVOUR)):
                of = f"{steps:,} steps of {self.blank.claim.horizon:,}"
                detail = f"{detail}; {of} {CANNOT_REFUTE if word in AGAINST else CANNOT_SHOW}"
                word, lacks = "inconclusive", "steps"
        return replace(
            self.blank,
            word=word,
            estimate=finding.estimate.value,
            measured=finding.measured,
            interval=interval,
            interquartile_mean=finding.interquartile_mean,
            seeds=used,
            steps=steps,
            two_kinds=finding.estimate.two_kinds,
            better=finding.better,
            lacks=lacks,
            enough_seeds=enough,
            with_enough=with_enough,
            detail=sentence(detail, self.blank.claim.asked),
            missing=finding.missing,
        )

    def _few_agree(
        self, word: Word, finding: Finding, word_of: Callable[[float, float], Word]
    ) -> str | None:
        """Say how few runs of two kinds give a word that their mean gives, if too few do.

        Such a mean describes neither kind. Its word stands if more than half of the runs, each
        alone, are on its side.
        """
        side = next((side for side in (IN_FAVOUR, AGAINST) if word in side), None)
        single = finding.single
        if side is AGAINST and finding.single_against is not None:
            single = finding.single_against
        if side is None or single is None or not finding.estimate.two_kinds:
            return None
        agree = [word_of(effect, effect) in side for effect in single]
        low, _ = share(agree, self.level).interval or (0.0, 1.0)
        if low > 0.5:
            return None
        which = "for" if side is IN_FAVOUR else "against"
        return f"runs of two kinds, and {sum(agree)} of {len(agree)} alone speak {which} it"

    def undecided(
        self, detail: str, seeds: Sequence[int] = (), missing: tuple[str, ...] = ()
    ) -> Verdict:
        """Return the verdict where results exist but give no number."""
        return replace(
            self.blank,
            word="inconclusive",
            detail=detail,
            seeds=tuple(seeds),
            missing=missing,
        )

    def told(self, word: Word) -> str:
        """Return what a reader sees for a word of this claim."""
        return answer(word, self.blank.claim.asked)

    def not_attempted(self, missing: Sequence[str]) -> Verdict:
        """Return the verdict where methods have no results."""
        methods, variant = ", ".join(map(plain, missing)), plain(self.blank.variant)
        return replace(
            self.blank,
            detail=f"no results of {methods} in {variant}",
            missing=tuple(missing),
        )

    def _steps(self, method: str) -> int | None:
        """Training steps of a method; of what it is compared with where it is not trained."""
        own = self._arm(method)
        arms = (self._arm(name) for name in self.blank.claim.rule.methods)
        trained = [arm.steps for arm in (own, *arms) if arm is not None and arm.steps]
        if own is None or not trained:
            return None if own is None else own.steps
        return own.steps or min(trained)

    def _is_short(self, steps: int | None) -> bool:
        """Whether runs end before the moment that a claim about the end of training is about."""
        if self.blank.settings == "authors":
            return False
        return 0 < (steps or 0) < (self.blank.claim.horizon or 0)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Say of an error which claim it is about."""
        try:
            yield
        except UsageError as error:
            raise UsageError(f"claim {self.blank.claim.id}: {error}") from None

    def _arm(self, method: str) -> Arm | None:
        return self.outcomes.arm(method, self.blank.variant)


def _enough(found: Estimate, word_of: Callable[[float, float], Word]) -> int | None:
    """About how many runs decide, if the value stays and the interval shrinks with their root."""
    assert found.low is not None
    assert found.high is not None
    for times in 1.1 ** np.arange(100):
        narrower = ((end - found.value) / times**0.5 for end in (found.low, found.high))
        if word_of(*(found.value + part for part in narrower)) != "inconclusive":
            return math.ceil(float(f"{times * found.seeds:.2g}"))
    return None
