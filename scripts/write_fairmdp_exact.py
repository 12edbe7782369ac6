"""Compute the exact numbers of the fair MDP chapter: optima, frontiers, programs, policies.

They depend on nothing but the presets, so this is needed only after a preset or a solver changed.
It takes about a minute. With `--scale` it also measures how long the solvers take, which takes
another minute and depends on the machine.

Usage: python scripts/write_fairmdp_exact.py [--scale]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from longfair.papers.fairmdp.exact import exact_numbers
from longfair.papers.fairmdp.scale import measurements
from longfair.runs.manifest import write_table

FOLDER = Path(__file__).resolve().parents[1] / "results" / "exact"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Compute the exact numbers of the chapter.")
    parser.add_argument("--scale", action="store_true", help="measure the solvers' speed, too")
    arguments = parser.parse_args()
    _write("fairmdp.json", exact_numbers())
    if arguments.scale:
        _write("fairmdp_scale.json", list(measurements()))


def _write(name: str, content: Any) -> None:
    write_table(FOLDER / name, content)
    print(f"wrote {FOLDER / name}")


if __name__ == "__main__":
    main()
