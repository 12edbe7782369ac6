"""What the glossary says of a term is there for the keyboard, for fingers and for the pointer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import SETTLED, Browser

PAGE = "notebooks/elbert/lending.html"
TERM = "article a.glossary-term"
TIP = """
(() => {
  const tip = document.querySelector('[role=tooltip]');
  return tip.checkVisibility() ? tip.textContent : '';
})()
"""
FIRST = f"document.querySelector('{TERM}')"


@pytest.fixture
def page(browser: Browser, book: Path) -> Browser:
    browser.look()
    browser.open((book / PAGE).as_uri())
    return browser


def test_keyboard_opens_and_escape_closes(page: Browser) -> None:
    meaning = page.evaluate(f"{FIRST}.title")
    assert meaning
    assert page.evaluate(TIP) == ""
    page.page.locator(TERM).first.focus()
    assert page.evaluate(TIP) == meaning
    assert page.evaluate(f"{FIRST}.getAttribute('aria-describedby')") == "glossary-tip"
    assert page.barriers() == []
    page.page.keyboard.press("Escape")
    assert page.evaluate(TIP) == ""
    assert page.evaluate(f"{FIRST}.title") == meaning
    assert not page.evaluate(f"{FIRST}.hasAttribute('aria-describedby')")


def test_the_next_term_shows_its_own_meaning(page: Browser) -> None:
    terms = page.page.locator(TERM)
    second = terms.nth(1).get_attribute("title")
    terms.first.focus()
    terms.nth(1).focus()
    assert page.evaluate(TIP) == second
    page.page.keyboard.press("Tab")
    assert page.evaluate(TIP) != second


def test_a_pointer_shows_it_while_it_rests(page: Browser) -> None:
    meaning = page.evaluate(f"{FIRST}.title")
    page.page.locator(TERM).first.hover()
    assert page.evaluate(TIP) == meaning
    page.page.locator("article h1").hover()
    assert page.evaluate(TIP) == ""


@pytest.fixture
def phone(chromium: Any, book: Path) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto((book / PAGE).as_uri())
    page.evaluate(SETTLED)
    yield page
    context.close()


def test_the_first_tap_shows_it_and_the_second_follows(phone: Any) -> None:
    term = phone.locator(TERM).first
    meaning = term.get_attribute("title")
    term.tap()
    assert phone.evaluate(TIP) == meaning
    assert phone.url.endswith(PAGE)
    box = phone.locator("[role=tooltip]").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    term.tap()
    phone.wait_for_url("**/book/glossary.html#*")
