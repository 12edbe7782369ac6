from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.runs.statistics import (
    Estimate,
    Floats,
    bootstrap,
    estimate,
    interquartile_mean,
    joined,
    paired_difference,
    seed_from,
    stratified_interquartile_mean,
)

# 10 runs x 6 tasks. The numbers below were computed once with rliable 1.2.0 (50 000 resamples,
# its own stratified bootstrap), in an environment of its own.
SCORES = np.array(
    [
        [1.19, 1.64, 0.83, 4.10, 0.43, 2.80],
        [0.65, 1.07, 1.79, 2.19, 2.39, 1.84],
        [0.60, 2.09, 1.09, 3.41, 2.00, 1.68],
        [1.07, 0.68, 3.82, 2.79, 0.98, 8.71],
        [2.05, 1.52, 1.60, 1.89, 1.92, 4.90],
        [2.16, 0.96, 2.02, 4.47, 1.66, 2.44],
        [1.06, 0.39, 4.09, 1.33, 2.06, 2.29],
        [1.44, 1.70, 1.23, 4.89, 2.59, 1.46],
        [0.44, 0.83, 1.51, 2.38, 2.76, 1.18],
        [1.16, 3.01, 4.56, 1.40, 0.33, 0.92],
    ]
)
RLIABLE_POINT = 1.7286666666666667
RLIABLE_INTERVAL = (1.5020, 1.9933)

VALUES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 3.0, 5.0, 9.0])


def by_seed(values: object, first: int = 0) -> pd.Series[float]:
    numbers = np.asarray(values, dtype=np.float64)
    return pd.Series(numbers, index=np.arange(first, first + numbers.size))


def test_the_stratified_interquartile_mean_agrees_with_rliable() -> None:
    found = stratified_interquartile_mean(SCORES, resamples=50_000)
    assert found.value == pytest.approx(RLIABLE_POINT, rel=1e-12)
    assert found.interval == pytest.approx(RLIABLE_INTERVAL, abs=0.004)
    assert found.seeds == 10


def test_tasks_are_resampled_apart() -> None:
    tasks_apart = SCORES + 100 * np.arange(6)
    mixed = estimate(tasks_apart.ravel(), "interquartile mean")
    stratified = stratified_interquartile_mean(tasks_apart)
    assert stratified.interval is not None
    assert mixed.interval is not None
    assert np.ptp(stratified.interval) < 0.05 * np.ptp(mixed.interval)


def test_the_interquartile_mean_drops_a_quarter_at_each_end() -> None:
    assert interquartile_mean([0.0, 1.0, 3.0, 100.0]) == 2.0
    assert interquartile_mean(VALUES) == np.mean([3.0, 4.0, 5.0, 8.0])
    np.testing.assert_allclose(interquartile_mean([[0, 1, 3, 100], [0, 0, 4, 5]]), [2.0, 2.0])


def test_the_interval_of_a_mean_covers_as_often_as_it_says() -> None:
    generator = np.random.default_rng(3)
    hits = 0
    for repeat in range(400):
        found = estimate(generator.normal(size=20), name=str(repeat))
        assert found.interval is not None
        hits += found.interval[0] <= 0.0 <= found.interval[1]
    assert 0.90 <= hits / 400 <= 0.97


def test_a_higher_level_gives_a_wider_interval() -> None:
    narrow, wide = estimate(VALUES, level=0.8).interval, estimate(VALUES, level=0.99).interval
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < np.mean(VALUES) < narrow[1] < wide[1]


def test_the_stream_depends_on_the_name_and_on_nothing_else() -> None:
    first = estimate(VALUES, name="bias of fair")
    assert estimate(VALUES, name="bias of fair") == first
    assert estimate(VALUES, name="bias of greedy") != first
    assert seed_from("bias of fair") == 8461029454236884939


def test_numbers_of_an_interval_are_frozen() -> None:
    found = estimate(VALUES, name="frozen")
    assert found.value == 6.0
    assert found.interval == pytest.approx((3.5, 10.25), abs=1e-9)


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
    assert np.ptp(found.interval) < 0.1


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
        (lambda: stratified_interquartile_mean(VALUES), "give .runs, tasks."),
    ],
)
def test_bad_input_is_explained(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()  # type: ignore[operator]  # a function without arguments


def test_a_ratio_that_is_undefined_in_a_resample_has_no_interval() -> None:
    def ratio(first: Floats, second: Floats, axis: int = -1) -> Any:
        return np.mean(first, axis=axis) / np.mean(second, axis=axis)

    found = bootstrap([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]], ratio, "ratio of means", "BCa")
    assert found.value == 6.0
    assert found.interval is None
