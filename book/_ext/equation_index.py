"""Write the index from equations, definitions and theorems of the papers to what computes them.

Docstrings name their source, as in "Proposition 3.2", so the index is read off them. Which paper is
meant follows from the authors that the docstring or its module cites, else from the folder.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from api_pages import entries, link, modules
from generated import PAPERS
from markdown_table import table

KINDS = ("Equation", "Definition", "Assumption", "Proposition", "Theorem", "Algorithm", "Appendix")
NUMBER = r"(?:[A-Z]|\d+)(?:\.\d+)*"
PLACES = re.compile(rf"\b({'|'.join(KINDS)})s? ({NUMBER}(?:(?:, | and | to ){NUMBER})*)\b")
AUTHORS = {
    "Hu": "fppo",
    "Xu": "elbert",
    "Alamdari": "fairqcm",
    "FairQCM": "fairqcm",
    "Yin": "ucbfair",
    "Wen": "fairmdp",
}
FOLDERS = {
    "fair_mdp": "fairmdp",
    "finite": "fairmdp",
    "population": "ucbfair",
    "ppo": "elbert",
    "supply_demand_mdp": "elbert",
}
"""Folders of the agents that are not called like their paper."""


def places(docstring: str) -> list[str]:
    """Places of a paper that a docstring names, each once."""
    found = (
        f"{kind} {number}"
        for kind, numbers in PLACES.findall(" ".join(docstring.split()))
        for number in re.findall(NUMBER, numbers)
    )
    return list(dict.fromkeys(found))


def paper_of(module: str, docstring: str) -> str:
    """Paper that a docstring speaks of; empty if that cannot be told."""
    for text in (docstring, inspect.getdoc(modules()[module]) or ""):
        cited = {paper for author, paper in AUTHORS.items() if re.search(rf"\b{author}\b", text)}
        if len(cited) == 1:
            return cited.pop()
    folders = module.split(".")[2:]
    found = (FOLDERS.get(folder, folder) for folder in folders)
    return next((paper for paper in found if paper in PAPERS), "")


def documented() -> Iterator[tuple[str, str, str]]:
    """List everything that may name a place: module, docstring and link."""
    for name, module in modules().items():
        short = name.removeprefix("longfair.")
        yield name, inspect.getdoc(module) or "", link(name, short)
    for entry in entries().values():
        short = entry.address.removeprefix("longfair.")
        yield entry.module, inspect.getdoc(entry.thing) or "", link(entry.page, short)


def order(place: str) -> list[tuple[int, int, str]]:
    """Sort kinds as listed, and numbers as numbers."""
    kind, _, number = place.partition(" ")
    parts = [(KINDS.index(kind), 0, "")]
    return parts + [
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in number.split(".")
    ]


def index() -> dict[str, dict[str, list[str]]]:
    """Paper to place to links."""
    found: dict[str, dict[str, list[str]]] = {paper: defaultdict(list) for paper in PAPERS}
    for module, docstring, leads in documented():
        paper = paper_of(module, docstring) if places(docstring) else ""
        for place in places(docstring) if paper else ():
            found[paper][place].append(leads)
    return found


def text() -> str:
    """Write a table for every paper."""
    parts = []
    for paper, lines in index().items():
        rows = [[place, ", ".join(lines[place])] for place in sorted(lines, key=order)]
        parts.append(f"## {PAPERS[paper]}\n\n{table(['Place', 'Computed or used by'], rows)}")
    return "\n".join(parts)


def write(app: Sphinx) -> None:
    """Write the fragment that the page includes."""
    path = Path(app.srcdir) / "book" / "_generated" / "equations.md"
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text():
        path.write_text(text(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
