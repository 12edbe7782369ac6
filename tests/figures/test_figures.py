"""Figures: what they draw, what they say, and that nothing in them covers anything else."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from alt_texts import contradictions
from matplotlib.colors import to_rgb
from matplotlib.text import Annotation, Text
from PIL import Image

from longfair.errors import UsageError
from longfair.figures import (
    GROUPS,
    Figure,
    LineStyle,
    curve_panels,
    group_rates,
    group_style,
    learning_curves,
    line_chart,
    method_style,
    trade_off,
    trajectories,
)
from longfair.figures.line_chart import line_panels
from longfair.figures.style import GREY, canvas, introduce, number
from longfair.figures.words import shown_axes
from longfair.papers.styles import METHODS

SEEDS = 10
INTERVAL = "mean with 95 % interval, 10 seeds"
ENDS = ("value", "low", "high")
LEARNED = (
    ("g-ppo", "as_coded", 0.148, 0.161),
    ("elbert-po", "as_coded", 0.18, 0.023),
    ("elbert-po", "as_published", 0.17, 0.04),
)
REFERENCES = pd.DataFrame(
    [
        ("reject-all", 0.0, 0.0),
        ("accept-all", -0.099, 0.0),
        ("accept-half", -0.03, 0.004),
        ("threshold-3-3", 0.15, 0.172),
        ("threshold-2-2", 0.187, 0.09),
        ("threshold-1-1", 0.186, 0.058),
        ("threshold-2-1", 0.187, 0.026),
        ("equal-opportunity", 0.17, 0.02),
    ],
    columns=["method", "reward", "bias"],
)


def bands() -> pd.DataFrame:
    rows = [
        (method, variant, step, final * step / 2e6, final * step / 2e6 - 0.01, final + 0.01)
        for method, variant, _, final in LEARNED
        for step in range(0, 2_000_001, 100_000)
    ]
    return pd.DataFrame(rows, columns=["method", "variant", "step", "value", "low", "high"])


def runs() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    frames = [
        bands()[["method", "variant", "step", "value"]].assign(
            seed=seed, value=lambda frame: frame["value"] + generator.normal(0, 0.01, len(frame))
        )
        for seed in range(SEEDS)
    ]
    return pd.concat(frames, ignore_index=True)


def summaries() -> pd.DataFrame:
    rows = [
        (method, variant, metric, value, value - 0.01, value + 0.01)
        for method, variant, reward, bias in LEARNED
        for metric, value in (("reward", reward), ("bias", bias))
    ]
    names = ["method", "variant", "metric", "value", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def seeds() -> pd.DataFrame:
    generator = np.random.default_rng(2)
    rows = [
        (method, variant, seed, generator.normal(reward, 0.01), generator.normal(bias, 0.01))
        for method, variant, reward, bias in LEARNED
        for seed in range(SEEDS)
    ]
    return pd.DataFrame(rows, columns=["method", "variant", "seed", "reward", "bias"])


def groups(**columns: object) -> pd.DataFrame:
    rows = [
        (metric, group, value + group / 10, value + group / 10 - 0.02, value + group / 10 + 0.02)
        for metric, value in (("rate", 0.7), ("demand", 0.3))
        for group in (0, 1)
    ]
    frame = pd.DataFrame(rows, columns=["metric", "group", "value", "low", "high"])
    return frame.assign(**columns)


def paths() -> pd.DataFrame:
    rows = [
        ("A", "blue", 0, 0, 1), ("A", "blue", 1, 5, 5), ("A", "red", 0, 0, 5),
        ("A", "red", 1, 1, 1), ("B", "blue", 0, 0, 1), ("B", "blue", 1, 5, 5),
        ("B", "red", 0, 1, 5), ("B", "red", 1, 0, 1),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["trajectory", "group", "step", "supply", "demand"])


def with_a_fall(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Make all values of some columns negative, those of one arm a hundred times as large."""
    fallen = (frame["method"] == "elbert-po") & (frame["variant"] == "as_coded")
    moved = (frame[list(names)] - 2).mul(np.where(fallen, 100, 1), axis=0)
    return frame.assign(**moved)


