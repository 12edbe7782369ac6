"""Write the claim board: a folded table for every paper, filtered and searched by `claims.js`.

The head of a table counts the words below it. A claim is a short row with the words of its
verdicts; they open to numbers, measures and runs. Without scripts all of that opens all the same.
What is filtered by stands in attributes of the rows.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from sphinx.application import Sphinx

from longfair.figures.claim_box import (
    ANSWER_COLOURS,
    COLOURS,
    VERDICT_COLOURS,
    badge,
    change_marks,
    reported_cell,
    verdict_cell,
)
from longfair.wording import by_measure, numeral, plain

Row = Mapping[str, Any]

PAGE = "book/claims"
Choice = Mapping[str, str]
"""What is filtered by, as the names of the board's controls, to the values chosen."""
COLUMNS = ("claim", "verdict", "environment")
ASKED = {"paper": "the papers", "here": "us"}
KINDS = {
    "paper": ("claims of the paper", "verdicts", VERDICT_COLOURS),
    "here": ("questions of ours", "answers", ANSWER_COLOURS),
}
"""What claims of a kind are called, what they get, and in which order that is counted."""
SETTINGS = {
    "authors": "the authors'",
    "short": "the authors', short of their steps",
    "ours": "ours",
    "": "no runs",
}


def board(rows: Sequence[Row], papers: Mapping[str, str], environments: Mapping[str, str]) -> str:
    """Write the board as HTML.

    Parameters
    ----------
    rows
        Verdicts as printed by ``longfair claims --json``.
    papers
        Ids of papers in the order of the book, and how it calls them.
    environments
        Claim to the environment of its runs.
    """
    groups = (_group(rows, paper, name, environments) for paper, name in papers.items())
    return f'<div id="claim-board">{"".join(groups)}</div>'


def _group(rows: Sequence[Row], paper: str, name: str, environments: Mapping[str, str]) -> str:
    """Write the folded table of a paper, empty without claims."""
    claims: dict[str, list[Row]] = {}
    for row in rows:
        if row["paper"] == paper:
            claims.setdefault(row["id"], []).append(row)
    if not claims:
        return ""
    columns = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS)
    lines = "".join(_line(own, name, environments[claim]) for claim, own in claims.items())
    counted = "".join(
        f'<span class="aside">{_counted(list(claims.values()), asked)}</span>' for asked in KINDS
    )
    return (
        f'<details class="claim-group"><summary><b>{html.escape(name)}</b> '
        f'<span class="claim-count"></span>{counted}</summary>'
        f'<table class="dataframe longfair-claims"><thead><tr>{columns}</tr></thead>'
        f"<tbody>{lines}</tbody></table></details>"
    )


def _counted(claims: Sequence[Sequence[Row]], asked: str) -> str:
    """Count the claims of a kind, and the words of all their variants and measures."""
    kind, got, words = KINDS[asked]
    own = [rows for rows in claims if rows[0]["asked"] == asked]
    number = Counter(row["answer"] for rows in own for row in headlines(rows))
    told = ", ".join(f"{number[word]} {word}" for word in words if number[word])
    return f"{len(own)} {kind}" + f", {number.total()} {got}: {told}" * bool(told)


def chosen(choice: Choice) -> str:
    """Write the part of the board's address that shows what is chosen."""
    return f"#{urlencode(choice)}"


def summary(rows: Sequence[Row]) -> str:
    """Say how many claims are judged, the papers' apart from our questions."""
    claims = {row["id"]: row for row in rows}.values()
    papers, ours = (sum(row["asked"] == asked for row in claims) for asked in ("paper", "here"))
    of_papers, of_ours = (
        sum(bool(row["changed"]) for row in claims if row["asked"] == asked)
        for asked in ("paper", "here")
    )
    return (
        f"{papers} claims of the papers and {ours} questions of ours are judged. The rule of "
        f"{of_papers} of the claims and of {of_ours} of the questions was written or changed after "
        "its runs."
    )


