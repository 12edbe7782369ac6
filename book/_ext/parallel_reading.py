"""Let Sphinx read pages beside each other, although two extensions do not say that it may.

Jupyter Book adds both. `sphinx_multitoc_numbering` numbers chapters when all pages have been read,
and `sphinx_jupyterbook_latex` changes what is written as LaTeX; neither keeps anything while a page
is read. `scripts/build_book.py` asks for as many processes as there are cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SILENT = ("sphinx_multitoc_numbering", "sphinx_jupyterbook_latex")
"""Extensions that do not say whether they are safe."""


def declare_safe(app: Sphinx, *_: object) -> None:
    """Say of the silent extensions, where they are loaded, that they are safe."""
    for name in SILENT:
        if name in app.extensions:
            app.extensions[name].parallel_read_safe = True


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx just before it chooses how to read."""
    app.connect("env-before-read-docs", declare_safe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
