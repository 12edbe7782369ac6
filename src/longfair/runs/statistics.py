"""Estimates over seeds with intervals whose coverage is measured.

A seed is the unit of repetition, so every interval is over seeds; methods that are compared share
theirs. An effect is a mean, a mean of differences, a reduction of one mean from another, or the
smallest of several of these. Each has a **pivot**: the number of standard errors by which a mean
over seeds lies from its expectation if the effect had some value. The interval is the set of
values whose pivot is not extreme. What is extreme is asked of

- the studentised bootstrap (bootstrap-t): the pivot's own distribution over resamples, which
  follows skewness;
- Student's t distribution, exact for normal values and careful with symmetric long tails.

Each fails where the other is good, so the interval holds both, or Student's alone where so many
runs are equal that a resample may have no spread. The page *Coverage* of the book
shows by simulation how often each covers the truth.

Every interval is a function of the values alone: for one number of seeds the resamples are always
the same. Two calls give the same interval, on any machine.

One seed has no interval. Values that are all equal have an interval of width zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from longfair.errors import UsageError
from longfair.wording import with_interval

RESAMPLES = 10_000
"""Bootstrap resamples behind every interval."""

APART = 3.0
"""Two kinds of runs: the gap between them is this many times as wide as the larger kind."""

ROUNDING = 1e-12
"""Relative to the largest of some numbers, what is below this is taken for zero."""

StatisticName = Literal["mean", "interquartile mean"]
Kind = Literal["both", "studentised", "t"]
"""Which quantiles of a pivot: from resamples, of Student's t distribution, or the wider of both."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty over seeds.

    Parameters
    ----------
    value
        Point estimate.
    low, high
        Ends of the interval; None when there is only one seed, or when no end can be given: the
        denominator of a ratio may be zero; by the studentised bootstrap alone, all runs but a few
        are equal; by percentiles, there are too few resamples for the level.
    seeds
        Number of seeds.
    statistic
        What was estimated.
    level
        Level of the interval.
    two_kinds
        Whether the runs are of two kinds, so that a mean describes neither; see `two_kinds`.
    """

    value: float
    low: float | None
    high: float | None
    seeds: int
    statistic: str
    level: float = 0.95
    two_kinds: bool = False

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high

    def __str__(self) -> str:
        """Write the number and, in brackets, its interval."""
        return with_interval(self.value, self.interval)


def interquartile_mean(values: npt.ArrayLike) -> Any:
    """Mean of the middle half: a quarter of the values is cut off at each end.

    Parameters
    ----------
    values
        Shape (..., n).

    Returns
    -------
    float or numpy.ndarray
        Shape (...).
    """
    from scipy.stats import trim_mean

    return trim_mean(np.asarray(values, dtype=np.float64), 0.25, axis=-1)


def within_ends(found: Estimate, low: float, high: float) -> Estimate:
    """Cut off what an interval holds of values that cannot occur.

    Coverage stays as it is, because the true value can occur.

    Parameters
    ----------
    found
        An estimate; its value lies between the ends.
    low, high
        Least and largest value that can occur.

    Returns
    -------
    Estimate
        The same with the ends of its interval moved in where they lie outside.
    """
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, low), high=min(found.high, high))


def estimate(
    values: npt.ArrayLike,
    statistic: StatisticName = "mean",
    level: float = 0.95,
    *,
    name: str = "",
) -> Estimate:
    """Estimate a mean or an interquartile mean over seeds.

    Parameters
    ----------
    values
        Shape (seeds,): one number per seed.
    statistic
        ``"mean"``, or ``"interquartile mean"`` with the interval of Tukey and McLaughlin: the
        spread of the values whose ends are moved in, on Student's t distribution.
    level
        Level of the interval, between 0 and 1.
    name
        What is estimated, for messages.

    Returns
    -------
    Estimate
        Point estimate and interval.

    Raises
    ------
    UsageError
        If there are no values, a value is not finite, or a parameter is out of range.
    """
    array = np.asarray(values, dtype=np.float64)
    _require_sound(array, level, name)
    if statistic == "mean":
        return smallest([mean_effect(array)], level, statistic=statistic)
    if statistic != "interquartile mean":
        raise UsageError(f"unknown statistic {statistic!r}: allowed: mean, interquartile mean")
    value, size, cut = float(interquartile_mean(array)), array.size, array.size // 4
    if size == 1:
        return Estimate(value, None, None, 1, statistic, level)
    ordered = np.sort(array)
    moved_in = np.clip(array, ordered[cut], ordered[-1 - cut])
    error = moved_in.std(ddof=1) * np.sqrt(size) / (size - 2 * cut)
    half = error * _student(level, size - 2 * cut - 1)
    odd = two_kinds(array) is not None
    return Estimate(value, value - half, value + half, size, statistic, level, odd)


def paired_difference(
    first: pd.Series[float], second: pd.Series[float], level: float = 0.95, *, name: str = ""
) -> Estimate:
    """Estimate the mean difference ``first - second`` between methods that share their seeds.

    Parameters
    ----------
    first, second
        One number per seed, indexed by seed.
    level
        Level of the interval, between 0 and 1.
    name
        What is estimated, for messages.

    Returns
    -------
    Estimate
        Mean of the differences and its interval.

    Raises
    ------
    UsageError
        If a seed is missing on one side or appears twice.
    """
    left, right = joined(first, second)
    difference = left - right
    _require_sound(difference, level, name)
    return smallest([mean_effect(difference)], level, statistic="mean difference")


@dataclass(frozen=True)
class Effect:
    """One effect with its pivot.

    Parameters
    ----------
    value
        Point estimate.
    residuals
        Shape (seeds,), of mean zero: what varies over seeds. The pivot is their mean over its
        standard error.
    end
        The effect at which the pivot has a value; not finite if there is none.
    """

    value: float
    residuals: Floats
    end: Callable[[float], float]


def mean_effect(values: Floats) -> Effect:
    """Take a mean over seeds as an effect."""
    value = float(values.mean())
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return Effect(value, np.zeros_like(values), lambda pivot: value)
    error = values.std(ddof=1) / np.sqrt(values.size)
    return Effect(value, values - value, lambda pivot: value - pivot * float(error))


def reduction_effect(method: Floats, other: Floats) -> Effect:
    r"""Take ``1 - mean(method) / mean(other)`` as an effect, by Fieller's theorem.

    At a ratio :math:`\rho` the numbers ``method - rho * other`` have mean zero, so their mean over
    its standard error is a pivot. The ratio with a given pivot is a root of a quadratic equation;
    there is none where the denominator is not told apart from zero. Where the mean of the other is
    not positive there is nothing to reduce, and the value is NaN.

    Parameters
    ----------
    method, other
        Shape (seeds,) each.
    """
    top, bottom = float(method.mean()), float(other.mean())
    if bottom <= 0:
        return Effect(np.nan, np.zeros_like(method), lambda pivot: np.nan)
    ratio = top / bottom
    if method.size == 1:
        return Effect(1 - ratio, np.zeros_like(method), lambda pivot: np.nan)
    (top_square, product), (_, bottom_square) = np.cov(method, other) / method.size
    most = 1.0 if method.min() >= 0 else np.inf  # more than all of it cannot be taken away

    def end(pivot: float) -> float:
        if np.isinf(pivot):
            return np.nan
        squared = pivot**2
        leading = bottom**2 - squared * bottom_square
        middle = top * bottom - squared * product
        root = np.sqrt(max(middle**2 - leading * (top**2 - squared * top_square), 0.0))
        found = (middle + np.sign(pivot) * root) / leading if leading > 0 else np.nan
        return float(min(1 - found, most))

    return Effect(1 - ratio, ratio * other - method, end)


def smallest(
    effects: Sequence[Effect],
    level: float = 0.95,
    kind: Kind = "both",
    *,
    statistic: str = "smallest effect",
) -> Estimate:
    """Estimate the smallest of one or more effects over the same seeds.

    The lower end is the smallest of the effects' own lower ends: it is too high only if that of
    the truly smallest effect is. The upper end could be too low through any of them, so the upper
    ends are simultaneous: all of them hold together as often as the level says. With one effect
    both are the ends of its ordinary interval.

    Parameters
    ----------
    effects
        At least one.
    level
        Level of the interval, between 0 and 1.
    kind
        Where the quantiles of the pivots come from.
    statistic
        What is estimated, for tables.

    Returns
    -------
    Estimate
        Value and interval.
    """
    value = min(effect.value for effect in effects)
    seeds = effects[0].residuals.size
    if seeds == 1 or not np.isfinite(value):
        return Estimate(value, None, None, seeds, statistic, level)
    residuals = np.stack([effect.residuals for effect in effects], axis=1)
    uppers, lower = _quantiles(residuals, level, kind)
    low = min(effect.end(pivot) for effect, pivot in zip(effects, uppers, strict=True))
    high = min(effect.end(lower) for effect in effects)
    odd = any(two_kinds(effect.residuals) is not None for effect in effects)
    ends = [effect.end(pivot) for effect in effects for pivot in (*uppers, lower)]
    if not np.isfinite(ends).all():
        return Estimate(value, None, None, seeds, statistic, level, odd)
    return Estimate(value, low, high, seeds, statistic, level, odd)


def resampled(statistic: Callable[[Floats], Floats], seeds: int) -> tuple[float, Floats]:
    """Return a statistic of equally weighted seeds, and that of every resample.

    Parameters
    ----------
    statistic
        Function of weights of the seeds, shape (..., seeds), that reduces the last axis.
    seeds
        Number of seeds.
    """
    return float(statistic(np.full(seeds, 1 / seeds))), statistic(_resamples(seeds))


def percentile_of(value: float, resamples: Floats, seeds: int, level: float = 0.95) -> Estimate:
    """Estimate a statistic that has no standard error, by the percentiles of its resamples.

    Resamples of few seeds spread too little, so percentiles further out are taken: those that
    make the interval of a mean as wide as Student's (Hesterberg 2015). There is no interval where
    they are so far out that not one of the resamples is beyond. Prefer an `Effect` where there is
    one.

    Parameters
    ----------
    value, resamples
        As from `resampled`.
    seeds
        Number of seeds.
    level
        Level of the interval, between 0 and 1.
    """
    if seeds == 1:
        return Estimate(value, None, None, 1, "percentile", level)
    from scipy.special import ndtr  # a quarter of a second less than scipy.stats

    tail = float(ndtr(-_student(level, seeds - 1) * np.sqrt(seeds / (seeds - 1))))
    if tail * resamples.size < 1:
        return Estimate(value, None, None, seeds, "percentile", level)
    ends = np.quantile(resamples, [tail, 1 - tail])
    return Estimate(value, float(ends[0]), float(ends[1]), seeds, "percentile", level)


def smallest_percentile(
    drawn: Sequence[tuple[float, Floats]], seeds: int, level: float = 0.95
) -> Estimate:
    """Estimate the smallest of one or more statistics that have no standard error.

    As with `smallest`, the lower end is the smallest of the statistics' own lower ends, and the
    upper ends hold together. Percentiles of the smallest itself would be too low where several are
    nearly equal, because the smallest of several noisy numbers is.

    Parameters
    ----------
    drawn
        At least one value with its resamples, as from `resampled`, from the same seeds.
    seeds
        Number of seeds.
    level
        Level of the interval, between 0 and 1.
    """
    joint = 1 - (1 - level) / len(drawn)
    value = min(value for value, _ in drawn)
    both = [
        [percentile_of(*one, seeds, own_level).interval for own_level in (level, joint)]
        for one in drawn
    ]
    ends = [(own[0], wide[1]) for own, wide in both if own is not None and wide is not None]
    if len(ends) < len(drawn):
        return Estimate(value, None, None, seeds, "percentile", level)
    low, high = map(min, zip(*ends, strict=True))
    return Estimate(value, low, high, seeds, "percentile", level)


def two_kinds(values: npt.ArrayLike) -> float | None:
    """Find the number that parts two kinds of runs, if no run ends near their mean.

    A few fail, say, and the others agree. It is so where a gap between neighbours is at least
    `APART` times as wide as everything on the side of it that has more runs, or, of two sides with
    as many, as everything on one of them. Of normal values this
    is next to never found. Then show the median and count the runs, see `share`: the
    mean describes neither kind, and no interval of it can be trusted.

    Parameters
    ----------
    values
        Shape (seeds,). Fewer than eight do not tell.

    Returns
    -------
    float or None
        The middle of the gap; None if the runs are of one kind.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if ordered.size < 8:
        return None
    rounding = ROUNDING * float(np.abs(ordered).max())
    best, middle = APART, None
    for place in range(1, ordered.size):
        below, above = ordered[:place], ordered[place:]
        gap = float(above[0] - below[-1])
        most = max(below.size, above.size)
        larger = min(float(np.ptp(side)) for side in (below, above) if side.size == most)
        if gap > rounding and gap >= best * larger:
            best, middle = gap / max(larger, rounding), float(above[0] + below[-1]) / 2
    return middle


