"""Keep a number and its per cent sign in one line: a space before the sign does not break.

The strings of the library keep an ordinary space, which one can type and search for. It is changed
in what a reader sees, and so in all pages alike: chapters, sentences of notebooks and captions.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

BREAKING = re.compile(r"(?<=\d) %(?![\w(])")
UNBROKEN = "\N{NO-BREAK SPACE}%"
AS_TYPED = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block)
"""What is shown as it stands in a program or a formula."""


def unbroken(text: str) -> str:
    """Let no line end between a number and its per cent sign."""
    return BREAKING.sub(UNBROKEN, text)


def join_signs(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Join numbers and signs in the text of a page, and in the HTML that is taken as it is."""
    for text in list(doctree.findall(nodes.Text)):
        parent = text.parent
        if isinstance(parent, AS_TYPED) or not BREAKING.search(text):
            continue
        if isinstance(parent, nodes.raw) and parent.get("format") != "html":
            continue
        parent.replace(text, nodes.Text(unbroken(text)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", join_signs)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
