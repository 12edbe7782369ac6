"""Estimates over seeds with honest intervals.

A seed is the unit of repetition, so seeds are what is resampled. Methods that are compared
share their seeds, and are resampled together. The interval is a bootstrap interval:

- bias-corrected and accelerated (BCa) for means, and for differences and ratios of means;
- percentile for interquartile means and for the smallest of several differences, whose
  jackknife acceleration is not trustworthy.

Every interval is a function of the values and of the name of what is estimated: the random
stream is seeded with a digest of that name. Two calls give the same interval, on any machine.

One seed has no interval. Values that are all equal have an interval of width zero.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from longfair.errors import UsageError

RESAMPLES = 10_000
"""Bootstrap resamples behind every interval."""

StatisticName = Literal["mean", "interquartile mean"]
Method = Literal["BCa", "percentile"]
Floats = npt.NDArray[np.float64]
Statistic = Callable[..., Any]
"""Function of one or more arrays and ``axis`` that reduces the axis."""


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty over seeds.

    Parameters
    ----------
    value
        Point estimate.
    low, high
        Ends of the interval; None when there is only one seed, or when the statistic is
        undefined for a resample (a ratio whose denominator is zero).
    seeds
        Number of seeds.
    statistic
        What was estimated.
    level
        Level of the interval.
    """

    value: float
    low: float | None
    high: float | None
    seeds: int
    statistic: str
    level: float = 0.95

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high

    def __str__(self) -> str:
        """Write the number and, in brackets, its interval."""
        if self.low is None or self.high is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def interquartile_mean(values: npt.ArrayLike, axis: int | None = -1) -> Any:
    """Mean of the middle half: a quarter of the values is cut off at each end.

    Parameters
    ----------
    values
        Array of any shape.
    axis
        Axis to reduce; None for all.

    Returns
    -------
    float or numpy.ndarray
        The values without the axis.
    """
    from scipy.stats import trim_mean  # half a second, which reading claims need not wait for

    return trim_mean(np.asarray(values, dtype=np.float64), 0.25, axis=axis)


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
        ``"mean"`` or ``"interquartile mean"``.
    level
        Level of the interval, between 0 and 1.
    name
        What is estimated; decides the random stream.

    Returns
    -------
    Estimate
        Point estimate and interval.

    Raises
    ------
    UsageError
        If there are no values, a value is not finite, or a parameter is out of range.
    """
    if statistic == "mean":
        return bootstrap([values], np.mean, statistic, "BCa", level, name=name)
    if statistic == "interquartile mean":
        return bootstrap([values], interquartile_mean, statistic, "percentile", level, name=name)
    raise UsageError(f"unknown statistic {statistic!r}: allowed: mean, interquartile mean")


def stratified_interquartile_mean(
    scores: npt.ArrayLike,
    level: float = 0.95,
    *,
    resamples: int = RESAMPLES,
    name: str = "",
) -> Estimate:
    """Estimate the interquartile mean over several tasks, each task's runs resampled apart.

    Parameters
    ----------
    scores
        Shape (runs, tasks).
    level
        Level of the interval, between 0 and 1.
    resamples
        Bootstrap resamples.
    name
        What is estimated; decides the random stream.

    Returns
    -------
    Estimate
        Point estimate over all scores together, and percentile interval.

    Raises
    ------
    UsageError
        If the scores have another shape or are not finite, or the level is out of range.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2:
        raise UsageError(f"scores have shape {matrix.shape}: give (runs, tasks)")
    return bootstrap(
        list(matrix.T),
        _pooled_interquartile_mean,
        "interquartile mean",
        "percentile",
        level,
        paired=False,
        resamples=resamples,
        name=name,
    )


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
        What is estimated; decides the random stream.

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
    return bootstrap([left - right], np.mean, "mean difference", "BCa", level, name=name)


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
    """
    from scipy.stats import binomtest

    true = np.asarray(hits, dtype=bool)
    ends = binomtest(int(true.sum()), true.size).proportion_ci(level)
    value = float(true.mean())
    return Estimate(value, float(ends.low), float(ends.high), true.size, "share", level)


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


def bootstrap(
    samples: Sequence[npt.ArrayLike],
    statistic: Statistic,
    statistic_name: str,
    method: Method,
    level: float = 0.95,
    *,
    paired: bool = True,
    resamples: int = RESAMPLES,
    name: str = "",
) -> Estimate:
    """Estimate any statistic of one or more samples.

    Parameters
    ----------
    samples
        Arrays of shape (seeds,); of equal length if paired.
    statistic
        Function of the samples and ``axis``.
    statistic_name
        Name for tables.
    method
        Kind of interval. Where BCa is undefined the percentile interval is given instead.
    level
        Level of the interval, between 0 and 1.
    paired
        Whether the samples share their seeds and are resampled together.
    resamples
        Bootstrap resamples.
    name
        What is estimated; decides the random stream.

    Returns
    -------
    Estimate
        Point estimate and interval.

    Raises
    ------
    UsageError
        If a sample is empty or not finite, or the level is out of range.
    """
    arrays: list[Floats] = [np.array(sample, dtype=np.float64) for sample in samples]
    _require_sound(arrays, level, name)
    value = float(statistic(*arrays, axis=-1))
    seeds = min(array.size for array in arrays)
    if seeds == 1:
        return Estimate(value, None, None, 1, statistic_name, level)
    if all(np.ptp(array) == 0 for array in arrays):
        return Estimate(value, value, value, seeds, statistic_name, level)
    for kind in (method, "percentile"):
        low, high = _interval(arrays, statistic, kind, level, paired, resamples, name)
        if np.isfinite(low) and np.isfinite(high):
            return Estimate(value, low, high, seeds, statistic_name, level)
    return Estimate(value, None, None, seeds, statistic_name, level)


def _interval(
    arrays: Sequence[Floats],
    statistic: Statistic,
    method: str,
    level: float,
    paired: bool,
    resamples: int,
    name: str,
) -> tuple[float, float]:
    from scipy.stats import bootstrap as resampled

    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        # BCa on degenerate data warns and returns NaN; the caller then takes percentiles.
        warnings.simplefilter("ignore")
        result = resampled(
            tuple(arrays),
            statistic,
            paired=paired and len(arrays) > 1,
            vectorized=True,
            n_resamples=resamples,
            batch=2_000,
            confidence_level=level,
            method=method,
            rng=np.random.default_rng(seed_from(name)),
        )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def seed_from(name: str) -> int:
    """Turn a name into a seed for a random stream: the first 8 bytes of its SHA-256 digest."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest()[:8], "big")


def _pooled_interquartile_mean(*tasks: Floats, axis: int = -1) -> Any:
    return interquartile_mean(np.concatenate(tasks, axis=axis), axis)


def _require_sound(arrays: Sequence[Floats], level: float, name: str) -> None:
    if not 0 < level < 1:
        raise UsageError(f"level is {level}: it must lie between 0 and 1, such as 0.95")
    for array in arrays:
        if array.ndim != 1 or array.size == 0:
            raise UsageError(f"values{_of(name)} have shape {array.shape}: give one per seed")
        if not np.isfinite(array).all():
            raise UsageError(f"values{_of(name)} are not all finite: find the run that broke")


def _of(name: str) -> str:
    return f" of {name}" if name else ""