def in_panels(*titles: str) -> pd.DataFrame:
    return pd.concat([bands().assign(panel=title) for title in titles], ignore_index=True)


def squeezed_figures() -> dict[str, Figure]:
    lines = REFERENCES.iloc[:3].assign(value=[-1.9, -2.0, -2.6])
    points = REFERENCES.iloc[:3].assign(reward=[-1.9, -2.0, -5.0])
    rewards = summaries()["metric"] == "reward"
    return {
        "squeezed_curves": learning_curves(
            with_a_fall(bands(), *ENDS),
            runs=with_a_fall(runs(), "value"),
            references=lines,
            quantity="reward per step",
            band=INTERVAL,
            logarithmic_beyond=-3.0,
        ),
        "squeezed_trade_off": trade_off(
            with_a_fall(summaries(), *ENDS).where(rewards, summaries()),
            seeds=with_a_fall(seeds(), "reward"),
            references=points,
            interval=INTERVAL,
            logarithmic_beyond=-3.0,
        ),
    }


def every_figure() -> dict[str, Figure]:
    both = pd.concat(
        [
            groups(method="g-ppo", variant="as_coded"),
            groups(method="threshold-2-1", variant="reference"),
        ]
    )
    quantities = {"rate": "benefit rate", "demand": "demand per step"}
    series = pd.DataFrame({"a": [0, 1], "b": [1, 3]}, index=[1, 2])
    values = REFERENCES.rename(columns={"bias": "value"})
    return {
        "curves": learning_curves(
            bands(), runs=runs(), references=values, quantity="bias", band=INTERVAL
        ),
        "trade_off": trade_off(
            summaries(), seeds=seeds(), references=REFERENCES, interval=INTERVAL
        ),
        "bars": group_rates(both, quantities=quantities, interval=INTERVAL),
        "trajectories": trajectories(paths()),
        "panels": curve_panels(in_panels("B", "A", "C"), quantity="bias", band=INTERVAL),
        "lines": line_chart(series, across="crowd", up="bias"),
        "line_panels": line_panels({"bias": series, "rate": series[["a"]]}, across="crowd"),
        **squeezed_figures(),
    }


class Drawn(dict[str, Figure]):
    """All figures by name, drawn when a test asks for one: every process collects this file."""

    def __missing__(self, name: str) -> Figure:
        self.update(every_figure())
        return self.get(name) or pytest.fail(f"no figure {name}")


FIGURES, AGAIN = Drawn(), Drawn()
NAMES = (
    "curves", "trade_off", "bars", "trajectories", "panels", "lines", "line_panels",
    "squeezed_curves", "squeezed_trade_off",
)  # fmt: skip


def test_every_figure_is_named() -> None:
    assert FIGURES[NAMES[0]]
    assert tuple(FIGURES) == NAMES


def words(figure: Figure) -> list[Text]:
    figure.figure.draw_without_rendering()
    found = [text for text in figure.figure.findobj(Text) if text.get_text().strip()]
    return [text for text in found if text.get_visible()]


@pytest.mark.parametrize("name", NAMES)
def test_every_word_is_inside_the_picture_and_large_enough(name: str) -> None:
    figure = FIGURES[name].figure
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox().transformed(figure.dpi_scale_trans)
    names = [Text.get_window_extent(text) for text in figure.findobj(Annotation)]
    for box in (drawn, *names):
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1
    assert min(text.get_fontsize() for text in words(FIGURES[name])) >= 9


@pytest.mark.parametrize("name", NAMES)
def test_every_word_has_contrast_with_the_card(name: str) -> None:
    for text in words(FIGURES[name]):
        channels = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in to_rgb(text.get_color())
        ]
        luminance = float(np.dot(channels, [0.2126, 0.7152, 0.0722]))
        assert 1.05 / (luminance + 0.05) >= 4.5, text.get_text()


