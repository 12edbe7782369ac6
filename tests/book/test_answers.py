"""Nobody has claimed what we ask ourselves: our questions have answers wherever a word is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import pytest

import claim_board
import claim_pages
import generated
from longfair.figures.claim_box import ANSWER_COLOURS, VERDICT_COLOURS, claim_box
from longfair.papers import registry
from longfair.runs.rules.words import ANSWERS, Word, answer
from repository import Repository

WORDS = re.compile(r"\b(reproduced|contradicted|inconclusive|direction only)\b|verdict-checked")
AS_IN_THE_FILE = re.compile(r"::::\{dropdown\} As it stands in the file.*?::::", re.DOTALL)
CHANGES = re.compile(r"<details>.*?</details>|\*\*Changed after its runs,\*\*[^\n]*", re.DOTALL)
"""What was changed is told in the words of its time, when some questions were the paper's."""
QUESTIONS = {claim.id for claim in registry.claims() if claim.asked == "here"}


@pytest.fixture(scope="module")
def rows() -> Sequence[Mapping[str, Any]]:
    """Verdicts on our own questions."""
    return [row for row in generated.claims() if row["asked"] == "here"]


def test_every_word_has_an_answer_and_papers_keep_their_words() -> None:
    for word in get_args(Word):
        assert answer(word, "here") == ANSWERS[word]
        assert answer(word, "paper") == word
    assert set(ANSWERS.values()) == set(ANSWER_COLOURS)
    assert set(get_args(Word)) == set(VERDICT_COLOURS)


def test_words_are_found_where_they_stand() -> None:
    assert WORDS.search("(1) not reproduced: bias")
    assert WORDS.search('<strong class="verdict verdict-checked">')
    assert not WORDS.search("yes, in part, no, cannot be told")


def test_the_board_answers_our_questions(rows: Sequence[Mapping[str, Any]]) -> None:
    environments = dict.fromkeys(QUESTIONS, "Lending")
    lines = claim_board.board(rows, generated.PAPERS, environments).split("<tr id=")[1:]
    assert len(lines) == len(QUESTIONS)
    for line in lines:
        assert not WORDS.search(CHANGES.sub("", line)), line
        (told,) = re.findall('data-verdict="([^"]*)"', line)
        assert set(told.split("|")) <= set(ANSWER_COLOURS)


def test_boxes_answer_our_questions(rows: Sequence[Mapping[str, Any]]) -> None:
    box = claim_box(rows)
    for text in (repr(box), box._repr_html_()):
        assert WORDS.findall(CHANGES.sub("", text)) == []
    assert all(not WORDS.search(row["detail"]) for row in rows)


def test_pages_answer_our_questions() -> None:
    sheets = [sheet for sheet in claim_pages.all_sheets() if sheet["id"] in QUESTIONS]
    assert len(sheets) == len(QUESTIONS)
    for sheet in sheets:
        text = claim_pages.page(sheet, [], [claim_pages._found(sheet)], Repository())
        assert "## Answers" in text
        assert "The answer is yes" in text
        found = WORDS.search(CHANGES.sub("", AS_IN_THE_FILE.sub("", text)))
        assert not found, (sheet["id"], found)
