"""Give every figure of a notebook the alternative text that its plotting function wrote.

A figure arrives in a notebook with its text in the output's metadata. The notebook renderer reads
image options only from the metadata of the cell, so this extension copies the text there while a
page is read; the committed notebook stays as it was executed. A figure without a text is a warning,
and warnings fail the build.

The text says how a figure is drawn and what its lines reach. What the first figure of a page shows
is said in the first words below it, so they come before its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

Cell = dict[str, Any]


def image_texts(cell: Cell) -> list[str]:
    """Alternative texts of the images that a cell shows, one per image, empty where missing."""
    texts = []
    for output in cell.get("outputs", []):
        for kind in output.get("data", {}):
            if kind.startswith("image/"):
                metadata = output.get("metadata", {})
                texts.append(str(metadata.get(kind, {}).get("alt") or metadata.get("alt") or ""))
                break  # further kinds are the same picture in another format
    return texts


def complaint(texts: list[str]) -> str:
    """Say what is wrong with the texts of a cell's images; empty if nothing is."""
    if not all(texts):
        return "a figure without alternative text: show it with longfair.figures.display.show"
    if len(set(texts)) > 1:
        return "two figures in one cell can only share one alternative text: use two cells"
    return ""


def message(cells: Sequence[Cell]) -> str:
    """Return what is said first after a figure in the same section, as plain words."""
    for cell in cells:
        if cell["cell_type"] == "markdown" and "".join(cell["source"]).startswith("#"):
            return ""
        for output in cell.get("outputs", []):
            if said := "".join(output.get("data", {}).get("text/markdown", "")):
                first = said.removeprefix("- ").split("\n", 1)[0].strip()
                return re.sub(r"\[([^][]*)\]\([^)]*\)|[*`$]", r"\1", first)
    return ""


def describe_images(app: Sphinx, page: str, source: list[str]) -> None:
    """Copy the alternative texts of a notebook page from its outputs to its cells."""
    if not str(app.env.doc2path(page)).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    pictures = 0
    for index, cell in enumerate(notebook["cells"]):
        texts = image_texts(cell)
        if not texts:
            continue
        if wrong := complaint(texts):
            logger.warning(f"cell {index}: {wrong}", location=page)
        options = cell["metadata"].setdefault("mystnb", {}).setdefault("image", {})
        first = "" if pictures else message(notebook["cells"][index + 1 :])
        pictures += 1
        options["alt"] = f"{first} {texts[0]}".strip()
    source[0] = json.dumps(notebook)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", describe_images)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
