"""Compute the exact values of all environments that have a solver, for the book.

They depend on nothing but the presets, so this is needed only after a preset or a solver changed.
It takes a few minutes and a gigabyte of memory.

Usage: python scripts/write_exact_values.py
"""

from __future__ import annotations

import json
from pathlib import Path

from longfair.papers.exact_values import exact_values

FILE = Path(__file__).resolve().parents[1] / "results" / "exact" / "environments.json"


def main() -> None:
    """Write the file."""
    rows = exact_values()
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {len(rows)} exact values to {FILE}")


if __name__ == "__main__":
    main()
