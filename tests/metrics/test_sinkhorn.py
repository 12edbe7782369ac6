"""The smoothed distance against the library's own answers, and what holds for any such distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from longfair.errors import UsageError
from longfair.metrics.distances import sorted_count_distance
from longfair.metrics.sinkhorn import SHORTEST, sinkhorn_distance

# Answers of geomloss 0.2.6, SamplesLoss("sinkhorn", p=1, blur=0.01), in double precision.
ANSWERS = [
    ([0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0], 0.14079227555141507),
    ([0, 0, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0], 0.052605927827085),
    ([0.0, 0.002], [0.001, 0.003], 0.00048261336286643645),
    ([0, 17, 8, 34, 48, 55, 0], [19, 10, 28, 42, 39, 0, 0], 4.569419789725076),
    ([0, 12, 20, 27, 44, 42, 0], [17, 13, 35, 49, 41, 0, 0], 2.5713571428571425),
    ([150, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 150], 0.0),
    ([160, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 140], 2.8571285714285715),
]


def windows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    shares = np.array([[0, 0.1, 0.1, 0.2, 0.3, 0.3, 0], [0.1, 0.1, 0.2, 0.3, 0.3, 0, 0]])
    members = rng.binomial(300, 0.5, size=rows)
    return rng.multinomial(members, shares[0]), rng.multinomial(300 - members, shares[1])


@pytest.mark.parametrize(("first", "second", "answer"), ANSWERS)
def test_it_answers_as_the_library(first: list[float], second: list[float], answer: float) -> None:
    assert sinkhorn_distance(first, second) == pytest.approx(answer, abs=1e-12)


def test_rows_are_independent_of_each_other() -> None:
    first, second, answers = (list(column) for column in zip(*ANSWERS[-3:], strict=True))
    assert sinkhorn_distance(first, second) == pytest.approx(answers, abs=1e-12)
    assert sinkhorn_distance(first[0], second[0]).shape == ()


def test_single_samples_are_as_far_apart_as_they_are() -> None:
    distances = sinkhorn_distance([[3.0], [-4.0]], [[10.0], [5.5]])
    assert distances == pytest.approx([7.0 - SHORTEST, 9.5 - SHORTEST])


def test_a_sample_is_not_apart_from_itself_in_any_order() -> None:
    first, second = windows(5)
    assert sinkhorn_distance(first, first[:, ::-1]) == pytest.approx(np.zeros(5), abs=1e-9)
    assert sinkhorn_distance(np.ones(7), np.ones(7)) == 0.0
    assert sinkhorn_distance(first, second) == pytest.approx(sinkhorn_distance(second, first))


def test_it_is_at_most_the_exact_distance_and_often_much_less() -> None:
    first, second = windows(400)
    share = sinkhorn_distance(first, second) / sorted_count_distance(first, second)
    assert (share < 1.0).all()
    assert share.mean() == pytest.approx(0.96, abs=0.01)
    assert share.min() < 0.8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinkhorn_distance([1.0, 2.0], [1.0]), "the same shape"),
        (lambda: sinkhorn_distance([], []), "at least one sample"),
        (lambda: sinkhorn_distance(1.0, 1.0), "at least one sample"),
        (lambda: sinkhorn_distance([np.nan], [1.0]), "first"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
