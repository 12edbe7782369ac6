"""Every work that the book names can be reached from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from generated import PAPERS

BOOK = Path(__file__).resolve().parents[2] / "book"
ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n(?P<fields>.*?)^\}", re.MULTILINE | re.DOTALL)
ENTRIES = {
    found["key"]: found["fields"]
    for found in ENTRY.finditer((BOOK / "refs.bib").read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("key", ENTRIES)
def test_every_entry_has_an_address(key: str) -> None:
    fields = ENTRIES[key]
    assert re.search(r"^  (doi|url|eprint) +=", fields, re.MULTILINE)
    assert ("eprint" in fields) == ("archiveprefix" in fields)


def test_what_has_a_preprint_has_a_doi() -> None:
    """Its own, or where its proceedings give none, the preprint's."""
    preprints = 0
    for key, fields in ENTRIES.items():
        eprint = re.search(r"^  eprint +\= \{(.*)\}", fields, re.MULTILINE)
        if eprint:
            doi = re.search(r"^  doi +\= \{(.*)\}", fields, re.MULTILINE)
            assert doi, key
            published = re.search(r"^  (booktitle|journal) +=", fields, re.MULTILINE)
            assert doi[1] == f"10.48550/arXiv.{eprint[1]}" or published
            preprints += 1
    assert preprints > 30


@pytest.mark.parametrize("paper", PAPERS)
def test_every_chapter_leads_to_its_paper_and_to_the_code(paper: str) -> None:
    opening = (BOOK / "papers" / f"{paper}.md").read_text(encoding="utf-8").split("\n## ")[0]
    key = re.search(r"\{cite:t\}`(\w+)`", opening)
    assert key
    eprint = re.search(r"eprint +\= \{(.*)\}", ENTRIES[key[1]])
    assert eprint
    assert f"https://arxiv.org/abs/{eprint[1]}" in opening
    assert re.search(r"\]\(https://github\.com/[\w-]+/[\w-]+\)", opening)


def test_the_bibliography_shows_every_address(book: Path) -> None:
    page = (book / "book/bibliography.html").read_text(encoding="utf-8")
    entries = re.findall(r'<div class="citation".*?</div>', page, re.DOTALL)
    assert len(entries) == len(ENTRIES)
    assert all('href="http' in entry for entry in entries)