@pytest.mark.parametrize("name", ["curves", "trade_off"])
def test_names_of_references_do_not_cover_each_other(name: str) -> None:
    figure = FIGURES[name]
    figure.figure.draw_without_rendering()
    names = [text for text in figure.figure.findobj(Annotation) if text.get_text()]
    assert len(names) == len(REFERENCES)
    boxes = [Text.get_window_extent(text) for text in names]
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)


def test_names_in_the_trade_off_cover_no_point() -> None:
    figure = FIGURES["trade_off"].figure
    figure.draw_without_rendering()
    axes = figure.axes[0]
    middles = pd.DataFrame(LEARNED, columns=["method", "variant", "reward", "bias"])
    points = pd.concat([REFERENCES, middles, seeds()])[["bias", "reward"]].to_numpy(float)
    pixels = axes.transData.transform(points)
    for text in figure.findobj(Annotation):
        box = Text.get_window_extent(text)
        assert not any(box.contains(x, y) for x, y in pixels), text.get_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_a_sharp_picture_on_a_white_card_and_always_the_same(name: str) -> None:
    figure, again = FIGURES[name], AGAIN[name]
    first = figure.png()
    assert again.png() == first
    picture = Image.open(io.BytesIO(first)).convert("RGB")
    width, height = figure.figure.get_size_inches()
    assert picture.size == pytest.approx((200 * width, 200 * height), abs=1)
    assert picture.getpixel((2, 2)) == (255, 255, 255)
    assert len(first) < 300_000


@pytest.mark.parametrize("name", NAMES)
def test_no_title_is_embedded_and_labels_are_lower_case(name: str) -> None:
    for axes in FIGURES[name].figure.axes:
        assert axes.get_title() == ""
        for text in (axes.get_xlabel(), axes.get_ylabel()):
            assert text == text.lower()


@pytest.mark.parametrize("name", NAMES)
def test_words_say_of_axes_what_the_axes_show(name: str) -> None:
    shown = shown_axes(FIGURES[name].figure)
    assert shown or name == "bars"
    assert contradictions(FIGURES[name].alt_text, shown) == []


def test_long_axes_are_told_in_their_unit() -> None:
    assert "training steps (millions), from 0 to 2;" in FIGURES["curves"].alt_text
    assert "training steps (millions), from 0 to 2;" in FIGURES["panels"].alt_text
    long = line_chart(pd.DataFrame({"a": [0, 1]}, index=[0, 50_000]), across="loans", up="bias")
    assert "loans (thousands), from 0 to 50." in long.alt_text


def crowd(methods: int, *, apart: bool = False) -> Figure:
    """Curves of several methods, ten runs of each."""
    names = ("g-ppo", "r-ppo", "a-ppo", "elbert-po", "cpo")[:methods]
    one = bands().query("method == 'g-ppo'")
    single = runs().query("method == 'g-ppo'")
    return learning_curves(
        pd.concat([one.assign(method=name) for name in names]),
        runs=pd.concat([single.assign(method=name) for name in names]),
        references=REFERENCES.rename(columns={"bias": "value"}).iloc[:2],
        quantity="bias",
        band=INTERVAL,
        apart=apart,
    )


def test_few_methods_have_panels_in_one_row_if_they_are_asked_for() -> None:
    panels = crowd(3, apart=True).figure.axes
    assert len(panels) == 3
    assert len({panel.get_position().y0 for panel in panels}) == 1


