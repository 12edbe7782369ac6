"""Tell search engines and messengers what a page is about: a description and a card.

Both are for pages that somebody publishes; a reader's own copy asks for nothing. The card has two
worlds of the landing page's picture, under the title of the book.
"""

from __future__ import annotations

import html
import io
from itertools import chain
from pathlib import Path
from typing import Any

from docutils import nodes
from matplotlib.figure import Figure
from PIL import Image
from sphinx.application import Sphinx

from claim_pages import FOLDER
from generated import card_figure
from longfair.figures.style import CARD

PICTURE = "_static/card.png"
SIZE = (1200, 630)
"""Pixels, as messengers want them."""
SHORTEST, LONGEST = 40, 200
"""Characters of a description."""


def description(document: nodes.document, quoted: bool = False) -> str:
    """First paragraph that says something, cut at a word; empty if there is none.

    Parameters
    ----------
    document
        The page.
    quoted
        Begin with what is quoted.
    """
    quotes = list(document.findall(nodes.block_quote)) if quoted else []
    for paragraph in chain(*(part.findall(nodes.paragraph) for part in [*quotes, document])):
        texts = paragraph.findall(nodes.Text)
        said = (text for text in texts if not isinstance(text.parent, nodes.raw))
        text = " ".join("".join(said).split())
        if len(text) >= SHORTEST:
            cut = text[: text.rfind(" ", 0, LONGEST)] + " …"
            return text if len(text) <= LONGEST else cut
    return ""


def tags(title: str, book: str, about: str, picture: str) -> str:
    """Write the elements of a page's head."""
    about = about or book
    said = {
        "og:type": "article",
        "og:site_name": book,
        "og:title": title,
        "og:description": about,
        "og:image": picture,
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
    }
    lines = [
        f'<meta property="{name}" content="{html.escape(text)}">' for name, text in said.items()
    ]
    lines += [
        f'<meta name="description" content="{html.escape(about)}">',
        '<meta name="twitter:card" content="summary_large_image">',
    ]
    return "\n".join(lines) + "\n"


def add_tags(
    app: Sphinx,
    page: str,
    _template: str,
    context: dict[str, Any],
    document: nodes.document | None,
) -> None:
    """Add the elements to a page; the picture's address is whole where the book's is known."""
    base = app.config.html_baseurl.rstrip("/")
    picture = f"{base}/{PICTURE}" if base else context["pathto"](PICTURE, resource=True)
    title = nodes.Text(context.get("title", "")).astext()
    of_claim = page.startswith(f"{FOLDER}/")
    about = description(document, quoted=of_claim) if document is not None else ""
    context["metatags"] = context.get("metatags", "") + tags(
        html.unescape(title), app.config.html_title, about, picture
    )


def card(title: str) -> bytes:
    """Draw the picture, a PNG file."""
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=CARD)
    figure.text(0.04, 0.9, title, fontsize=34, weight="bold", va="center")
    figure.text(0.04, 0.81, "Five papers, run again: a verdict for every claim", fontsize=20)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.75))
    axes.imshow(Image.open(io.BytesIO(card_figure().png())))
    axes.set_axis_off()
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    return drawn.getvalue()


def write_card(app: Sphinx, error: Exception | None) -> None:
    """Put the picture into the built book."""
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / PICTURE).write_bytes(card(app.config.html_title))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", write_card)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
