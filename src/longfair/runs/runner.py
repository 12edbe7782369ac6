"""Execute runs and keep what finishes.

The runner can be killed at any moment. A result is written as soon as it arrives, in one step;
what was in flight is missing from the store and is executed by the next start. A lock per run
is held while the run is in flight, so that several runners can share a store: what another
runner holds is left to it, and looked at again when everything else is done.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import json
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock, Timeout

import longfair
from longfair.errors import UsageError
from longfair.runs import manifest
from longfair.runs.experiment import Run
from longfair.runs.files import ENDING
from longfair.runs.keys import Key, run_key
from longfair.runs.machine import commit_of
from longfair.runs.pools import ExternalPool, LocalPool, Pool, cluster_pool
from longfair.runs.progress import Reporter, duration
from longfair.runs.store import Store
from longfair.runs.tables import checked
from longfair.runs.worker import Failed, Finished, execute, one_line
from longfair.runs.writing import put

NO_MORE_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors of writing after which computing more would be for nothing."""

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_OF_WRITING = 3600
"""A result takes a moment to write; what is half written after an hour stays so."""


@dataclass
class Summary:
    """How a call of `run_all` ended.

    Parameters
    ----------
    finished
        Runs that were executed and stored.
    kept
        Runs that were already stored and fresh, were finished by another runner meanwhile, or
        taken over from another experiment in which they are the same.
    failed
        Name and one-line error of each run that failed.
    bad_input
        Whether any failure was caused by bad input.
    """

    finished: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    bad_input: bool = False

    @property
    def exit_code(self) -> int:
        """Exit code of a command: 0 if nothing failed, 2 for bad input, 1 for the rest."""
        if not self.failed:
            return 0
        return 2 if self.bad_input else 1