def test_where_methods_would_hide_each_other_each_has_a_panel() -> None:
    assert len(crowd(3).figure.axes) == 1
    figure = crowd(5)
    panels = [axes for axes in figure.figure.axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in panels] == [
        METHODS[name].label for name in ("g-ppo", "r-ppo", "a-ppo", "elbert-po", "cpo")
    ]
    for axes in panels:
        lines = axes.get_lines()
        grey = [line for line in lines if line.get_color() == GREY and line.get_linewidth() == 1]
        thin = [line for line in lines if line.get_linewidth() < 1]
        assert (len(grey), len(thin), len(axes.collections)) == (4, SEEDS, 1)
    named = [text.get_text() for text in figure.figure.findobj(Annotation) if text.get_text()]
    assert named == [METHODS["reject-all"].label, METHODS["accept-all"].label]
    assert ", a panel for each method;" in figure.alt_text
    assert contradictions(figure.alt_text, shown_axes(figure.figure)) == []


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (
            "training steps (millions), from 0 to 2",
            "training steps (millions), from 0 to 2,000,000",
        ),
        ("goes from 0 to 0.04", "goes from 0 to 40"),
    ],
)
def test_a_number_outside_its_axis_is_found(said: str, instead: str) -> None:
    figure = FIGURES["curves"]
    wrong = figure.alt_text.replace(said, instead)
    assert wrong != figure.alt_text
    (found,) = contradictions(wrong, shown_axes(figure.figure))
    assert "but the axis shows" in found


def test_a_point_outside_its_axis_is_found() -> None:
    figure = FIGURES["trade_off"]
    wrong = figure.alt_text.replace("bias 0.161", "bias 161")
    assert contradictions(wrong, shown_axes(figure.figure))


def test_curves_say_where_they_end_and_hold_the_single_runs() -> None:
    figure = FIGURES["curves"]
    assert "Line chart of bias against training steps (millions)" in figure.alt_text
    assert "ELBERT-PO (as published) goes from 0 to 0.04 (band 0.03 to 0.05)" in figure.alt_text
    assert "threshold 3 / 3 (myopic) 0.172" in figure.alt_text
    assert INTERVAL in figure.alt_text
    assert len(figure.data) == len(runs())
    assert set(figure.data["seed"]) == set(range(SEEDS))


def test_curves_of_one_run_name_no_band() -> None:
    alone = bands().assign(low=lambda rows: rows["value"], high=lambda rows: rows["value"])
    text = learning_curves(alone, quantity="bias", band="one run").alt_text
    assert "ELBERT-PO (as published) goes from 0 to 0.04." in text
    assert "(band" not in text


def test_curves_draw_every_seed_and_every_method() -> None:
    lines = FIGURES["curves"].figure.axes[0].get_lines()
    thin = [line for line in lines if line.get_linewidth() < 1]
    thick = [line for line in lines if line.get_linewidth() >= 2]
    assert len(thin) == SEEDS * len(LEARNED)
    np.testing.assert_allclose(thick[0].get_ydata()[-1], 0.161)


def test_curves_keep_their_data_without_single_runs() -> None:
    figure = learning_curves(bands(), quantity="bias", band=INTERVAL)
    assert list(figure.data.columns) == list(bands().columns)


def test_a_band_far_beyond_all_runs_is_cut() -> None:
    wide = bands().assign(low=lambda frame: frame["low"].where(frame["step"] < 1e6, -40.0))
    figure = learning_curves(wide, runs=runs(), quantity="bias", band=INTERVAL)
    values = pd.concat([runs()["value"], wide["value"]])
    room = 0.5 * (values.max() - values.min())
    assert figure.figure.axes[0].get_ylim()[0] == pytest.approx(values.min() - room)
    assert "go on beyond the edge" in figure.alt_text
    whole = learning_curves(bands(), runs=runs(), quantity="bias", band=INTERVAL)
    assert "go on beyond the edge" not in whole.alt_text


@pytest.mark.parametrize("name", ["squeezed_curves", "squeezed_trade_off"])
def test_an_axis_can_be_logarithmic_beyond_a_number(name: str) -> None:
    figure = FIGURES[name]
    figure.figure.draw_without_rendering()
    axes = figure.figure.axes[0]
    heights = axes.transAxes.inverted().transform(
        axes.transData.transform([(0, value) for value in (-1.5, -2.0, -2.5, -100.0, -200.0)])
    )[:, 1]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2])
    assert 0 < heights[3] - heights[4] < 0.5 * (heights[0] - heights[1])
    ticks = {text.get_text() for text in axes.get_yticklabels()}
    assert {"-100", "-10", "-3", "-2"} <= ticks
    assert len(ticks) < 12
    assert "reward per step (logarithmic below -3)" in figure.alt_text


