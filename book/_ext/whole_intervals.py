"""Keep intervals and ranges in one line in the tables of notebooks; a wide table scrolls.

Tables come from pandas, which gives cells no class. So the intervals are marked when a page is
read, and the style sheet does the rest.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sphinx.application import Sphinx

NUMBER = r"[-+]?\d[\d.,]*%?"
INTERVAL = re.compile(
    rf"(?<=<td>)((?:{NUMBER} )?(?:\[{NUMBER}, {NUMBER}\]|\({NUMBER} to {NUMBER}\))"
    rf"|{NUMBER} to {NUMBER})(?=[<,])"
)
MARKED = r'<span class="longfair-interval">\1</span>'


def mark_intervals(app: Sphinx, page: str, source: list[str]) -> None:
    """Mark the intervals in the tables of a notebook page."""
    if not str(app.env.doc2path(page)).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = INTERVAL.sub(MARKED, "".join(data["text/html"]))
    source[0] = json.dumps(notebook)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", mark_intervals)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
