"""Judge claims: from results over seeds, through an interval, to one of six words.

Every rule is turned into one number, its **effect**, with an interval over seeds. The words
are decided by the interval ``[low, high]`` alone, never by the point estimate.

``value``. The effect is the method's mean. With target ``t`` and tolerance ``e``:

- *reproduced*: the interval lies within ``[t - e, t + e]``, ends included;
- *not reproduced*: the interval has no point in common with ``[t - e, t + e]``;
- *inconclusive*: anything else.

``lowest``, ``highest``, ``reduction``. The effect says by how much the method is better than
the other one; with several others it is the smallest of these amounts, so every other method
must be beaten. It is a difference of means paired by seed, or for a reduction
``1 - mean(method) / mean(other)``. The claim is that the effect is positive and at least the
claimed size ``s`` (the margin or the threshold, 0 if none is claimed):

- *reproduced*: ``low > 0`` and ``low >= s``;
- *direction only*: ``low > 0`` but ``low < s``. The method is better; by as much as claimed is
  not shown;
- *contradicted*: ``high < 0``. The claimed direction is excluded;
- *not reproduced*: ``low <= 0 <= high``, and no point of the interval satisfies the claim, that
  is ``high < s`` or ``high = 0``. A tie is therefore not reproduced;
- *inconclusive*: anything else. Points of the interval satisfy the claim, and others do not.

``at_least``. The effect is the smallest difference ``mean(method) - mean(other)``, paired by
seed. The claim is that it is no lower than minus the margin ``m``:

- *reproduced*: ``low >= -m``;
- *contradicted*: ``high < -m``;
- *inconclusive*: anything else.

``about_equal``. The effect is the difference ``mean(method) - mean(other)``, paired by seed. The
claim is that it lies within plus or minus the margin ``m``. Each other method has its own
interval; the difference with the weakest verdict is the one that counts and is shown:

- *reproduced*: the interval lies within ``[-m, m]``, ends included;
- *contradicted*: the interval has no point in common with ``[-m, m]``;
- *inconclusive*: anything else. So a wide interval is never taken for equality.

``bound``. The effect is the method's mean. The claim is that it lies between two ends, of which
one may be infinite:

- *reproduced*: the interval lies between the ends, ends included;
- *contradicted*: the interval has no point in common with what lies between the ends;
- *inconclusive*: anything else.

``exact``. A check either passes (*reproduced*) or does not (*contradicted*, or *not reproduced*
where the check says that the paper leaves open what it computed).

``all``. The weakest verdict of its parts. From weak to strong: contradicted, not reproduced,
not attempted, inconclusive, direction only, reproduced. The parts that speak against a claim
come first, because a conjunction with a false part is false whatever the others say. The effect
shown is that of the part that decides, the first of those with the weakest verdict; beside a
reported value it is that of the first part, so that the two can be compared.

Two things come before all this. A rule whose methods have no results is *not attempted*; with
``among: available`` it is judged against those of the others that have results, and names those
that have not. A rule with fewer seeds than the claim needs, counting the seeds that all its
methods share, is *inconclusive*, whatever its interval; so one seed never decides anything.

A method is looked up in the variant that is judged, then in the variant ``reference`` of
methods that learn nothing. ``method:variant`` in a rule pins the variant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from longfair.errors import UsageError, near_misses
from longfair.runs.claims import (
    AboutEqualRule,
    AllRule,
    AtLeastRule,
    Check,
    Claim,
    ComparisonRule,
    ExactRule,
    ExtremeRule,
    LevelRule,
    Quantity,
    ReductionRule,
    Rule,
    ValueRule,
)
from longfair.runs.statistics import (
    Estimate,
    Floats,
    Statistic,
    bootstrap,
    estimate,
    interquartile_mean,
    joined,
)
from longfair.runs.store import Store, no_results
from longfair.runs.tables import ALL_GROUPS

Word = Literal[
    "reproduced",
    "direction only",
    "not reproduced",
    "contradicted",
    "inconclusive",
    "not attempted",
]

FROM_WEAK_TO_STRONG: tuple[Word, ...] = (
    "contradicted",
    "not reproduced",
    "not attempted",
    "inconclusive",
    "direction only",
    "reproduced",
)
"""The order in which a conjunction takes the weakest verdict."""

REFERENCE = "reference"
"""Variant of methods that learn nothing; they stand in every variant's comparison."""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one claim in one variant under one profile.

    Parameters
    ----------
    claim
        The claim.
    variant, profile
        What was judged.
    word
        The verdict.
    estimate
        Point estimate of the rule's effect; None if there is none.
    measured
        What the estimate is an estimate of, in words; empty if there is none.
    interval
        Its interval over seeds; None if there is none.
    interquartile_mean
        The effect with interquartile means in place of means; None if there is none.
    seeds
        Seeds the judgement rests on, in ascending order; empty for exact claims.
    horizon
        Training steps of the judged method's runs; None if there are none.
    detail
        One sentence: what the effect is, what it was compared with.
    missing
        Methods named in the rule that have no results.
    parts
        Verdicts of the parts of a conjunction; empty otherwise.
    """

    claim: Claim
    variant: str
    profile: str
    word: Word
    estimate: float | None = None
    measured: str = ""
    interval: tuple[float, float] | None = None
    interquartile_mean: float | None = None
    seeds: tuple[int, ...] = ()
    horizon: int | None = None
    detail: str = ""
    missing: tuple[str, ...] = ()
    parts: tuple[Verdict, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as the plain object that ``longfair claims --json`` prints."""
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "statement": claim.statement,
            "source": claim.source,
            "reported": claim.reported.value if claim.reported is not None else None,
            "estimate": self.estimate,
            "interval": list(self.interval) if self.interval is not None else None,
            "seeds": len(self.seeds),
            "profile": self.profile,
            "variant": self.variant,
            "verdict": self.word,
            "measured": self.measured,
        }


