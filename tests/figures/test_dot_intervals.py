"""Dots with intervals: what is drawn where, and what is said."""

from __future__ import annotations

import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.figures.dot_intervals import dot_intervals, dot_panels

FRAME = pd.DataFrame(
    [
        ("first", "added", 100.0, 90.0, 110.0),
        ("second", "added", 10.0, 8.0, 12.0),
        ("second", "left out", 0.1, -1.0, 2.0),
    ],
    columns=["name", "series", "value", "low", "high"],
)
BAND = "mean with 95 % interval, 10 seeds"


def test_names_are_listed_from_the_top_and_dots_stand_beside_them():
    drawn = dot_intervals(FRAME, across="points lost", band=BAND)
    (axes,) = drawn.figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["first", "second"]
    assert axes.yaxis_inverted()
    first, second = axes.lines
    assert list(first.get_xdata()) == [100.0, 10.0]
    assert round(second.get_ydata()[0]) == 1
    assert list(drawn.data.columns) == list(FRAME.columns)


def test_single_runs_are_small_dots_beside_the_same_name() -> None:
    runs = FRAME[["name", "series", "value"]]
    runs = pd.concat([runs, runs.assign(value=runs["value"] + 1.0)], ignore_index=True)
    drawn = dot_intervals(FRAME, across="points lost", band=BAND, runs=runs)
    added, _, left_out, means = drawn.figure.axes[0].lines
    assert list(added.get_xdata()) == [100.0, 10.0, 101.0, 11.0]
    assert list(left_out.get_xdata()) == [0.1, 1.1]
    assert left_out.get_ydata()[0] == means.get_ydata()[0]
    assert drawn.marks == f"{BAND}; small dots are runs"
    assert len(drawn.data) == len(runs)


def test_a_logarithmic_axis_begins_at_the_lowest_value():
    references = pd.DataFrame({"name": ["bar"], "value": [20.0]})
    drawn = dot_intervals(FRAME, across="points lost", band=BAND, references=references, lowest=0.5)
    (axes,) = drawn.figure.axes
    assert axes.get_xscale() == "log"
    assert axes.get_xlim()[0] == 0.5
    assert axes.lines[1].get_xdata()[0] == 0.5
    assert axes.collections[1].get_segments()[0][0, 0] == 0.5
    assert "bar" in [text.get_text() for text in axes.texts]


def test_the_words_say_every_number():
    text = dot_intervals(FRAME, across="points lost", band=BAND).alt_text
    assert "points lost" in text
    assert BAND in text
    assert "second: added 10 (8 to 12), left out 0.1 (-1 to 2)." in text


def test_a_missing_column_is_named():
    with pytest.raises(UsageError, match="lacks the column high"):
        dot_intervals(FRAME.drop(columns="high"), across="x", band=BAND)


def test_a_row_with_one_series_has_it_beside_its_name() -> None:
    drawn = dot_intervals(FRAME, across="points lost", band=BAND)
    added, left_out = drawn.figure.axes[0].lines
    assert added.get_ydata()[0] == 0.0
    assert added.get_ydata()[1] < 1.0 < left_out.get_ydata()[0]


def test_on_a_phone_names_of_lines_stand_in_the_legend() -> None:
    references = pd.DataFrame({"name": ["bar", "mark"], "value": [20.0, 21.0]})
    drawn = dot_intervals(FRAME, across="lost", band=BAND, references=references)
    (legend,) = drawn.for_phones().figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["added", "left out", "bar", "mark"]
    one, other = (line for line in legend.get_lines() if line.get_linestyle() != "None")
    assert one.get_linestyle() != other.get_linestyle()
    (legend,) = drawn.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["added", "left out"]


def test_on_a_phone_no_interval_lies_under_the_name_of_a_row() -> None:
    rows = [(name, f"{kind}", 0.5, 0.0, 1.0) for name in ("first", "second") for kind in range(3)]
    frame = pd.DataFrame(rows, columns=["name", "series", "value", "low", "high"])
    drawn = dot_intervals(frame, across="return", band=BAND).for_phones().figure
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    dots = [
        axes.transData.transform((0, place))[1] for line in axes.lines for place in line.get_ydata()
    ]
    half = axes.lines[0].get_markersize() / 2 * drawn.dpi / 72
    for text in axes.texts:
        box = text.get_window_extent()
        assert not [dot for dot in dots if box.y0 - half < dot < box.y1 + half]


PANELS = pd.DataFrame(
    [
        (panel, name, series, place, place - 0.5, 9.0 if series == "wide" else place + 0.5)
        for panel in ("lending", "attention")
        for name in ("first", "second")
        for place, series in enumerate(("narrow", "wide"))
    ],
    columns=["panel", "name", "series", "value", "low", "high"],
)


def test_every_panel_has_a_line_at_zero_and_ends_where_runs_do() -> None:
    runs = pd.concat([PANELS.assign(value=PANELS["value"] + shift) for shift in (-0.4, 0.4)])
    drawn = dot_panels(PANELS, runs, across="difference", band=BAND)
    for axes, title in zip(drawn.figure.axes, ("lending", "attention"), strict=True):
        assert axes.get_title(loc="left") == title
        assert list(axes.lines[0].get_xdata()) == [0.0, 0.0]
        assert axes.get_xlim()[1] < 2.0
        assert [line.get_marker() for line in axes.lines].count(">") == 2
    assert len(drawn.data) == len(runs)
    assert "first: narrow 0 (-0.5 to 0.5), wide 1 (0.5 to 9)." in drawn.alt_text


def test_panels_stand_below_each_other_on_a_phone_with_names_above_their_rows() -> None:
    figure = dot_panels(PANELS, PANELS, across="difference", band=BAND).for_phones().figure
    first, second = figure.axes
    assert second.get_position().y1 < first.get_position().y0
    assert [text.get_text() for text in second.texts] == ["first", "second"]


def test_on_a_phone_names_stand_above_their_rows_and_take_no_room_beside_them() -> None:
    names = ["a name that takes half of a screen", "another one of the kind"]
    rows = [(name, "series", place, place - 0.5, place + 0.5) for place, name in enumerate(names)]
    frame = pd.DataFrame(rows, columns=["name", "series", "value", "low", "high"])
    drawn = dot_intervals(frame, across="return", band="median and range").for_phones().figure
    (axes,) = drawn.axes
    drawn.draw_without_rendering()
    assert axes.get_window_extent().width > 0.85 * drawn.bbox.width
    written = [text for text in axes.texts if text.get_text() in names]
    assert [text.get_text() for text in written] == names
    for place, text in enumerate(written):
        above = axes.transData.transform((0, place))[1]
        box = text.get_window_extent()
        assert above < box.y0
        assert box.x1 <= axes.get_window_extent().x1
