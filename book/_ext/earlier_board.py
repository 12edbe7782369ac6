"""Write an earlier claim board beside the present one, with the reason of every change.

`book/earlier_board.csv` holds what ``longfair claims --json`` printed at commit 8d8596f, before
verdicts were judged on the authors' settings and intervals were measured. It had the words of the
rules for everything. Where a claim is a question of ours, both boards are told by its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from longfair.runs.rules.words import answer
from longfair.wording import numeral, plain
from markdown_table import table
from stored_runs import duration, once

Row = Mapping[str, Any]

RULE = "rule"
SOFTENED = "the paper says too little"
SETTINGS = "authors' settings"
FEW = "too few of these runs yet"
SHORT = "runs end before the claim's horizon"
TEXT = "as published is the literal text"
NOT_RUN = "as published was not run yet"
EXACT = "word for exact statements"
INTERVAL = "interval"
RUNS = "new runs"

REASONS = {
    RULE: "The rule did not test its sentence and was changed; the board has its words then and "
    "now.",
    SOFTENED: "The paper says too little for a run of ours to contradict it.",
    SETTINGS: "It was judged on runs with our settings, and is judged on runs with the authors'.",
    FEW: "There are fewer such runs than the rule asks for, so nothing is decided.",
    SHORT: "Our runs are shorter than the claim's. They cannot refute it, or show that nothing "
    "changes.",
    TEXT: "*As published* contained something that only the code has, or a number that neither "
    "has; its runs are new.",
    NOT_RUN: "*As published* contained something that only the code has, or a number that neither "
    "has; it has no runs yet.",
    EXACT: "An exact statement that holds is *checked*; *reproduced* is for what runs show.",
    INTERVAL: "The runs are the same, and an interval of measured coverage is wider.",
    RUNS: "More or other runs.",
}
"""Why a word can have changed, in the order in which a table names them."""

_SOFTENED = "contradicted was possible"
_LITERAL = "as published, searches weighed elites"
_NOT_ABOUT_THE_RULE = (
    "as coded by the code's formula only",
    _LITERAL,
    _SOFTENED,
    "ten runs",
    "from ten runs",
    "no rule",
)
"""How changes begin that cannot have changed the word, or that have a reason of their own."""


def reasons(then: Row, now: Row) -> list[str]:
    """Say why a word changed.

    Parameters
    ----------
    then
        Row of the earlier board: ``verdict``, ``estimate``.
    now
        The headline of today, as from ``longfair claims --json``.

    Returns
    -------
    list of str
        Keys of `REASONS`, at least one.
    """
    if now["verdict"] == "checked":
        return [EXACT]
    was = [one["was"] for one in now["changed"]]
    rules = [words for words in was if not words.startswith(_NOT_ABOUT_THE_RULE)]
    same = _same(then["estimate"], now["estimate"])
    literal = now["paper"] == "elbert" or any(words.startswith(_LITERAL) for words in was)
    text = literal and now["variant"] == "as_published" and not same
    short = now["lacks"] == "steps"
    softened = any(words.startswith(_SOFTENED) for words in was)
    told = {
        RULE: bool(rules),
        SOFTENED: now["lacks"] == "paper" or (softened and now["verdict"] == "not reproduced"),
        SETTINGS: now["settings"] == "authors" and now["profile"] != "book",
        FEW: now["lacks"] == "runs",
        SHORT: short,
        TEXT: text and now["verdict"] != "not attempted",
        NOT_RUN: text and now["verdict"] == "not attempted",
        INTERVAL: same and not rules and not short and now["verdict"] != "not reproduced",
    }
    return [reason for reason, holds in told.items() if holds] or [RUNS]


def _same(then: float | None, now: float | None) -> bool:
    if then is None or now is None or pd.isna(then):
        return False
    return abs(then - now) <= 1e-5 * abs(then)


def changes(earlier: pd.DataFrame, headlines: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Pair every row of the earlier board with the one that follows it today.

    The earlier board measured each method as it was trained, so what is trained as coded and
    measured by the text, or the other way round, follows none of its rows.
    """
    measured: dict[tuple[str, str], list[Row]] = {}
    for row in headlines:
        measured.setdefault((row["id"], row["variant"]), []).append(row)
    for record in earlier.to_dict("records"):
        then = {str(column): value for column, value in record.items()}
        rows = measured.get((then["id"], then["variant"]), [])
        if rows:
            crossed = "code" if then["variant"] == "as_published" else "text"
            yield then, next((row for row in rows if row["measure"] != crossed), rows[0])


