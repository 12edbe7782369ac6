"""The claims of a page as a small table: what was reported, what we find, what follows."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longfair.errors import UsageError, near_misses
from longfair.figures.style import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION
from longfair.wording import (
    by_measure,
    certainty,
    counted,
    numeral,
    plain,
    steps_of,
    with_interval,
)

VERDICT_COLOURS: Mapping[str, str] = {
    "reproduced": GREEN,
    "checked": GREEN,
    "direction only": SKY,
    "not reproduced": ORANGE,
    "contradicted": VERMILION,
    "inconclusive": BLUE,
    "not attempted": GREY,
}
"""Colour of the bar beside each word for a paper's claim; the word says the same."""

ANSWER_COLOURS: Mapping[str, str] = {
    "yes": GREEN,
    "in part": SKY,
    "no": ORANGE,
    "cannot be told": BLUE,
    "not attempted": GREY,
}
"""Colour of the bar beside each answer to a question of ours."""

COLOURS: Mapping[str, str] = {**VERDICT_COLOURS, **ANSWER_COLOURS}
"""Both, the words first."""

_KEYS = (
    "id",
    "asked",
    "statement",
    "source",
    "reported",
    "estimate",
    "measured",
    "interval",
    "seeds",
    "instances",
    "steps",
    "horizon",
    "profile",
    "settings",
    "whose",
    "measure",
    "variant",
    "verdict",
    "answer",
    "changed",
    "stale",
)
_NOTHING = "\N{EN DASH}"
_COLUMNS = ("claim", "verdict", "ours", "reported", "rests on", "statement")
_MARK = "rule written or changed after its runs"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ClaimBox:
    """A table of claims that a notebook shows as HTML and a terminal as text.

    Attributes
    ----------
    rows
        One mapping per verdict with the keys of ``longfair claims --json``.
    """

    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        """Write one line per verdict as aligned text; a claim is stated once."""
        lines = [
            (row["id"], *_words(row), _claim(row) if first else "")
            for group in self._claims()
            for first, row in zip([True, *[False] * len(group)], group, strict=False)
        ]
        columns = [n for n in range(len(_COLUMNS)) if any(line[n] != _NOTHING for line in lines)]
        table = [_COLUMNS, *lines]
        widths = {column: max(len(row[column]) for row in table) for column in columns}
        return "\n".join(
            "  ".join(row[column].ljust(widths[column]) for column in columns).rstrip()
            for row in table
        )

    def _repr_html_(self) -> str:
        """Write one row per claim, which is said first, so that the words behind it have a subject.

        Each variant has a column; the verdicts by several measures, and on other settings, stand
        in it below each other.
        """
        variants = list(dict.fromkeys(row["variant"] for row in self.rows))
        names = [plain(variant) for variant in variants] if len(variants) > 1 else ["verdict"]
        reported = any(row["reported"] is not None for row in self.rows)
        head = ["claim", *names, *["reported"] * reported]
        body = [
            [
                f"<code>{html.escape(group[0]['id'])}</code> {html.escape(_claim(group[0]))}"
                + change_marks(group[0]),
                *(verdict_cell([row for row in group if row["variant"] == v]) for v in variants),
                *[reported_cell(group)] * reported,
            ]
            for group in self._claims()
        ]
        names = [html.escape(name) for name in head]
        cells = "".join(f'<th scope="col">{name}</th>' for name in names)
        lines = "".join(
            "<tr>"
            + "".join(
                f'<td data-column="{name}">{cell}</td>'
                for name, cell in zip(names, line, strict=True)
            )
            + "</tr>"
            for line in body
        )
        return (
            '<table class="dataframe longfair-claims">'
            f"<thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
        )

    def _claims(self) -> list[list[Row]]:
        """Verdicts by claim."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row["id"], []).append(row)
        return list(found.values())


def claim_box(rows: Sequence[Row]) -> ClaimBox:
    """Lay out claims and their verdicts.

    Parameters
    ----------
    rows
        One mapping per verdict, as printed by ``longfair claims --json``: the verdict on the
        authors' settings before the one on ours.

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
        colours = ANSWER_COLOURS if row["asked"] == "here" else VERDICT_COLOURS
        if row["answer"] not in colours:
            known = near_misses(str(row["answer"]), colours)
            raise UsageError(f"claim {row['id']} has the unknown answer {row['answer']!r}: {known}")
    return ClaimBox(tuple(rows))