def test_an_axis_can_be_logarithmic_above_a_number() -> None:
    rising = with_a_fall(bands(), *ENDS)
    rising = rising.assign(**{name: -rising[name] for name in ("value", "low", "high")})
    figure = learning_curves(rising, quantity="demand", band=INTERVAL, logarithmic_beyond=5.0)
    ticks = {text.get_text() for text in figure.figure.axes[0].get_yticklabels()}
    assert {"2", "5", "10", "100"} <= ticks
    assert figure.figure.axes[0].get_ylabel() == "demand (logarithmic above 5)"


def test_an_axis_of_shares_can_be_logarithmic_above_one() -> None:
    rates = bands().assign(value=0.1, low=0.05, high=0.6)
    figure = learning_curves(rates, quantity="rate", band=INTERVAL, logarithmic_beyond=0.2)
    ticks = {text.get_text() for text in figure.figure.axes[0].get_yticklabels()}
    assert {"0.1", "0.2", "1"} <= ticks


def test_panels_come_in_their_order_and_share_axes_and_legend() -> None:
    figure = FIGURES["panels"]
    first, second, third, unused = figure.figure.axes
    assert [axes.get_title(loc="left") for axes in (first, second, third)] == ["B", "A", "C"]
    assert not unused.axison
    assert first.get_shared_x_axes().joined(first, third)
    assert first.get_shared_y_axes().joined(first, second)
    assert len(figure.figure.legends) == 1
    assert figure.alt_text.count("Line chart of bias") == 1
    assert figure.alt_text.count("ELBERT-PO (as published) goes from 0 to 0.04") == 3
    assert figure.alt_text.index(" B: ") < figure.alt_text.index(" A: ")
    assert len(figure.data) == 3 * len(bands())


def test_panels_can_be_logarithmic_and_end_where_the_curves_do() -> None:
    rising = in_panels("A", "B").assign(high=300.0)
    figure = curve_panels(rising, quantity="demand", band=INTERVAL, logarithmic_beyond=5.0)
    assert "demand (logarithmic above 5)" in figure.alt_text
    ticks = {text.get_text() for text in figure.figure.axes[0].get_yticklabels()}
    assert {"5", "100"} <= ticks
    assert "10" not in ticks  # in so low a panel it would touch the 5
    for axes in figure.figure.axes:
        assert axes.get_ylim()[0] > -1  # the margin is that of the scale, not of the numbers
        assert axes.get_xlim() == (0, 2_000_000)


def test_an_axis_is_not_logarithmic_beyond_zero() -> None:
    with pytest.raises(UsageError, match="beyond a number other than zero; got 0"):
        learning_curves(bands(), quantity="bias", band=INTERVAL, logarithmic_beyond=0)


def test_trade_off_says_both_numbers_of_every_method_and_reference() -> None:
    figure = FIGURES["trade_off"]
    assert "G-PPO (as coded): bias 0.161 (0.151 to 0.171), reward per step 0.148" in figure.alt_text
    assert "Reference threshold 2 / 1: bias 0.026, reward per step 0.187." in figure.alt_text
    assert len(figure.data) == len(seeds()) + len(REFERENCES)


def test_trade_off_calls_what_is_across_by_its_label() -> None:
    figure = trade_off(
        summaries(),
        interval=INTERVAL,
        seeds=seeds(),
        bias_label="gap in rates",
        reward_label="cash",
    )
    assert "G-PPO (as coded): gap in rates 0.161 (" in figure.alt_text
    assert "cash 0.148 (" in figure.alt_text
    assert "reward" not in figure.alt_text


