"""Phase portraits: panels on one scale, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.contour import QuadContourSet

from longfair.errors import UsageError
from longfair.figures import Figure
from longfair.figures.phase_portrait import LEVELS, phase_portrait


def flows() -> pd.DataFrame:
    axis = np.linspace(0.01, 0.99, 8)
    first, second = (grid.ravel() for grid in np.meshgrid(axis, axis))
    up = pd.DataFrame({"rate_0": first, "rate_1": second, "panel": "up"})
    up = up.assign(change_0=0.1, change_1=0.2, shade=first)
    apart = up.assign(panel="apart", change_1=-0.1, shade=0.5 * second)
    return pd.concat([up, apart], ignore_index=True)


def drawn() -> Figure:
    return phase_portrait(flows(), shade="gap", axes="rate of group {}")


def test_every_policy_has_a_panel_on_the_same_scale() -> None:
    figure = drawn()
    first, second, bar = figure.figure.axes
    assert [panel.get_title(loc="left") for panel in (first, second)] == ["up", "apart"]
    assert (first.get_xlabel(), first.get_ylabel()) == ("rate of group 0", "rate of group 1")
    assert bar.get_ylabel() == "gap"
    levels = []
    for panel in (first, second):
        (filled,) = (kind for kind in panel.collections if isinstance(kind, QuadContourSet))
        levels.append(filled.levels)
    assert len(levels[0]) == LEVELS + 1
    np.testing.assert_array_equal(*levels)


def test_group_0_runs_across() -> None:
    """In the first panel the shade grows with the rate of group 0, so columns differ."""
    figure = drawn()
    panel = figure.figure.axes[0]
    (filled,) = (kind for kind in panel.collections if isinstance(kind, QuadContourSet))
    last = filled.get_paths()[-1].vertices
    assert last[:, 0].min() > 0.8
    assert np.ptp(last[:, 1]) > 0.9


def test_the_words_count_where_rates_rise() -> None:
    text = drawn().alt_text
    assert "up: both rates rise in 100% of the states and fall in 0%" in text
    assert "apart: both rates rise in 0% of the states and fall in 0%" in text
    assert "the largest gap is 0.99" in text


def test_what_is_no_grid_is_refused() -> None:
    with pytest.raises(UsageError, match="63 states are not a square grid"):
        phase_portrait(flows().iloc[:63], shade="gap", axes="{}")
    with pytest.raises(UsageError, match="shade"):
        phase_portrait(flows().drop(columns="shade"), shade="gap", axes="{}")
