"""A figure together with the words for those who cannot see it and the data behind it."""

from __future__ import annotations

import base64
import html
import importlib
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import matplotlib
import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure
from PIL import Image

from longfair.errors import UsageError
from longfair.figures.style import CARD, PIXELS_PER_INCH, fit_words, on_a_phone, phone
from longfair.figures.words import shown_axes
from longfair.wording import counted

_SHARPNESS = 2  # file pixels per displayed pixel
ON_A_PHONE = "application/vnd.longfair.phone+png"
"""What a notebook keeps a figure's drawing for phones as, beside the drawing itself."""

FEW_ROWS = 5
"""Rows up to which a table of missing runs is not folded."""

DRAFT = "LONGFAIR_DRAFT_FIGURES"
"""Name of a variable for notebooks whose figures nobody will see: one coarse drawing of each."""

Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn", "Figure", "Figure | None")


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
    again
        Draws the same once more; None if nobody can.
    marks
        What lines, bands, dots or crosses are; empty where the drawing says it.

    Raises
    ------
    UsageError
        If the alternative text is empty.
    """

    figure: MatplotlibFigure
    alt_text: str
    data: pd.DataFrame
    again: Callable[[], Figure | None] | None = None
    marks: str = ""

    def __post_init__(self) -> None:
        """Refuse a figure without words; fix the layout, so that every drawing is the same."""
        if not self.alt_text.strip():
            raise UsageError("a figure needs an alternative text; say what it shows")
        if self.figure.get_layout_engine() is not None:
            if on_a_phone():
                self.figure.draw_without_rendering()  # words are fitted to what panels are given
            fit_words(self.figure)
            self.figure.draw_without_rendering()
            # None, and not "none", with which every file would be drawn twice.
            self.figure.set_layout_engine(None)

    def for_phones(self) -> Figure:
        """Draw the same for a phone, where it can be drawn again."""
        with phone():
            return (self.again and self.again()) or self

    def png(self) -> bytes:
        """Return the drawing as a PNG file; the same plotting call gives the same bytes."""
        drawn, packed = io.BytesIO(), io.BytesIO()
        # Packed once, at the end: packing what is drawn first would cost more than drawing it.
        unpacked = {"compress_level": 0}
        dots = _SHARPNESS * PIXELS_PER_INCH
        self.figure.savefig(drawn, format="png", dpi=dots, facecolor=CARD, pil_kwargs=unpacked)
        # A palette of 256 colours makes the file a third as large; the eye sees no difference.
        picture = Image.open(drawn).convert("RGB")
        picture.quantize(256, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
        return packed.getvalue()

    def _coarse(self) -> bytes:
        drawn = io.BytesIO()
        self.figure.savefig(drawn, format="png", dpi=PIXELS_PER_INCH / 2)
        return drawn.getvalue()

    def svg(self) -> bytes:
        """Return the drawing as an SVG file with its text as text, the same bytes for the same."""
        drawn = io.BytesIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "longfair"}):
            self.figure.savefig(drawn, format="svg", facecolor=CARD, metadata={"Date": None})
        return drawn.getvalue()

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.bundle(self.alt_text)

    def bundle(self, alt_text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a notebook keeps: picture and words, and what the axes show.

        With the axes a test can hold the words of a page against what was drawn in it.
        """
        width = round(self.figure.get_figwidth() * PIXELS_PER_INCH)
        draft = bool(os.environ.get(DRAFT))
        picture = self._coarse() if draft else self.png()
        data = {"image/png": base64.b64encode(picture).decode(), "text/plain": alt_text}
        if self.again is not None and not draft:
            data[ON_A_PHONE] = base64.b64encode(self.for_phones().png()).decode()
        axes = [one._asdict() for one in shown_axes(self.figure)]
        return data, {"image/png": {"alt": alt_text, "width": width}, "axes": axes}


