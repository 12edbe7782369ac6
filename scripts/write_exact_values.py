"""Compute the exact values of all environments that have a solver, for the book.

They depend on nothing but the presets, so this is needed only after a preset or a solver changed.
It takes a few minutes and a gigabyte of memory.

Usage: python scripts/write_exact_values.py
"""

from __future__ import annotations

from pathlib import Path

from longfair.papers.exact_values import exact_values
from longfair.runs.manifest import write_table

FILE = Path(__file__).resolve().parents[1] / "results" / "exact" / "environments.json"


def main() -> None:
    """Write the file."""
    rows = exact_values()
    write_table(FILE, rows)
    print(f"wrote {len(rows)} exact values to {FILE}")


if __name__ == "__main__":
    main()
