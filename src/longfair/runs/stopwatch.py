"""How long a run has taken, with the parts of it that were stopped."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from longfair.runs.compiling import Compiling


class Seconds(NamedTuple):
    """Time that a run took."""

    wall: float = 0.0
    """Elapsed time, without compiling."""
    core: float = 0.0
    """Processor time, without compiling."""
    compiling: float = 0.0
    """Elapsed time of compiling."""


class Stopwatch:
    """Measures from when it is made, and adds what a checkpoint tells of earlier parts.

    Parameters
    ----------
    compiled
        Time of compiling so far, which goes on being counted there.

    Attributes
    ----------
    earlier : Seconds
        What the parts took that the run goes on from.
    """

    def __init__(self, compiled: Compiling | None = None) -> None:
        self.earlier = Seconds()
        self._compiled = Compiling() if compiled is None else compiled
        self._start = time.perf_counter(), _core_seconds()

    def seconds(self) -> Seconds:
        """Return the time of all parts up to now."""
        wall, core = time.perf_counter() - self._start[0], _core_seconds() - self._start[1]
        compiled = self._compiled
        return Seconds(
            self.earlier.wall + wall - compiled.wall_seconds,
            self.earlier.core + max(core - compiled.core_seconds, 0.0),
            self.earlier.compiling + compiled.wall_seconds,
        )


def _core_seconds() -> float:
    """Processor time of the run: of this process, or of this thread where others run beside it.

    A worker of a pool is a process that does nothing else. In an executor of threads the time of
    the process would count every run once for each of the others.
    """
    if threading.current_thread() is threading.main_thread():
        return time.process_time()
    return time.thread_time()
