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
        columns = self._filled()
        head = "".join(f'<th scope="col">{_COLUMNS[column]}</th>' for column in columns)
        body = "".join(_html_row(row, columns) for row in self.rows)
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
        interval, seeds, profile, variant and verdict, as printed by ``longfair claims --json``.
        Estimate and interval may be None; the interval is a pair.  Measured says what the
        estimate is an estimate of; it stands below it.

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


def _html_row(row: Mapping[str, Any], columns: Sequence[int]) -> str:
    cells = [html.escape(cell) for cell in _cells(row)]
    colour = VERDICT_COLOURS[row["verdict"]]
    cells[0] = f"<code>{cells[0]}</code>"
    bar = f"border-left: 0.4em solid {colour}; padding-left: 0.4em"
    kind = row["verdict"].replace(" ", "-")
    if row["measured"]:
        cells[3] = f"{html.escape(_number(row))}<br><small>{html.escape(row['measured'])}</small>"
    cells[4] = f'<strong class="verdict verdict-{kind}" style="{bar}">{cells[4]}</strong>'
    return "<tr>" + "".join(f"<td>{cells[column]}</td>" for column in columns) + "</tr>"


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
    if not row["seeds"] and row["verdict"] in ("reproduced", "contradicted"):
        return "exact check"
    parts = (row["profile"], str(row["variant"] or "").replace("_", " "), f"{row['seeds']} seeds")
    return ", ".join(str(part) for part in parts if part)
