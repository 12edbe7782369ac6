"""A chapter about a paper is short enough to be read, and no part of it is a wall of text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from visible_words import FOLDED, blocks, is_item, words

CHAPTERS = sorted((Path(__file__).parents[2] / "book" / "papers").glob("*.md"))
WORDS = 2500
"""Words that are in sight; what is folded does not count."""

LONGEST = 80
"""Words of a paragraph or of an item of a list, folded or not."""

LEADS = 4
"""Claims and links in an item of a list."""

LEAD = re.compile(
    r"\{measured\}`|`(?:elbert|fairmdp|fairqcm|fppo|ucbfair)-[\w-]+`|\]\((?!#)", re.ASCII
)

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)


def opening(block: str) -> str:
    return " ".join(block.split()[:8])


@each_chapter
def test_a_chapter_is_short_enough_to_be_read(chapter: Path) -> None:
    assert words(chapter.read_text(encoding="utf-8")) <= WORDS


@each_chapter
def test_no_paragraph_and_no_item_is_a_wall(chapter: Path) -> None:
    found = {opening(block): words(block) for block in blocks(chapter.read_text(encoding="utf-8"))}
    assert {block: count for block, count in found.items() if count > LONGEST} == {}


@each_chapter
def test_an_item_leads_to_few_places(chapter: Path) -> None:
    items = filter(is_item, blocks(chapter.read_text(encoding="utf-8")))
    found = {opening(item): len(LEAD.findall(item)) for item in items}
    assert {item: count for item, count in found.items() if count > LEADS} == {}


@each_chapter
def test_the_answer_and_what_is_missing_stay_open(chapter: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    seen = FOLDED.sub("", text)
    assert "{dropdown}" not in seen
    assert "{dropdown}" not in text.partition("## In two minutes")[2].partition("\n## ")[0]
    assert "**What would change our mind?**" in seen
    assert seen.count("What was not found") == text.count("What was not found")


def test_blocks_of_a_text() -> None:
    text = "\n".join([
        "## Heading", "", "One", "two.", "", "- three [four](five.md)", "  - six",
        "", "| a | b |", "| - | - |", "", ":::{dropdown} Not seen", "seven", ":::", "",
        "```{include} eight.md", "```",
    ])  # fmt: skip
    assert blocks(text) == ["One\ntwo.", "- three [four](five.md)", "- six", "seven"]
    assert [words(block) for block in blocks(text)] == [2, 2, 1, 1]
    assert [is_item(block) for block in blocks(text)] == [False, True, True, False]


def test_what_leads_somewhere() -> None:
    text = "{measured}`elbert-04, part 1`, `fppo-1a`, [a page](page.md), `fppo`, `other-1`"
    assert len(LEAD.findall(text)) == 3
    assert words(text) == 6
