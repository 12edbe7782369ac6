"""Every run is a dot, and the words say what the drawing says."""

from __future__ import annotations

import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.figures.run_strips import run_strips
from longfair.figures.style import BLUE

RUNS = pd.DataFrame(
    [
        (title, "bias", method, seed, value + shift)
        for shift, title in enumerate(("as coded", "as published"))
        for method, values in {"fair": (0.1, 0.3), "greedy": (0.5, 0.5)}.items()
        for seed, value in enumerate(values)
    ],
    columns=["title", "label", "method", "seed", "value"],
)
MEANS = pd.DataFrame(
    [
        ("as coded", "bias", "fair", 0.2, 0.05, 0.35),
        ("as coded", "bias", "greedy", 0.5, None, None),
        ("as published", "bias", "fair", 1.2, 1.05, 1.35),
        ("as published", "bias", "greedy", 1.5, None, None),
    ],
    columns=["title", "label", "method", "mean", "low", "high"],
)


def test_every_run_is_a_dot_in_the_row_of_its_method() -> None:
    drawn = run_strips(RUNS, MEANS, judged="fair")
    axes = drawn.figure.axes[0]
    assert len(drawn.figure.axes) == 2
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fair", "greedy"]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [sorted(line.get_xdata()) for line in dots] == [[0.1, 0.3], [0.5, 0.5]]
    assert [line.get_color() == BLUE for line in dots] == [True, False]
    assert dots[1].get_ydata()[0] != dots[1].get_ydata()[1], "equal runs hide each other"
    pd.testing.assert_frame_equal(drawn.data[RUNS.columns.tolist()], RUNS)


def test_the_words_have_every_mean_and_the_ends_of_the_runs() -> None:
    words = run_strips(RUNS, MEANS).alt_text
    assert "as coded, bias: fair: mean 0.2 (0.05 to 0.35), 2 runs from 0.1 to 0.3" in words
    assert "greedy: mean 0.5, 2 runs at 0.5." in words
    assert "as published, bias: fair: mean 1.2" in words


def test_no_method_name_leaves_the_drawing() -> None:
    long = RUNS.replace("greedy", "a-very-long-name-of-a-method-as-published")
    drawn = run_strips(long, MEANS.replace("greedy", "a-very-long-name-of-a-method-as-published"))
    for axes in drawn.figure.axes:
        for label in axes.get_yticklabels():
            assert label.get_window_extent().x0 >= 0


def test_the_same_runs_give_the_same_file() -> None:
    first, second = (run_strips(RUNS, MEANS).svg() for _ in range(2))
    assert first == second
    assert b"<text" in first
    assert b"greedy" in first


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(UsageError, match="no rows"):
        run_strips(RUNS.head(0), MEANS)
