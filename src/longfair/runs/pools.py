"""Where runs are executed: local processes by default, or any executor that is handed in."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any, Protocol

from longfair.errors import UsageError
from longfair.runs.worker import THREAD_VARIABLES, prepare

CLUSTER_TIMEOUT = "10s"
"""How long to wait for the scheduler of a cluster to answer."""


class Pool(Protocol):
    """What the runner needs of a place to execute runs."""

    capacity: int

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call."""

    def replace(self) -> bool:
        """Start afresh after a worker died; False if that is not possible."""

    def close(self, *, now: bool) -> None:
        """End; with ``now``, without waiting for calls that are being executed."""


class LocalPool:
    """Processes on this machine, each on one thread, that die with their parent.

    Parameters
    ----------
    workers
        Number of processes.
    """

    def __init__(self, workers: int) -> None:
        self.capacity = workers
        self._saved = {name: os.environ.get(name) for name in THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        self._start()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call in one of the processes."""
        return self._executor.submit(function, *arguments)

    def replace(self) -> bool:
        """Replace the processes by new ones."""
        self._stop(now=True)
        self._start()
        return True

    def close(self, *, now: bool) -> None:
        """End the processes, and restore the environment."""
        self._stop(now=now)
        for name, value in self._saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def _start(self) -> None:
        # Spawned, not forked: the parent may hold threads, and a fork would copy their locks.
        context = multiprocessing.get_context("spawn")
        reader, self._lifeline = context.Pipe(duplex=False)
        self._reader = reader
        self._executor = ProcessPoolExecutor(
            self.capacity, mp_context=context, initializer=prepare, initargs=(reader,)
        )
        # The executor starts a process per call as needed, and looks up which processes to watch
        # before it starts one. It would learn of that one's death only at the next answer. These
        # calls start all processes, and their answers make it look again.
        for _ in range(self.capacity):
            self._executor.submit(os.getpid)

    def _stop(self, *, now: bool) -> None:
        if now:
            self._lifeline.close()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._lifeline.close()
        self._reader.close()


class ExternalPool:
    """An executor that belongs to someone else, who also ends it.

    Parameters
    ----------
    executor
        Any executor. Its workers must be able to import ``longfair`` and the work.
    capacity
        Calls to keep in flight at most.
    """

    def __init__(self, executor: Executor, capacity: int) -> None:
        self.capacity = capacity
        self._executor = executor

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call."""
        return self._executor.submit(function, *arguments)

    def replace(self) -> bool:
        """Say that someone else's workers cannot be replaced."""
        return False

    def close(self, *, now: bool) -> None:
        """Leave the executor to its owner."""


@contextlib.contextmanager
def cluster_pool(address: str, workers: int | None) -> Iterator[ExternalPool]:
    """Use a Dask cluster.

    Parameters
    ----------
    address
        Address of the scheduler, such as ``"tcp://10.0.0.1:8786"``.
    workers
        Calls to keep in flight at most; the threads of the cluster when not given.

    Yields
    ------
    ExternalPool
        The cluster, until the context ends.

    Raises
    ------
    UsageError
        If the package ``distributed`` is missing or the scheduler does not answer.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise UsageError(
            f"--cluster {address} needs the package 'distributed', which is not installed: "
            "install 'distributed', or leave --cluster away to use this machine"
        ) from error
    try:
        client = distributed.Client(address, timeout=CLUSTER_TIMEOUT)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {address!r} ({' '.join(str(error).split())}): "
            "start one with 'dask scheduler' and give its address"
        ) from error
    with client:
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise UsageError(
                f"the Dask cluster at {address} has no workers: start some with 'dask worker'"
            )
        crowded = [name for name, count in client.nthreads().items() if count > 1]
        if crowded:
            raise UsageError(
                f"worker {crowded[0]} of the Dask cluster at {address} has more than one thread, "
                "and runs that share a process disturb each other: start workers with "
                "'dask worker --nthreads 1 --nworkers N'"
            )
        yield ExternalPool(client.get_executor(), workers or threads)
