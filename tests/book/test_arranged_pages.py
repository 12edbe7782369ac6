"""Pages begin with what is asked, count from one, and fold what is old."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from browser import Browser
from changelog_days import fold
from first_screen import WORDS, move_first_cells
from page_numbers import from_one, renumber
from table_heads import EMPTY, without_empty_heads

ROOT = Path(__file__).resolve().parents[2]
DAYS = re.compile(r"^### (\d{4}-\d\d-\d\d)", re.MULTILINE)


def section(title: str, *parts: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", title), *parts, ids=[title])


def cell(**options: str) -> nodes.container:
    return nodes.container("", classes=["cell"], **options)


def page(*parts: nodes.Node) -> nodes.document:
    document = new_document("page")
    document.extend(parts)
    return document


def test_every_page_numbers_its_exercises_from_one() -> None:
    numbers = {"exercise": {"lambda": (12,), "sign": (13,)}, "table": {"one": (4,)}}
    told = {"exercise": {"lambda": (1,), "sign": (2,)}, "table": {"one": (1,)}}
    assert from_one(numbers) == told
    environment = SimpleNamespace(toc_fignumbers={"a": numbers, "b": {}})
    assert renumber(None, environment) == []  # type: ignore[arg-type]  # what it reads of them
    assert environment.toc_fignumbers == {"a": told, "b": {}}


def test_the_first_cell_stands_below_the_first_section() -> None:
    setup, own = cell(hide_mode="input", prompt_show="Show code cell source"), cell()
    told = nodes.paragraph("", "What it is about.")
    first, second = section("In two minutes", own), section("The problem")
    document = page(section("Lending", told, setup, first, second))
    move_first_cells(document)
    assert document[0].children[1:] == [told, first, second]
    assert first.children[1:] == [own, setup]
    assert setup["prompt_show"] == WORDS


def test_a_page_without_sections_stays() -> None:
    document = page(section("Lending", cell()))
    before = document.pformat()
    move_first_cells(document)
    assert document.pformat() == before


def test_head_cells_without_text_are_ordinary_cells() -> None:
    row = '<tr><th>gap</th><th class="blank"></th><th> </th><td></td></tr>'
    assert without_empty_heads(row) == (
        '<tr><th>gap</th><td class="blank"></td><td></td><td></td></tr>'
    )


def test_no_page_has_a_head_cell_without_text(book: Path) -> None:
    empty = [path.name for path in book.rglob("*.html") if EMPTY.search(path.read_text())]
    assert empty == []


def test_days_are_folded_and_the_newest_part_by_part() -> None:
    def day(name: str, *entries: str) -> nodes.section:
        items = [nodes.list_item("", nodes.paragraph("", entry)) for entry in entries]
        return section(name, section("ELBERT", nodes.bullet_list("", *items)))

    new, old = day("2026-11-27", "a"), day("2026-11-21 to 2026-11-23", "b", "c")
    fold(page(section("Changelog", section("Unreleased", new, old))))
    assert [type(part) for part in new] == [nodes.title, nodes.section]
    assert [type(part) for part in new[1]] == [nodes.title, nodes.raw, nodes.bullet_list, nodes.raw]
    assert [type(part) for part in old] == [nodes.title, nodes.raw, nodes.section, nodes.raw]
    assert "2 entries" in old[1].astext()


def test_parts_of_the_changelog_are_in_order() -> None:
    days = DAYS.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert len(days) > 1
    assert days == sorted(days, reverse=True)
    assert len(set(days)) == len(days)


def test_older_days_are_folded_and_an_address_opens_them(browser: Browser, book: Path) -> None:
    browser.look()
    address = (book / "book/changelog.html").as_uri()
    browser.open(address)
    folds = "[...document.querySelectorAll('article section > details')]"
    first, *older = re.split(
        r"^### ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]
    assert browser.evaluate(f"{folds}.length") == len(older) + first.count("\n#### ")
    assert not browser.evaluate(f"{folds}.some(part => part.open)")
    inside = browser.evaluate(f"{folds}.at(-1).querySelector('section').id")
    browser.open(f"{address}#{inside}")
    assert browser.wait_for(f"{folds}.at(-1).open")


@pytest.mark.parametrize("name", ["notebooks/elbert/lending", "notebooks/fairmdp/cross_entropy"])
def test_numbers_begin_on_the_page(browser: Browser, book: Path, name: str) -> None:
    browser.open((book / f"{name}.html").as_uri())
    read = (
        "[...document.querySelectorAll('{}')].map(part => Number(part.textContent.match(/\\d+/)))"
    )
    for kind in ("div.math > .eqno", ".exercise > .admonition-title > .caption-number"):
        numbers = browser.evaluate(read.format(kind))
        assert numbers == list(range(1, len(numbers) + 1))
        assert numbers


def test_references_to_exercises_name_their_numbers(browser: Browser, book: Path) -> None:
    browser.open((book / "notebooks/elbert/lending.html").as_uri())
    told = browser.evaluate(
        "[...document.querySelectorAll('article p a[href^=\"#exercise-\"]')].map(link => "
        "[link.textContent.trim(), document.querySelector(link.hash)"
        ".querySelector('.caption-number').textContent.trim()])"
    )
    assert told
    assert all(reference.partition(" (")[0] == number for reference, number in told)
