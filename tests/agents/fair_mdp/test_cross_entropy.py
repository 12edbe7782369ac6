"""The search: elites, weights and moments by hand, and whether it finds a known optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from longfair.agents.fair_mdp.cross_entropy import (
    CrossEntropy,
    Gaussians,
    Scores,
    choose_elites,
    elite_weights,
    search,
)
from longfair.errors import UsageError


def scores(reward: list[float], violation: list[float]) -> Scores:
    return Scores(np.array(reward), np.array(violation))


def test_elites_are_the_best_of_the_feasible() -> None:
    found = choose_elites(scores([1, 9, 3, 4, 2], [0.0, 0.5, 0.1, 0.1, 0.05]), 0.1, 3)
    assert found.tolist() == [3, 2, 4]


def test_elites_are_the_least_violating_when_too_few_are_feasible() -> None:
    found = choose_elites(scores([1, 9, 3, 4, 2], [0.3, 0.5, 0.2, 0.2, 0.0]), 0.1, 3)
    assert found.tolist() == [4, 3, 2]
    # Of equal violations the better reward comes first.
    rewards = np.random.default_rng(0).permutation(40).astype(float)
    found = choose_elites(Scores(rewards, np.full(40, 0.2)), 0.1, 6)
    assert rewards[found].tolist() == [39, 38, 37, 36, 35, 34]


def test_tightening_shrinks_the_tolerance() -> None:
    seen = []

    def score(parameters: np.ndarray) -> Scores:
        """Reward is violation, so that the best elite shows the limit."""
        return Scores(np.abs(parameters[:, 0]) + 1.0, np.abs(parameters[:, 0]))

    for tightening in (0.0, 0.5):
        settings = CrossEntropy(elites=5, iterations=40, tightening=tightening)
        start = Gaussians.standard(1)
        *_, last = search(score, start, 0.4, settings, np.random.default_rng(0))
        seen.append(last.scores.violation[last.elites].max())
    assert seen[0] == pytest.approx(0.4, abs=0.01)
    assert seen[1] == pytest.approx(0.2, abs=0.01)


def test_weights() -> None:
    rewards = np.array([10.4, 10.2, 10.0])
    assert elite_weights(rewards, "linear") == pytest.approx(rewards)
    # Range over a fifth of the range: the best elite weighs e^5 times the worst.
    assert elite_weights(rewards, "exponential") == pytest.approx(np.exp([5, 2.5, 0]))
    assert elite_weights(rewards + 100, "exponential") == pytest.approx(np.exp([5, 2.5, 0]))
    assert elite_weights(np.full(3, 10.0), "exponential").tolist() == [1, 1, 1]
    # A fifth of the range is compared with 1e-5, not the range.
    nearly = np.array([10.0, 10.0 + 4.9e-5])
    assert elite_weights(nearly, "exponential") == pytest.approx([1, 1], abs=5e-5)
    further = np.array([10.0, 10.0 + 5.1e-5])
    assert elite_weights(further, "exponential") == pytest.approx([1, np.exp(5)])


def test_moments_move_towards_the_weighted_ones_of_the_elites() -> None:
    start = Gaussians(np.array([0.0, 2.0]), np.array([1.0, 5.0]))
    samples = np.array([[1.0, 0.0], [3.0, 4.0]])
    moved = start.moved(samples, np.array([3.0, 1.0]), 0.5)
    assert moved.mean == pytest.approx([0.5 * 1.5, 0.5 * 1.0 + 1.0])
    assert moved.second_moment == pytest.approx([0.5 * 3.0 + 0.5, 0.5 * 4.0 + 2.5])
    assert moved.deviation == pytest.approx(np.sqrt(moved.second_moment - moved.mean**2))


def test_rounding_below_zero_counts_as_no_variance() -> None:
    narrow = Gaussians(np.array([0.1]), np.array([0.1**2 - 1e-18]))
    assert narrow.deviation.tolist() == [0.0]
    assert narrow.sample(3, np.random.default_rng(0)).tolist() == [[0.1]] * 3


def test_draws_outside_the_bounds_are_repeated() -> None:
    bounded = Gaussians(np.array([0.0]), np.array([1.0]), (0.0, 1.0))
    draws = bounded.sample(20_000, np.random.default_rng(0))
    assert draws.min() >= 0.0
    assert draws.max() <= 1.0
    # A normal truncated to [0, 1] has mean (phi(0) - phi(1)) / (Phi(1) - Phi(0)).
    assert draws.mean() == pytest.approx(0.4599, abs=0.01)
    moved = bounded.moved(draws[:2], np.ones(2), 0.5)
    assert moved.bounds == (0.0, 1.0)


def test_finds_the_constrained_optimum_of_a_known_problem() -> None:
    """Maximise x + 2 y where x^2 + y^2 is at most 1, from far away."""

    def score(parameters: np.ndarray) -> Scores:
        return Scores(
            10.0 + parameters @ [1.0, 2.0], np.maximum((parameters**2).sum(axis=1) - 1.0, 0.0)
        )

    start = Gaussians(np.array([3.0, -3.0]), np.array([13.0, 13.0]))
    settings = CrossEntropy(population=200, elites=10, iterations=60)
    generations = list(search(score, start, 0.0, settings, np.random.default_rng(1)))
    assert [generation.number for generation in generations] == list(range(1, 61))
    assert generations[0].parameters.shape == (200, 2)
    best = generations[-1].parameters[generations[-1].elites[0]]
    assert best == pytest.approx(np.array([1.0, 2.0]) / np.sqrt(5.0), abs=0.03)


def test_same_seed_same_search() -> None:
    def score(parameters: np.ndarray) -> Scores:
        return Scores(1.0 + parameters[:, 0] ** 2, np.zeros(len(parameters)))

    runs = [
        [g.parameters for g in search(score, Gaussians.standard(3), 1.0, small, rng)]
        for small, rng in [(CrossEntropy(iterations=3), np.random.default_rng(7)) for _ in "ab"]
    ]
    assert np.array_equal(runs[0], runs[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elites": 51}, "elites=51: give 1 to population=50"),
        ({"iterations": 0}, "iterations=0"),
        ({"smoothing": 0.0}, "smoothing=0.0"),
        ({"weights": "square"}, "weights='square': allowed: exponential, linear"),
        ({"tightening": 1.0}, "tightening=1.0"),
    ],
)
def test_refuses_settings_without_meaning(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CrossEntropy(**settings)


def test_refuses_a_negative_tolerance_and_weights_that_are_not_positive() -> None:
    nobody: Any = None  # no generator: nothing is drawn before it is refused
    with pytest.raises(UsageError, match=r"tolerance=-0\.1"):
        next(search(lambda p: scores([], []), Gaussians.standard(1), -0.1, CrossEntropy(), nobody))
    with pytest.raises(UsageError, match="add an offset"):
        elite_weights(np.array([0.5, -0.1]), "linear")
