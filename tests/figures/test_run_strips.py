"""Every run is a dot, and the words say what the drawing says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.figures.run_strips import run_strips
from longfair.figures.style import BLUE, GREEN

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
    drawn = run_strips(RUNS, MEANS, judged=["fair"])
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


def test_of_runs_of_two_kinds_the_bar_is_a_median_without_a_line() -> None:
    kinds = ["", "3 and 7 runs", "", ""]
    drawn = run_strips(RUNS, MEANS.assign(kinds=kinds))
    words = drawn.alt_text
    assert "or for the median where runs are of two kinds" in words
    assert "greedy: median of two kinds, 3 and 7 runs, 0.5, 2 runs at 0.5." in words
    written = [text.get_text().replace("\n", " ") for text in drawn.figure.texts]
    assert "bias; median where runs are of two kinds: greedy, 3 and 7 runs" in written
    assert "kinds" not in run_strips(RUNS, MEANS.assign(kinds="")).alt_text


@pytest.mark.parametrize(
    ("was", "words"),
    [
        ("greedy", "a-very-long-name-of-a-method-that-is-compared-with-others-as-published"),
        ("as published", "as published, the authors' settings, short of their steps"),
        ("bias", "share of runs with a rather long name of a number less that of another method"),
    ],
)
def test_no_words_leave_the_drawing(was: str, words: str) -> None:
    drawn = run_strips(RUNS.replace(was, words), MEANS.replace(was, words)).figure
    texts = [*drawn.texts, *(text for axes in drawn.axes for text in axes.get_yticklabels())]
    assert words in " ".join(text.get_text().replace("\n", " ") for text in texts).replace(
        "- ", "-"
    )
    for text in texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= drawn.bbox.width
        assert 0 <= box.y0 < box.y1 <= drawn.bbox.height


def test_what_is_asked_for_is_a_band_in_its_row_and_stands_in_the_words() -> None:
    claimed = pd.DataFrame(
        [("as coded", "bias", "fair", -np.inf, 0.15, "claimed at most 0.15")],
        columns=["title", "label", "method", "low", "high", "words"],
    )
    drawn = run_strips(RUNS, MEANS, claimed=claimed)
    axes = drawn.figure.axes[0]
    (band,) = axes.collections
    box = band.get_paths()[0].get_extents()
    assert (box.x0, box.x1) == pytest.approx((axes.get_xlim()[0], 0.15))
    assert (box.y0, box.y1) == (-0.5, 0.5)
    assert [line.get_color() for line in axes.lines].count(GREEN) == 1
    assert not drawn.figure.axes[1].collections
    assert "2 runs from 0.1 to 0.3 (claimed at most 0.15); greedy" in drawn.alt_text
    assert "bias; claimed at most 0.15" in [text.get_text() for text in drawn.figure.texts]


def test_an_interval_far_beyond_all_runs_is_cut_and_ends_in_an_arrow() -> None:
    """The axis goes on as far beyond runs, means and claims as these are apart."""
    drawn = run_strips(RUNS, MEANS.replace({"low": {0.05: -90.0}, "high": {0.35: 0.9}}))
    axes = drawn.figure.axes[0]
    low, high = axes.get_xlim()
    assert low == pytest.approx(0.1 - 0.4 - 0.04 * (0.9 + 0.3), abs=0.01)
    assert 0.9 < high < 1.0
    arrows = [line for line in axes.lines if line.get_marker() in ("<", ">")]
    assert [(line.get_marker(), *line.get_xdata()) for line in arrows] == [
        ("<", pytest.approx(-0.3))
    ]
    assert "mean 0.2 (-90 to 0.9)" in drawn.alt_text


def test_an_effect_without_runs_is_a_row_of_its_own() -> None:
    share = pd.DataFrame([("as coded", "share above 1", "share", 0.5, 0.2, 0.8)])
    drawn = run_strips(RUNS, pd.concat([MEANS, share.set_axis(MEANS.columns, axis=1)]))
    assert "as coded, share above 1: share: 0.5 (0.2 to 0.8)." in drawn.alt_text


def test_the_same_runs_give_the_same_file() -> None:
    first, second = (run_strips(RUNS, MEANS).svg() for _ in range(2))
    assert first == second
    assert b"<text" in first
    assert b"greedy" in first


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(UsageError, match="no rows"):
        run_strips(RUNS.head(0), MEANS)
