"""Give the pages of claims, of their code and of the library the navigation of the book.

The table of contents does not name these hundreds of pages, and working it out for each of them
would take longer than all else. It is the same for all pages of a folder, so it is worked out once
for each, with the page that leads to them marked: the claim board, or the reference.
"""

from __future__ import annotations

from typing import Any

from bs4 import BeautifulSoup
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from sphinx.application import Sphinx

ABOVE = {
    "book/claims": "book/claims",
    "book/claims/code": "book/claims",
    "book/api": "book/reference",
}
"""Folder of pages to the page of the table of contents that leads to them."""

_KNOWN: dict[str, Markup] = {}


def mark(navigation: str, address: str) -> Markup:
    """Mark one of the pages of a navigation as the current one, in sight.

    Parameters
    ----------
    navigation
        As the theme makes it, HTML.
    address
        Where the link of that page leads.
    """
    tree = BeautifulSoup(navigation, "html.parser")
    link = tree.find("a", href=address)
    if link is not None:
        for item in link.find_parents("li"):
            item["class"] = " ".join([*item.get_attribute_list("class"), "current", "active"])
        for part in link.find_parents("details"):
            part["open"] = "open"
    return Markup(str(tree))


def reuse(app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Let the template ``folder-navigation.html`` of a page show the navigation of its folder."""
    folder = page.rpartition("/")[0]
    if folder not in ABOVE:
        return

    @pass_context
    def navigation(told: Context) -> Markup:
        if folder not in _KNOWN:
            made = app.builder.templates.render("sbt-sidebar-nav.html", told.get_all())
            _KNOWN[folder] = mark(made, context["pathto"](ABOVE[folder]))
        return _KNOWN[folder]

    context["navigation_of_folder"] = navigation


def forget(_app: Sphinx) -> None:
    """Begin a build without what an earlier one knew."""
    _KNOWN.clear()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, before the theme, which tries whether a template is empty."""
    app.connect("builder-inited", forget)
    app.connect("html-page-context", reuse, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
