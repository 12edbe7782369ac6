"""Time the stages of a Makefile task and say in the end how it went.

A task is a sequence of calls: `start TASK`, any number of `run NAME COMMAND...`, `end MESSAGE`. The
times are kept in `_build/stages.json` between the calls. Stages divided by `--` run beside each
other, and every line they write begins with their name. Only the standard library is used, because
the first stage of every task is the one that installs everything else.

Usage:
    python scripts/stage.py start book
    python scripts/stage.py run "pages" jupyter-book build .
    python scripts/stage.py run "types" mypy -- "results" longfair verify
    python scripts/stage.py end "the book is ready"
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

RECORD = Path(__file__).resolve().parents[1] / "_build" / "stages.json"


def clock(seconds: float) -> str:
    """Write a duration as a reader would: seconds below two minutes, else minutes and seconds."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


class Stage(NamedTuple):
    """A named command."""

    name: str
    command: list[str]


def start(task: str) -> int:
    """Forget the stages of the last task and open a new one."""
    RECORD.parent.mkdir(exist_ok=True)
    record = {"task": task, "begun": time.time(), "stages": []}
    RECORD.write_text(json.dumps(record), encoding="utf-8")
    return 0


def run(stages: list[Stage]) -> int:
    """Run stages beside each other, note how long each took, hand on an exit status."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    task = record["task"]
    print(f"\n=== make {task}: {', '.join(stage.name for stage in stages)}", flush=True)
    execute = _execute if len(stages) == 1 else _execute_beside
    try:
        with ThreadPoolExecutor(len(stages)) as pool:
            ended = list(pool.map(execute, stages))
    except KeyboardInterrupt:
        print(f"make {task} was interrupted", flush=True)
        return 130
    for stage, (seconds, status) in zip(stages, ended, strict=True):
        failed = f"make {task} FAILED in stage '{stage.name}' after {clock(seconds)}"
        print(failed if status else f"--- {stage.name}: {clock(seconds)}", flush=True)
    # The book's build may clear its folder, so what was read above is what is written back.
    RECORD.parent.mkdir(exist_ok=True)
    times = [(stage.name, seconds) for stage, (seconds, _) in zip(stages, ended, strict=True)]
    record["stages"] += times
    RECORD.write_text(json.dumps(record), encoding="utf-8")
    return next((status for _, status in ended if status), 0)


def _execute(stage: Stage) -> tuple[float, int]:
    """Run a stage; its seconds and its exit status."""
    begun = time.monotonic()
    status = subprocess.run(stage.command, check=False).returncode
    return time.monotonic() - begun, status


def _execute_beside(stage: Stage) -> tuple[float, int]:
    """Run a stage whose lines say which one they come from; its seconds and its exit status."""
    begun = time.monotonic()
    piped = subprocess.PIPE
    with subprocess.Popen(stage.command, stdout=piped, stderr=subprocess.STDOUT) as process:
        for line in process.stdout or ():
            text = line.decode("utf-8", errors="replace").rstrip()
            # In one piece: other stages write, too, and an end that follows apart may come late.
            print(f"{stage.name}: {text}\n", end="", flush=True)
    return time.monotonic() - begun, process.returncode


def end(message: str) -> int:
    """Print one line with the time of every stage and one line that says the task is done."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    stages = record["stages"]
    print("\nstages: " + ", ".join(f"{name} {clock(seconds)}" for name, seconds in stages))
    total = clock(time.time() - record["begun"])
    print(f"make {record['task']} finished in {total}: {message}", flush=True)
    return 0


def divided(words: list[str]) -> list[Stage]:
    """Read stages, divided by `--`, each a name and a command.

    Raises
    ------
    ValueError
        If a name or a command is missing.
    """
    groups: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            groups.append([])
        else:
            groups[-1].append(word)
    if any(len(group) < 2 for group in groups):
        raise ValueError("a stage is a name and a command")
    return [Stage(name, command) for name, *command in groups]


def main(arguments: list[str]) -> int:
    """Dispatch on the first word."""
    match arguments:
        case ["start", task]:
            return start(task)
        case ["run", *words]:
            try:
                return run(divided(words))
            except ValueError as error:
                print(error, file=sys.stderr)
        case ["end", message]:
            return end(message)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
