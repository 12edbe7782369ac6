"""Scores over time: every notion on small examples, and how the notions contain each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from longfair.errors import UsageError
from longfair.metrics.memory_fairness import (
    FairnessScheme,
    anytime,
    average_moment,
    bounded,
    counts,
    discounted_sum,
    every,
    every_moment,
    last_moment,
    least_squared_unfairness,
    long_term,
    periodic,
    policy_score,
    rawlsian_welfare,
    relaxed_parity,
    scheme_rewards,
    timepoint_first,
    worst_moment,
)

VALUES = np.array([5.0, 1.0, 2.0, 4.0])
SOME = [False, True, False, True]
ALTERNATING = np.tile([[1.0, 0.0], [0.0, 1.0]], (3, 1))
PARITY = timepoint_first(relaxed_parity, discounted_sum)
WORST = timepoint_first(rawlsian_welfare, worst_moment)


@pytest.mark.parametrize(
    ("over_time", "of_all", "of_some"),
    [
        (last_moment, 4.0, 4.0),
        (average_moment, 3.0, 2.5),
        (discounted_sum, 12.0, 5.0),
        (partial(discounted_sum, discount=0.5), 5 + 0.5 + 0.5 + 0.5, 1 + 2),
        (worst_moment, 1.0, 1.0),
    ],
)
def test_aggregation_over_time(
    over_time: Callable[..., np.ndarray], of_all: float, of_some: float
) -> None:
    assert over_time(VALUES) == of_all
    assert over_time(VALUES, SOME) == of_some
    two = over_time(np.stack([VALUES, VALUES]), np.array([[True] * 4, SOME]))
    np.testing.assert_array_equal(two, [of_all, of_some])


def test_the_last_moment_that_counts_may_be_an_early_one() -> None:
    assert last_moment(VALUES, [True, False, False, False]) == 5.0
    assert worst_moment(VALUES, [True, False, False, True]) == 4.0


def test_without_a_moment_only_a_sum_is_defined() -> None:
    assert discounted_sum(VALUES, False) == 0.0
    for over_time in (last_moment, average_moment, worst_moment):
        with pytest.raises(UsageError, match="no moment that counts"):
            over_time([VALUES, VALUES], [[True] * 4, [False] * 4])


def test_turn_taking_is_fair_every_second_step_and_not_in_between() -> None:
    statuses = counts(ALTERNATING)
    assert long_term(statuses, relaxed_parity) == 0.0
    assert anytime(statuses, PARITY) == -3.0
    assert periodic(statuses, PARITY, 2) == 0.0
    assert periodic(statuses, PARITY, 3) == -1.0
    assert periodic(statuses, PARITY, 4) == 0.0


def test_a_period_that_does_not_divide_the_length_drops_the_rest() -> None:
    statuses = counts(ALTERNATING[:5])
    assert long_term(statuses, relaxed_parity) == -1.0
    assert periodic(statuses, PARITY, 2) == 0.0


@given(
    arrays(np.float64, (4, 12, 2), elements=st.integers(0, 3).map(float)),
    st.integers(1, 12),
    st.sampled_from([least_squared_unfairness, PARITY, WORST]),
)
def test_periodic_and_anytime_are_bounded_fairness(
    received: np.ndarray, period: int, aggregation: Callable[..., np.ndarray]
) -> None:
    statuses = counts(received)
    moments = np.arange(1, 13)
    by_filter = bounded(statuses, aggregation, moments % period == 0)
    np.testing.assert_array_equal(periodic(statuses, aggregation, period), by_filter)
    cut_out = anytime(statuses[:, period - 1 :: period], aggregation)
    np.testing.assert_allclose(by_filter, cut_out, rtol=1e-12, atol=1e-12)
    last = timepoint_first(rawlsian_welfare, last_moment)
    np.testing.assert_array_equal(anytime(statuses, last), long_term(statuses, rawlsian_welfare))


def test_a_scheme_scores_many_traces_at_once() -> None:
    received = np.random.default_rng(2).integers(0, 2, size=(6, 12, 3)).astype(float)

    def another_dozen(trace: np.ndarray, moments: np.ndarray) -> np.ndarray:
        handed_out = trace.sum(axis=-1).cumsum(axis=-1)
        before = handed_out - trace.sum(axis=-1)
        return np.asarray(handed_out // 6 > before // 6)

    scheme = FairnessScheme(
        counts, timepoint_first(rawlsian_welfare, discounted_sum), another_dozen
    )
    scores = scheme.score(received)
    assert scores.shape == (6,)
    one = received[3]
    expected = sum(
        counts(one)[t].min() for t in range(12) if one[: t + 1].sum() // 6 > one[:t].sum() // 6
    )
    assert scores[3] == scheme.score(one) == expected > 0


def test_filters_name_moments_from_one() -> None:
    moments = np.arange(1, 7)
    np.testing.assert_array_equal(np.flatnonzero(every(3)(None, moments)) + 1, [3, 6])
    assert every_moment(None, moments).all()


def test_rewards_add_up_to_the_score() -> None:
    received = np.random.default_rng(3).integers(0, 2, size=(9, 8, 2)).astype(float)
    statuses = counts(received)
    scheme = FairnessScheme(counts, PARITY, every(3))
    rewards = scheme_rewards(statuses, relaxed_parity, np.arange(1, 9) % 3 == 0)
    np.testing.assert_allclose(rewards.sum(axis=-1), scheme.score(received))
    assert (rewards[:, [0, 1, 3, 4, 6, 7]] == 0).all()
    assert (rewards != 0).any()
    discounted = timepoint_first(relaxed_parity, partial(discounted_sum, discount=0.9))
    np.testing.assert_allclose(
        scheme_rewards(statuses, relaxed_parity) @ 0.9 ** np.arange(8),
        anytime(statuses, discounted),
    )


def test_a_policy_is_scored_by_the_mean_of_its_traces() -> None:
    score = policy_score([1.0, 2.0, 3.0, 6.0])
    assert score.mean == 3.0
    assert score.standard_error == pytest.approx(np.sqrt(14 / 3) / 2)
    assert np.isnan(policy_score([4.0]).standard_error)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: every(0), "at least 1 step; given 0"),
        (lambda: periodic(np.ones((3, 2)), PARITY, 0), "at least 1 step; given 0"),
        (lambda: bounded(np.ones((3, 2)), PARITY, [True, False]), "does not fit the moments (3,)"),
        (lambda: long_term(np.ones(3), relaxed_parity), "(moments, people)"),
        (lambda: anytime(np.ones((0, 2)), PARITY), "neither empty; given (0, 2)"),
        (lambda: discounted_sum(VALUES, discount=1.5), "discount=1.5: give a finite number"),
        (lambda: last_moment(VALUES, [True, False]), "shape (2,)"),
        (lambda: worst_moment(3.0), "time on their last axis"),
        (lambda: policy_score([]), "at least one trace"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    wrong: Callable[[], object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        wrong()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