def answer_then(then: Row, now: Row) -> str:
    """Return what a reader of today would have seen then: a word, or an answer to our question."""
    return answer(then["verdict"], now["asked"])


def fragment(root: Path, headlines: Sequence[Row], runs: pd.DataFrame) -> str:
    """Write the two boards beside each other: counts, reasons, and every word that changed.

    Parameters
    ----------
    root
        The repository.
    headlines
        The board of today.
    runs
        Stored runs, as from `stored_runs`: what the change took.
    """
    earlier = pd.read_csv(root / "book" / "earlier_board.csv")
    pairs = list(changes(earlier, headlines))
    told = [
        (then, now, reasons(then, now))
        for then, now in pairs
        if answer_then(then, now) != now["answer"]
    ]
    why = Counter(reason for _, _, found in told for reason in found)
    counted = [[reason, why[reason], words] for reason, words in REASONS.items() if why[reason]]
    lines = [[*_sides(then, now), ", ".join(found)] for then, now, found in told]
    papers = set(earlier["id"].str.split("-").str[0])
    whole = _whole(pairs, [row for row in headlines if row["paper"] in papers])
    new = len(headlines) - len(pairs)
    return (
        f"Of {len(pairs)} verdicts {len(pairs) - len(told)} kept their word and {len(told)} "
        f"changed it; {new} verdicts are new. A word can have several reasons. "
        f"{_spent(runs, papers)}\n\n"
        f"{table(['Reason', 'Words', 'What it means'], counted)}\n"
        "## Every word that changed\n\n"
        f"{table(['Claim', 'Variant', 'Before', 'Now', 'Why'], lines)}\n"
        "## Every row\n\n"
        "What kept its word, too, and what the earlier board did not have.\n\n"
        f"::::{{dropdown}} The two boards beside each other, {len(whole)} rows\n"
        f"{table(['Claim', 'Variant', 'Before', 'Now', 'Why'], whole)}::::\n"
    )


def _whole(pairs: Sequence[tuple[Row, Row]], headlines: Sequence[Row]) -> list[list[str]]:
    """Write every row of the two boards: those of both, and those of today's alone."""
    lines = []
    before = {id(now): then for then, now in pairs}
    for now in headlines:
        then = before.get(id(now))
        kept = then is not None and answer_then(then, now) == now["answer"]
        why = "new" if then is None else "same word" if kept else ", ".join(reasons(then, now))
        lines.append([*_sides(then, now), why])
    return lines


def _sides(then: Row | None, now: Row) -> list[str]:
    """Write claim, variant, and word with number then and now."""
    was = ""
    if then is not None:
        was = f"{answer_then(then, now)}, {_number(then['estimate'], then['low'], then['high'])}"
    return [
        f"`{now['id']}`",
        plain(", ".join(filter(None, [now["variant"], now["measure"]]))),
        was,
        f"{now['answer']}, {_number(now['estimate'], *(now['interval'] or (None, None)))}",
    ]


def _spent(runs: pd.DataFrame, papers: Collection[str]) -> str:
    """Say how many hours of a core the runs behind these papers' verdicts took."""
    own = once(runs[runs["paper"].isin(papers)])
    authors = own[own["profile"] == "paper"]
    return (
        f"The {len(own):,} stored runs of these papers kept a core busy for "
        f"{duration(own['core_seconds'])}; those of the profile `paper`, which has the authors' "
        f"settings throughout, for {duration(authors['core_seconds'])} of these."
    )


def _number(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or pd.isna(value):
        return "no number"
    if low is None or high is None or pd.isna(low):
        return numeral(value, 3)
    return f"{numeral(value, 3)} [{numeral(low, 3)}, {numeral(high, 3)}]"
