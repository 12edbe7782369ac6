"""Links in sentences that a cell computes lead to pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.utils import new_document

from page_links import to_pages

PAGES = {"notebooks/a/one", "notebooks/b/two", "book/claims"}


@pytest.mark.parametrize(
    ("given", "led"),
    [
        ("two.ipynb", "two.ipynb"),
        ("../b/two.ipynb", "-> notebooks/b/two"),
        ("../../book/claims.md#c-1", "-> book/claims#c-1"),
        ("one.html", "one.html"),
        ("elsewhere.example/two.ipynb", "elsewhere.example/two.ipynb"),
        ("#here", "#here"),
    ],
)
def test_only_links_to_sources_of_pages_change(given: str, led: str) -> None:
    document, app = new_document("one"), SimpleNamespace()
    app.env = SimpleNamespace(found_docs=PAGES)
    app.builder = SimpleNamespace(get_relative_uri=lambda _, page: f"-> {page}")
    link = nodes.reference(refuri=given)
    document += link
    as_any: Any = app
    to_pages(as_any, document, "notebooks/a/one")
    assert link["refuri"] == led
