"""Say what the runner is doing: a live line on a terminal, one line per run elsewhere."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from longfair.runs.experiment import Run
from longfair.wording import counted


class Reporter:
    """Hear what the runner does, and report nothing."""

    def start(self, queue: Sequence[Run], kept: int, capacity: int) -> None:
        """Hear which runs will be executed, how many are kept, and how many run at a time."""

    def started(self, run: Run) -> None:
        """Hear that a run was handed to a worker."""

    def finished(self, run: Run, seconds: float) -> None:
        """Hear that a run was stored, and how long it took."""

    def put_back(self, run: Run) -> None:
        """Hear that a run whose worker died waits to be started again."""

    def kept(self, run: Run) -> None:
        """Hear that a run was stored meanwhile, or taken over from another experiment."""

    def failed(self, run: Run, line: str) -> None:
        """Hear that a run failed, and why."""

    def note(self, line: str) -> None:
        """Hear of anything else that the user should know."""

    def tick(self) -> None:
        """Hear that time has passed."""

    def stop(self) -> None:
        """Hear that nothing more will happen."""


class TimeLeft:
    """Estimate the time left from the durations of finished runs of the same method.

    A method without a finished run is given the mean of all that finished. The first run of each
    worker also loads the libraries, so it counts only as long as there is no other.

    Parameters
    ----------
    runs
        The runs to be executed.
    workers
        Number of runs in flight at most.
    """

    def __init__(self, runs: Sequence[Run], workers: int) -> None:
        self._workers = max(workers, 1)
        self._left = {run.name: run for run in runs}
        self._since: dict[str, float] = {}
        self._finished: list[tuple[tuple[str, str, str], float]] = []

    def started(self, run: Run, now: float) -> None:
        """Note that a run started."""
        self._since[run.name] = now

    def put_back(self, run: Run) -> None:
        """Note that a run waits to be started again."""
        self._since.pop(run.name, None)

    def ended(self, run: Run, seconds: float | None) -> None:
        """Note that a run ended, and how long it took if it gave a result."""
        self._left.pop(run.name, None)
        self._since.pop(run.name, None)
        if seconds is not None:
            self._finished.append((_kind(run), seconds))

    @property
    def running(self) -> int:
        """Number of runs in flight."""
        return len(self._since)

    @property
    def loading(self) -> bool:
        """Whether only first runs of workers are known, which also load the libraries."""
        return len(self._finished) <= self._workers

    def seconds(self, now: float) -> float | None:
        """Return the expected seconds until the last run ends; None while nothing finished."""
        if not self._finished:
            return None
        later = self._finished[self._workers :] or self._finished
        fallback = mean(seconds for _, seconds in later)
        known = _means(self._finished) | _means(later)
        total = 0.0
        longest = 0.0
        for name, run in self._left.items():
            left = known.get(_kind(run), fallback) - (now - self._since.get(name, now))
            total += max(left, 0.0)
            longest = max(longest, left)
        return max(total / self._workers, longest)


class ConsoleReporter(Reporter):
    """Report on a console.

    On a terminal: one line that is kept up to date with runs done, running and time left, and
    a line for whatever needs attention. Elsewhere: one line per finished run.

    Parameters
    ----------
    console
        Where to write.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._time_left = TimeLeft([], 1)
        self._total = 0
        self._ended = 0
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def start(self, queue: Sequence[Run], kept: int, capacity: int) -> None:
        """Say how much there is to do."""
        self._total = len(queue)
        self._time_left = TimeLeft(queue, capacity)
        self._line(f"{counted(len(queue), 'run')} to execute, {kept} already stored and fresh")
        if queue and self._console.is_terminal:
            self._progress = Progress(
                TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
                BarColumn(),
                TextColumn("{task.fields[state]}"),
                console=self._console,
                transient=True,
            )
            self._task = self._progress.add_task("", total=self._total, state="starting")
            self._progress.start()

    def started(self, run: Run) -> None:
        """Note when the run started."""
        self._time_left.started(run, time.monotonic())
        self.tick()

    def put_back(self, run: Run) -> None:
        """Note that the run does not run any more."""
        self._time_left.put_back(run)
        self.tick()

    def finished(self, run: Run, seconds: float) -> None:
        """Say that a run is stored."""
        self._end(run, seconds)
        self._quiet_line(f"{run.name}: done in {duration(seconds)}")

    def kept(self, run: Run) -> None:
        """Say that a run was stored meanwhile, or taken over from another experiment."""
        self._end(run, None)
        self._quiet_line(f"{run.name}: already there")

    def failed(self, run: Run, line: str) -> None:
        """Say why a run failed."""
        self._end(run, None)
        self._line(f"failed: {line}")

    def note(self, line: str) -> None:
        """Say it."""
        self._line(line)

    def tick(self) -> None:
        """Bring the live line up to date."""
        if self._progress is not None:
            self._progress.update(self._task, completed=self._ended, state=self._state())

    def stop(self) -> None:
        """Take the live line away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _end(self, run: Run, seconds: float | None) -> None:
        self._ended += 1
        self._time_left.ended(run, seconds)
        self.tick()

    def _state(self) -> str:
        left = self._time_left.seconds(time.monotonic())
        expected = "time left not known yet" if left is None else f"about {duration(left)} left"
        if left and self._time_left.loading:
            expected += " (first runs also load libraries)"
        return f"{self._time_left.running} running, {expected}"

    def _quiet_line(self, line: str) -> None:
        if self._progress is None:
            self._line(f"[{self._ended}/{self._total}] {line}; {self._state()}")

    def _line(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Write a duration for people, such as ``"4.2 s"``, ``"12 min"`` or ``"3 h 05 min"``."""
    if seconds < 99.5:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def _means(
    finished: Sequence[tuple[tuple[str, str, str], float]],
) -> dict[tuple[str, str, str], float]:
    """Return the mean duration of every kind of run."""
    seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for kind, one in finished:
        seconds[kind].append(one)
    return {kind: mean(own) for kind, own in seconds.items()}


def _kind(run: Run) -> tuple[str, str, str]:
    return run.experiment, run.profile, run.arm.name
