"""Tables in Markdown, as the generated parts of the book need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longfair.wording import numeral

NOTHING = "\N{EN DASH}"
"""Stands in a cell that has no value."""


def cell(value: object) -> str:
    """Write a value so that it stays inside its table cell."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, float):
        return numeral(value, 3)
    return " ".join(str(value).split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *[[cell(value) for value in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
