"""The first mention of a term leads to the glossary, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx_design.dropdown import dropdown_title

from glossary_links import UNLINKED, Term, link_first_mentions, plural, terms_on

TERMS = {
    "static optimum": Term("term-static-optimum", "the best fixed numbers"),
    "PPO": Term("term-PPO", "a learner"),
    "G-PPO": Term("term-G-PPO", "plain PPO"),
    "as coded": Term("term-as-coded", "two variants"),
    "as published": Term("term-as-coded", "two variants"),
    "memory": Term("term-memory", "an everyday word"),
}
LINK = re.compile(r'<a class="glossary-term[^>]*href="([^"]*)"[^>]*title="([^"]*)"')


def linked(*texts: str, name: str = "page") -> list[str]:
    """The mentions that become links on a page of some name."""
    page = new_document("page")
    page += nodes.title("", "PPO and the static optimum")
    page += dropdown_title("", "", nodes.Text("G-PPO opens when it is clicked"))
    for text in texts:
        page += nodes.paragraph("", "", nodes.literal("", "PPO"), nodes.Text(text))
    before = page.astext()
    link_first_mentions(page, terms_on(name, TERMS), "glossary.html")
    assert page.astext() == before
    return [link.astext() for link in page.findall(nodes.reference)]


def test_a_term_is_linked_once_and_not_in_headings_or_code() -> None:
    assert linked("One PPO and another PPO.", "PPO") == ["PPO"]


def test_the_longest_name_wins_and_names_end_where_words_end() -> None:
    assert linked("G-PPO, F-PPO, PPO-like and then PPO") == ["G-PPO", "PPO"]


def test_a_sentence_may_begin_with_a_term_and_synonyms_count_as_one() -> None:
    assert linked("Static optimum. As published or as coded.") == ["Static optimum", "As published"]


def test_everyday_words_stay_as_they_are_where_they_are_none() -> None:
    assert linked("from memory") == []
    assert linked("from memory", name="notebooks/fairqcm/lending") == ["memory"]


def test_a_term_is_linked_in_the_plural_too() -> None:
    assert linked("Static optimums, and a static optimum") == ["Static optimums"]
    words = ["Markov decision process", "myopic policy", "critic", "bias", "demand"]
    assert [plural(word) for word in words] == [
        "Markov decision processes", "myopic policies", "critics", "biases", "demand",
    ]  # fmt: skip


def test_a_link_shows_what_the_term_means() -> None:
    page = new_document("page")
    page += nodes.paragraph("", "PPO")
    link_first_mentions(page, TERMS, "glossary.html")
    (link,) = page.findall(nodes.reference)
    assert link["refuri"] == "glossary.html#term-PPO"
    assert link["reftitle"] == "a learner"


@pytest.mark.parametrize("page", ["book/papers/elbert", "notebooks/fppo/lending", "book/index"])
def test_pages_of_the_book_lead_to_the_glossary(book: Path, page: str) -> None:
    found = LINK.findall((book / f"{page}.html").read_text(encoding="utf-8"))
    assert len(found) >= 4
    assert len({anchor for anchor, _ in found}) == len(found)
    assert all(meaning for _, meaning in found)


@pytest.mark.parametrize("page", sorted(UNLINKED))
def test_lists_stay_without(book: Path, page: str) -> None:
    assert not LINK.search((book / f"{page}.html").read_text(encoding="utf-8"))
