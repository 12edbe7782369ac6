from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest
import torch

from longfair.errors import UsageError
from longfair.runs.bench import matrix_multiply_rate, one_torch_thread, steps_per_second


def clock_of(ticks: Iterator[float]) -> Callable[[], float]:
    return lambda: next(ticks)


def test_steps_per_second_is_the_rate_of_the_best_window() -> None:
    # The clock moves one second per look: three looks within a window of two seconds.
    ticks = clock_of(map(float, count()))
    assert steps_per_second(lambda: 30, seconds=2.0, windows=3, clock=ticks) == 15.0
    calls = iter([0, 30, 60, 10])
    ticks = clock_of(map(float, count()))
    assert steps_per_second(lambda: next(calls), seconds=2.0, windows=3, clock=ticks) == 30.0


def test_steps_per_second_counts_processor_time() -> None:
    def mostly_waiting() -> int:
        time.sleep(0.02)
        sum(range(20_000))
        return 1

    assert steps_per_second(mostly_waiting, seconds=0.002, windows=2) > 1 / 0.02


def test_the_matrix_multiply_rate_is_plausible_and_leaves_threads_alone() -> None:
    before = torch.get_num_threads()
    rate = matrix_multiply_rate((64, 128), repeats=2)
    assert 1e8 < rate < 1e14
    assert torch.get_num_threads() == before


def test_the_matrix_multiply_rate_counts_two_operations_per_product() -> None:
    ticks = clock_of(map(float, count()))
    assert matrix_multiply_rate((8, 16), repeats=2, clock=ticks) == 2.0 * 16**3


def test_torch_gets_its_threads_back() -> None:
    before = torch.get_num_threads()
    with one_torch_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_bad_input_is_explained() -> None:
    with pytest.raises(UsageError, match="both must be positive"):
        steps_per_second(lambda: 1, seconds=0.0)
