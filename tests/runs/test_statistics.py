from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from longfair.errors import UsageError
from longfair.runs import statistics
from longfair.runs.statistics import (
    Effect,
    Estimate,
    Floats,
    estimate,
    interquartile_mean,
    joined,
    mean_effect,
    paired_difference,
    percentile_of,
    reduction_effect,
    resampled,
    share,
    share_difference,
    smallest,
    smallest_percentile,
    two_kinds,
)

VALUES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 3.0, 5.0, 9.0])


def by_seed(values: object, first: int = 0) -> pd.Series[float]:
    numbers = np.asarray(values, dtype=np.float64)
    return pd.Series(numbers, index=np.arange(first, first + numbers.size))


def test_the_interquartile_mean_drops_a_quarter_at_each_end() -> None:
    assert interquartile_mean([0.0, 1.0, 3.0, 100.0]) == 2.0
    assert interquartile_mean(VALUES) == np.mean([3.0, 4.0, 5.0, 8.0])
    np.testing.assert_allclose(interquartile_mean([[0, 1, 3, 100], [0, 0, 4, 5]]), [2.0, 2.0])


def drawn(distribution: str, generator: np.random.Generator, columns: int) -> tuple[Floats, float]:
    """Ten runs of several methods, and their true mean."""
    values = generator.normal(size=(10, columns))
    return (values, 0.0) if distribution == "normal" else (np.exp(values), np.exp(0.5))


