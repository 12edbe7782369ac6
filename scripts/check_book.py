"""Check a built book without a browser.

Every page of `_toc.yml` exists; no page takes a script, style, image, font or frame from outside;
every image says in words what it shows; every link inside the book leads somewhere; no page shows
where in memory an object was, which is other in every build.

Usage: python scripts/check_book.py [FOLDER]
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = re.compile(r"^(https?:)?//", re.IGNORECASE)
STYLE_OUTSIDE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//", re.IGNORECASE)
LOADED_LINKS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "prefetch"}
ADDRESS = re.compile(r"[\w.]+ object at 0x[0-9a-f]+")
BOARD = "claim-board"
"""Anchor of the table whose page keeps after the # what a reader chose."""


@dataclass
class Page(HTMLParser):
    """What the checks need to know of one page."""

    assets: list[str] = field(default_factory=list)
    images: list[tuple[str, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    addresses: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Set the parser up."""
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the references of one tag."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and LOADED_LINKS & set(values.get("rel", "").split()):
            self.assets.append(values.get("href", ""))
        if tag in {"script", "img", "iframe", "source", "video", "audio"} and "src" in values:
            self.assets.append(values["src"])
        if tag == "img":
            self.images.append((values.get("src", ""), values.get("alt", "").strip()))

    def handle_data(self, data: str) -> None:
        """Note objects that are shown by their address."""
        self.addresses += ADDRESS.findall(data)


def toc_pages(toc: object) -> Iterator[str]:
    """Names of all pages in a table of contents, depth first."""
    if isinstance(toc, list):
        for entry in toc:
            yield from toc_pages(entry)
    elif isinstance(toc, dict):
        for key in ("root", "file"):
            if key in toc:
                yield str(toc[key])
        for key in ("parts", "chapters", "sections"):
            yield from toc_pages(toc.get(key, []))


def read_toc(path: Path) -> list[str]:
    """Names of all pages that `_toc.yml` promises."""
    content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    return list(toc_pages(content))


def parse(path: Path) -> Page:
    """Read one built page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def outside_assets(name: str, page: Page) -> Iterator[str]:
    """Report what a page would load from elsewhere."""
    for asset in page.assets:
        if OUTSIDE.match(asset):
            yield f"{name}: loads {asset} from outside"


def wordless_images(name: str, page: Page) -> Iterator[str]:
    """Report the images that say nothing to a reader who cannot see them."""
    for source, text in page.images:
        # Sphinx falls back to the file name, which describes nothing.
        if not text or text.endswith((".png", ".svg", ".jpg", ".jpeg", ".gif")):
            yield f"{name}: image {source} has no alternative text"


def shown_addresses(name: str, page: Page) -> Iterator[str]:
    """Report the objects that a page shows by where they were in memory."""
    for address in page.addresses:
        yield f"{name}: shows {address}: give its class a __repr__"


def leads_somewhere(fragment: str, page: Page) -> bool:
    """Whether a page has an anchor, or is the claim board and shows what is chosen."""
    choice = "=" in fragment and BOARD in page.anchors
    return choice or unquote(fragment) in page.anchors


def broken_links(folder: Path, name: str, pages: dict[str, Page]) -> Iterator[str]:
    """Report the links of a page that lead to no file or no anchor of the book."""
    here = posixpath.dirname(name)
    for link in pages[name].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link in {"", "#"}:
            continue
        path = unquote(parts.path)
        target = posixpath.normpath(posixpath.join(here, path)) if path else name
        if target not in pages and not exists(folder, target):
            yield f"{name}: link to {link}, which does not exist"
            continue
        known = pages.get(target)
        if parts.fragment and known and not leads_somewhere(parts.fragment, known):
            yield f"{name}: link to {link}, whose anchor does not exist"


@cache
def exists(folder: Path, target: str) -> bool:
    """Say whether a file or folder, named by its path in the book, is in the book."""
    return not target.startswith("..") and (folder / target).exists()


def outside_styles(folder: Path) -> Iterator[str]:
    """Report the style sheets that load something from elsewhere."""
    for sheet in sorted(folder.rglob("*.css")):
        if STYLE_OUTSIDE.search(sheet.read_text(encoding="utf-8", errors="replace")):
            yield f"{sheet.relative_to(folder)}: style sheet loads from outside"


def check(toc: Path, folder: Path) -> tuple[int, list[str]]:
    """Check a built book.

    Parameters
    ----------
    toc
        The `_toc.yml` the book was built from.
    folder
        The folder of the built pages.

    Returns
    -------
    int
        Number of pages of the table of contents that exist.
    list of str
        One line per problem.
    """
    promised = [f"{name}.html" for name in read_toc(toc)]
    problems = [
        f"{name}: page of {toc.name} was not built"
        for name in promised
        if not (folder / name).exists()
    ]
    pages = {
        path.relative_to(folder).as_posix(): parse(path)
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.relative_to(folder).parts
    }
    exists.cache_clear()
    for name, page in pages.items():
        problems += outside_assets(name, page)
        problems += wordless_images(name, page)
        problems += shown_addresses(name, page)
        problems += broken_links(folder, name, pages)
    problems += outside_styles(folder)
    return sum(name in pages for name in promised), problems


def main(arguments: list[str]) -> int:
    """Check the folder of the command line, or the usual one."""
    folder = Path(arguments[0]) if arguments else ROOT / "_build" / "html"
    pages, problems = check(ROOT / "_toc.yml", folder)
    print("\n".join([*problems, f"{pages} pages checked, {len(problems)} problems"]))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
