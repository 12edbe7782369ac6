"""The picture of several worlds: a panel each, and what is said of them."""

from __future__ import annotations

import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.figures.worlds import KINDS, worlds

POINTS = pd.DataFrame(
    [
        ("loans", "bias", "reward", "paper", "ours", 0.1, 2.0),
        ("loans", "bias", "reward", "fixed", "a rule", 0.05, 2.5),
        ("jobs", "gap", "profit", "paper", "ours", 0.3, -1.0),
        ("jobs", "gap", "profit", "optimum", "best", 0.0, 0.5),
        ("jobs", "gap", "profit", "optimum", "best", 0.4, 1.0),
        ("towns", "gap", "profit", "reward", "theirs", 0.3, -1.0),
    ],
    columns=["world", "across", "up", "kind", "name", "right", "height"],
)


def test_every_world_has_a_panel_with_its_own_axes() -> None:
    drawn = worlds(POINTS)
    first, second, third, unused = drawn.figure.axes
    assert [axes.get_title(loc="left") for axes in (first, second, third)] == [
        "loans",
        "jobs",
        "towns",
    ]
    assert (first.get_xlabel(), second.get_ylabel()) == ("bias", "profit")
    assert not unused.axison
    (legend,) = drawn.figure.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == [KINDS[kind].label for kind in ("reward", "paper", "fixed", "optimum")]


def test_its_table_has_the_columns_that_were_given() -> None:
    assert list(worlds(POINTS).data.columns) == list(POINTS.columns)


def test_an_optimum_is_a_line_and_the_rest_are_points() -> None:
    _, jobs, *_ = worlds(POINTS).figure.axes
    point, line = jobs.lines
    assert (point.get_linestyle(), line.get_linestyle()) == ("None", "-")
    assert list(line.get_xdata()) == [0.0, 0.4]


def test_the_words_tell_every_point_but_the_line() -> None:
    text = worlds(POINTS).alt_text
    assert "loans: ours, bias 0.1, reward 2; a rule, bias 0.05, reward 2.5." in text
    assert "best," not in text.split("corner.")[1]


def test_a_table_without_its_columns_is_refused() -> None:
    with pytest.raises(UsageError, match="height"):
        worlds(POINTS.drop(columns="height"))


def test_fixed_rules_have_their_names_beside_them() -> None:
    loans, jobs, *_ = worlds(POINTS).figure.axes
    assert [words.get_text() for words in loans.texts] == ["a rule"]
    assert not jobs.texts


def test_an_optimum_of_one_point_is_a_cross() -> None:
    alone = POINTS.drop(index=4)
    (optimum,) = [line for line in worlds(alone).figure.axes[1].lines if line.get_marker() == "P"]
    assert list(optimum.get_ydata()) == [0.5]


def many_worlds() -> pd.DataFrame:
    names = ["loans (A)", "jobs (B)", "towns (C)", "trains (D)", "shops (E)"]
    return pd.concat([POINTS[POINTS["world"] == "loans"].assign(world=name) for name in names])


def test_of_many_worlds_three_stand_in_a_row_with_words_in_lines() -> None:
    drawn = worlds(many_worlds()).figure
    place = drawn.axes[0].get_subplotspec()
    assert place is not None
    assert place.get_gridspec().ncols == 3
    assert drawn.axes[0].get_title(loc="left") == "loans\n(A)"
    assert drawn.get_figheight() < 8


def test_names_beside_each_other_do_not_cross_and_cover_nothing() -> None:
    """Two rules next to each other at the left edge, with a method below them."""
    near = [("fixed", "one long name", 0.0, 1.0), ("fixed", "another name", 0.02, 1.01)]
    far = [("paper", "ours", 0.01, 0.98), ("reward", "theirs", 0.3, 0.0)]
    rows = [("loans", "bias", "reward", *row) for row in near + far]
    (axes, *_) = worlds(pd.DataFrame(rows, columns=POINTS.columns)).figure.axes
    axes.figure.draw_without_rendering()
    first, second = (words.get_window_extent() for words in axes.texts)
    assert not first.overlaps(second)
    places = axes.transData.transform([row[2:] for row in near + far])
    for words in (first, second):
        assert not any(words.contains(*place) for place in places)


def test_two_numbers_of_a_name_stay_on_a_line() -> None:
    parts = [POINTS.assign(world=POINTS["world"] + str(number)) for number in range(2)]
    points = pd.concat(parts).replace({"name": {"a rule": "threshold 2 / 1"}})
    first = worlds(points).figure.axes[0]
    (name,) = [text.get_text() for text in first.texts if "threshold" in text.get_text()]
    assert name.split("\n") == ["threshold", "2\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}1"]