def judge_all(
    claims: Iterable[Claim], store: Store, profile: str, checks: Mapping[str, Check]
) -> list[Verdict]:
    """Judge claims by what a store holds.

    Parameters
    ----------
    claims
        The claims.
    store
        Where the results are.
    profile
        Profile whose results are used.
    checks
        Executable checks by name.

    Returns
    -------
    list of Verdict
        One per claim and variant, in this order.

    Raises
    ------
    UsageError
        If a result is damaged, or a rule names a metric, phase or check that does not exist.
    """
    tables: dict[str, pd.DataFrame] = {}
    verdicts = []
    for claim in claims:
        name = claim.experiment or ""
        if name not in tables:
            tables[name] = _load(store, name, profile)
        verdicts += judge(claim, tables[name], profile=profile, checks=checks)
    return verdicts


def judge(
    claim: Claim, results: pd.DataFrame, *, profile: str, checks: Mapping[str, Check] | None = None
) -> list[Verdict]:
    """Judge one claim in each of its variants.

    Parameters
    ----------
    claim
        The claim.
    results
        Results of the claim's experiment under the profile, as from `Store.load`.
    profile
        Name of the profile.
    checks
        Executable checks by name; needed for exact claims.

    Returns
    -------
    list of Verdict
        One per variant of the claim.

    Raises
    ------
    UsageError
        If the rule names a metric, phase or check that does not exist.
    """
    return [
        _Bench(claim, variant, profile, results, checks or {}).judge(claim.rule, claim.id)
        for variant in claim.variants
    ]


def of_value(low: float, high: float, target: float, tolerance: float) -> Word:
    """Verdict on a value, see the module's docstring."""
    if target - tolerance <= low and high <= target + tolerance:
        return "reproduced"
    if high < target - tolerance or low > target + tolerance:
        return "not reproduced"
    return "inconclusive"


def of_effect(low: float, high: float, size: float) -> Word:
    """Verdict on an effect that is claimed to be positive and at least of a size."""
    if low > 0:
        return "reproduced" if low >= size else "direction only"
    if high < 0:
        return "contradicted"
    return "not reproduced" if high < size or high == 0 else "inconclusive"


def of_no_loss(low: float, high: float, margin: float) -> Word:
    """Verdict on a difference that is claimed to be no lower than minus a margin."""
    if low >= -margin:
        return "reproduced"
    return "contradicted" if high < -margin else "inconclusive"


def of_bound(low: float, high: float, lowest: float, highest: float) -> Word:
    """Verdict on a number that is claimed to lie between two ends."""
    if lowest <= low and high <= highest:
        return "reproduced"
    return "contradicted" if high < lowest or low > highest else "inconclusive"


def weakest(words: Sequence[Word]) -> Word:
    """Verdict of a conjunction."""
    return min(words, key=FROM_WEAK_TO_STRONG.index)


@dataclass(frozen=True)
class _Paired:
    """The numbers a comparison rests on; ``arrays`` has the method first, then the others."""

    others: list[str]
    arrays: list[Floats]
    seeds: list[int]
    missing: tuple[str, ...]


