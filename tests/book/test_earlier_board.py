"""The claim board of an earlier state, beside the present one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import earlier_board
from claim_board import headlines
from earlier_board import EXACT, FEW, INTERVAL, NOT_RUN, RULE, RUNS, SETTINGS, SHORT, SOFTENED, TEXT
from longfair.papers import registry
from longfair.runs.board import verdicts
from longfair.runs.rules.words import answer
from longfair.runs.store import Store

ROOT = Path(__file__).parents[2]
THEN = {"verdict": "contradicted", "estimate": 0.25}
NOW = {
    "id": "elbert-1", "paper": "elbert", "asked": "paper", "variant": "as_coded",
    "measure": "code", "verdict": "inconclusive", "answer": "inconclusive", "estimate": 0.25,
    "interval": [0.1, 0.3], "profile": "book",
    "settings": "ours", "lacks": "width", "changed": [],
}  # fmt: skip


def changed(was: str) -> dict[str, list[dict[str, str]]]:
    return {"changed": [{"date": "2025-01-31", "was": was, "now": "it", "why": "Why."}]}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({}, [INTERVAL]),
        ({"estimate": 0.2}, [RUNS]),
        ({"verdict": "checked", "estimate": None}, [EXACT]),
        (changed("the mean over runs"), [RULE]),
        (changed("ten runs are needed"), [INTERVAL]),
        (changed("contradicted was possible"), [INTERVAL]),
        (changed("contradicted was possible") | {"verdict": "not reproduced"}, [SOFTENED]),
        (changed("from ten runs") | {"estimate": 0.2}, [RUNS]),
        (changed("as published, searches weighed elites by reward"), [INTERVAL]),
        ({"lacks": "steps"}, [SHORT]),
        (
            changed("not reproduced was possible") | {"lacks": "paper", "estimate": 0.2},
            [RULE, SOFTENED],
        ),
        ({"settings": "authors", "profile": "paper", "estimate": 0.3}, [SETTINGS]),
        ({"settings": "authors", "estimate": 0.3}, [RUNS]),
        (
            {
                "settings": "authors", "profile": "paper", "estimate": 0.3,
                "lacks": "runs",
            },
            [SETTINGS, FEW],
        ),
        ({"variant": "as_published", "measure": "text", "estimate": 0.1}, [TEXT]),
        (
            {"variant": "as_published", "measure": "text", "estimate": None,
             "verdict": "not attempted"},
            [NOT_RUN],
        ),
    ],
)  # fmt: skip
def test_a_word_changed_for_a_reason(row: dict[str, Any], told: list[str]) -> None:
    assert earlier_board.reasons(THEN, NOW | row) == told


TOLD = {
    ("fairqcm-tabular-optimum", "as_published"): [RUNS],
    ("fairmdp-12", "as_published"): [RULE, SOFTENED, TEXT],
    ("elbert-16-lending", "as_coded"): [RULE],
    ("elbert-23", "as_published"): [EXACT],
}


def test_reasons_of_known_words() -> None:
    claims = registry.select_claims(list(dict.fromkeys(name for name, _ in TOLD)))
    judged = verdicts(claims, Store(), registry.experiments(), registry.checks())
    board = headlines([verdict.as_json() for verdict in judged])
    earlier = pd.read_csv(ROOT / "book" / "earlier_board.csv")
    found = {
        (now["id"], now["variant"]): earlier_board.reasons(then, now)
        for then, now in earlier_board.changes(earlier, board)
        if then["verdict"] != now["verdict"]
    }
    assert {which: found[which] for which in TOLD} == TOLD


def test_the_earlier_board_measured_a_method_as_it_was_trained() -> None:
    earlier = pd.DataFrame([{"id": "elbert-1", "variant": "as_coded", **THEN}])
    rows = [NOW | {"measure": "text"}, NOW]
    ((then, now),) = earlier_board.changes(earlier, rows)
    assert (then["verdict"], now["measure"]) == ("contradicted", "code")
    published = earlier.assign(variant="as_published")
    rows = [row | {"variant": "as_published"} for row in reversed(rows)]
    ((_, now),) = earlier_board.changes(published, rows)
    assert now["measure"] == "text"


def test_every_word_that_changed_stands_on_the_page_with_its_reason() -> None:
    row = NOW | {"id": "elbert-09", "answer": "reproduced", "detail": ""}
    runs = pd.DataFrame(
        [
            ["elbert", "paper", 7200.0, None],
            ["elbert", "book", 3600.0, None],
            ["fppo", "book", 3600.0, None],
        ],
        columns=["paper", "profile", "core_seconds", "same_as"],
    )
    text = earlier_board.fragment(ROOT, [row, NOW], runs)
    assert "The 2 stored runs of these papers kept a core busy for 3.0 h; those" in text
    assert "for 2.0 h of these." in text
    assert "Of 1 verdicts 0 kept their word and 1 changed it; 1 verdicts are new." in text
    changed, whole = text.split("## Every row")
    assert "elbert-1`" not in changed
    assert "| `elbert-1` | as coded, code | \N{EN DASH} | inconclusive, 0.25" in whole
    line = next(line for line in changed.splitlines() if "elbert-09" in line)
    assert line in whole.splitlines()
    assert "contradicted, -66.4 [-122, -16.8]" in line
    assert "reproduced, 0.25 [0.1, 0.3]" in line
    assert "| new runs | 1 |" in text


@pytest.mark.parametrize(
    ("verdict", "kept", "told"),
    [
        ("not reproduced", 1, ""),
        ("reproduced", 0, "| no, -0.0293 ["),
        ("inconclusive", 0, "| no, -0.0293 ["),
    ],
)
def test_our_questions_are_told_by_their_answers_then_and_now(
    verdict: Any, kept: int, told: str
) -> None:
    now = answer(verdict, "here")
    row = NOW | {"id": "elbert-hub", "asked": "here", "verdict": verdict, "answer": now}
    runs = pd.DataFrame([], columns=["paper", "profile", "core_seconds", "same_as"])
    text = earlier_board.fragment(ROOT, [row], runs)
    assert f"Of 1 verdicts {kept} kept their word and {1 - kept} changed it" in text
    changed, whole = text.split("## Every row")
    lines = [line for line in changed.splitlines() if "elbert-hub" in line]
    assert len(lines) == 1 - kept
    assert (f"| {now}, 0.25 [0.1, 0.3] | same word |" in whole) == bool(kept)
    assert all(told in line and f"| {now}, 0.25" in line for line in lines)
    assert "contradicted" not in "".join(lines)
