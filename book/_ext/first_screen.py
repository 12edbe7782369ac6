"""Let a notebook's page begin with its question.

The first cell of a notebook imports and loads what the rest needs. Its page shows that cell,
folded, below the first section, so that nothing stands between the title and the question.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

WORDS = "Show what this page imports and loads"


def move_first_cells(document: nodes.document) -> None:
    """Move the cells above the first section of a page to the section's end."""
    for page in document.findall(nodes.section):
        inner = [part for part in page.children if isinstance(part, nodes.section)]
        if not inner:
            return
        above = page.children[: page.index(inner[0])]
        for cell in (part for part in above if "cell" in part.get("classes", ())):
            page.remove(cell)
            if cell.get("hide_mode") == "input":
                cell["prompt_show"] = WORDS
            inner[0].append(cell)
        return


def arrange(app: Sphinx, document: nodes.document) -> None:
    """Arrange a page that is a notebook."""
    if app.env.docname.startswith("notebooks/"):
        move_first_cells(document)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", arrange)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