def _claim(row: Row) -> str:
    """State a claim, and who says it where."""
    source = "" if row["source"] == "not in the paper" else row["source"]
    asked = "asked here" if row["asked"] == "here" else ""
    return f"{row['statement']} ({_listed(source, asked)})"


def _words(row: Row) -> tuple[str, str, str, str]:
    """Return verdict, our value, reported value and basis as text."""
    number = f"{_number(row)} ({row['measured']})" if row["measured"] else _number(row)
    mark = _MARK if row["changed"] else ""
    basis = _listed(plain(row["variant"]), *_basis(row), mark) if _decided(row) else _NOTHING
    return _verdict(row), number, _value(row["reported"]), basis


def reported_cell(rows: Sequence[Row]) -> str:
    """Write the number that a paper reports for a claim, and by which of its measures if not all.

    Parameters
    ----------
    rows
        The verdicts of one claim.
    """
    told = {row["reported"] for row in rows}
    number = next((one for one in told if one is not None), None)
    if len(told) == 1 or number is None:
        return _value(number)
    measures = dict.fromkeys(row["measure"] for row in rows if row["reported"] == number)
    return html.escape(f"{_value(number)} ({_listed(*map(by_measure, measures))})")


def verdict_cell(rows: Sequence[Row]) -> str:
    """Write the verdicts of a claim in one variant as HTML; the first by each measure is larger.

    Parameters
    ----------
    rows
        As for `claim_box`.
    """
    large: set[str] = set()
    blocks = []
    for row in rows:
        size = "small" if row["measure"] in large else "div"
        large.add(row["measure"])
        word = badge(row["answer"], _verdict(row))
        number = "" if row["estimate"] is None else f"<br>{_number(row)}"
        basis = _listed(*_basis(row)) if _decided(row) else ""
        text = word + number + _aside(row["measured"]) + _aside(basis)
        blocks.append(f'<{size} style="display: block">{text}</{size}>')
    return "".join(blocks) or _NOTHING


def badge(answer: str, text: str) -> str:
    """Write a text as HTML, with the bar of a word or an answer beside it.

    Parameters
    ----------
    answer
        The word or the answer.
    text
        What is written.
    """
    bar = f"border-left: 0.4em solid {COLOURS[answer]}; padding-left: 0.4em"
    kind = answer.replace(" ", "-")
    return f'<strong class="verdict verdict-{kind}" style="{bar}">{text}</strong>'


def change_marks(row: Row) -> str:
    """Write what was changed in the rule after its runs: a short mark, the words behind it.

    Parameters
    ----------
    row
        As for `claim_box`.
    """
    words = "".join(
        f"<p>{html.escape(c['date'])}: was {html.escape(c['was'])}, now {html.escape(c['now'])}. "
        f"{html.escape(c['why'])}</p>"
        for c in row["changed"]
    )
    return words and f"<details><summary>{_MARK}</summary>{words}</details>"


def _basis(row: Row) -> list[str]:
    """Say what a verdict rests on beside its variant: measure, settings, runs, steps."""
    measure = by_measure(row["measure"])
    if row["instances"]:
        return [measure, f"on {row['instances']:,} instance{'s' * (row['instances'] > 1)}"]
    return [
        measure,
        "" if _first(row) else row["whose"] or str(row["profile"]),
        counted(row["seeds"], "run"),
        f"{steps} steps" if (steps := steps_of(row)) else "",
        f"{row['stale']} stale runs" if row["stale"] else "",
        *certainty(row),
    ]


def _first(row: Row) -> str:
    """Say first whose settings runs have that have not the authors' settings and steps."""
    told = row["settings"] not in ("", "authors") and _decided(row)
    return f"{row['whose']}: " if told else ""


def _decided(row: Row) -> bool:
    return bool(row["verdict"] != "not attempted")


def _verdict(row: Row) -> str:
    """Write the word or the answer, after whose settings it is about."""
    return f"{_first(row)}{row['answer']}{' (fragile)' if row.get('fragile') else ''}"


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _aside(text: str) -> str:
    return f'<br><small class="aside">{html.escape(text)}</small>' if text else ""


def _value(value: object) -> str:
    if value is None or value == "":
        return _NOTHING
    return numeral(value) if isinstance(value, float) else " ".join(str(value).split())


def _number(row: Row) -> str:
    found = row["estimate"]
    return with_interval(found, row["interval"]) if isinstance(found, float) else _value(found)
