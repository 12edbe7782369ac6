"""Write the table of training speeds: what `make bench` measured, for the chapter on ELBERT."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markdown_table import table
from speeds import NOT_MEASURED, measured_on, three_digits

BENCHMARKS = Path("results/benchmarks/training.json")

METHOD = "elbert-po as_coded"
"""The method shown: the one whose published code was timed, with all its critics."""

HEAD = [
    "Experiment",
    "Settings",
    "Steps per second",
    "Times published",
    "Minutes per run",
    "Times shorter",
    "Ceiling reached",
    "Time in updates",
]


def training_speed(root: Path) -> str:
    """Write the table, or that it has not been measured."""
    file = root / BENCHMARKS
    if not file.exists():
        return NOT_MEASURED
    measured = json.loads(file.read_text(encoding="utf-8"))
    words = f"ELBERT-PO as coded, processor time of one core, {measured_on(measured)}"
    lines = [_line(row) for row in measured["rows"] if row["method"] == METHOD]
    return "\n".join([words, table(HEAD, lines)])


def _line(row: Mapping[str, Any]) -> list[str]:
    return [
        row["experiment"].partition("/")[2].replace("-", " "),
        f"`{row['settings']}`",
        f"{row['steps_per_second']:,}",
        three_digits(row["times_published"]),
        three_digits(row["hours"] * 60),
        three_digits(row["times_less_hours"]),
        f"{row['roofline_fraction']:.0%}",
        f"{row['share_of_update']:.0%}",
    ]