def effects_of(statistic: str, runs: Floats, truth: float) -> tuple[list[Effect], float]:
    """The effects behind a statistic of four methods with one mean, and its true value."""
    if statistic == "mean":
        return [mean_effect(runs[:, 0])], truth
    if statistic == "reduction":
        level = runs - truth + 8
        return [reduction_effect(level[:, 0] / 4, level[:, 1])], 0.75
    number = 1 if statistic == "difference" else 3
    return [mean_effect(runs[:, 0] - runs[:, other]) for other in range(1, 1 + number)], 0.0


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take a tenth of the resamples, which leaves time for many intervals."""
    caches = (statistics._resamples, statistics._pivots)
    monkeypatch.setattr(statistics, "RESAMPLES", 1000)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("few_resamples")
@pytest.mark.parametrize(("distribution", "least"), [("normal", 0.94), ("lognormal", 0.91)])
@pytest.mark.parametrize("statistic", ["mean", "difference", "reduction", "smallest of three"])
def test_intervals_cover_as_often_as_the_book_says(
    statistic: str, distribution: str, least: float
) -> None:
    generator, repeats, hits = np.random.default_rng(7), 2000, 0
    for _ in range(repeats):
        effects, truth = effects_of(statistic, *drawn(distribution, generator, 4))
        low, high = smallest(effects).interval or (np.nan, np.nan)
        hits += bool(low <= truth <= high)
    # Less the noise of so short a simulation; the old percentile and BCa intervals fall below it.
    assert hits / repeats >= least - 0.01


def test_an_interval_holds_those_of_both_kinds() -> None:
    effects = [mean_effect(VALUES)]
    both, *others = (smallest(effects, kind=kind) for kind in ("both", "studentised", "t"))
    assert both.low == min(other.low for other in others if other.low is not None)
    assert both.high == max(other.high for other in others if other.high is not None)
    assert others[1].interval == pytest.approx(
        scipy.stats.t.interval(0.95, 7, VALUES.mean(), scipy.stats.sem(VALUES))
    )


def test_the_ends_of_several_effects_hold_together() -> None:
    generator, missed = np.random.default_rng(5), 0
    for _ in range(400):
        effects = [mean_effect(column) for column in generator.normal(size=(5, 10))]
        missed += (smallest(effects).high or 0.0) < 0
    assert missed / 400 < 0.035  # one by one each would be missed 1 in 40 times, all five 1 in 9


def test_a_reduction_has_the_interval_of_fieller() -> None:
    method, other = 1 + 0.1 * VALUES[::-1], 10 + VALUES
    found = smallest([reduction_effect(method, other)], kind="t")
    for end in found.interval or ():
        pivot = method - (1 - end) * other
        assert scipy.stats.ttest_1samp(pivot, 0).pvalue == pytest.approx(0.05)
    assert found.value == pytest.approx(1 - method.mean() / other.mean())


def test_the_interquartile_mean_has_the_interval_of_tukey_and_mclaughlin() -> None:
    # Wilcox, Introduction to Robust Estimation: winsorised spread over (1 - 2g) times root n.
    found = estimate(VALUES, "interquartile mean")
    moved = np.array([3.0, 3.0, 4.0, 8.0, 8.0, 3.0, 5.0, 8.0])
    half = scipy.stats.t.ppf(0.975, 3) * moved.std(ddof=1) / (0.5 * np.sqrt(8))
    assert found.interval == pytest.approx((5 - half, 5 + half))


LOST = [-2.3, -2.2, -2.4, -300.0, -2.1, -2.3, -2.2, -71.0, -2.2, -2.3]


def test_runs_of_two_kinds_are_told_from_skewed_ones() -> None:
    assert two_kinds(LOST) == pytest.approx((-71.0 - 2.4) / 2)
    assert two_kinds(-np.array(LOST)) == pytest.approx((71.0 + 2.4) / 2)
    assert estimate(LOST).two_kinds
    assert two_kinds(VALUES) is None
    assert two_kinds([1.0] * 10) is None
    assert two_kinds(LOST[:5]) is None
    halves = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 10.0])
    assert two_kinds(halves) == 0.5
    assert two_kinds(-halves) == -0.5
    generator = np.random.default_rng(3)
    assert sum(two_kinds(values) is not None for values in generator.normal(size=(500, 10))) < 5


def test_runs_that_are_equal_but_one_have_no_interval() -> None:
    assert smallest([mean_effect(np.array([0.0] * 9 + [1.0]))], kind="studentised").interval is None


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    assert share([True] * 2 + [False] * 8).interval == pytest.approx((0.0252, 0.5561), abs=1e-4)
    assert share([False] * 10).interval == pytest.approx((0.0, 0.3085), abs=1e-4)


def test_no_runs_have_no_share() -> None:
    with pytest.raises(UsageError, match="no runs to take a share of: give at least one"):
        share([])


def test_percentiles_beyond_all_resamples_are_no_interval() -> None:
    """Ten runs at 99.9 %: one resample in four million would have to be beyond."""
    value, resamples = resampled(lambda weights: weights @ np.arange(10.0), 10)
    assert percentile_of(value, resamples, 10, 0.99).interval is not None
    assert percentile_of(value, resamples, 10, 0.999).interval is None


def test_upper_percentiles_of_several_statistics_hold_together() -> None:
    first, second = (np.random.default_rng(seed).normal(size=10) for seed in (1, 2))
    drawn = [resampled(lambda w, runs=runs: w @ runs, 10) for runs in (first, second + 0.1)]
    low, high = smallest_percentile(drawn, 10).interval or (np.nan, np.nan)
    alone = [percentile_of(*one, 10) for one in drawn]
    wide = [percentile_of(*one, 10, 0.975) for one in drawn]
    assert low == min(one.low for one in alone if one.low is not None)
    assert high == min(one.high for one in wide if one.high is not None)
    assert smallest_percentile(drawn[:1], 10) == alone[0]
    assert smallest_percentile(drawn, 10, 0.999).interval is None


def test_of_several_like_leads_the_smallest_is_held_as_often_as_one_says() -> None:
    generator, above = np.random.default_rng(3), 0
    for _ in range(200):
        runs = generator.normal(size=(4, 10))
        drawn = [resampled(lambda w, own=own: w @ own, 10) for own in runs]
        above += (smallest_percentile(drawn, 10).high or 0.0) < 0
    assert above <= 200 * 0.07


def test_a_difference_of_shares_excludes_zero_where_mcnemar_does_with_half_the_error() -> None:
    for more in range(11):
        found = share_difference([True] * more + [False] * (10 - more), [False] * 10)
        assert found.value == more / 10
        sign = scipy.stats.binomtest(more, more).pvalue if more else 1.0
        assert ((found.low or 0.0) > 0) == (sign < 0.025)
    assert share_difference([True] * 10, [True] * 10).high == pytest.approx(0.3548, abs=1e-4)


def test_a_higher_level_gives_a_wider_interval() -> None:
    narrow, wide = estimate(VALUES, level=0.8).interval, estimate(VALUES, level=0.99).interval
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < np.mean(VALUES) < narrow[1] < wide[1]


def test_an_interval_depends_on_the_values_and_on_nothing_else() -> None:
    first = estimate(VALUES, name="bias of fair")
    assert estimate(VALUES, name="bias of greedy") == first
    assert first.interval == pytest.approx((1.9043506554317675, 12.702540610314223), abs=1e-9)


@pytest.mark.parametrize("statistic", ["mean", "interquartile mean"])
def test_one_seed_has_no_interval(statistic: str) -> None:
    found = estimate([2.0], statistic)  # type: ignore[arg-type]  # one of the two
    assert found == Estimate(2.0, None, None, 1, statistic)
    assert found.interval is None


@pytest.mark.parametrize("statistic", ["mean", "interquartile mean"])
def test_equal_values_have_an_interval_of_width_zero(statistic: str) -> None:
    found = estimate([0.25] * 7, statistic)  # type: ignore[arg-type]  # one of the two
    assert found.interval == (0.25, 0.25)


def test_differences_are_paired() -> None:
    level = 100 * np.arange(8.0)
    found = paired_difference(by_seed(level + 1 + 0.01 * VALUES), by_seed(level))
    assert found.value == pytest.approx(1.06)
    assert found.interval is not None
    assert np.ptp(found.interval) < 0.2


def test_pairs_are_matched_by_seed_not_by_position() -> None:
    first = by_seed(VALUES)
    found = paired_difference(first, (first - 1.0).iloc[::-1])
    assert found.interval == (1.0, 1.0)
    np.testing.assert_array_equal(joined(first.iloc[::-1])[0], VALUES)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_difference(by_seed([1, 2, 3]), by_seed([1, 2])), "seeds 2 are missing"),
        (lambda: paired_difference(by_seed([1, 2]), by_seed([1, 2], 1)), "seeds 2 are missing"),
        (
            lambda: joined(pd.Series([1.0, 2.0], index=[4, 4]), pd.Series([1.0], index=[4])),
            "seed 4 appears twice",
        ),
        (lambda: estimate([]), "have shape"),
        (lambda: estimate([[1.0]]), "have shape"),
        (lambda: estimate([1.0, float("nan")], name="bias"), "values of bias are not all finite"),
        (lambda: estimate(VALUES, level=1.0), "level is 1.0"),
        (lambda: estimate(VALUES, "median"), "unknown statistic 'median'"),
    ],
)
def test_bad_input_is_explained(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()  # type: ignore[operator]  # a function without arguments


def test_no_more_than_all_can_be_taken_away() -> None:
    other = np.array([1.0, 1.2, 0.9, 1.1, 1.0, 0.8])
    method = np.array([0.2, 0.0, 0.5, 0.1, 0.0, 0.0])
    found = smallest([reduction_effect(method, other)])
    assert found.high == 1.0
    below = smallest([reduction_effect(method - 0.01, other)])
    assert below.high is not None
    assert below.high > 1.0


def test_a_reduction_from_what_may_be_zero_has_no_interval() -> None:
    found = smallest([reduction_effect(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 1.0]))])
    assert found.value == -5.0
    assert found.interval is None
    assert np.isnan(reduction_effect(np.ones(3), np.zeros(3)).value)
