"""No line of a page ends between a number and its per cent sign."""

from __future__ import annotations

from docutils import nodes
from docutils.core import publish_doctree

import percent_signs


def test_numbers_and_signs_are_joined_but_not_in_programs() -> None:
    page = publish_doctree("At 95 % of\n\n``7 % 3``\n\n.. raw:: html\n\n   <p>99.9 %, 5 %b</p>")
    percent_signs.join_signs(None, page, "page")  # type: ignore[arg-type]  # not looked at
    assert "95\N{NO-BREAK SPACE}% of" in page.astext()
    assert "7 % 3" in page.astext()
    (raw,) = page.findall(nodes.raw)
    assert raw.astext() == "<p>99.9\N{NO-BREAK SPACE}%, 5 %b</p>"
