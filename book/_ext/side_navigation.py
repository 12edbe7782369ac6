"""Give the pages of claims, of their code and of the library the navigation of the book.

The table of contents does not name these hundreds of pages, and working it out for each of them
would take longer than all else. It is the same for all pages of a folder, so it is worked out once
for each, with the page that leads to them marked: the claim board, or the reference.
"""

from __future__ import annotations

from typing import Any

from bs4 import BeautifulSoup
from markupsafe import Markup
from sphinx.application import Sphinx

ABOVE = {
    "book/claims": "book/claims",
    "book/claims/code": "book/claims",
    "book/api": "book/reference",
}
"""Folder of pages to the page of the table of contents that leads to them."""

_KNOWN: dict[str, Markup] = {}


def mark(navigation: BeautifulSoup, address: str) -> Markup:
    """Write a navigation with one of its pages marked as the current one, in sight.

    Parameters
    ----------
    navigation
        As the theme makes it.
    address
        Where the link of that page leads.
    """
    link = navigation.find("a", href=address)
    if link is not None:
        for item in link.find_parents("li"):
            item["class"] = " ".join([*item.get_attribute_list("class"), "current", "active"])
        for part in link.find_parents("details"):
            part["open"] = "open"
    return Markup(str(navigation))


def reuse(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Let a page show the navigation of its folder."""
    folder = page.rpartition("/")[0]
    if folder not in ABOVE:
        return
    make = context["generate_toctree_html"]

    def navigation(*arguments: Any, **named: Any) -> Markup:
        if folder not in _KNOWN:
            _KNOWN[folder] = mark(make(*arguments, **named), context["pathto"](ABOVE[folder]))
        return _KNOWN[folder]

    context["generate_toctree_html"] = navigation


def forget(_app: Sphinx) -> None:
    """Begin a build without what an earlier one knew."""
    _KNOWN.clear()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, after the theme."""
    app.connect("builder-inited", forget)
    app.connect("html-page-context", reuse, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
