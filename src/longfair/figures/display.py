"""A figure together with the words for those who cannot see it and the data behind it."""

from __future__ import annotations

import base64
import html
import importlib
import io
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure
from PIL import Image

from longfair.errors import UsageError
from longfair.figures.style import CARD, PIXELS_PER_INCH

_SHARPNESS = 2  # file pixels per displayed pixel


@dataclass(frozen=True)
class Figure:
    """What every plotting function returns.

    Put as the last line of a notebook cell it shows itself; `show` adds a caption and a link to
    the data.

    Attributes
    ----------
    figure
        The drawing, free to be adjusted further.
    alt_text
        What the drawing says, for readers who cannot see it.
    data
        The numbers drawn, one row per mark.

    Raises
    ------
    UsageError
        If the alternative text is empty.
    """

    figure: MatplotlibFigure
    alt_text: str
    data: pd.DataFrame

    def __post_init__(self) -> None:
        """Refuse a figure without words; fix the layout, so that every drawing is the same."""
        if not self.alt_text.strip():
            raise UsageError("a figure needs an alternative text; say what it shows")
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")

    def png(self) -> bytes:
        """Return the drawing as a PNG file; the same plotting call gives the same bytes."""
        drawn, packed = io.BytesIO(), io.BytesIO()
        self.figure.savefig(drawn, format="png", dpi=_SHARPNESS * PIXELS_PER_INCH, facecolor=CARD)
        # A palette of 256 colours makes the file a third as large; the eye sees no difference.
        picture = Image.open(drawn).convert("RGB")
        picture.quantize(256, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
        return packed.getvalue()

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        width = round(self.figure.get_figwidth() * PIXELS_PER_INCH)
        data = {"image/png": base64.b64encode(self.png()).decode(), "text/plain": self.alt_text}
        return data, {"image/png": {"alt": self.alt_text, "width": width}}


def show(figure: Figure, caption: str, *, name: str = "figure") -> None:
    """Show a figure in a notebook, with a caption and the data to download.

    The data travel inside the page as a comma-separated file, so the link needs no network and no
    second file.

    Parameters
    ----------
    figure
        What a plotting function returned.
    caption
        One or two plain sentences; no markup.
    name
        Name of the downloaded file, without ending.

    Raises
    ------
    UsageError
        If the caption is empty.
    """
    if not caption.strip():
        raise UsageError("a figure needs a caption; say what to look at")
    display = importlib.import_module("IPython.display").display  # only notebooks need it
    display(figure)
    display(
        {
            "text/html": _caption_html(figure, caption, name),
            "text/plain": f"{caption} [{len(figure.data)} rows of data behind this figure]",
        },
        raw=True,
    )


def _caption_html(figure: Figure, caption: str, name: str) -> str:
    table = figure.data.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    payload = base64.b64encode(table.encode()).decode()
    return (
        f'<p class="longfair-caption"><em>{html.escape(caption)}</em> '
        f'<a download="{html.escape(name)}.csv" href="data:text/csv;base64,{payload}">'
        f"Data behind this figure (CSV, {len(figure.data)} rows)</a></p>"
    )
