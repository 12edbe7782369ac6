"""Fold the changelog: below its heading a day opens to its entries, the newest part by part."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PAGE = "book/changelog"
DAYS = re.compile(r"\d{4}-\d\d-\d\d")


def entries(part: nodes.section) -> int:
    """Count the entries of a part of the changelog."""
    lists = part.findall(nodes.bullet_list)
    return sum(len(each) for each in lists if isinstance(each.parent, nodes.section))


def fold(document: nodes.document) -> None:
    """Fold the days, and of the newest the parts that have a heading of their own."""
    days = [
        part
        for part in document.findall(nodes.section)
        if DAYS.match(part.next_node(nodes.title).astext())
    ]
    newest = days[0].children if days else []
    parts = [part for part in newest if isinstance(part, nodes.section)]
    for part in parts + days[1:]:
        opening = f"<details><summary>{entries(part)} entries</summary>"
        part.insert(1, nodes.raw("", opening, format="html"))
        part.append(nodes.raw("", "</details>", format="html"))


def fold_page(app: Sphinx, document: nodes.document) -> None:
    """Fold the page of the changelog."""
    if app.env.docname == PAGE:
        fold(document)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", fold_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
