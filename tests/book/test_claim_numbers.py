"""Numbers in sentences come from the board, and there are some in every chapter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import claim_numbers
import generated

PART = {"estimate": -0.25, "interval": [-0.5, -0.125], "measured": "reward, a less b", "seeds": 10}
ROW: dict[str, Any] = {
    **PART,
    "id": "toy-1",
    "variant": "as_coded",
    "measure": "code",
    "settings": "authors",
    "parts": [],
}
BOARD = [
    ROW,
    ROW | {"settings": "ours", "estimate": 3.0, "interval": None},
    ROW | {"measure": "text", "estimate": 4.0},
    ROW | {"id": "toy-2", "parts": [PART | {"estimate": 1.5}, PART | {"estimate": None}]},
]
CHAPTERS = sorted((Path(__file__).parents[2] / "book" / "papers").glob("*.md"))
ROLE = re.compile(r"\{measured\}`([^`]+)`")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("toy-1", "-0.250 [-0.500, -0.125]"),
        ("toy-1, reversed", "0.250 [0.125, 0.500]"),
        ("toy-1, ours", "3"),
        ("toy-1, ours, reversed", "-3"),
        ("toy-1, authors, as coded, text", "4.000 [-0.500, -0.125]"),
        ("toy-2, part 1", "1.500 [-0.500, -0.125]"),
    ],
)
def test_words_choose_a_number(text: str, expected: str) -> None:
    assert claim_numbers.written(claim_numbers.asked(text, BOARD)[1]) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("toy-3", "no such row"),
        ("toy-1, as published", "no such row"),
        ("toy-1, part 1", "no parts"),
        ("toy-2", "2 parts"),
        ("toy-2, part 2", "no number yet"),
    ],
)
def test_what_has_no_number_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        claim_numbers.asked(text, BOARD)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_findings_of_a_chapter_have_numbers(chapter: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    found = text.split("\n## What was found", 1)[1].split("\n## ", 1)[0]
    asked = ROLE.findall(found)
    assert len(asked) >= 5
    for one in asked:
        assert claim_numbers.written(claim_numbers.asked(one, generated.claims())[1])


def test_the_ends_of_an_interval_can_be_told_apart() -> None:
    found = {"estimate": 10.43282, "interval": [10.43261, 10.43299]}
    assert claim_numbers.written(found) == "10.4328 [10.4326, 10.4330]"


def test_of_runs_of_two_kinds_the_median_is_written_with_how_many_are_of_each() -> None:
    found = claim_numbers.asked("fairmdp-13, as_coded, part 1", generated.claims())[1]
    assert found["kinds"] == "10 and 10"
    assert claim_numbers.written(found).endswith(" (median of two kinds of runs, 10 and 10)")
    assert claim_numbers.turned({**found, "kinds": "2 and 8"})["kinds"] == "8 and 2"
    plain = claim_numbers.asked("fairmdp-06, as_coded, part 1", generated.claims())[1]
    assert "kinds" not in plain


def test_a_number_that_is_nearly_zero_keeps_its_first_digit() -> None:
    found = {"estimate": -0.0003619, "interval": [-0.0055, 0.00471]}
    assert claim_numbers.written(found) == "-0.00036 [-0.00550, 0.00471]"
    assert claim_numbers.written({"estimate": 0.0, "interval": None}) == "0"
