"""Transport distances against SciPy, closed forms and an exhaustive search."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from longfair.errors import UsageError
from longfair.metrics.distances import cloud_distance, score_distance, sorted_count_distance

# The lending problem's initial credit score distributions: the same shape, one level apart.
ADVANTAGED = np.array([0.0, 0.1, 0.1, 0.2, 0.3, 0.3, 0.0])
DISADVANTAGED = np.array([0.1, 0.1, 0.2, 0.3, 0.3, 0.0, 0.0])


def test_initial_lending_distributions_are_one_level_apart() -> None:
    assert score_distance(ADVANTAGED, DISADVANTAGED) == pytest.approx(1.0)


@pytest.mark.parametrize("scores", [None, [0.0, 1.0, 4.0, 5.0, 9.0], [3.0, 1.0, 2.0, -1.0, 0.5]])
def test_score_distance_agrees_with_scipy(scores: list[float] | None) -> None:
    generator = np.random.default_rng(7)
    first = generator.dirichlet(np.full(5, 0.3), size=(4, 6))
    second = generator.dirichlet(np.full(5, 0.3), size=(4, 6))
    places = np.arange(5) if scores is None else scores
    batch = score_distance(first, second, scores)
    assert batch.shape == (4, 6)
    for index in np.ndindex(4, 6):
        expected = wasserstein_distance(places, places, first[index], second[index])
        assert batch[index] == pytest.approx(expected, abs=1e-12)


def test_score_distance_with_empty_levels_and_rounded_sums() -> None:
    first = np.array([0.0, 0.0, 0.1 + 0.2, 0.7, 0.0])
    second = np.array([0.7, 0.3, 0.0, 0.0, 0.0])
    # 0.3 of the mass moves from level 2 to 0, 0.4 from 3 to 0, and 0.3 from 3 to 1.
    assert score_distance(first, second) == pytest.approx(0.3 * 2 + 0.4 * 3 + 0.3 * 2)
    assert score_distance(first, first) == 0.0


def test_figure_metric_of_the_initial_lending_clouds() -> None:
    clouds = np.tile(ADVANTAGED, (10, 1)), np.tile(DISADVANTAGED, (10, 1))
    assert cloud_distance(*clouds) == pytest.approx(np.sqrt(0.12))


def test_cloud_distance_is_the_best_matching() -> None:
    generator = np.random.default_rng(3)
    first, second = generator.normal(size=(5, 3)), generator.normal(size=(5, 3))
    best = min(
        np.linalg.norm(first - second[list(order)], axis=1).mean()
        for order in itertools.permutations(range(5))
    )
    assert cloud_distance(first, second) == pytest.approx(best)


def test_cloud_distance_between_clouds_of_different_size() -> None:
    assert cloud_distance([[0.0], [2.0]], [[1.0]]) == pytest.approx(1.0)


def test_sorted_counts_cannot_see_scores() -> None:
    first, second = 300 * ADVANTAGED, 300 * DISADVANTAGED
    assert sorted_count_distance(first, second) == pytest.approx(0.0)
    opposite = np.eye(7)[0] * 300, np.eye(7)[6] * 300
    assert sorted_count_distance(*opposite) == 0.0
    assert score_distance(np.eye(7)[0], np.eye(7)[6]) == pytest.approx(6.0)


def test_sorted_counts_of_a_batch() -> None:
    distance = sorted_count_distance([[1, 2, 3], [0, 0, 9]], [[3, 1, 2], [3, 3, 3]])
    np.testing.assert_allclose(distance, [0.0, 4.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score_distance([0.5, 0.6], [0.5, 0.5]), "one row sums to 1.1"),
        (lambda: score_distance([-0.5, 1.5], [0.5, 0.5]), "first must not be negative"),
        (lambda: score_distance([1.0], [0.5, 0.5]), "the same shape"),
        (lambda: score_distance(1.0, 1.0), "needs levels on its last axis"),
        (lambda: score_distance([1.0], [1.0], [0.0, 1.0]), r"scores must have shape \(1,\)"),
        (lambda: cloud_distance([0.0], [[1.0]]), r"first must have shape \(points, dimensions\)"),
        (lambda: cloud_distance([[0.0]], [[1.0, 2.0]]), "same dimension; given 1 and 2"),
        (lambda: sorted_count_distance([], []), "at least one level"),
        (lambda: sorted_count_distance([1, -1], [0, 0]), "first must not be negative"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()


def test_the_slow_library_is_loaded_on_first_use_only() -> None:
    code = "import sys, longfair.metrics; sys.exit('ot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
