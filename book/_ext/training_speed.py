"""Write the tables of training speeds: what `make bench` measured, for two chapters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markdown_table import table
from speeds import NOT_MEASURED, measured_on, three_digits

BENCHMARKS = Path("results/benchmarks/training.json")

METHODS = {"elbert": "elbert-po as_coded", "fppo": "f-ppo as_coded"}
"""The methods shown: those whose published code was timed."""

PLAIN = "ppo as_coded"
"""The method without massaging, gaps and terms, timed beside F-PPO."""

NAMES = {"elbert": "ELBERT-PO", "fppo": "F-PPO"}

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


def training_speed(root: Path, paper: str = "elbert") -> str:
    """Write the table of a paper, or that it has not been measured."""
    file = root / BENCHMARKS
    if not file.exists():
        return NOT_MEASURED
    measured = json.loads(file.read_text(encoding="utf-8"))
    rows = [row for row in measured["rows"] if _of(row, paper)]
    if not rows:
        return NOT_MEASURED
    head, lines = HEAD, [_line(row) for row in rows]
    plain = {row["experiment"]: row for row in measured["rows"] if row["method"] == PLAIN}
    if all(row["experiment"] in plain for row in rows):
        head = [*HEAD, "Training step, PPO's as 1"]
        for line, row in zip(lines, rows, strict=True):  # both against the same published speed
            slower = plain[row["experiment"]]["times_published"] / row["times_published"]
            line.append(f"{slower:.2f}")
    words = f"{NAMES[paper]} as coded, processor time of one core, {measured_on(measured)}"
    return "\n".join([words, table(head, lines)])


def _of(row: Mapping[str, Any], paper: str) -> bool:
    return bool(row["experiment"].startswith(f"{paper}/") and row["method"] == METHODS[paper])


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
