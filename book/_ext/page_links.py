"""Links to pages in sentences that a cell computes.

The builder knows pages by their sources and turns a link to `lending.ipynb` into one to the built
page, but only in cells of text. What a cell prints is treated here.
"""

from __future__ import annotations

import posixpath

from docutils import nodes
from sphinx.application import Sphinx

SOURCES = (".ipynb", ".md")


def to_pages(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Let links to the sources of pages lead to the pages."""
    for link in doctree.findall(nodes.reference):
        path, mark, place = link.get("refuri", "").partition("#")
        stem, ending = posixpath.splitext(path)
        page = posixpath.normpath(posixpath.join(posixpath.dirname(name), stem))
        if ending in SOURCES and page in app.env.found_docs:
            link["refuri"] = app.builder.get_relative_uri(name, page) + mark + place


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("doctree-resolved", to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
