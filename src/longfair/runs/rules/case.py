"""A claim in one variant, by one measure, with the results: what rules are asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longfair.errors import UsageError
from longfair.runs.outcomes import Arm, Outcomes
from longfair.runs.rules.rule import Quantity
from longfair.runs.rules.words import AGAINST, Word
from longfair.runs.statistics import Estimate, Floats, Method, Statistic, bootstrap, estimate

if TYPE_CHECKING:
    import pandas as pd

    from longfair.runs.claims import Check
    from longfair.runs.verdicts import Verdict

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
    missing
        Methods that have no results.
    """

    estimate: Estimate
    measured: str
    detail: str
    seeds: Sequence[int]
    interquartile_mean: float | None
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
    """

    blank: Verdict
    outcomes: Outcomes
    checks: Mapping[str, Check]

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
        try:
            return None if arm is None else arm.by_seed(quantity, self.metric(quantity))
        except UsageError as error:
            raise UsageError(f"claim {self.blank.claim.id}: {error}") from None

    def curves(self, quantity: Quantity, method: str) -> pd.DataFrame | None:
        """Return one number per step and seed, or None if the method has no results."""
        arm = self._arm(method)
        return None if arm is None else arm.curves(quantity, self.metric(quantity))

    def estimate(self, values: Floats, name: str) -> Estimate:
        """Estimate a mean over seeds; the name decides the random stream."""
        return estimate(values, name=self._stream(name))

    def bootstrap(
        self, arrays: Sequence[Floats], statistic: Statistic, title: str, kind: Method, name: str
    ) -> Estimate:
        """Estimate a statistic of paired arrays; the name decides the random stream."""
        return bootstrap(arrays, statistic, title, kind, name=self._stream(name))

    def decided(
        self, finding: Finding, method: str, word_of: Callable[[float, float], Word]
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
        """
        used = tuple(sorted(int(seed) for seed in finding.seeds))
        needed = max(self.blank.claim.seeds, FEWEST)
        arm = self._arm(method)
        steps = None if arm is None else arm.steps
        interval, detail = finding.estimate.interval, finding.detail
        word: Word = "inconclusive"
        if len(used) < needed:
            detail = f"{detail}; {len(used)} seeds of the {needed} needed"
        elif interval is None:
            detail = f"{detail}; the interval is undefined"
        else:
            word = word_of(*interval)
            if word in AGAINST and self._is_short(steps):
                word = "inconclusive"
                detail = f"{detail}; {steps:,} steps of {self.blank.claim.horizon:,} cannot refute"
        return replace(
            self.blank,
            word=word,
            estimate=finding.estimate.value,
            measured=finding.measured,
            interval=interval,
            interquartile_mean=finding.interquartile_mean,
            seeds=used,
            steps=steps,
            detail=detail,
            missing=finding.missing,
        )

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

    def not_attempted(self, missing: Sequence[str]) -> Verdict:
        """Return the verdict where methods have no results."""
        return replace(
            self.blank,
            detail=f"no results of {', '.join(missing)} in {self.blank.variant} under "
            f"{self.blank.profile}",
            missing=tuple(missing),
        )

    def _is_short(self, steps: int | None) -> bool:
        """Whether runs end before the moment that a claim about the end of training is about."""
        if self.blank.settings == "authors":
            return False
        return 0 < (steps or 0) < (self.blank.claim.horizon or 0)

    def _arm(self, method: str) -> Arm | None:
        return self.outcomes.arm(method, self.blank.variant)

    def _stream(self, name: str) -> str:
        return f"{name} {self.blank.variant} {self.blank.profile}"
