"""Write the table of training speeds: what `make bench` measured, for the chapter on ELBERT."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markdown_table import table

BENCHMARKS = Path("results/benchmarks/training.json")

HEAD = [
    "Experiment",
    "Settings",
    "Method",
    "Steps per second",
    "Times published",
    "Hours of a run",
    "Times less than published",
    "Updates, of the machine's rate",
    "Updates, of the time",
]


def training_speed(root: Path) -> str:
    """Write the table, or that it has not been measured."""
    file = root / BENCHMARKS
    if not file.exists():
        return "Not measured yet: `make bench` measures it on a quiet machine.\n"
    measured = json.loads(file.read_text(encoding="utf-8"))
    machine = measured["machine"]
    words = (
        f"Processor time of one core, measured on {measured['date']} on {machine['processor']}, "
        f"{machine['system']}, Python {machine['python']}.\n"
    )
    return "\n".join([words, table(HEAD, [_line(row) for row in measured["rows"]])])


def _line(row: Mapping[str, Any]) -> list[str]:
    return [
        f"`{row['experiment'].partition('/')[2]}`",
        f"`{row['settings']}`",
        row["method"].replace("_", " "),
        f"{row['steps_per_second']:,}",
        f"{row['times_published']:.3g}",
        f"{row['hours']:.2g}",
        f"{row['times_less_hours']:.3g}",
        f"{row['roofline_fraction']:.0%}",
        f"{row['share_of_update']:.0%}",
    ]
