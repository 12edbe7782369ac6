"""Ship MathJax inside the built book, so that no page needs the network.

The default setting points every page with mathematics at a content delivery network. Here
`mathjax_path` names a file below `_static`, and this extension puts it there, with its fonts, out
of an installed package that carries them.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

CARRIER = "sphinx-mathjax-offline"
COMPONENT = "tex-chtml-full.js"  # "full": every TeX package is inside, nothing is loaded later
FONTS = Path("output/chtml/fonts/woff-v2")


def mathjax_files() -> Path:
    """Folder of the MathJax distribution in the package that carries it."""
    found = importlib.util.find_spec(CARRIER)
    if found is None or found.origin is None:
        raise RuntimeError(f"{CARRIER} is not installed: run make setup")
    return Path(found.origin).parent / "static" / "mathjax"


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Copy the one script and its fonts; drop theme templates that look like pages."""
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    source, target = mathjax_files(), static / "mathjax"
    (target / FONTS).mkdir(parents=True, exist_ok=True)
    shutil.copy2(source / COMPONENT, target)
    for font in (source / FONTS).glob("*.woff"):
        shutil.copy2(font, target / FONTS)
    for template in static.glob("*webpack-macros.html"):
        template.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", copy_mathjax)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
