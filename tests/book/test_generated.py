"""What the book says about results is what the library says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import generated
from markdown_table import NOTHING

CLAIM = {
    "id": "elbert-1",
    "paper": "elbert",
    "statement": "Bias is | low",
    "source": "Fig. 4",
    "reported": 0.023,
    "estimate": 0.02345,
    "measured": "bias, elbert-po",
    "interval": [0.021, 0.0309],
    "seeds": 10,
    "instances": 0,
    "profile": "book",
    "variant": "as_coded",
    "verdict": "direction only",
}


def claim(**changes: Any) -> dict[str, Any]:
    return {**CLAIM, **changes}


def test_board_shows_verdict_estimate_interval_and_basis() -> None:
    row = generated.board([CLAIM]).splitlines()[2]
    assert "[direction only]{.verdict .verdict-direction-only}" in row
    assert "0.0234 [0.021, 0.0309] [bias, elbert-po]{.aside}" in row
    assert "book, as coded, 10 seeds" in row
    assert "Bias is \\| low" in row


def test_exact_claim_rests_on_no_runs() -> None:
    row = claim(seeds=0, profile=None, variant=None, interval=None, verdict="checked")
    assert generated.basis(row | {"instances": 26}) == "on 26 instances"
    assert generated.basis(row | {"instances": 1}) == "on 1 instance"
    assert "None" not in generated.board([row])


def test_claim_without_runs_claims_nothing() -> None:
    row = claim(estimate=None, measured="", interval=None, seeds=None, verdict="not attempted")
    assert generated.basis(row) == "as coded"
    assert generated.estimate(row) == NOTHING


def test_claim_judged_twice_is_told_once() -> None:
    text = generated.board([claim(), claim(variant="as_published"), claim(id="elbert-2")])
    assert text.count("Bias is") == 2
    assert text.count("*the same claim*") == 1


def test_found_counts_every_verdict() -> None:
    rows = [claim(), claim(variant="as_published", verdict="contradicted"), claim(id="elbert-2")]
    text = generated.found(rows)
    assert "2 claims" in text
    assert "counts twice" in text
    assert "counts twice" not in generated.found([CLAIM])
    head, _, *lines = text.strip().split("\n\n")[1].splitlines()
    column = head.split(" | ").index("[ELBERT](papers/elbert.md)")
    counts = {line.split(" | ")[0]: line.split(" | ")[column] for line in lines}
    assert len(counts) == len(generated.VERDICTS)
    assert {name: count for name, count in counts.items() if count != "0"} == {
        "| [direction only]{.verdict .verdict-direction-only}": "2",
        "| [contradicted]{.verdict .verdict-contradicted}": "1",
    }


def test_every_paper_with_a_verdict_has_a_chapter() -> None:
    papers = Path(__file__).parents[2] / "book/papers"
    assert {path.stem for path in papers.glob("*.md")} == set(generated.PAPERS)


def test_every_verdict_has_its_colour() -> None:
    sheet = (Path(__file__).parents[2] / "book/_static/custom.css").read_text(encoding="utf-8")
    for verdict in generated.VERDICTS:
        assert f".verdict-{verdict.replace(' ', '-')} " in sheet


def test_seeds_are_written_short() -> None:
    assert generated.seeds([3, 1, 2, 0, 1]) == "0 to 3"
    assert generated.seeds([1, 5, 9]) == "1, 5, 9"
    assert generated.seeds([0, 1]) == "0, 1"


def test_time_is_written_in_hours_when_it_is_long() -> None:
    assert generated.hours([1800.0, 5400.0]) == "2 h"
    assert generated.hours([1.5, 2.25]) == "3.8 s"


def test_machines_and_commits_are_named_once() -> None:
    run = {"processor": "P", "cores": 2, "system": "Linux", "python": "3.11", "commit": "a" * 40}
    run |= {"core_seconds": 1800.0, "versions": {"torch": "2.13.0", "numpy": "2.4.6"}}
    text = generated.made_on(pd.DataFrame([run, run]).assign(same_as=None))
    assert "Together 1 h of one core." in text
    assert text.count("numpy 2.4.6, torch 2.13.0") == 1
    assert text.count("P, 2 cores, Linux, Python 3.11") == 1
    assert text.count("`aaaaaaaaaa`") == 1


def test_runs_of_two_experiments_cost_once() -> None:
    run = {"processor": "P", "cores": 2, "system": "Linux", "python": "3.11", "commit": "a" * 40}
    run |= {"core_seconds": 1800.0, "versions": {"torch": "2.13.0"}, "same_as": None}
    text = generated.made_on(pd.DataFrame([run, run | {"same_as": "toy/a/book/b.c.000"}]))
    assert "Together 0.5 h of one core, runs that experiments share counted once." in text


def test_failing_command_stops_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="longfair claims failed"):
        generated.claims()


def test_board_of_the_book_is_what_the_command_says(book: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "longfair", "claims", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    page = (book / "book/claims.html").read_text(encoding="utf-8")
    rows = json.loads(answer.stdout)
    assert page.count('class="verdict ') == len(rows)
    for row in rows:
        assert row["id"] in page