def test_an_interval_that_is_its_value_is_not_written() -> None:
    told = summaries().assign(low=summaries()["value"], high=summaries()["value"])
    text = trade_off(told, interval="median, no interval", seeds=seeds()).alt_text
    assert "G-PPO (as coded): bias 0.161, reward per step 0.148." in text


def test_bars_say_every_value_and_use_the_names_of_the_groups() -> None:
    assert "G-PPO: benefit rate group 0 0.7, group 1 0.8" in FIGURES["bars"].alt_text
    frame = groups(method="g-ppo", variant="as_coded")
    named = group_rates(
        frame, quantities={"rate": "rate"}, interval=INTERVAL, group_names=["rich", "poor"]
    )
    assert "rich 0.7, poor 0.8" in named.alt_text
    assert set(named.data["metric"]) == {"rate"}


def test_trajectories_say_the_corners_and_the_slopes() -> None:
    figure = FIGURES["trajectories"]
    assert "red passes (0, 0), (5, 0), (6, 1), long-term rate 0.167" in figure.alt_text
    assert "red passes (0, 0), (5, 1), (6, 1), long-term rate 0.167" in figure.alt_text
    corner = figure.data.query("trajectory == 'B' and group == 'red' and step == 1").iloc[0]
    assert (corner["cumulative_demand"], corner["cumulative_supply"]) == (5, 1)


def test_learning_curves_name_another_horizontal_axis() -> None:
    figure = learning_curves(bands(), quantity="bias", band=INTERVAL, across="tolerance")
    assert figure.figure.axes[0].get_xlabel() == "tolerance"
    assert "bias against tolerance" in figure.alt_text
    assert "steps" not in figure.alt_text


def test_line_chart_says_the_ends_and_can_be_logarithmic() -> None:
    figure = FIGURES["lines"]
    assert figure.alt_text == (
        "Line chart of bias against crowd, from 1 to 2. a goes from 0 to 1. b goes from 1 to 3."
    )
    assert list(figure.data.columns) == ["crowd", "a", "b"]
    backwards = pd.DataFrame({"a": [2, 1, 0]}, index=[100, 10, 1])
    figure = line_chart(backwards, across="crowd", up="bias", logarithmic=True)
    axes = figure.figure.axes[0]
    assert axes.get_xscale() == "log"
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), [0, 1, 2])


@pytest.mark.parametrize(
    ("last", "label", "tick"),
    [
        (9_000, "steps", "2000"),
        (20_000, "steps (thousands)", "5"),
        (1_500_000, "steps (millions)", "0.2"),
    ],
)
def test_line_chart_has_no_power_of_ten_beside_its_axis(last: int, label: str, tick: str) -> None:
    figure = line_chart(pd.DataFrame({"a": [1, 2]}, index=[0, last]), across="steps", up="bias")
    axis = figure.figure.axes[0].xaxis
    assert axis.get_label_text() == label
    assert tick in [text.get_text() for text in axis.get_ticklabels()]
    assert axis.get_offset_text().get_text() == ""
    assert figure.data.columns[0] == "steps"


def test_styles_of_methods_are_distinct_even_without_colour() -> None:
    markers = [style.marker for style in METHODS.values()]
    assert len(set(markers)) == len(markers)


def test_styles_of_groups_are_distinct_even_without_colour() -> None:
    group_marks = {(style.marker, str(style.line)) for style in GROUPS}
    assert len(group_marks) == len(GROUPS)


def test_variants_differ_in_filling_and_line() -> None:
    coded, published = method_style("elbert-po"), method_style("elbert-po", "as_published")
    assert (coded.filled, published.filled) == (True, False)
    assert coded.line != published.line
    assert coded.colour == published.colour


