"""How long Numba compiled during a run.

It compiles a function when it is called for the first time on a machine, and keeps what it made. So
compiling is no part of what a run costs, and says nothing about how long the next one will take.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Compiling:
    """Elapsed time and processor time of this thread's compiling, so far."""

    def __init__(self) -> None:
        self.wall_seconds = 0.0
        self.core_seconds = 0.0
        self._thread = threading.get_ident()
        self._depth = 0
        self._since = (0.0, 0.0)

    def notify(self, event: object) -> None:
        """Hear from Numba that compiling starts or ends; a function compiles others inside."""
        if threading.get_ident() != self._thread:
            return
        now = (time.perf_counter(), time.thread_time())
        if getattr(event, "is_start", False):
            if self._depth == 0:
                self._since = now
            self._depth += 1
        else:
            self._depth -= 1
            if self._depth == 0:
                self.wall_seconds += now[0] - self._since[0]
                self.core_seconds += now[1] - self._since[1]


@contextmanager
def compiling() -> Iterator[Compiling]:
    """Watch Numba compile while the context lasts; nothing happens where it is not installed.

    Yields
    ------
    Compiling
        To be read afterwards.
    """
    watched = Compiling()
    if importlib.util.find_spec("numba") is None:
        yield watched
        return
    events = importlib.import_module("numba.core.event")
    events.Listener.register(Compiling)
    with events.install_listener("numba:compile", watched):
        yield watched