def headlines(rows: Sequence[Row]) -> list[Row]:
    """Keep the first verdict of every claim, variant and measure: what stands beside it is ours."""
    first: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        first.setdefault((row["id"], row["variant"], row["measure"]), row)
    return list(first.values())


def _line(rows: Sequence[Row], paper: str, environment: str) -> str:
    first = rows[0]
    words = dict.fromkeys(row["answer"] for row in headlines(rows))
    told = {
        "asked": ASKED[first["asked"]],
        "paper": paper,
        "verdict": "|".join(words),
        "environment": environment,
        "settings": "|".join(dict.fromkeys(SETTINGS[row["settings"]] for row in rows)),
        "rank": str(list(COLOURS).index(next(iter(words)))),
    }
    attributes = "".join(f' data-{name}="{html.escape(value)}"' for name, value in told.items())
    cells = zip(COLUMNS, _cells(rows, environment), strict=True)
    line = "".join(f'<td data-column="{name}">{cell}</td>' for name, cell in cells)
    return f'<tr id="{first["id"]}"{attributes}>{line}</tr>'


def _cells(rows: Sequence[Row], environment: str) -> Iterator[str]:
    first = rows[0]
    source = "" if first["source"] == "not in the paper" else first["source"]
    whose = "asked here" if first["asked"] == "here" else ""
    where = ", ".join(filter(None, (source, whose)))
    yield (
        f"<code>{first['id']}</code> {html.escape(first['statement'])} "
        f'<small class="aside">{html.escape(where)}</small>'
    )
    yield f"<details><summary>{_words(rows)}</summary>{_rest(rows)}</details>"
    yield html.escape(environment)


def _words(rows: Sequence[Row]) -> str:
    """Write the words of a claim, each once, with what it is about."""
    first = headlines(rows)
    of_variant: dict[str, set[tuple[str, bool]]] = {}
    for row in first:
        of_variant.setdefault(row["variant"], set()).add((row["answer"], row["fragile"]))
    about: dict[tuple[str, str, bool], dict[str, None]] = {}
    for row in first:
        measure = by_measure(row["measure"]) if len(of_variant[row["variant"]]) > 1 else ""
        whose = f"{row['whose']}: " if row["settings"] not in ("", "authors") else ""
        which = plain(", ".join(filter(None, (row["variant"], measure))))
        about.setdefault((whose, row["answer"], row["fragile"]), {})[which] = None
    return " ".join(
        f'<span class="claim-word"><span class="together">{html.escape(whose)}'
        f"{badge(word, word + ' (fragile)' * fragile)}</span> "
        f'<small class="aside">{html.escape("; ".join(which))}</small></span>'
        for (whose, word, fragile), which in about.items()
    )


def _rest(rows: Sequence[Row]) -> str:
    """Write what opens below the words: all verdicts of every variant, and what changed."""
    variants = dict.fromkeys(row["variant"] for row in rows)
    reported = any(row["reported"] is not None for row in rows)
    return (
        f"<p>The paper reports {reported_cell(rows)}.</p>" * reported
        + "".join(
            f'<span class="aside">{plain(variant)}</span>'
            + verdict_cell([row for row in rows if row["variant"] == variant])
            + _beside([row for row in rows if row["variant"] == variant])
            for variant in variants
        )
        + change_marks(rows[0])
    )


def _beside(rows: Sequence[Row]) -> str:
    """Write what is told beside the judged numbers: median, lowest to highest."""
    told = {
        f"{number['number']} of {number['method']} {numeral(number['median'], 3)} "
        f"({numeral(number['lowest'], 3)} to {numeral(number['highest'], 3)})"
        f"{', our settings' * (number['settings'] == 'ours')}": None
        for row in rows
        for number in row.get("beside", ())
    }
    words = f"Beside it and not judged, medians and all runs: {'; '.join(told)}."
    return f'<p class="aside">{html.escape(words)}</p>' * bool(told)


def equip(app: Sphinx, page: str, _template: str, _context: object, _tree: object) -> None:
    """Add script and style to the board."""
    if page == PAGE:
        app.add_js_file("claims.js", loading_method="defer")
        app.add_css_file("claims.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", equip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
