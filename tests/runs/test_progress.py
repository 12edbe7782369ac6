from __future__ import annotations

import io

import pytest
from rich.console import Console
from toy_experiment import toy_experiment

from longfair.runs.experiment import plan
from longfair.runs.progress import ConsoleReporter, TimeLeft, duration


def test_the_time_left_follows_the_durations_of_the_same_method() -> None:
    fair, greedy, idle, *rest = plan(toy_experiment(), "smoke", seeds=2)
    left = TimeLeft([fair, greedy, idle, *rest], workers=1)
    assert left.seconds(0.0) is None
    left.started(fair, 0.0)
    left.ended(fair, 10.0)
    assert left.seconds(10.0) == pytest.approx(50.0)
    left.started(greedy, 10.0)
    left.ended(greedy, 2.0)
    # Left: one fair (10), one greedy (2), two of unknown length (as the run after the first).
    assert left.seconds(12.0) == pytest.approx(10 + 2 + 2 + 2)
    left.started(rest[0], 12.0)
    assert left.running == 1
    assert left.seconds(16.0) == pytest.approx(16 - 4)


def test_a_run_whose_worker_died_runs_no_more() -> None:
    first, second, *_ = runs = plan(toy_experiment(), "smoke", seeds=2)
    console = Console(file=io.StringIO(), width=200)
    reporter = ConsoleReporter(console)
    reporter.start(runs, 0, 2)
    for run in (first, second):
        reporter.started(run)
    reporter.put_back(second)
    reporter.finished(first, 1.0)
    assert "0 running" in console.file.getvalue()  # type: ignore[attr-defined]  # as made above


def test_the_first_run_of_a_worker_counts_only_until_there_is_another() -> None:
    runs = [run for run in plan(toy_experiment(), "smoke", seeds=6) if run.arm.method == "fair"]
    left = TimeLeft(runs, workers=2)
    for run, seconds in zip(runs, (60.0, 50.0, 2.0), strict=False):
        left.ended(run, seconds)
        expected = {60.0: 5 * 60.0 / 2, 50.0: 4 * 55.0 / 2, 2.0: 3 * 2.0 / 2}[seconds]
        assert left.seconds(0.0) == pytest.approx(expected)


def test_workers_share_the_time_left_but_a_run_is_not_split() -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    left = TimeLeft(runs, workers=8)
    left.started(runs[0], 0.0)
    left.ended(runs[0], 10.0)
    assert left.seconds(10.0) == pytest.approx(10.0)


def test_a_run_that_takes_longer_than_expected_does_not_make_time_negative() -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)[:2]
    left = TimeLeft(runs, workers=1)
    left.started(runs[0], 0.0)
    left.ended(runs[0], 1.0)
    left.started(runs[1], 1.0)
    assert left.seconds(100.0) == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (61.25, "61.2 s"), (600.0, "10 min"), (11_100.0, "3 h 05 min")],
)
def test_durations_are_written_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("number", "said"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_one_run_is_told_in_the_singular(number: int, said: str) -> None:
    screen = io.StringIO()
    queue = plan(toy_experiment(), "smoke", seeds=1)[:number]
    ConsoleReporter(Console(file=screen, width=100)).start(queue, kept=2, capacity=1)
    assert screen.getvalue().startswith(f"{said} to execute, 2 already")


def test_an_estimate_by_first_runs_says_that_they_load_libraries() -> None:
    screen = io.StringIO()
    runs = plan(toy_experiment(), "smoke", seeds=2)
    reporter = ConsoleReporter(Console(file=screen, width=100))
    reporter.start(runs, kept=0, capacity=2)
    for run in runs:
        reporter.finished(run, 3.0)
    lines = screen.getvalue().splitlines()[1:]
    told = [line.endswith(" left (first runs also load libraries)") for line in lines]
    assert told == [True, True, *[False] * (len(runs) - 2)]


def test_a_terminal_gets_a_live_line_and_only_what_needs_attention_stays() -> None:
    screen = io.StringIO()
    runs = plan(toy_experiment(), "smoke", seeds=1)
    reporter = ConsoleReporter(Console(file=screen, force_terminal=True, width=100))
    reporter.start(runs, kept=2, capacity=1)
    for run in runs[:2]:
        reporter.started(run)
        reporter.finished(run, 3.0)
    reporter.started(runs[2])
    reporter.failed(runs[2], "it broke [badly]")
    reporter.stop()
    shown = screen.getvalue()
    assert "3 runs to execute, 2 already stored and fresh" in shown
    assert "0/3 runs" in shown
    assert "3/3 runs" in shown
    assert "about 0.0 s left" in shown
    assert "failed: it broke [badly]" in shown
    assert "done in" not in shown