def drawing(plot: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """Let the figures of a function be drawn again, for a phone.

    Parameters
    ----------
    plot
        A function that returns a `Figure` of `longfair.figures.style.canvas`, or None.
    """

    @wraps(plot)
    def drawn(*arguments: Arguments.args, **named: Arguments.kwargs) -> Drawn:
        figure = plot(*arguments, **named)
        if figure is None:
            return figure
        return replace(figure, again=lambda: plot(*arguments, **named))

    return drawn


@dataclass(frozen=True)
class Words:
    """Markdown that a page shows as text and a terminal as it is.

    Attributes
    ----------
    text
        The Markdown.
    heading
        What is read before the text is opened, without markup; empty if the text is in sight.
    """

    text: str
    heading: str = ""

    def __repr__(self) -> str:
        """Return the text, below its heading if there is one."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text

    def _repr_markdown_(self) -> str:
        if not self.heading:
            return self.text
        # Markdown is read as such between blank lines, and HTML around it.
        return _details(self.heading, f"\n\n{self.text}\n\n")


@dataclass(frozen=True)
class Folded:
    """Something that a page shows when its heading is clicked, and a terminal at once.

    Attributes
    ----------
    heading
        What can be read before it is opened; no markup.
    marked_up, plain
        The content as HTML and as text.
    """

    heading: str
    marked_up: str
    plain: str

    def __repr__(self) -> str:
        """Return heading and content."""
        return f"{self.heading}\n{self.plain}"

    def _repr_html_(self) -> str:
        return _details(self.heading, self.marked_up)


def _details(heading: str, content: str) -> str:
    summary = f"<summary>{html.escape(heading)}</summary>"
    return f'<details class="longfair-folded">{summary}{content}</details>'


def folded(table: pd.DataFrame | Words, heading: str) -> Folded | Words:
    """Fold a table away under a heading; words, such as that there is none, stay in sight."""
    if isinstance(table, Words):
        return table
    marked_up: str = table.to_html(border=0, na_rep="")
    return Folded(heading, marked_up, str(table.to_string(na_rep="")))


def show(figure: Figure | None, caption: str, *, name: str = "figure", otherwise: str = "") -> None:
    """Show a figure in a notebook, with a caption and the data to download.

    The data travel inside the page as a comma-separated file, so the link needs no network and no
    second file.

    Parameters
    ----------
    figure
        What a plotting function returned; None if there was nothing to plot.
    caption
        One or two plain sentences; no markup.
    name
        Name of the downloaded file, without ending.
    otherwise
        Line to print if there is no figure.

    Raises
    ------
    UsageError
        If the caption is empty, or there is neither a figure nor a line to print instead.
    """
    if not caption.strip():
        raise UsageError("a figure needs a caption; say what to look at")
    if figure is None:
        if not otherwise:
            raise UsageError("there is no figure; say what to print then, as otherwise=")
        print(otherwise)
        return
    rows = len(figure.data)
    link = _link(figure.data, f"Data behind this figure (CSV, {rows} rows)", name)
    # The message comes first, and what carries it afterwards.
    data, metadata = figure.bundle(f"{caption} {figure.alt_text}")
    _display(data, metadata=metadata, raw=True)
    marks = f" Drawn: {html.escape(figure.marks)}." * bool(figure.marks)
    _display_caption(
        f"<em>{html.escape(caption)}</em>{marks} {link}",
        f"{caption} [{rows} rows of data behind this figure]",
    )


def offer(tables: Mapping[str, pd.DataFrame], what: str, folders: str) -> None:
    """Offer tables to download in a notebook; they travel inside the page.

    Parameters
    ----------
    tables
        By name, which is also that of the downloaded file; what is empty is not offered.
    what
        What their rows are; no markup.
    folders
        Where in the repository the whole of them is.
    """
    full = {name: table for name, table in tables.items() if not table.empty}
    if not full:
        return
    links = [
        f"{_link(table, name, name.replace('/', '_'))} ({counted(len(table), 'row')})"
        for name, table in full.items()
    ]
    more = f"The whole is in the repository under <code>{html.escape(folders)}</code>."
    _display_caption(
        f"{html.escape(what)} (CSV): {', '.join(links)}. {more}", f"{what}: {', '.join(full)}"
    )


def show_missing(missing: pd.DataFrame, what: str) -> None:
    """Say in a notebook whether runs are missing, and which.

    Parameters
    ----------
    missing
        One row per arm without fresh results.
    what
        The runs that were asked for, as in "the profile `book`".
    """
    text = (
        f"Every run of {what} is stored, and the present code would give the same."
        if missing.empty
        else f"These runs of {what} are missing, or were made by an older state of the code. The "
        "page shows what there is."
    )
    _display({"text/markdown": text, "text/plain": text}, raw=True)
    if not missing.empty:
        long = f"The {len(missing)} methods and variants, with how many of their runs"
        _display(missing if len(missing) <= FEW_ROWS else folded(missing, long))


def _display(thing: Any, **options: Any) -> None:
    importlib.import_module("IPython.display").display(thing, **options)  # only notebooks need it


def _display_caption(marked_up: str, plain: str) -> None:
    page = f'<p class="longfair-caption">{marked_up}</p>'
    _display({"text/html": page, "text/plain": plain}, raw=True)


def _link(table: pd.DataFrame, text: str, name: str) -> str:
    packed = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    payload = base64.b64encode(packed.encode()).decode()
    return (
        f'<a download="{html.escape(name)}.csv" href="data:text/csv;base64,{payload}">'
        f"{html.escape(text)}</a>"
    )
