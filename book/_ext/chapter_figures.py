"""The figure that a chapter shows: the first of the notebook that answers its main question.

It is taken from the notebook as executed, so chapter and notebook cannot disagree.
"""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from longfair.figures.display import ON_A_PHONE
from phone_figures import picture

NOTEBOOKS = {
    "elbert": "elbert/lending",
    "fppo": "fppo/lending",
    "fairqcm": "fairqcm/doughnuts",
    "fairmdp": "fairmdp/cross_entropy",
    "ucbfair": "ucbfair/l_ucbfair",
}
"""Paper to the notebook, below `notebooks`, whose first figure its chapter shows."""
CAPTION = re.compile(r"<em>(?P<said>.*?)</em>(?P<marks> Drawn: .*?\.)?(?= <|</p>)", re.DOTALL)
"""What a notebook says below a figure, and what its lines, bands and dots are."""


class Shown(NamedTuple):
    """A figure of a notebook."""

    picture: dict[str, Any]
    """Output with its data and metadata."""
    caption: str
    marks: str


@cache
def first_figure(notebook: Path) -> Shown:
    """Find the first figure of an executed notebook.

    Raises
    ------
    ValueError
        If it has none with a caption.
    """
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        outputs = cell.get("outputs", [])
        for output, following in pairwise(outputs):
            if "image/png" in output.get("data", {}):
                markup = "".join(following["data"].get("text/html", ""))
                if found := CAPTION.search(markup):
                    said, marks = (html.unescape(part or "") for part in found.groups())
                    return Shown(output, said, marks)
    raise ValueError(f"{notebook} has no figure with a caption; execute it")


def fragment(root: Path, paper: str) -> str:
    """Write a chapter's figure, with its caption and a link to the notebook."""
    name = NOTEBOOKS[paper]
    shown = first_figure(root / "notebooks" / f"{name}.ipynb")
    meant = shown.picture["metadata"]["image/png"]
    drawn = picture(f"chapter_{paper}", " ".join(meant["alt"].split()), meant["width"])
    page = f"[The page of this figure](/notebooks/{name}.ipynb)"
    return f"{drawn}\n\n*{shown.caption}*{shown.marks} {page}\n"


def pictures(root: Path) -> dict[str, bytes]:
    """Return the files of all chapters' figures, as drawn for a page and for a phone."""
    files = {}
    for paper, name in NOTEBOOKS.items():
        data = first_figure(root / "notebooks" / f"{name}.ipynb").picture["data"]
        files[f"chapter_{paper}.png"] = base64.b64decode(data["image/png"])
        if ON_A_PHONE in data:
            files[f"chapter_{paper}.phone.png"] = base64.b64decode(data[ON_A_PHONE])
    return files
