"""The built pages in a real browser: nothing breaks, nothing leaves, everything can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser import Browser
from check_book import read_toc

TOC = Path(__file__).resolve().parents[2] / "_toc.yml"
EVERY_PAGE = [*read_toc(TOC), "search", "genindex"]
PHONE = 390
READABLE = 4.5  # the ratio that WCAG asks of normal text

MATHEMATICS = """
[...document.querySelectorAll('.math')].filter(part => !part.querySelector('mjx-container')).length
  + document.querySelectorAll('mjx-merror').length
"""
RAW_TEX = r"""
(() => {
  const copy = document.querySelector('main').cloneNode(true);
  copy.querySelectorAll('pre, code, script, mjx-container').forEach(part => part.remove());
  return /\\\(|\\\[|\$\$|\\frac|\\mathbb/.test(copy.textContent);
})()
"""
IMAGES = """
[...document.querySelectorAll('img')].filter(image => !image.alt.trim() || image.checkVisibility()
  && (image.naturalWidth === 0 || image.getBoundingClientRect().width === 0))
  .map(image => image.src)
"""
# Text with too little contrast to what is behind it: [contrast, colour, background, text] each.
FAINT = """
(() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => numbers(colour).slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = element => {
    for (let part = element; part; part = part.parentElement) {
      const colour = getComputedStyle(part).backgroundColor;
      const parts = numbers(colour);
      if (parts.length === 3 || parts[3] === 1) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const texts = document.createTreeWalker(document.querySelector('article'), NodeFilter.SHOW_TEXT);
  const faint = [];
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.textContent.trim();
    if (!text || element.closest('script, style, mjx-container, .headerlink, svg')) continue;
    if (!element.checkVisibility()) continue;
    const ground = behind(element);
    const ratio = contrast(getComputedStyle(element).color, ground);
    if (ratio < LIMIT) {
      faint.push([ratio.toFixed(2), getComputedStyle(element).color, ground, text.slice(0, 30)]);
    }
  }
  return faint;
})()
""".replace("LIMIT", str(READABLE))


@pytest.fixture(autouse=True)
def _daylight(browser: Browser) -> None:
    browser.look()


@pytest.mark.parametrize("name", EVERY_PAGE)
def test_page_works_from_disk(browser: Browser, book: Path, name: str) -> None:
    browser.open((book / f"{name}.html").as_uri())
    outside = [request for request in browser.requests() if not request.startswith("file://")]
    assert browser.complaints() == []
    assert outside == []
    assert browser.evaluate(MATHEMATICS) == 0, "mathematics that was not typeset"
    assert not browser.evaluate(RAW_TEX), "TeX that the reader sees as TeX"
    assert browser.evaluate(IMAGES) == [], "images that do not show or have no words"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", read_toc(TOC))
def test_every_text_is_readable(browser: Browser, book: Path, name: str, dark: bool) -> None:
    browser.look(dark=dark)
    browser.open((book / f"{name}.html").as_uri())
    theme = browser.evaluate("document.documentElement.dataset.theme")
    assert theme == ("dark" if dark else "light")
    assert browser.evaluate(FAINT) == []


@pytest.mark.parametrize("name", read_toc(TOC))
def test_page_fits_a_phone(browser: Browser, book: Path, name: str) -> None:
    browser.look(width=PHONE, height=844)
    browser.open((book / f"{name}.html").as_uri())
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_some_page_has_mathematics_and_a_figure(browser: Browser, book: Path) -> None:
    """The checks above would also pass on pages where there is nothing to check."""
    browser.open((book / "notebooks/elbert/lending.html").as_uri())
    assert browser.evaluate("document.querySelectorAll('mjx-container').length") > 0
    assert browser.evaluate("document.querySelectorAll('article img').length") > 0


def test_search_finds_a_term(browser: Browser, address: str) -> None:
    browser.open(f"{address}/search.html?q=supply")
    browser.wait_for("document.querySelectorAll('#search-results li a').length > 0")
    links = browser.evaluate(
        "[...document.querySelectorAll('#search-results li a')].map(link => link.pathname)"
    )
    assert "/book/glossary.html" in links
    assert browser.complaints() == []
    assert all(request.startswith(address) for request in browser.requests())


def test_search_says_when_there_is_nothing(browser: Browser, address: str) -> None:
    browser.open(f"{address}/search.html?q=zyzzyva")
    browser.wait_for("/did not match/.test(document.querySelector('#search-results').textContent)")


def test_the_button_switches_to_dark(browser: Browser, book: Path) -> None:
    browser.open((book / "book/index.html").as_uri())
    press = "document.querySelector('.theme-switch-button').click()"
    seen = set()
    for _ in range(3):
        browser.evaluate(press)
        seen.add(browser.evaluate("document.documentElement.dataset.theme"))
    assert seen == {"light", "dark"}


def test_the_checks_see_what_they_look_for(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        """<!doctype html><meta name="viewport" content="width=device-width"><main><article>
        <p style="color: #999">faint</p><p style="color: #555">dark enough</p>
        <span class="math">\\(x\\)</span> <img alt="missing" src="missing.png">
        <img alt="outside" src="http://127.0.0.1:9/a.png"><div style="width: 900px">wide</div>
        <script>console.error("broken"); undefinedFunction()</script></article></main>"""
    )
    browser.look(width=PHONE, height=844)
    browser.open(page.as_uri())
    said = " ".join(browser.complaints())
    assert "broken" in said
    assert "undefinedFunction is not defined" in said
    assert "http://127.0.0.1:9/a.png" in browser.requests()
    assert browser.evaluate(MATHEMATICS) == 1
    assert browser.evaluate(RAW_TEX)
    assert len(browser.evaluate(IMAGES)) == 2
    assert [text for *_, text in browser.evaluate(FAINT)] == ["faint"]
    assert browser.evaluate("document.documentElement.scrollWidth") > PHONE
