"""The claims of a page as a small table: what was reported, what we find, what follows."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longfair.errors import UsageError, near_misses
from longfair.figures.style import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

VERDICT_COLOURS: Mapping[str, str] = {
    "reproduced": GREEN,
    "checked": GREEN,
    "direction only": SKY,
    "not reproduced": ORANGE,
    "contradicted": VERMILION,
    "inconclusive": BLUE,
    "not attempted": GREY,
}
"""Colour of the bar beside each verdict; the word says the same."""

_KEYS = (
    "id",
    "statement",
    "source",
    "reported",
    "estimate",
    "measured",
    "interval",
    "seeds",
    "instances",
    "profile",
    "variant",
    "verdict",
)
_NOTHING = "\N{EN DASH}"
_COLUMNS = ("claim", "statement", "reported", "ours", "verdict", "rests on")


@dataclass(frozen=True)
class ClaimBox:
    """A table of claims that a notebook shows as HTML and a terminal as text.

    Attributes
    ----------
    rows
        One mapping per claim with the keys of ``longfair claims --json``.
    """

    rows: tuple[Mapping[str, Any], ...]

    def __repr__(self) -> str:
        """Write the table as aligned text."""
        table = [_COLUMNS, *(_cells(row) for row in self.rows)]
        columns = self._filled()
        widths = {column: max(len(row[column]) for row in table) for column in columns}
        return "\n".join(
            "  ".join(row[column].ljust(widths[column]) for column in columns).rstrip()
            for row in table
        )

    def _repr_html_(self) -> str:
        """Write the table with four columns at most, each with its remarks in small print."""
        cells = [_html_cells(row) for row in self.rows]
        columns = [name for name in cells[0] if any(row[name] != _NOTHING for row in cells)]
        head = "".join(f'<th scope="col">{name}</th>' for name in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{row[name]}</td>" for name in columns) + "</tr>" for row in cells
        )
        return (
            '<table class="dataframe longfair-claims">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _filled(self) -> list[int]:
        """Columns in which at least one claim has something to say."""
        table = [_cells(row) for row in self.rows]
        return [
            column
            for column in range(len(_COLUMNS))
            if any(row[column] != _NOTHING for row in table)
        ]


def claim_box(rows: Sequence[Mapping[str, Any]]) -> ClaimBox:
    """Lay out claims and their verdicts.

    Parameters
    ----------
    rows
        One mapping per claim with the keys id, statement, source, reported, estimate, measured,
        interval, seeds, instances, profile, variant and verdict, as printed by
        ``longfair claims --json``.  Estimate and interval may be None; the interval is a pair.
        Measured says what the estimate is an estimate of; it stands below it.

    Returns
    -------
    ClaimBox
        Shows itself as the last line of a cell.  Equal rows give equal text.

    Raises
    ------
    UsageError
        If there is no row, a key is missing or a verdict is unknown.
    """
    if not rows:
        raise UsageError("there is no claim to show; pass at least one row")
    for row in rows:
        missing = [key for key in _KEYS if key not in row]
        if missing:
            raise UsageError(f"claim {row.get('id', '?')} lacks {', '.join(missing)}")
        if row["verdict"] not in VERDICT_COLOURS:
            known = near_misses(str(row["verdict"]), VERDICT_COLOURS)
            raise UsageError(
                f"claim {row['id']} has the unknown verdict {row['verdict']!r}: {known}"
            )
    return ClaimBox(tuple(rows))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(row["id"]),
        f"{row['statement']} ({row['source']})",
        _value(row["reported"]),
        _estimate(row),
        str(row["verdict"]),
        _basis(row),
    )


def _html_cells(row: Mapping[str, Any]) -> dict[str, str]:
    identifier, statement, reported, _, verdict, basis = map(html.escape, _cells(row))
    bar = f"border-left: 0.4em solid {VERDICT_COLOURS[row['verdict']]}; padding-left: 0.4em"
    kind = row["verdict"].replace(" ", "-")
    word = f'<strong class="verdict verdict-{kind}" style="{bar}">{verdict}</strong>'
    return {
        "claim": f"{statement} <code>{identifier}</code>",
        "reported": reported,
        "ours": _number(row) + _aside(html.escape(row["measured"])),
        "verdict": word + _aside(basis),
    }


def _aside(text: str) -> str:
    return "" if text in ("", _NOTHING) else f'<br><small class="aside">{text}</small>'


def _value(value: object) -> str:
    if value is None or value == "":
        return _NOTHING
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


def _estimate(row: Mapping[str, Any]) -> str:
    return f"{_number(row)} ({row['measured']})" if row["measured"] else _number(row)


def _number(row: Mapping[str, Any]) -> str:
    text = _value(row["estimate"])
    if row["interval"] is None:
        return text
    low, high = row["interval"]
    return f"{text} [{_value(low)}, {_value(high)}]"


def _basis(row: Mapping[str, Any]) -> str:
    """Say what a verdict rests on; only an exact check decides without any seed."""
    if row["verdict"] == "not attempted":
        return _NOTHING
    if row["instances"]:
        return f"on {row['instances']} instance{'s' * (row['instances'] > 1)}"
    parts = (row["profile"], str(row["variant"] or "").replace("_", " "), f"{row['seeds']} seeds")
    return ", ".join(str(part) for part in parts if part)
