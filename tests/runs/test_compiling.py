"""Compiling is told apart from running."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numba
import pytest

from longfair.runs.compiling import Compiling, compiling

STARTED, ENDED = SimpleNamespace(is_start=True), SimpleNamespace(is_start=False)


def test_the_first_call_of_a_function_compiles_and_the_second_does_not() -> None:
    @numba.njit
    def total(numbers: list[float]) -> float:
        found = 0.0
        for number in numbers:
            found += number
        return found

    numbers = numba.typed.List([1.0, 2.0])
    with compiling() as first:
        before = time.perf_counter()
        total(numbers)
        wall = time.perf_counter() - before
    with compiling() as second:
        total(numbers)
    assert 0.5 * wall < first.wall_seconds <= wall
    assert first.core_seconds > 0
    assert (second.wall_seconds, second.core_seconds) == (0.0, 0.0)


def test_what_is_compiled_inside_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 3.0, 6.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    watched = Compiling()
    for event in (STARTED, STARTED, ENDED, ENDED):
        watched.notify(event)
    assert watched.wall_seconds == 6.0


def test_another_thread_compiles_for_itself() -> None:
    watched = Compiling()
    other = threading.Thread(target=lambda: (watched.notify(STARTED), watched.notify(ENDED)))
    other.start()
    other.join()
    assert watched.wall_seconds == 0.0