class _Bench:
    """Judges the rules of one claim in one variant."""

    def __init__(
        self,
        claim: Claim,
        variant: str,
        profile: str,
        results: pd.DataFrame,
        checks: Mapping[str, Check],
    ) -> None:
        self.claim = claim
        self.variant = variant
        self.profile = profile
        self.results = results
        self.checks = checks
        self.blank = Verdict(claim, variant, profile, "not attempted")

    def judge(self, rule: Rule, name: str) -> Verdict:
        if isinstance(rule, AllRule):
            return self._all(rule, name)
        if isinstance(rule, ExactRule):
            return self._exact(rule)
        if isinstance(rule, LevelRule):
            return self._level(rule, name)
        if isinstance(rule, AboutEqualRule):
            return self._about_equal(rule, name)
        return self._comparison(rule, name)

    def _all(self, rule: AllRule, name: str) -> Verdict:
        parts = tuple(
            self.judge(part, f"{name}.{number}") for number, part in enumerate(rule.rules, start=1)
        )
        missing = tuple(dict.fromkeys(method for part in parts for method in part.missing))
        details = (f"{part.word}: {part.detail.rstrip('.')}" for part in parts)
        detail = "; ".join(f"({number}) {text}" for number, text in enumerate(details, start=1))
        word = weakest([part.word for part in parts])
        shown = 0 if self.claim.reported else [part.word for part in parts].index(word)
        measured = parts[shown].measured
        return replace(
            parts[shown],
            word=word,
            measured=f"{measured} (part {shown + 1} of {len(parts)})" if measured else "",
            detail=detail,
            missing=missing,
            parts=parts,
        )

    def _exact(self, rule: ExactRule) -> Verdict:
        if rule.check not in self.checks:
            raise UsageError(
                f"claim {self.claim.id}: unknown check {rule.check!r}: "
                f"{near_misses(rule.check, self.checks)}"
            )
        result = self.checks[rule.check]()
        if rule.shows is not None and rule.shows not in result.computed:
            raise UsageError(
                f"claim {self.claim.id}: check {rule.check} computes no {rule.shows!r}: "
                f"{near_misses(rule.shows, result.computed)}"
            )
        return replace(
            self.blank,
            word="reproduced" if result.passed else result.otherwise,
            estimate=None if rule.shows is None else float(result.computed[rule.shows]),
            measured=_plain(rule.shows or ""),
            detail=result.detail,
        )

    def _level(self, rule: LevelRule, name: str) -> Verdict:
        values = self._values(rule.quantity, rule.method)
        if values is None:
            return self._not_attempted([rule.method])
        numbers = values.sort_index().to_numpy()
        found = estimate(numbers, name=self._stream(name))
        metric = rule.quantity.metrics[self.variant]
        what = f"{metric} of {rule.method} is {_shown(found)}"
        return self._verdict(
            rule.method,
            found,
            _measured(rule, metric),
            float(interquartile_mean(numbers)),
            values.index,
            _word_of_level(rule),
            f"{what}, {_claimed_level(rule)}",
            (),
        )

    def _about_equal(self, rule: AboutEqualRule, name: str) -> Verdict:
        paired = self._paired(rule)
        if isinstance(paired, Verdict):
            return paired
        method = paired.arrays[0]
        metric = rule.quantity.metrics[self.variant]
        verdicts = []
        for other, array in zip(paired.others, paired.arrays[1:], strict=True):
            found = estimate(method - array, name=self._stream(f"{name} {other}"))
            what = f"{metric} of {rule.method} less that of {other} is {_shown(found)}"
            verdicts.append(
                self._verdict(
                    rule.method,
                    found,
                    _measured(rule, metric, other),
                    float(interquartile_mean(method - array)),
                    paired.seeds,
                    lambda low, high: of_bound(low, high, -rule.margin, rule.margin),
                    f"{what}, claimed within {rule.margin:g}{_left_out(paired.missing)}",
                    paired.missing,
                )
            )
        return min(verdicts, key=_strength)

    def _paired(self, rule: ComparisonRule | AboutEqualRule) -> _Paired | Verdict:
        """Numbers of all methods over the seeds they share, or the verdict if there are none."""
        columns = {
            method: self._values(rule.quantity, method) for method in (rule.method, *rule.others)
        }
        missing = [method for method, column in columns.items() if column is None]
        present = {method: column for method, column in columns.items() if column is not None}
        others = [method for method in rule.others if method in present]
        if rule.method in missing or not others or (missing and rule.among == "all"):
            return self._not_attempted(missing)
        seeds = sorted(set.intersection(*(set(column.index) for column in present.values())))
        if not seeds:
            return replace(
                self.blank, word="inconclusive", detail="the methods share no seed: run the same"
            )
        arrays = joined(*(present[name].loc[seeds] for name in (rule.method, *others)))
        return _Paired(others, arrays, seeds, tuple(missing))

    def _comparison(self, rule: ComparisonRule, name: str) -> Verdict:
        paired = self._paired(rule)
        if isinstance(paired, Verdict):
            return paired
        arrays, others = paired.arrays, paired.others
        gain = _gain(rule)
        gains = [float(gain(np.mean, arrays[0], other)) for other in arrays[1:]]
        worst = int(np.argmin(gains))
        if not np.isfinite(gains).all():
            broken = others[int(np.argmin(np.isfinite(gains)))]
            return replace(
                self.blank,
                word="inconclusive",
                seeds=tuple(paired.seeds),
                missing=paired.missing,
                detail=f"no reduction from {broken}, whose mean is not positive",
            )
        found = bootstrap(
            arrays,
            _smallest(gain),
            "smallest gain",
            "BCa" if len(others) == 1 else "percentile",
            name=self._stream(name),
        )
        middle = min(float(gain(interquartile_mean, arrays[0], other)) for other in arrays[1:])
        return self._verdict(
            rule.method,
            found,
            _measured(rule, rule.quantity.metrics[self.variant], others[worst]),
            middle if np.isfinite(middle) else None,
            paired.seeds,
            _word_of(rule),
            _described(rule, self.variant, found, others[worst], paired.missing),
            paired.missing,
        )

    def _verdict(
        self,
        method: str,
        found: Estimate,
        measured: str,
        middle: float | None,
        seeds: Iterable[int],
        word_of: Callable[[float, float], Word],
        detail: str,
        missing: tuple[str, ...],
    ) -> Verdict:
        used = tuple(sorted(int(seed) for seed in seeds))
        word: Word = "inconclusive"
        if len(used) < self.claim.seeds or len(used) < 2:
            detail = f"{detail}; {len(used)} seeds of the {max(self.claim.seeds, 2)} needed"
        elif found.interval is None:
            detail = f"{detail}; the interval is undefined"
        else:
            word = word_of(*found.interval)
        return replace(
            self.blank,
            word=word,
            estimate=found.value,
            measured=measured,
            interval=found.interval,
            interquartile_mean=middle,
            seeds=used,
            horizon=self._horizon(method),
            detail=detail,
            missing=missing,
        )

    def _not_attempted(self, missing: Sequence[str]) -> Verdict:
        names = ", ".join(missing)
        return replace(
            self.blank,
            detail=f"no results of {names} in {self.variant} under {self.profile}",
            missing=tuple(missing),
        )

    def _rows(self, method: str) -> pd.DataFrame:
        """Rows of a method: in the pinned variant, or the judged one, or as a reference."""
        name, _, pinned = method.partition(":")
        rows = self.results[self.results["method"] == name]
        for variant in (pinned,) if pinned else (self.variant, REFERENCE):
            found = rows[rows["variant"] == variant]
            if not found.empty:
                return found
        return rows.iloc[:0]

    def _horizon(self, method: str) -> int:
        return int(self._rows(method)["step"].max())

    def _values(self, quantity: Quantity, method: str) -> pd.Series[float] | None:
        """One number per seed, or None if the method has no results."""
        rows = self._rows(method)
        if rows.empty:
            return None
        metric = quantity.metrics[self.variant]
        self._require("metric", metric, rows["metric"], method)
        rows = rows[rows["metric"] == metric]
        self._require("group", str(quantity.group), rows["group"].astype("str"), method)
        rows = rows[rows["group"] == quantity.group]
        self._require("phase", quantity.phase, rows["phase"], method)
        rows = rows[rows["phase"] == quantity.phase]
        if quantity.window is not None:
            last = rows.groupby("seed")["step"].transform("max")
            first, end = quantity.window
            rows = rows[(rows["step"] >= first * last) & (rows["step"] <= end * last)]
            if rows.empty:
                raise UsageError(
                    f"claim {self.claim.id}: no evaluation of {method} falls into the window "
                    f"[{first:g}, {end:g}]: widen it"
                )
        return rows.groupby("seed")["value"].mean()

    def _require(self, what: str, name: str, column: pd.Series[Any], method: str) -> None:
        allowed = set(column)
        if name not in allowed:
            raise UsageError(
                f"claim {self.claim.id}: results of {method} have no {what} {name!r}: "
                f"{near_misses(name, allowed)}"
            )

    def _stream(self, name: str) -> str:
        return f"{name} {self.variant} {self.profile}"


