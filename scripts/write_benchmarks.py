"""Measure the speed of environments, training and the store, print it and store it for the book.

`make bench` calls this. It takes about half an hour. Rates count processor time and are the best
of several repeats, so other work on the machine disturbs them little; a quiet machine is better
still. The tables of the book name the machine and the day. The rows are those of
`longfair bench env --json`, `longfair bench train --json` and `longfair bench store --json`.

Usage:
    python scripts/write_benchmarks.py
    python scripts/write_benchmarks.py --quick --folder speeds
    python scripts/write_benchmarks.py --only training
"""

from __future__ import annotations

import argparse
import datetime
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from longfair.papers.benchmarks import environment_benchmarks, training_benchmarks
from longfair.papers.store_benchmarks import store_benchmarks
from longfair.runs.machine import this_machine
from longfair.runs.manifest import write_table

FOLDER = Path(__file__).resolve().parents[1] / "results" / "benchmarks"
MEASURE = {
    "environments": environment_benchmarks,
    "training": training_benchmarks,
    "store": store_benchmarks,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer settings and repeats")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the tables go")
    parser.add_argument("--only", choices=MEASURE, help="measure one of the three")
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for name in [chosen.only] if chosen.only else MEASURE:
        rows = MEASURE[name](chosen.quick)
        print(pd.DataFrame(rows).to_string(index=False))
        measured = {
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "machine": asdict(this_machine()),
            "rows": rows,
        }
        file = chosen.folder / f"{name}.json"
        write_table(file, measured)
        print(f"wrote {file}")


if __name__ == "__main__":
    main()
