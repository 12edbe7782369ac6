"""Make the id of a claim a link to its page, wherever a page names it as code.

Verdict tables of notebooks are HTML, in which the id stands as `<code>ID</code>`, or at the start
of an item of a list; prose has it between backquotes. So nobody has to write a link, and a notebook
looks the same outside the book.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from claim_pages import FOLDER
from longfair.papers import registry


@cache
def names() -> frozenset[str]:
    """Ids of all claims."""
    return frozenset(claim.id for claim in registry.claims())


@cache
def named() -> re.Pattern[str]:
    """Recognise an id in HTML."""
    either = "|".join(sorted(map(re.escape, names()), key=len, reverse=True))
    return re.compile(rf"(?P<code><code>(?P<one>{either})</code>)|<li>(?P<other>{either})(?= \()")


def link_html(text: str, address: str) -> str:
    """Link the ids in HTML.

    Parameters
    ----------
    text
        The HTML.
    address
        Address of a claim's page as seen from here, with ``{}`` for its id.
    """

    def linked(found: re.Match[str]) -> str:
        name = found["one"] or found["other"]
        link = f'<a href="{address.format(name)}">{found["code"] or name}</a>'
        return link if found["code"] else f"<li>{link}"

    return named().sub(linked, text)


def link_claims(app: Sphinx, document: nodes.document, page: str) -> None:
    """Link the claims that a page names."""
    if app.builder.format != "html":
        return
    address = app.builder.get_relative_uri(page, f"{FOLDER}/ID").replace("ID", "{}")
    for node in list(document.findall(nodes.raw)):
        if node.get("format") == "html":
            text = link_html(node.astext(), address)
            node.clear()
            node += nodes.Text(text)  # which knows its parent then, as other extensions ask it
            node.rawsource = text
    for literal in list(document.findall(nodes.literal)):
        name = literal.astext()
        if name in names() and f"{FOLDER}/{name}" != page and not _inside_link(literal):
            link = nodes.reference("", "", internal=True, refuri=address.format(name))
            literal.replace_self(link)
            link += literal


def _inside_link(node: nodes.Node) -> bool:
    while node is not None:
        if isinstance(node, nodes.reference):
            return True
        node = node.parent
    return False


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", link_claims)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
