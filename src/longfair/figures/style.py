"""How every figure looks: one palette, one style per method, a light card as background.

The colours are those of Okabe and Ito, which readers with the common colour-vision deficiencies
can tell apart.  Colour never stands alone: each method also has its own marker and line, and each
variant its own marker filling.  Every figure brings its own white card, so that it reads the same
on a light and on a dark page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import Locator, MaxNLocator

from longfair.errors import UsageError, near_misses

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#595959"
CARD = "#FFFFFF"

PIXELS_PER_INCH = 100
"""Displayed size; the file holds twice as many pixels for sharp screens."""

PHONE = 3.58
"""Width of a figure on a phone, in inches: what the text of a page takes there."""

_on_a_phone: ContextVar[bool] = ContextVar("on a phone", default=False)

SETTINGS: Final[Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.facecolor": CARD,
    "axes.grid": True,
    "axes.labelcolor": BLACK,
    "axes.labelsize": 11,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": CARD,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.7,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 7,
    "savefig.facecolor": CARD,
    "text.color": BLACK,
    "xtick.color": GREY,
    "xtick.labelcolor": BLACK,
    "xtick.labelsize": 10,
    "ytick.color": GREY,
    "ytick.labelcolor": BLACK,
    "ytick.labelsize": 10,
}


@dataclass(frozen=True)
class LineStyle:
    """How one method, or one group, is drawn wherever it appears.

    Attributes
    ----------
    label
        What the legend calls it.
    colour
        A hexadecimal colour.
    marker, line
        Matplotlib marker and line style.
    filled
        Whether the marker is filled.
    """

    label: str
    colour: str
    marker: str
    line: Any = "-"
    filled: bool = True

    @property
    def face(self) -> str:
        """Colour inside the marker."""
        return self.colour if self.filled else CARD

    @property
    def points(self) -> dict[str, Any]:
        """Keywords that draw points without a line."""
        return {
            "color": self.colour,
            "linestyle": "none",
            "marker": self.marker,
            "markerfacecolor": self.face,
        }

    @property
    def curve(self) -> dict[str, Any]:
        """Keywords that draw a line with marks and name it in the legend."""
        return self.points | {"linestyle": self.line, "label": self.label}


METHODS: dict[str, LineStyle] = {}
"""Styles by method id, filled by `introduce`; figures know no method of their own."""


def introduce(styles: Mapping[str, LineStyle]) -> None:
    """Make methods known to all figures, so that each looks the same wherever it appears.

    Raises
    ------
    UsageError
        If a method is known with another style.
    """
    for method, style in styles.items():
        if METHODS.setdefault(method, style) != style:
            raise UsageError(f"method {method!r} has a style already: pass another as styles=")


GROUPS: tuple[LineStyle, ...] = (
    LineStyle("group 0", BLUE, "o"),
    LineStyle("group 1", VERMILION, "s", (0, (5, 1.5))),
    LineStyle("group 2", GREEN, "^", (0, (3, 1, 1, 1))),
    LineStyle("group 3", PURPLE, "D", ":"),
    LineStyle("group 4", ORANGE, "v", (0, (6, 1, 1, 1, 1, 1))),
)
"""Fixed styles by group number."""

VARIANT_NAMES: Mapping[str, str] = {
    "as_coded": "as coded",
    "as_published": "as published",
    "reference": "",
}


def method_style(
    method: str, variant: str = "", extra: Mapping[str, LineStyle] | None = None
) -> LineStyle:
    """Look up the style of a method.

    Parameters
    ----------
    method
        Method id.
    variant
        "as_published" turns the marker hollow and the line dashed; every other variant leaves
        the style as it is.
    extra
        Styles of methods the library does not know.

    Returns
    -------
    LineStyle
        Its label names the method only; `label` adds the variant.

    Raises
    ------
    UsageError
        If the method has no style.
    """
    known = {**METHODS, **(extra or {})}
    if method not in known:
        raise UsageError(
            f"method {method!r} has no figure style; pass one as styles= "
            f"({near_misses(method, known)})"
        )
    style = known[method]
    return replace(style, line="--", filled=False) if variant == "as_published" else style


def group_style(group: int, name: str = "") -> LineStyle:
    """Look up the style of a group, under a name of its own if it has one.

    Raises
    ------
    UsageError
        If there is no style for that many groups.
    """
    if not 0 <= group < len(GROUPS):
        raise UsageError(f"group {group} has no figure style; 0 to {len(GROUPS) - 1} have one")
    style = GROUPS[group]
    return replace(style, label=name) if name else style


def label(style: LineStyle, variant: str, *, several: bool) -> str:
    """Name a method, with its variant where several variants share the figure."""
    suffix = VARIANT_NAMES.get(variant, variant)
    return f"{style.label} ({suffix})" if several and suffix else style.label


@contextmanager
def phone() -> Iterator[None]:
    """Draw for a phone: figures of its width, and panels one below the other."""
    before = _on_a_phone.set(True)
    try:
        yield
    finally:
        _on_a_phone.reset(before)


def on_a_phone() -> bool:
    """Say whether one draws for a phone."""
    return _on_a_phone.get()


def canvas(
    width: float,
    height: float,
    *,
    columns: int = 1,
    rows: int = 1,
    count: int | None = None,
    **keywords: Any,
) -> tuple[MatplotlibFigure, list[Axes]]:
    """Create an empty styled figure without touching any global plotting state.

    On a phone all panels stand in one column, each as high as it was. Where they share the
    horizontal axis, its numbers stand below the last panel of every column.

    Parameters
    ----------
    width, height
        In inches; one inch is shown as `PIXELS_PER_INCH` pixels.
    columns, rows
        Places for panels.
    count
        How many panels there are; by default one in every place.
    **keywords
        Passed on to `matplotlib.figure.Figure.subplots`, for example ``sharey=True``.

    Returns
    -------
    tuple
        The figure and its panels, row by row.
    """
    count = columns * rows if count is None else count
    if on_a_phone():
        width, height = min(width, PHONE), height / rows * count
        columns, rows = 1, count
    with matplotlib.rc_context(SETTINGS):
        figure = MatplotlibFigure(
            figsize=(width, height),
            layout=ConstrainedLayoutEngine(wspace=0.06),
            dpi=PIXELS_PER_INCH,
        )
        places = figure.subplots(rows, columns, squeeze=False, **keywords)
    panels = [panel for row in places for panel in row]
    for empty in panels[count:]:
        empty.set_axis_off()
    for last in panels[max(0, count - columns) : count]:  # a shared axis has its numbers there
        last.tick_params(labelbottom=True)
    return figure, panels[:count]


def fit_words(figure: MatplotlibFigure) -> None:
    """Break words into lines where they are longer than their room on a phone."""
    if not on_a_phone():
        return
    for panel in figure.axes:
        _break(panel.yaxis.label, 0.95 * panel.bbox.height)
        for text in panel.findobj(Text):
            _break(text, panel.bbox.width)
    for text in figure.findobj(Text):
        _break(text, 0.88 * figure.bbox.width)


def _break(text: Text, room: float) -> None:
    """Break a text where it is longer, in the direction it runs, than so many pixels."""
    words, size = " ".join(text.get_text().split()), text.get_window_extent()
    length = size.height if text.get_rotation() else size.width
    if length > room:
        letters = int(max(map(len, text.get_text().split("\n"))) * room / length)
        text.set_text(textwrap.fill(words, max(12, letters), break_long_words=False))


def legend(figure: MatplotlibFigure, handles: Sequence[Any] | None = None) -> None:
    """Put one legend above all panels, in as many columns as fit, inside the figure.

    Parameters
    ----------
    figure
        A figure of `canvas`, drawn.
    handles
        What to list; by default every labelled artist of the first panel.
    """
    if handles is None:
        handles, _ = figure.axes[0].get_legend_handles_labels()
    for rows in range(1, len(handles) + 1):
        columns = -(-len(handles) // rows)
        box = figure.legend(handles=handles, loc="outside upper center", ncols=columns)
        if columns == 1 or box.get_window_extent().width <= 0.98 * figure.bbox.width:
            return
        box.remove()


def styled() -> Any:
    """Return the context in which artists must be created to take the house style."""
    return matplotlib.rc_context(SETTINGS)


def head(panel: Axes, title: str, above: float = 6.0) -> None:
    """Write a title above a panel, by default so many points."""
    panel.set_title(title, loc="left", fontsize=11, weight="bold", pad=above)


def banded(axes: Axes, rows: pd.DataFrame, style: LineStyle, marks: int, **keywords: Any) -> None:
    """Draw a curve with a band over steps.

    Parameters
    ----------
    axes
        The panel.
    rows
        Columns step, value, low, high.
    style
        How it is drawn.
    marks
        About how many marks it has.
    **keywords
        Passed on to `matplotlib.axes.Axes.plot` for the curve.
    """
    rows = rows.sort_values("step")
    axes.fill_between(rows["step"], rows["low"], rows["high"], color=style.colour, alpha=0.22, lw=0)
    every = max(1, len(rows) // marks)
    axes.plot(rows["step"], rows["value"], markevery=every, **style.curve, **keywords)


def large_axis(axes: Axes, last: float, across: str = "training steps") -> str:
    """Write the horizontal axis in thousands or millions if it is long; return its label."""
    factor, unit = _large(last)
    if unit:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / factor:g}")
        across = f"{across} ({unit})"
    axes.set_xlabel(across)
    return across


def along_large_axis(first: float, last: float) -> str:
    """Write from where to where an axis of `large_axis` goes, in its unit."""
    factor, _ = _large(last)
    return from_to(first / factor, last / factor)


def _large(last: float) -> tuple[float, str]:
    """How much a 1 on a long axis stands for, and its name; none on a short one."""
    if last < 1e4:
        return 1.0, ""
    return (1e6, "millions") if last >= 1e6 else (1e3, "thousands")


def squeeze_beyond(axes: Axes, bound: float) -> str:
    """Make the vertical axis logarithmic beyond a number; return what to say of it.

    It keeps both visible where a few runs end far from all others. The logarithmic part is grey.

    Parameters
    ----------
    axes
        The panel.
    bound
        From zero to it the axis stays linear. Beyond it is below if it is negative, else above.

    Returns
    -------
    str
        What to add to the label of the axis.

    Raises
    ------
    UsageError
        If the bound is zero.
    """
    if bound == 0:
        raise UsageError("an axis is logarithmic beyond a number other than zero; got 0")
    axes.set_yscale("symlog", linthresh=abs(bound), linscale=5.0)
    # As an artist it does not change how far the axis goes.
    far = Rectangle((0, bound), 1, 1e12 * np.sign(bound), facecolor="#EDEDED", lw=0, zorder=0.4)
    far.set_transform(axes.get_yaxis_transform())
    axes.add_artist(far)
    axes.yaxis.set_major_locator(_Squeezed(bound))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return f" (logarithmic {'below' if bound < 0 else 'above'} {bound:g})"


class _Squeezed(Locator):
    """Round numbers up to a bound, and powers of ten beyond it, three times them if few fit.

    What is so close behind the bound that the two numbers would overlap is left out.
    """

    def __init__(self, bound: float) -> None:
        self.bound = bound

    def __call__(self) -> Sequence[float]:
        assert self.axis is not None
        low, high = sorted(self.axis.get_view_interval())
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        tens = 10.0 ** np.arange(-3, 12)
        seen = (tens > 1.3 * abs(self.bound)) & (tens <= max(abs(vmin), abs(vmax)))
        between = (1.0, 3.0) if seen.sum() < 2 else (1.0,)
        far = np.sign(self.bound) * np.outer(tens, between).ravel()
        linear = np.clip((vmin, vmax), -abs(self.bound), abs(self.bound))
        near = np.asarray(MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(*linear))
        parts = (
            far[self._clear(far, vmin, vmax)],
            [self.bound],
            near[np.abs(near) < 0.95 * abs(self.bound)],
        )
        return [tick for tick in np.concatenate(parts).tolist() if vmin <= tick <= vmax]

    def _clear(self, far: np.ndarray, vmin: float, vmax: float) -> np.ndarray:
        """Say which numbers are beyond the bound by more than most of a line of text."""
        axes = self.axis.axes  # type: ignore[union-attr]  # a locator at work has an axis
        figure = axes.get_figure(root=True)
        assert figure is not None
        height = axes.get_position().height * figure.get_figheight() * 72.0
        transform = axes.yaxis.get_transform().transform
        low, bound, high = transform(np.array([vmin, self.bound, vmax]))
        beyond = (transform(far) - bound) * np.sign(self.bound)
        return np.asarray(beyond * height > 7.5 * (high - low))


def number(value: float) -> str:
    """Write a number for reading aloud: three significant digits, no exponent."""
    if value == 0 or not abs(value) >= 5e-4:
        return "0" if abs(value) < 5e-4 else str(value)
    text = f"{value:.3g}"
    return f"{value:,.0f}" if "e" in text or abs(value) >= 1000 else text


def from_to(first: float, last: float) -> str:
    """Write where something begins and ends."""
    return f"from {number(first)} to {number(last)}"


def within(low: float, high: float) -> str:
    """Write an interval behind its value; nothing where it is the value alone."""
    return f" ({number(low)} to {number(high)})" if low < high else ""
