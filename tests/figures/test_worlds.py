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
