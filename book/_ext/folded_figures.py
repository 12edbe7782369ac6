"""Write what a folded figure shows on its fold: the first sentence of its caption.

A cell that carries the tag `hide-cell` is folded whole, and the notebook renderer writes "Show code
cell content" on it, which says nothing. Where the cell shows a figure, its caption does. A text
that the cell's own metadata give, as `code_prompt_show`, stays.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from sphinx.application import Sphinx

Cell = dict[str, Any]

HIDDEN = "hide-cell"
"""Tag of a cell that is folded whole."""


def caption(cell: Cell) -> str:
    """Return the caption below the first figure of a cell; empty without one."""
    for output, following in pairwise(cell.get("outputs", [])):
        if any(kind.startswith("image/") for kind in output.get("data", {})):
            plain = "".join(following.get("data", {}).get("text/plain", ""))
            return plain.rpartition(" [")[0]
    return ""


def prompt(cell: Cell) -> str:
    """Return what is to stand on the fold of a cell; empty where nothing has to change."""
    hidden = HIDDEN in cell["metadata"].get("tags", [])
    own = cell["metadata"].get("mystnb", {}).get("code_prompt_show")
    if not hidden or own or not (words := caption(cell)):
        return ""
    sentence = re.split(r"(?<=[.:;])\s", words)[0].rstrip(".:;")
    return sentence if sentence.startswith("Figure ") else f"Figure: {sentence}"


def name_folds(app: Sphinx, page: str, source: list[str]) -> None:
    """Name the folded figures of a notebook page."""
    if not str(app.env.doc2path(page)).endswith(".ipynb") or HIDDEN not in source[0]:
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if words := prompt(cell):
            options = cell["metadata"].setdefault("mystnb", {})
            options |= {"code_prompt_show": words, "code_prompt_hide": words}
    source[0] = json.dumps(notebook)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", name_folds)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
