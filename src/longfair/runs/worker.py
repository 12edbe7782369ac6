"""What happens inside a worker: one run, from settings to result table.

Nothing here needs the store. A worker gets a function, settings and a seed, and hands back a
table together with what only the worker can know: how long it took, on which machine, with
which code and versions.
"""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sys
import threading
import traceback
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from longfair.errors import UsageError
from longfair.runs.checkpoints import Checkpoint
from longfair.runs.compiling import compiling
from longfair.runs.experiment import Run
from longfair.runs.keys import run_key
from longfair.runs.machine import this_machine
from longfair.runs.sources import arm_digest
from longfair.runs.stopwatch import Stopwatch

if TYPE_CHECKING:
    import pandas

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables that cap the threads of numerical libraries."""


@dataclass(frozen=True)
class Finished:
    """A run that ended with a result.

    Parameters
    ----------
    table
        What the work returned.
    key
        Digest of the run's key, as the worker computed it.
    source
        Digest of the code, as the worker has it.
    wall_seconds, core_seconds
        Elapsed time and processor time of the worker's process during the run, without compiling.
        Where the run went on from a checkpoint, those of the parts before it are added.
    compile_seconds
        Elapsed time of compiling, which is done once on a machine.
    machine
        Class of the worker's machine, see `longfair.runs.machine.Machine`.
    """

    table: pandas.DataFrame
    key: str
    source: str
    wall_seconds: float
    core_seconds: float
    compile_seconds: float
    machine: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """A run that ended with an error.

    Parameters
    ----------
    message
        The error in one line.
    traceback
        All of it.
    usage
        Whether the error is a `longfair.errors.UsageError`, that is, bad input.
    """

    message: str
    traceback: str
    usage: bool


def execute(run: Run, checkpoint: Checkpoint | None = None) -> Finished | Failed:
    """Execute one run in the present process, on one thread.

    Parameters
    ----------
    run
        The run.
    checkpoint
        Given to a work that has a parameter of this name.

    Returns
    -------
    Finished or Failed
        Never raises, so that any executor can carry the answer back.
    """
    use_one_thread()
    try:
        key, code = run_key(run).digest, arm_digest(run.arm)
        arguments = {"checkpoint": checkpoint} if takes(run.arm.work, "checkpoint") else {}
        with compiling() as compiled:
            watch = Stopwatch(compiled)
            if checkpoint is not None:
                checkpoint.watch = watch
            table = run.arm.work(run.arm.config, run.seed, **arguments)
            seconds = watch.seconds()
        machine = asdict(this_machine())
    except Exception as error:
        return Failed(one_line(error), traceback.format_exc(), isinstance(error, UsageError))
    return Finished(table, key, code, *seconds, machine)


def takes(work: Any, argument: str) -> bool:
    """Say whether a work function takes an argument that it can do without."""
    return argument in inspect.signature(work).parameters


def one_line(error: BaseException) -> str:
    """Describe an error in one line: its text for bad input, else its type and text."""
    text = " ".join(str(error).split())
    if isinstance(error, UsageError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def use_one_thread() -> None:
    """Cap the numerical libraries of this process at one thread.

    Libraries read the environment when they are loaded; torch can also be told later. Torch is
    not loaded for this, because a worker that runs heuristics does not need it.
    """
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    if "torch" in sys.modules:
        importlib.import_module("torch").set_num_threads(1)  # waits where a thread still loads it


def prepare(lifeline: Connection) -> None:
    """Tie a new worker process to its parent.

    The parent holds the other end of the lifeline and never writes to it. The operating system
    closes that end when the parent dies, however it dies; the worker then ends at once. The
    parent closes it itself to stop a worker in the middle of a run.

    Parameters
    ----------
    lifeline
        Reading end of a pipe whose writing end only the parent holds.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        pass
    finally:
        os._exit(1)