def share(hits: npt.ArrayLike, level: float = 0.95) -> Estimate:
    """Estimate the share of runs of which something is true.

    Parameters
    ----------
    hits
        Shape (seeds,): whether it is true of each run.
    level
        Level of the interval, between 0 and 1.

    Returns
    -------
    Estimate
        Share and its Clopper-Pearson interval, which covers at least as often as its level says,
        with any number of runs.

    Raises
    ------
    UsageError
        If there are no runs.
    """
    true = np.asarray(hits, dtype=bool)
    if not true.size:
        raise UsageError("there are no runs to take a share of: give at least one")
    low, high = _clopper_pearson(int(true.sum()), true.size, level)
    return Estimate(float(true.mean()), low, high, true.size, "share", level)


@lru_cache(maxsize=4096)
def _clopper_pearson(hits: int, size: int, level: float) -> tuple[float, float]:
    from scipy.stats import binomtest

    ends = binomtest(hits, size).proportion_ci(level)
    return float(ends.low), float(ends.high)


def share_difference(first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95) -> Estimate:
    r"""Estimate the difference ``first - second`` of shares of runs that share their seeds.

    Only runs that differ say anything. The difference is
    :math:`\pi (2 \theta - 1)`: a share :math:`\pi` of the seeds differs, and :math:`\theta` of
    these in favour of the first. Each of the two has an exact (Clopper-Pearson) interval with half
    the error, and the interval of the difference holds everything between them, so it covers at
    least as often as its level says. It excludes zero where the exact sign test (McNemar's) at
    half the error does.

    Parameters
    ----------
    first, second
        Shape (seeds,) each: whether something is true of each run.
    level
        Level of the interval, between 0 and 1.

    Returns
    -------
    Estimate
        Difference of the shares and its interval.
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    differ, half = one != other, (1 + level) / 2
    value = float(one.mean() - other.mean())
    seeds = share(differ, half)
    sign = share(one[differ], half).interval if differ.any() else (0.0, 1.0)
    assert seeds.interval is not None
    assert sign is not None
    ends = [often * (2 * favour - 1) for often in seeds.interval for favour in sign]
    return Estimate(value, min(ends), max(ends), one.size, "difference of shares", level)


def joined(*columns: pd.Series[float]) -> list[Floats]:
    """Join numbers of several methods by seed.

    Parameters
    ----------
    *columns
        One number per seed, indexed by seed.

    Returns
    -------
    list of numpy.ndarray
        Shape (seeds,) each, in ascending order of the seeds.

    Raises
    ------
    UsageError
        If the seeds differ, or one appears twice.
    """
    everywhere = set.union(*(set(column.index) for column in columns))
    for column in columns:
        if column.index.has_duplicates:
            twice = sorted(column.index[column.index.duplicated()])[0]
            raise UsageError(f"seed {twice} appears twice: give one number per seed")
        missing = sorted(everywhere - set(column.index))
        if missing:
            raise UsageError(
                f"seeds {', '.join(map(str, missing))} are missing for one of the methods: "
                "paired comparisons need the same seeds on both sides, so run the missing ones"
            )
    return [np.asarray(column.sort_index(), dtype=np.float64) for column in columns]


def _quantiles(residuals: Floats, level: float, kind: Kind) -> tuple[list[float], float]:
    """Return the upper quantile of every pivot, and the lower one of the smallest of them."""
    seeds, effects = residuals.shape
    shared = 1 - (1 - level) / effects
    uppers, lower = [_student(level, seeds - 1)] * effects, -_student(shared, seeds - 1)
    if kind == "t":
        return uppers, lower
    half = (1 - level) / 2
    pivots, least = _pivots(residuals.tobytes(), seeds)
    last = len(least) - 1
    own = pivots[math.ceil(last * (1 - half))].tolist()
    joint = float(least[math.floor(last * half)])
    if kind == "studentised":
        return own, joint
    own = [pivot if np.isfinite(pivot) else 0.0 for pivot in own]
    return list(map(max, own, uppers)), min(joint, lower) if np.isfinite(joint) else lower


@lru_cache(maxsize=256)
def _pivots(residuals: bytes, seeds: int) -> tuple[Floats, Floats]:
    """Resample seeds: means of residuals over their standard errors, in ascending order.

    Those of every effect, shape (resamples, effects), and the smallest of each resample. They are
    kept, because a verdict asks for quantiles at many levels.
    """
    sample = np.frombuffer(residuals).reshape(seeds, -1)
    scale = np.abs(sample).max(axis=0)
    sample = sample / np.where(scale > 0, scale, 1.0)
    drawn = _resamples(seeds)
    means = drawn @ sample
    variances = np.maximum(drawn @ sample**2 - means**2, 0.0) / (seeds - 1)
    means[np.abs(means) < ROUNDING] = 0.0
    variances[variances < ROUNDING] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        pivots = np.nan_to_num(means / np.sqrt(variances), posinf=np.inf, neginf=-np.inf)
    return np.sort(pivots, axis=0), np.sort(pivots.min(axis=1))


@lru_cache(maxsize=8)
def _resamples(seeds: int) -> Floats:
    """Weights of the seeds in every resample, shape (resamples, seeds)."""
    generator = np.random.default_rng(seeds)
    return generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=RESAMPLES) / seeds


def _student(level: float, freedom: int) -> float:
    from scipy.special import stdtrit  # a quarter of a second less than scipy.stats

    return float(stdtrit(freedom, (1 + level) / 2))


def _require_sound(array: Floats, level: float, name: str) -> None:
    if not 0 < level < 1:
        raise UsageError(f"level is {level}: it must lie between 0 and 1, such as 0.95")
    of = f" of {name}" if name else ""
    if array.ndim != 1 or array.size == 0:
        raise UsageError(f"values{of} have shape {array.shape}: give one per seed")
    if not np.isfinite(array).all():
        raise UsageError(f"values{of} are not all finite: find the run that broke")
