"""An axis is cut where nothing is, if the rest then gets much more room."""

from __future__ import annotations

import pandas as pd
import pytest

from longfair.figures import trade_off
from longfair.figures.display import Figure
from longfair.figures.style import BLUE, LineStyle

STYLES = {"learner": LineStyle("learner", BLUE, "o")}


def drawn(*rewards: float) -> Figure:
    seeds = pd.DataFrame({"method": "learner", "seed": range(len(rewards)), "reward": rewards})
    seeds = seeds.assign(bias=0.1 + 0.01 * seeds["seed"])
    middles = {"reward": sorted(rewards)[len(rewards) // 2], "bias": 0.1}
    summaries = pd.DataFrame(
        {
            "method": "learner",
            "metric": list(middles),
            "value": middles.values(),
            "low": middles.values(),
            "high": middles.values(),
        }
    )
    return trade_off(summaries, interval="median", seeds=seeds, styles=STYLES)


def test_a_far_run_does_not_squeeze_the_others() -> None:
    figure = drawn(10_000.0, 11_500.0, 11_600.0, 11_700.0, 11_800.0)
    (axes,) = figure.figure.axes
    place = {
        value: axes.transAxes.inverted().transform(axes.transData.transform((0.1, value)))[1]
        for value in (10_000.0, 11_500.0, 11_600.0, 11_700.0, 11_800.0)
    }
    assert place[11_800] - place[11_500] > 0.5
    assert place[11_600] - place[11_500] == pytest.approx(place[11_800] - place[11_700])
    assert place[11_500] - place[10_000] < 0.25
    ticks = {text.get_text() for text in axes.get_yticklabels()}
    assert {"10000", "11500", "11800"} <= ticks
    assert [text.get_text() for text in axes.texts] == ["axis cut"]
    assert "The vertical axis leaves out 10,018 to 11,482." in figure.alt_text


@pytest.mark.parametrize(
    "rewards", [(1.0, 2.0, 3.0, 4.0), (1.0, 2.0), (1.0, 1.1, 2.9, 3.0), (5.0,), (5.0, 5.0)]
)
def test_an_axis_that_would_lose_its_meaning_or_gains_nothing_is_not_cut(
    rewards: tuple[float, ...],
) -> None:
    figure = drawn(*rewards)
    assert "leaves out" not in figure.alt_text
    assert figure.figure.axes[0].get_yscale() == "linear"
