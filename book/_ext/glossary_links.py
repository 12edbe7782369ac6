"""Link the first mention of every glossary term on a page to the glossary.

What the glossary says of the term stands in the link's title, so a pointer that rests on it shows
it, without a script and without the network; `terms.js` shows it to keyboards and fingers, too.
Headings, those of folds too, tables, code, mathematics and what is a link already stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_design.dropdown import dropdown_title

GLOSSARY = "book/glossary"
UNLINKED = frozenset(
    {GLOSSARY, "book/claims", "book/changelog", "book/status", "book/bibliography"}
)
"""Pages that are lists, and the glossary itself."""
EVERYDAY = frozenset({"advantage", "claim", "guard", "ledger", "memory", "profile", "seed"})
"""Terms that are ordinary words more often than not."""
AT_HOME = {
    "memory": ("notebooks/fairqcm/", "book/papers/fairqcm"),
    "advantage": ("notebooks/elbert/", "book/papers/elbert"),
}
"""Some of them, with the pages where they are terms all the same."""
VERBS = frozenset({"demand", "discount", "supply"})
"""Terms whose plural could be a verb."""
CLOSED = (
    nodes.reference,
    nodes.title,
    nodes.rubric,
    nodes.table,
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.image,
    addnodes.pending_xref,
    addnodes.toctree,
    dropdown_title,
)


@dataclass(frozen=True)
class Term:
    """Where a term stands, and what the glossary says of it."""

    anchor: str
    meaning: str


def words(node: nodes.Node) -> str:
    """Text of a definition without its citations, which only mean something as links."""
    if isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite":
        return ""
    if isinstance(node, nodes.Text):
        return str(node.astext())
    return "".join(words(child) for child in node.children)


def read_terms(glossary: nodes.document) -> dict[str, Term]:
    """Every name that the glossary defines; several may share an entry, parted by commas."""
    terms = {}
    for item in glossary.findall(nodes.definition_list_item):
        term, definition = item[0], item[-1]
        meaning = " ".join(words(definition).split()).replace(" .", ".").replace(" ,", ",")
        meaning = re.sub(r" See [^.]+\.$", "", meaning)  # the link leads there
        for name in term.astext().split(", "):
            terms[name] = Term(term["ids"][0], meaning)
    return terms


def plural(name: str) -> str:
    """Write a term in the plural, which is linked as the term is; a verb stays as it is."""
    if name in VERBS:
        return name
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return name + ("es" if name.endswith("s") else "s")


def terms_on(page: str, terms: Mapping[str, Term]) -> dict[str, Term]:
    """Terms, in both numbers, that are linked on a page: without words that are everyday there."""
    left = {
        name: term
        for name, term in terms.items()
        if name not in EVERYDAY or page.startswith(AT_HOME.get(name, ()))
    }
    return {plural(name): term for name, term in left.items()} | left


def pattern(names: Mapping[str, Term]) -> re.Pattern[str]:
    """Match any name as a whole word, the longest first, in small or at a sentence's beginning."""
    ordered = sorted(names, key=len, reverse=True)
    either = [f"[{name[0]}{name[0].upper()}]{re.escape(name[1:])}" for name in ordered]
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(either)})(?![\w/-])")


def open_texts(node: nodes.Node) -> Iterator[nodes.Text]:
    """Texts that may become links, in the order of the page."""
    for child in list(node.children):
        if isinstance(child, nodes.Text):
            yield child
        elif not isinstance(child, CLOSED):
            yield from open_texts(child)


def linked(text: str, found: re.Match[str], term: Term, address: str) -> list[nodes.Node]:
    """Part a text in what stands before a mention, the link, and what stands after."""
    link = nodes.reference(
        "", found[0], internal=True, refuri=f"{address}#{term.anchor}", reftitle=term.meaning
    )
    link["classes"].append("glossary-term")
    return [nodes.Text(text[: found.start()]), link, nodes.Text(text[found.end() :])]


def link_first_mentions(document: nodes.document, terms: Mapping[str, Term], address: str) -> None:
    """Link every term once.

    Parameters
    ----------
    document
        The page, changed in place.
    terms
        Names with their entries in the glossary, each as it is linked on this page.
    address
        Path of the glossary as seen from the page.
    """
    left = dict(terms)
    matching = pattern(left)
    waiting = list(open_texts(document))[::-1]
    while waiting and left:
        text = waiting.pop()
        for found in matching.finditer(text):
            name = found[0] if found[0] in terms else found[0][0].lower() + found[0][1:]
            if name not in left:
                continue
            term = left[name]
            left = {other: own for other, own in left.items() if own != term}
            parts = linked(text, found, term, address)
            text.parent.replace(text, parts)
            waiting.append(parts[-1])
            break


@cache
def terms_of(environment: BuildEnvironment) -> dict[str, Term]:
    """Read the terms of the glossary once a build."""
    return read_terms(environment.get_doctree(GLOSSARY))


def link_terms(app: Sphinx, document: nodes.document, page: str) -> None:
    """Link the terms of a page of the book."""
    if app.builder.format != "html" or page in UNLINKED:
        return
    address = app.builder.get_relative_uri(page, GLOSSARY)
    link_first_mentions(document, terms_on(page, terms_of(app.env)), address)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", link_terms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
