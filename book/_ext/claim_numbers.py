"""Numbers in sentences: what a claim's runs gave, with its interval, linked to the claim's page.

``{measured}`elbert-04` `` writes the number of a claim, by the settings and the measure that its
verdict goes by. Words behind the id choose another row of the board: a variant, `text` or another
measure, `ours` for our own settings, as in ``{measured}`elbert-05, ours, text, part 1` ``. Of a
claim with several parts one must be named: which of them decides may change with the runs.
`reversed` turns a difference round, for *less by* in place of *more by*. Of runs of two kinds the
median is written, with how many runs are of each kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from claim_figures import tables, title
from claim_pages import FOLDER, all_sheets
from generated import Row, claims
from longfair.figures.style import number
from longfair.papers import registry
from longfair.wording import digits_for, numeral, with_interval

CHOOSING = ("variant", "measure", "settings")
"""Entries of a row that the words behind an id are compared with."""
REVERSED = "reversed"


def asked(text: str, board: Sequence[Row]) -> tuple[Row, Row]:
    """Return the first row that a text asks for, and its part with the number.

    Parameters
    ----------
    text
        Id of a claim, and words that choose a row and a part, with commas between.
    board
        The rows.

    Raises
    ------
    ValueError
        If there is none, or no part is named of several, or it has no number yet.
    """
    name, *words = [word.strip().replace(" ", "_") for word in text.split(",")]
    parts = [word for word in words if word.startswith("part_")]
    chosen = set(words) - {*parts, REVERSED}
    for row in board:
        if row["id"] != name or not chosen <= {str(row[entry]) for entry in CHOOSING}:
            continue
        if bool(row["parts"]) != bool(parts):
            raise ValueError(f"{text}: it has {len(row['parts']) or 'no'} parts: name one or none")
        found = row["parts"][int(parts[0].removeprefix("part_")) - 1] if parts else row
        if found["estimate"] is None:
            raise ValueError(f"{text}: there is no number yet")
        shown = middle(row, found)
        return row, turned(shown) if REVERSED in words else shown
    raise ValueError(f"{text}: the board has no such row")


def turned(found: Row) -> Row:
    """Return a difference the other way round."""
    ends = found["interval"] and [-end for end in reversed(found["interval"])]
    kinds = " and ".join(reversed(found.get("kinds", "").split(" and ")))
    return {**found, "estimate": -found["estimate"], "interval": ends, "kinds": kinds}


def written(found: Row) -> str:
    """Write a number with its interval, in as many digits as tell the ends apart.

    Where runs are of two kinds it is their median, with the number of runs of each kind.
    """
    if found.get("kinds"):
        return f"{_number(found['estimate'])} (median of two kinds of runs, {found['kinds']})"
    low, high = found["interval"] or (0.0, 0.0)
    if low == high:
        return _number(found["estimate"])
    even: Callable[[float], str] = f"{{:z,.{_decimals(low, high)}f}}".format
    if any(end and not float(even(end).replace(",", "")) for end in (low, high, found["estimate"])):
        even = _number
    return with_interval(found["estimate"], (low, high), even)


def _decimals(low: float, high: float) -> int:
    """Say how many digits after the point both ends have, of which the larger shows three or more.

    So a number and its interval are as long as each other, with the zeros at their ends.
    """
    digits = max(3, digits_for((low, high), 3))
    return max(0, digits - 1 - math.floor(math.log10(max(abs(low), abs(high)))))


def middle(row: Row, found: Row) -> Row:
    """Put the median in the place of a mean of runs of two kinds: no run ends where that is.

    Parameters
    ----------
    row
        A row of the board.
    found
        It, or one of its parts, as it stands there.

    Returns
    -------
    dict
        The same, or with the median in ``estimate``, no interval, and in ``kinds`` how many runs
        are below the gap and above it.
    """
    if not row.get("two_kinds"):
        return found
    claim = next(claim for claim in registry.claims() if claim.id == row["id"])
    sheet = next(sheet for sheet in all_sheets() if sheet["id"] == row["id"])
    means = tables(sheet, claim).means
    here = means["title"] == title(row["settings"], row["variant"])
    for one in means[here & (means["kinds"] != "")].to_dict("records"):
        if found["measured"] in (one["label"], f"{one['label']}, {one['method']}"):
            kinds = one["kinds"].removesuffix(" runs")
            return {**found, "estimate": one["mean"], "interval": None, "kinds": kinds}
    return found


def _number(value: float) -> str:
    """Write a number as figures do, but one that is nearly zero with its first digit."""
    return numeral(value, 1) if 0 < abs(value) < 5e-4 else number(value)


class Measured(SphinxRole):
    """The role ``measured``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Write the number as a link to the page of its claim, which says what it is."""
        try:
            row, found = asked(self.text, claims())
        except ValueError as error:
            problem = self.inliner.reporter.error(str(error), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, problem)], [problem]
        page = self.env.docname
        builder = self.env.app.builder
        address = builder.get_relative_uri(page, f"{FOLDER}/{row['id']}")
        told = f"{found['measured']}; runs: {found['seeds']}, {row['whose']}"
        link = nodes.reference(self.rawtext, "", internal=True, refuri=address, reftitle=told)
        link += nodes.inline("", written(found), classes=["measured"])
        return [link], []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_role("measured", Measured())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
