"""Decisions, statuses, welfare functions and unfairness, on examples worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from longfair.errors import UsageError
from longfair.metrics.memory_fairness import (
    all_equal,
    capped_counts,
    count_gap_modulo,
    counts,
    envy,
    equal_so_far,
    least_squared_unfairness,
    log_nash_welfare,
    nash_welfare,
    overall_unfairness,
    rawlsian_welfare,
    received_by,
    received_from_log,
    relaxed_parity,
    returns,
    unfair_in_favour_of,
    unfair_to,
    unfairness,
    utilitarian_welfare,
)

LOG = pd.DataFrame(
    {
        "step": [3, 1, 2, 2],
        "person": ["cleo", "ada", "bo", "ada"],
        "approved": [True, True, False, True],
    }
)
STATUSES = arrays(np.float64, (3, 4, 3), elements=st.integers(0, 50).map(float))


def test_a_unit_for_somebody_who_is_not_there_reaches_nobody() -> None:
    there = [[True, False], [False, True]]
    np.testing.assert_array_equal(received_by([0, 0], there), [[1, 0], [0, 0]])
    both = received_by([[0, 0], [1, 1]], [there, there])
    np.testing.assert_array_equal(both[1], [[0, 0], [0, 1]])


def test_a_log_becomes_one_row_per_step_and_one_column_per_person() -> None:
    table = received_from_log(LOG, amount="approved", people=["ada", "bo", "cleo", "dora"])
    assert list(table.index) == [1, 2, 3]
    np.testing.assert_array_equal(table, [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    np.testing.assert_array_equal(counts(table)[-1], [2, 0, 1, 0])
    assert received_from_log(LOG).to_numpy().sum() == len(LOG)


def test_several_decisions_for_one_person_in_one_step_add_up() -> None:
    twice = pd.concat([LOG, LOG.iloc[:1]])
    assert received_from_log(twice).loc[3, "cleo"] == 2


def mixed_names() -> list[object]:
    return [1, *["ada"] * (len(LOG) - 1)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: received_from_log(LOG, person="persn"), "did you mean"),
        (lambda: received_from_log(LOG, person="name"), "allowed: approved, person, step"),
        (lambda: received_from_log(LOG, people=["ada", "bo"]), "person 'cleo'"),
        (lambda: received_from_log(LOG.iloc[:0]), "at least one row"),
        (lambda: received_from_log(LOG.assign(step=np.nan)), "no missing value"),
        (lambda: received_from_log([1, 2]), "log=[1, 2]: give a DataFrame"),
        (lambda: received_from_log(LOG.assign(person=[[1]] * len(LOG))), "not lists or the like"),
        (lambda: received_from_log(LOG.assign(person=mixed_names())), "give people= in the order"),
        (lambda: received_by([0, 2], [[1, 1], [1, 1]]), "0 to 1; given 0 to 2"),
        (lambda: received_by([0.0, 0.5], [[1, 1], [1, 1]]), "whole numbers, one person each"),
        (lambda: log_nash_welfare([1.0], -1.0), "smoothing=-1.0: give a finite number"),
        (lambda: log_nash_welfare([1.0], np.nan), "smoothing=nan: give a finite number"),
        (lambda: counts(np.ma.masked_equal([[0.0, 1.0]], 1.0)), "has masked values: leave them"),
        (lambda: received_by([0], [[1, 1], [1, 1]]), "given (1,) and (2, 2)"),
        (lambda: counts([1.0, 2.0]), "(steps, people); given (2,)"),
        (lambda: capped_counts([[1.0]], 0), "above 0; given 0"),
        (lambda: capped_counts([[-1.0]], 1), "not be negative"),
        (lambda: count_gap_modulo([[1.0, 0.0]], 1), "at least 2; given 1"),
        (lambda: equal_so_far([[1.0, 0.0, 0.0]]), "exactly 2 people; given 3"),
        (lambda: returns([[1.0]], 0.0), "discount=0.0: give a finite number in (0, 1]"),
        (lambda: returns([[1.0]], "half"), "discount='half': give a finite number in (0, 1]"),
        (lambda: envy([[1.0, 2.0]]), "given (1, 2)"),
        (lambda: nash_welfare([-1.0]), "not be negative"),
        (lambda: relaxed_parity([1.0, 2.0, 3.0]), "each of 3 people"),
        (lambda: relaxed_parity([1.0, 2.0], [0, 0]), "both groups; given [0, 0]"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    wrong: Callable[[], object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        wrong()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_statuses_worked_out_by_hand() -> None:
    received = np.array([[1, 0], [1, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(counts(received)[-1], [3, 1])
    np.testing.assert_array_equal(capped_counts(received, 2)[:, 0], [1, 2, 2, 2])
    np.testing.assert_array_equal(count_gap_modulo(received, 3)[:, 0], [1, 2, 0, 2])
    np.testing.assert_array_equal(equal_so_far([[1, 0], [0, 1], [1, 1]])[:, 0], [0, 1, 1])
    np.testing.assert_allclose(returns(received, 0.5), [[1, 0], [1.5, 0], [1.75, 0], [1.75, 0.125]])


def test_the_gap_modulo_a_number_is_never_negative() -> None:
    np.testing.assert_array_equal(count_gap_modulo([[0, 1], [0, 1]], 3)[:, 0], [2, 1])


@pytest.mark.parametrize("status", [counts, lambda row: capped_counts(row, 2), returns])
def test_a_status_looks_at_the_past_only_and_at_each_trace_alone(
    status: Callable[[np.ndarray], np.ndarray],
) -> None:
    received = np.random.default_rng(1).integers(0, 2, size=(5, 7, 3)).astype(float)
    whole = status(received)
    np.testing.assert_array_equal(status(received[:, :4]), whole[:, :4])
    np.testing.assert_array_equal(status(received[2]), whole[2])


def test_envy_depends_on_taste() -> None:
    shares = np.array([[2.0, 0.0], [0.0, 1.0]])  # two of the first good, one of the second
    tastes = np.array([[1.0, 3.0], [5.0, 1.0]])
    np.testing.assert_array_equal(envy(tastes @ shares.T), [1, 9])
    np.testing.assert_array_equal(envy(np.ones((2, 2)) @ shares.T), [0, 1])


def test_welfare_functions_on_one_status() -> None:
    status = [1.0, 2.0, 4.0]
    assert utilitarian_welfare(status) == 7
    assert rawlsian_welfare(status) == 1
    assert nash_welfare(status) == 8
    assert log_nash_welfare(status) == pytest.approx(np.log(2 * 3 * 5), rel=1e-15)
    assert relaxed_parity(status, [0, 0, 1]) == -1
    assert all_equal(status) == 0
    assert all_equal([2.0, 2.0]) == 1


def test_the_logarithmic_nash_welfare_of_paper_and_code() -> None:
    assert log_nash_welfare([20] * 5) == pytest.approx(5 * np.log(21), rel=1e-15)
    assert log_nash_welfare([1, 0, 0, 0, 0], 1e-4) == pytest.approx(0.693597, abs=5e-7)
    assert log_nash_welfare([20] * 5, 1e-4) == pytest.approx(15.222636, abs=5e-7)


def test_three_children_and_twenty_four_doughnuts() -> None:
    np.testing.assert_array_equal(unfairness([6, 8, 10]), [2, 0, -2])
    np.testing.assert_array_equal(unfair_to([6, 8, 10]), [True, False, False])
    np.testing.assert_array_equal(unfair_in_favour_of([6, 8, 10]), [False, False, True])
    assert not unfair_to([8, 8, 8]).any()


def test_unfairness_over_time_has_a_sign_and_cancels() -> None:
    statuses = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(overall_unfairness(statuses), [0, 0])
    np.testing.assert_array_equal(overall_unfairness(statuses, [True, True, False]), [-0.5, 0.5])
    assert least_squared_unfairness(statuses, [True, True, False]) == -0.5


@given(STATUSES)
def test_unfairness_sums_to_nothing_over_the_people(statuses: np.ndarray) -> None:
    np.testing.assert_allclose(unfairness(statuses).sum(axis=-1), 0.0, atol=1e-9)
    assert (least_squared_unfairness(statuses) <= 0).all()
    np.testing.assert_allclose(
        least_squared_unfairness(statuses),
        -((statuses.mean(axis=-1, keepdims=True) - statuses).sum(axis=1) ** 2).sum(axis=-1),
        rtol=1e-9,
        atol=1e-9,
    )