def test_a_method_of_ones_own_can_bring_its_style() -> None:
    frame = bands().assign(method="mine", variant="")
    own = {"mine": LineStyle("Mine", "#009E73", "h")}
    figure = learning_curves(frame, quantity="bias", band=INTERVAL, styles=own)
    assert "Mine goes from" in figure.alt_text
    with pytest.raises(UsageError, match="method 'mine' has no figure style; pass one as styles="):
        learning_curves(frame, quantity="bias", band=INTERVAL)
    with pytest.raises(UsageError, match="did you mean 'elbert-po'"):
        method_style("elbert")


def test_a_method_is_introduced_once() -> None:
    style = METHODS["elbert-po"]
    introduce({"elbert-po": style})
    with pytest.raises(UsageError, match="method 'elbert-po' has a style already"):
        introduce({"elbert-po": replace(style, marker="h")})


def test_bad_tables_are_named() -> None:
    with pytest.raises(UsageError, match="bands lacks the column low"):
        learning_curves(bands().drop(columns="low"), quantity="bias", band=INTERVAL)
    with pytest.raises(UsageError, match="summaries has no rows"):
        trade_off(summaries().iloc[:0], interval=INTERVAL, seeds=seeds())
    with pytest.raises(UsageError, match="summaries has 0 rows of bias of g-ppo; give one"):
        trade_off(summaries().drop(index=1), interval=INTERVAL, seeds=seeds())
    with pytest.raises(UsageError, match="frame has missing values"):
        trajectories(paths().assign(supply=np.nan))
    with pytest.raises(UsageError, match="frame, for nothing has no rows"):
        group_rates(groups(method="g-ppo"), quantities={"nothing": "x"}, interval=INTERVAL)
    with pytest.raises(UsageError, match="group 7 has no figure style; 0 to 4 have one"):
        group_style(7)


def test_a_figure_needs_words() -> None:
    drawing, _ = canvas(2, 2)
    with pytest.raises(UsageError, match="alternative text"):
        Figure(drawing, "  ", pd.DataFrame())


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.0004, "0"), (-0.1025, "-0.102"), (0.16149, "0.161"), (12.0, "12"),
     (2_000_000.0, "2,000,000"), (1234.5, "1,234"), (999.6, "1,000")],
)  # fmt: skip
def test_numbers_are_written_for_reading_aloud(value: float, text: str) -> None:
    assert number(value) == text


def test_running_means_stand_before_pale_values() -> None:
    frame = pd.DataFrame({"a": [0.0, 3.0, 0.0, 3.0]}, index=[1, 2, 3, 4])
    figure = line_panels({"rate": frame, "both": frame.assign(b=1.0)}, across="step", averaged=3)
    first, second = figure.figure.axes
    pale, line = first.lines
    assert pale.get_alpha() is not None
    np.testing.assert_allclose(line.get_ydata(), [1.5, 1.0, 2.0, 1.5])
    assert "rate: a goes from 1.5 to 1.5." in figure.alt_text
    assert "running means over 3 values" in figure.alt_text
    assert list(figure.data["rate, a"]) == [0.0, 3.0, 0.0, 3.0]
    assert first.get_legend() is None
    names = second.get_legend()
    assert names is not None
    figure.figure.draw_without_rendering()
    assert names.get_window_extent().y0 > second.get_window_extent().y1


@pytest.mark.parametrize(("count", "columns"), [(4, 2), (5, 3), (6, 3), (7, 3)])
def test_many_methods_stand_three_in_a_row(count: int, columns: int) -> None:
    names = [chr(ord("a") + number) for number in range(count)]
    styles = {name: LineStyle(name, "#000000", "o") for name in names}
    runs = pd.DataFrame(
        [(name, 0, step, float(step)) for name in names for step in (0, 1)],
        columns=["method", "seed", "step", "value"],
    )
    bands = runs.assign(low=runs["value"], high=runs["value"])
    figure = learning_curves(bands, quantity="bias", band="one run", runs=runs, styles=styles)
    place = figure.figure.axes[0].get_subplotspec()
    assert place is not None
    assert place.get_gridspec().ncols == columns
    assert len(figure.figure.legends) == 1
