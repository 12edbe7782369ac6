"""Make head cells without text ordinary cells: to a screen reader an empty head names nothing.

Tables of data frames have them above the names of their rows.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

EMPTY = re.compile(r"<th(?P<attributes>| [^>]*)>\s*</th>")


def without_empty_heads(body: str) -> str:
    """Return the HTML of a page with `td` in place of empty `th`."""
    return EMPTY.sub(r"<td\g<attributes>></td>", body)


def change(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Change the body of a page."""
    if "body" in context:
        context["body"] = without_empty_heads(context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", change)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
