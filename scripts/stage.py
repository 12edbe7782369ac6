"""Time the stages of a Makefile task and say in the end how it went.

A task is a sequence of calls: `start TASK`, any number of `run NAME COMMAND...`, `end MESSAGE`. The
times are kept in `_build/stages.json` between the calls. Only the standard library is used, because
the first stage of every task is the one that installs everything else.

Usage:
    python scripts/stage.py start book
    python scripts/stage.py run "pages" jupyter-book build .
    python scripts/stage.py end "the book is ready"
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

RECORD = Path(__file__).resolve().parents[1] / "_build" / "stages.json"


def clock(seconds: float) -> str:
    """Write a duration as a reader would: seconds below two minutes, else minutes and seconds."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def start(task: str) -> int:
    """Forget the stages of the last task and open a new one."""
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps({"task": task, "stages": []}), encoding="utf-8")
    return 0


def run(name: str, command: list[str]) -> int:
    """Run one stage, note how long it took, hand on its exit status."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    print(f"\n=== make {record['task']}: {name}", flush=True)
    begun = time.monotonic()
    try:
        status = subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        status = 130
    seconds = time.monotonic() - begun
    if status:
        print(f"make {record['task']} FAILED in stage '{name}' after {clock(seconds)}", flush=True)
        return status
    # The book's build may clear its folder, so what was read above is what is written back.
    RECORD.parent.mkdir(exist_ok=True)
    record["stages"].append([name, seconds])
    RECORD.write_text(json.dumps(record), encoding="utf-8")
    print(f"--- {name}: {clock(seconds)}", flush=True)
    return 0


def end(message: str) -> int:
    """Print one line with the time of every stage and one line that says the task is done."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    stages = record["stages"]
    print("\nstages: " + ", ".join(f"{name} {clock(seconds)}" for name, seconds in stages))
    total = clock(sum(seconds for _, seconds in stages))
    print(f"make {record['task']} finished in {total}: {message}", flush=True)
    return 0


def main(arguments: list[str]) -> int:
    """Dispatch on the first word."""
    match arguments:
        case ["start", task]:
            return start(task)
        case ["run", name, *command] if command:
            return run(name, command)
        case ["end", message]:
            return end(message)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