def run_all(
    runs: Sequence[Run],
    store: Store,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    reporter: Reporter | None = None,
) -> Summary:
    """Execute every run that has no fresh result, and store the results.

    Parameters
    ----------
    runs
        The runs, in the order in which they are started.
    store
        Where results are kept.
    workers
        Runs in flight at most. By default one per core of this machine, or one per thread of
        the cluster. Required with ``executor``.
    executor
        Where to execute. By default processes of this machine that die with this one.
    cluster
        Address of a Dask scheduler to execute on; excludes ``executor``.
    reporter
        Is told what happens.

    Returns
    -------
    Summary
        What happened. A run that fails does not stop the others.

    Raises
    ------
    UsageError
        If the store cannot be written to, or a parameter is out of range.
    KeyboardInterrupt
        If the process was interrupted or asked to terminate; everything finished is stored.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"workers is {workers}: at least 1 is needed")
    if executor is not None and (cluster is not None or workers is None):
        raise UsageError("an executor needs the number of workers, and excludes a cluster")
    store.require_writable()
    session = _Session(store, reporter or Reporter())
    session.examine(runs)
    if not session.queue:
        session.reporter.start([], len(session.summary.kept), 0)
        return session.summary
    with _signals_as_interrupt() as stops:
        if cluster is not None:
            with cluster_pool(cluster, workers) as pool:
                session.work_off(pool, stops)
        elif executor is not None and workers is not None:
            session.work_off(ExternalPool(executor, workers), stops)
        else:
            number = min(workers or default_workers(), len(session.queue))
            session.work_off(LocalPool(number), stops)
    return session.summary


def default_workers() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class _Flight:
    run: Run
    key: Key
    lock: FileLock
    alone: bool


class _Session:
    """One call of `run_all`."""

    def __init__(self, store: Store, reporter: Reporter) -> None:
        self.store = store
        self.reporter = reporter
        self.summary = Summary()
        self.queue: deque[Run] = deque()
        self.suspects: deque[Run] = deque()
        self.elsewhere: list[Run] = []
        self.flights: dict[Future[Any], _Flight] = {}
        # A run that is made anew replaces a result that the commit has; no run reads results.
        self.commit = commit_of(Path(longfair.__file__).resolve().parent, apart_from=["results"])

    def examine(self, runs: Sequence[Run]) -> None:
        """Set aside what is no result, and queue the runs that have no fresh one."""
        planned = {self.store.path(run) for run in runs}
        for experiment, profile in dict.fromkeys((run.experiment, run.profile) for run in runs):
            for path in self.store.strangers(experiment, profile):
                if path in planned and path.is_file():
                    continue  # damaged: said with its reason when the run is executed anew
                target = self.store.set_aside(path)
                self.reporter.note(f"{path} is not the result of a run; it is now {target.name}")
        kept_for_runs = (self.store.root / name for name in (".checkpoints", ".failures"))
        self._sweep_leftovers({*(path.parent for path in planned), *kept_for_runs, self.store.root})
        self.store.index.catch_up()  # so that `twin` finds what others stored since
        kept: list[Run] = []
        for run, state in self.store.states_of(runs):
            (kept if state.status == "fresh" else self.queue).append(run)
        lines = manifest.read(self.store.root) if kept else {}
        for run in kept:
            self.summary.kept.append(run.name)
            if f"{run.name}{ENDING}" not in lines:
                # A full disk, or a kill, left this undone after the result was written.
                self.store.enter(run)
                self._sweep(run)
                self.reporter.note(f"{run.name} is stored and was not in the manifest; now it is")

    def _sweep_leftovers(self, folders: set[Path]) -> None:
        """Remove what killed runners left: locks that nobody holds, and files half written."""
        for path in (self.store.root / ".locks").glob("*.lock"):
            lock = FileLock(path, thread_local=False)
            with contextlib.suppress(Timeout, OSError):
                lock.acquire(blocking=False)
                _release(lock)
        for folder in folders:
            for path in folder.glob(".*.tmp"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _SECONDS_OF_WRITING:
                        path.unlink()

    def _sweep(self, run: Run) -> None:
        """Remove what is kept for a run only until it has a result."""
        self.store.failure_path(run).unlink(missing_ok=True)
        self.store.checkpoint(run).remove()

    def work_off(self, pool: Pool, stops: _Stops) -> None:
        """Execute until nothing is left, and leave no worker and no lock behind."""
        interrupted = True
        self.reporter.start(list(self.queue), len(self.summary.kept), pool.capacity)
        try:
            while self.queue or self.suspects or self.elsewhere or self.flights:
                stops.check()
                self._launch_all(pool)
                self._collect(pool)
            interrupted = False
        finally:
            pool.close(now=interrupted)
            for future, flight in self.flights.items():
                future.cancel()
                _release(flight.lock)
            with contextlib.suppress(OSError):
                manifest.tidy(self.store.root)
            self.reporter.stop()

    def _launch_all(self, pool: Pool) -> None:
        # A run that was in flight when a worker died is a suspect. Suspects are executed one at
        # a time and alone, so that the next death names the culprit.
        if self.suspects:
            if not self.flights:
                self._launch(self.suspects.popleft(), pool, alone=True)
            return
        if any(flight.alone for flight in self.flights.values()):
            return
        while self.queue and len(self.flights) < pool.capacity:
            self._launch(self.queue.popleft(), pool)

    def _launch(self, run: Run, pool: Pool, *, alone: bool = False) -> None:
        path = self.store.lock_path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            self.elsewhere.append(run)
            return
        try:
            kept = self._is_stored(run) or self._is_taken_over(run)
        except OSError as error:
            _release(lock)
            self._not_stored(run, error)
            return
        if kept:
            self.summary.kept.append(run.name)
            self.reporter.kept(run)
            _release(lock)
            return
        try:
            future = pool.submit(execute, run, self.store.checkpoint(run))
        except BrokenExecutor:
            _release(lock)
            self.queue.appendleft(run)
            self._recover(pool)
            return
        self.flights[future] = _Flight(run, run_key(run), lock, alone)
        self.reporter.started(run)

    def _is_stored(self, run: Run) -> bool:
        """Look at the stored result again, now that this runner holds the lock."""
        state = self.store.state(run)
        if state.status == "damaged":
            target = self.store.set_aside(self.store.path(run))
            self.reporter.note(f"{state.reason}; it is now {target.name}")
        return state.status == "fresh"

    def _is_taken_over(self, run: Run) -> bool:
        """Store what is there of the very same run under another name, if there is any."""
        twin = self.store.twin(run)
        if twin is not None:
            self.store.write(run, *twin)
            self._sweep(run)
        return twin is not None

    def _collect(self, pool: Pool) -> None:
        if not self.flights:
            if self.elsewhere and not self.queue and not self.suspects:
                time.sleep(_SECONDS_BETWEEN_LOOKS)
                self._look_again()
            return
        done, _ = wait(self.flights, _SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
        broken = False
        for future in done:
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                broken = True
                continue
            flight = self.flights.pop(future)
            try:
                self._land(flight, future)
            finally:
                _release(flight.lock)
        if broken:
            self._recover(pool)
        if not self.queue:
            self._look_again()
        self.reporter.tick()

    def _look_again(self) -> None:
        self.queue.extend(self.elsewhere)
        self.elsewhere.clear()

    def _land(self, flight: _Flight, future: Future[Any]) -> None:
        run = flight.run
        error = future.exception()
        if error is not None:
            self._fail(run, Failed(one_line(error), repr(error), usage=False))
            return
        answer: Finished | Failed = future.result()
        if isinstance(answer, Failed):
            self._fail(run, answer)
        elif answer.key != flight.key.digest:
            message = (
                f"{run.name}: the worker has other code or versions than this process, so its "
                "result was not stored: start again once they agree"
            )
            self._fail(run, Failed(message, message, usage=False))
        else:
            self._keep(flight, answer)

    def _keep(self, flight: _Flight, answer: Finished) -> None:
        try:
            table = checked(answer.table, flight.run.name)
            provenance = self._provenance(flight.key, answer, int(table["step"].max()))
            self.store.write(flight.run, table, provenance)
        except UsageError as error:
            self._fail(flight.run, Failed(str(error), str(error), usage=False))
            return
        except OSError as error:
            self._not_stored(flight.run, error)
            return
        self._sweep(flight.run)
        self.summary.finished.append(flight.run.name)
        if answer.compile_seconds >= 1.0:
            self.reporter.note(
                f"{flight.run.name}: {duration(answer.compile_seconds)} of compiling, once on a "
                "machine, not counted"
            )
        self.reporter.finished(flight.run, answer.wall_seconds)

    def _not_stored(self, run: Run, error: OSError) -> None:
        """Say that a result could not be written, and stop if none can be."""
        self._fail(run, Failed(one_line(error), repr(error), usage=False))
        if error.errno in NO_MORE_ROOM:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Start nothing more: what it gave could not be stored."""
        left = len(self.queue) + len(self.suspects) + len(self.elsewhere)
        for waiting in (self.queue, self.suspects, self.elsewhere):
            waiting.clear()
        if left:
            self.reporter.note(
                f"{error.strerror} in {self.store.root}: {left} runs were not started; make room "
                "and start again"
            )

    def _fail(self, run: Run, failure: Failed) -> None:
        where = self._kept_traceback(run, failure)
        self.summary.failed[run.name] = failure.message
        self.summary.bad_input |= failure.usage
        line = failure.message
        if not line.startswith(run.name):
            line = f"{run.name}: {line}"
        self.reporter.failed(run, line if failure.usage or not where else f"{line} ({where})")

    def _kept_traceback(self, run: Run, failure: Failed) -> str:
        path = self.store.failure_path(run)
        try:
            put(path, failure.traceback.encode())
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            return ""
        return f"traceback: {path}"

    def _recover(self, pool: Pool) -> None:
        """Replace a pool in which a worker died, and suspect what was in flight."""
        flights = list(self.flights.values())
        self.flights.clear()
        for flight in flights:
            _release(flight.lock)
        if len(flights) == 1:
            message = "the worker process died (killed, or out of memory); try fewer --workers"
            self._fail(flights[0].run, Failed(message, message, usage=False))
        else:
            for flight in flights:
                self.suspects.append(flight.run)
                self.reporter.put_back(flight.run)
            if flights:
                self.reporter.note(
                    f"a worker process died: the {len(flights)} runs in flight are done again, one "
                    "at a time"
                )
        if not pool.replace():
            raise UsageError("the executor stopped working: start a new one and run again")

    def _provenance(self, key: Key, answer: Finished, steps: int) -> dict[str, Any]:
        return {
            "key": key.digest,
            "config": json.loads(key.config),
            "seed": key.seed,
            "revisions": dict(key.revisions),
            "versions": dict(key.versions),
            "source": answer.source,
            "wall_seconds": answer.wall_seconds,
            "core_seconds": answer.core_seconds,
            "compile_seconds": answer.compile_seconds,
            "steps": steps,
            "steps_per_second": steps / answer.wall_seconds if steps else None,
            **answer.machine,
            "commit": self.commit.name,
            "dirty": self.commit.dirty,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "longfair": importlib.metadata.version("longfair"),
        }