Gain = Callable[[Statistic, Floats, Floats], Any]


def _gain(rule: ComparisonRule) -> Gain:
    """How much better the method is than one other, as a function of a kind of mean."""
    if isinstance(rule, ReductionRule):
        return _reduction
    if isinstance(rule, ExtremeRule) and rule.lowest:
        return lambda mean, method, other: mean(other - method, axis=-1)
    return lambda mean, method, other: mean(method - other, axis=-1)


def _reduction(mean: Statistic, method: Floats, other: Floats) -> Any:
    denominator = np.asarray(mean(other, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean(method, axis=-1) / denominator
    return np.where(denominator > 0, 1 - ratio, np.nan)


def _smallest(gain: Gain) -> Statistic:
    def smallest(*arrays: Floats, axis: int = -1) -> Any:
        moved = [np.moveaxis(np.asarray(array), axis, -1) for array in arrays]
        gains = [gain(np.mean, moved[0], other) for other in moved[1:]]
        return np.min(np.stack(gains), axis=0)

    return smallest


def _word_of(rule: ComparisonRule) -> Callable[[float, float], Word]:
    if isinstance(rule, AtLeastRule):
        return lambda low, high: of_no_loss(low, high, rule.margin)
    size = rule.threshold if isinstance(rule, ReductionRule) else rule.margin
    return lambda low, high: of_effect(low, high, size)


def _strength(verdict: Verdict) -> tuple[int, float]:
    """Order verdicts from weak to strong, and equally strong ones from the largest effect on."""
    size = 0.0 if verdict.estimate is None else abs(verdict.estimate)
    return FROM_WEAK_TO_STRONG.index(verdict.word), -size


def _word_of_level(rule: LevelRule) -> Callable[[float, float], Word]:
    if isinstance(rule, ValueRule):
        return lambda low, high: of_value(low, high, rule.target, rule.tolerance)
    return lambda low, high: of_bound(low, high, rule.low, rule.high)


def _claimed_level(rule: LevelRule) -> str:
    if isinstance(rule, ValueRule):
        return f"claimed {rule.target:g} within {rule.tolerance:g}"
    if np.isinf(rule.low):
        return f"claimed at most {rule.high:g}"
    if np.isinf(rule.high):
        return f"claimed at least {rule.low:g}"
    return f"claimed between {rule.low:g} and {rule.high:g}"


def _measured(
    rule: LevelRule | ComparisonRule | AboutEqualRule, metric: str, other: str = ""
) -> str:
    """Say in plain words which number a rule looks at, compared with which other method."""
    quantity = rule.quantity
    group = "" if quantity.group == ALL_GROUPS else f" of group {quantity.group}"
    during = " during training" if quantity.phase == "curve" else ""
    what, method, other = f"{_plain(metric)}{group}{during}", _plain(rule.method), _plain(other)
    if isinstance(rule, LevelRule):
        return f"{what}, {method}"
    if isinstance(rule, ReductionRule):
        return f"{what}, {method}: reduction from {other}"
    if isinstance(rule, ExtremeRule) and rule.lowest:
        method, other = other, method
    return f"{what}, {method} less {other}"


def _plain(name: str) -> str:
    """Write the name of a metric, or of a method with its variant, as words."""
    return name.replace("_", " ").replace(":", " ")


def _left_out(missing: Sequence[str]) -> str:
    return f"; not compared with {', '.join(missing)}, which was not run" if missing else ""


def _described(
    rule: ComparisonRule, variant: str, found: Estimate, worst: str, missing: Sequence[str]
) -> str:
    metric = rule.quantity.metrics[variant]
    if isinstance(rule, ReductionRule):
        what = f"{metric} of {rule.method} is reduced by {_shown(found)} against {worst}"
        claimed = f"claimed at least {rule.threshold:g}"
    elif isinstance(rule, ExtremeRule):
        side = "below" if rule.lowest else "above"
        what = f"{metric} of {rule.method} is {_shown(found)} {side} {worst}"
        claimed = f"claimed {'at least' if rule.margin else 'more than'} {rule.margin:g}"
    else:
        what = f"{metric} of {rule.method} less that of {worst} is {_shown(found)}"
        claimed = f"claimed at least {0.0 - rule.margin:g}"
    return f"{what}, {claimed}{_left_out(missing)}"


def _shown(found: Estimate) -> str:
    if found.interval is None:
        return f"{found.value:.4g}"
    return f"{found.value:.4g} [{found.interval[0]:.4g}, {found.interval[1]:.4g}]"


def _load(store: Store, experiment: str, profile: str) -> pd.DataFrame:
    """Results of an experiment; none if it has not been run, or there is no experiment."""
    if experiment not in store.experiments():
        return no_results()
    return store.load(experiment=experiment, profile=profile)
