"""Measure the speed of all environments, print it and store it for the book.

`make bench` calls this. It takes about five minutes. Rates count processor time and are the best
of several windows, so other work on the machine disturbs them little; a quiet machine is better
still. The table of the book names the machine and the day. The rows are those of
`longfair bench env --json`.

Usage:
    python scripts/write_benchmarks.py
    python scripts/write_benchmarks.py --quick --file environments.json
"""

from __future__ import annotations

import argparse
import datetime
import json
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from longfair.papers.benchmarks import environment_benchmarks
from longfair.runs.machine import this_machine

FILE = Path(__file__).resolve().parents[1] / "results" / "benchmarks" / "environments.json"


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer windows, first presets only")
    parser.add_argument("--file", type=Path, default=FILE, help="where the table goes")
    chosen = parser.parse_args(arguments)
    rows = environment_benchmarks(chosen.quick)
    print(pd.DataFrame(rows).to_string(index=False))
    measured = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "machine": asdict(this_machine()),
        "rows": rows,
    }
    chosen.file.parent.mkdir(parents=True, exist_ok=True)
    chosen.file.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {chosen.file}")


if __name__ == "__main__":
    main()
