"""Put all pages of the built book into one, in the order of its contents, and print it as a PDF.

The page is `_build/html/whole.html`; any browser prints it. With Chromium or Chrome on the PATH the
PDF is written beside it, with bookmarks. Links between pages become links within the page. Live
worlds are printed as their still figures. What pages fold is unfolded, but for the code of figures
and tables. Tables of all claims and of all runs are for filtering on a screen and stay there; every
chapter ends with the table of its own claims.

Usage: python scripts/print_book.py
"""

from __future__ import annotations

import posixpath
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag

from check_book import read_toc

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "_build" / "html"
WHOLE = "whole.html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ONLY_ON_SCREEN = (
    ".headerlink, .copybtn, .prev-next-footer, longfair-world > script, "
    ".tag_hide-input > details.above-input, .tag_hide-cell > details .cell_input"
)
TABLES_OF_EVERYTHING = frozenset({"book/claims", "book/earlier_board", "book/status"})
"""Pages that are not printed; links to them lead to their files."""
PAGE_NUMBER = """<div style="width: 100%; text-align: center; font-size: 8px">
<span class="pageNumber"></span></div>"""
MINUTES = 10
"""How long Chromium may take."""


def mark(page: str, anchor: str = "") -> str:
    """Name a place of a page, so that it is unique in the whole."""
    return f"{page.replace('/', '-')}--{anchor}".rstrip("-")


def moved(link: str, page: str, pages: frozenset[str]) -> str:
    """Lead a link of a page to the same place in the whole, or to the same file beside it."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link.startswith("data:"):
        return link
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), parts.path))
    target = page if not parts.path else path.removesuffix(".html")
    # What has an equals sign is a choice on the board of claims.
    anchor = "" if "=" in parts.fragment else parts.fragment
    return f"#{mark(target, anchor)}" if target in pages else path


def chapter(markup: str, page: str, pages: frozenset[str]) -> Tag:
    """Cut the article out of a page and make it fit into the whole."""
    article = BeautifulSoup(markup, "html.parser").select_one("article")
    if article is None:
        raise ValueError(f"{page} has no article")
    for part in article.select(ONLY_ON_SCREEN):
        part.decompose()
    for part in article.select("details"):
        part["open"] = ""
    for name, change in {"id": mark, "href": moved, "src": moved}.items():
        for part in article.select(f"[{name}]"):
            value = str(part[name])
            part[name] = mark(page, value) if change is mark else moved(value, page, pages)
    article["id"] = mark(page)
    return article


def whole(folder: Path, names: list[str]) -> str:
    """Write all pages as one.

    Parameters
    ----------
    folder
        The built book.
    names
        Its pages, in their order; the head of the first serves all.
    """
    pages = frozenset(names)
    text = {name: (folder / f"{name}.html").read_text(encoding="utf-8") for name in names}
    soup = BeautifulSoup(text[names[0]], "html.parser")
    head, body = soup.head, soup.body
    if head is None or body is None:
        raise ValueError(f"{names[0]} is no page")
    for name in ("href", "src"):
        for part in head.select(f"[{name}]"):
            part[name] = moved(str(part[name]), names[0], frozenset())
    body.clear()
    for name in names:
        body.append(chapter(text[name], name, pages))
    body["class"] = "bd-content longfair-whole"
    return str(soup)


def print_pdf(page: Path, program: str) -> Path:
    """Let Chromium print a page; the path of the PDF."""
    from playwright.sync_api import sync_playwright

    target = page.with_suffix(".pdf")
    settle = "window.MathJax && MathJax.startup ? MathJax.startup.promise : null"
    sides = dict.fromkeys(("top", "bottom", "left", "right"), "16mm")
    options: dict[str, Any] = {"format": "A4", "outline": True, "tagged": True, "margin": sides}
    options |= {"display_header_footer": True, "header_template": "<span></span>"}
    options["footer_template"] = PAGE_NUMBER
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.set_default_timeout(MINUTES * 60_000)
        tab.goto(page.as_uri())
        tab.evaluate(settle)
        tab.pdf(path=target, **options)
        browser.close()
    return target


def main() -> int:
    """Write the page, and the PDF where there is a browser."""
    if not PAGES.exists():
        print("there is no book yet: make book", file=sys.stderr)
        return 1
    page = PAGES / WHOLE
    names = [name for name in read_toc(ROOT / "_toc.yml") if name not in TABLES_OF_EVERYTHING]
    page.write_text(whole(PAGES, names), encoding="utf-8")
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        print(f"{page}: print it with a browser; no Chromium or Chrome is on the PATH")
    else:
        print(print_pdf(page, program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
