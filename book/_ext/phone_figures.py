"""Show a figure on a phone as it was drawn for one: narrow, with its panels below each other.

A figure of a notebook brings that drawing in the output's data, one of a generated page lies beside
the other as `name.phone.png`. Both are put into one folder of the built book under the name of the
wide drawing. Where a page shows that one, the browser chooses between the two by the room it has.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from longfair.figures.display import ON_A_PHONE, Figure

FOLDER = "_phone"
GENERATED = Path("book", "_generated")
BEYOND = "40rem"
"""Width of a page from which on the wide drawing is shown; the style sheet has the same."""
IMAGE = re.compile(r'<img\b[^>]*\bsrc="[^"]*?_images/(?P<stem>[^"/]+)\.png"[^>]*>')


def both(name: str, figure: Figure) -> dict[str, bytes]:
    """Return the files of a figure, as it is drawn for a page and for a phone."""
    return {f"{name}.png": figure.png(), f"{name}.phone.png": figure.for_phones().png()}


def picture(name: str, words: str, width: int) -> str:
    """Write the markup of a generated figure: its name, alternative text and width in pixels."""
    return (
        f"````{{container}} longfair-picture\n```{{image}} /{GENERATED}/{name}.png\n:alt: {words}\n"
        f":class: dark-light\n:width: {width}px\n```\n````"
    )


def keep_drawings(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the drawings for phones of a notebook page into the built book."""
    if app.builder.format != "html" or not str(app.env.doc2path(page)).endswith(".ipynb"):
        return
    folder = Path(app.outdir) / FOLDER
    for cell in json.loads(source[0])["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if ON_A_PHONE in data:
                folder.mkdir(parents=True, exist_ok=True)
                wide = hashlib.sha256(base64.b64decode(data["image/png"])).hexdigest()
                drawing = folder / f"{wide}.png"
                drawing.write_bytes(base64.b64decode(data[ON_A_PHONE]))


def keep_generated(app: Sphinx) -> None:
    """Put the drawings for phones of generated pages into the built book."""
    folder = Path(app.outdir) / FOLDER
    for drawing in (Path(app.srcdir) / GENERATED).glob("*.phone.png"):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(drawing, folder / drawing.name.replace(".phone", ""))


def offer_both(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _document: object
) -> None:
    """Let a page choose, for every figure that has a drawing for phones."""
    if app.builder.format != "html" or "body" not in context:
        return
    folder = Path(app.outdir) / FOLDER

    def choice(found: re.Match[str]) -> str:
        name = f"{FOLDER}/{found['stem']}.png"
        if not (folder.parent / name).exists():
            return found[0]
        place = context["pathto"](name, resource=True)
        narrow = f'<source media="not all and (min-width: {BEYOND})" srcset="{place}">'
        return f'<picture class="longfair-both">{narrow}{found[0]}</picture>'

    context["body"] = IMAGE.sub(choice, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", keep_generated, priority=900)  # once they are written
    app.connect("source-read", keep_drawings)
    app.connect("html-page-context", offer_both)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