class Stopped(KeyboardInterrupt):
    """A request to stop that came as a signal, whose number is the argument."""


class _Stops:
    """Requests to stop that arrived as signals.

    The first is only kept, and the loop over runs asks for it every moment: a run that just ended
    is stored, and Python does not lose a request that it would have to raise while it destroys an
    object. Whoever asks again stops at once.
    """

    def __init__(self) -> None:
        self.first: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.first is not None:
            raise Stopped(self.first)
        self.first = number

    def check(self) -> None:
        """Stop if that was asked for."""
        if self.first is not None:
            raise Stopped(self.first)


@contextlib.contextmanager
def _signals_as_interrupt() -> Iterator[_Stops]:
    """Take a request to terminate, and a closed terminal, as what Ctrl-C asks for.

    A signal that this process was told to ignore, as ``nohup`` does, stays ignored. Only the main
    thread may set a signal handler; elsewhere nothing changes.
    """
    stops = _Stops()
    if threading.current_thread() is not threading.main_thread():
        yield stops
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {
        number: signal.signal(number, stops)
        for number in numbers
        if signal.getsignal(number) not in (signal.SIG_IGN, None)
    }
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _release(lock: FileLock) -> None:
    """Release a lock and sweep its file, so that a store of many runs keeps no file for each."""
    with contextlib.suppress(OSError):
        Path(lock.lock_file).unlink()
    lock.release()
