"""Heat maps: panels on one scale, marks, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import QuadMesh

from longfair.errors import UsageError
from longfair.figures import Figure
from longfair.figures.heat_maps import heat_maps


def cells() -> pd.DataFrame:
    axis = np.linspace(0, 1, 5)
    right, height = (grid.ravel() for grid in np.meshgrid(axis, axis))
    first = pd.DataFrame({"panel": "first", "right": right, "height": height, "value": right})
    second = first.assign(panel="second", value=3 * (height - 0.25) ** 2 + right)
    return pd.concat([first, second], ignore_index=True)


def drawn(smallest: str = "") -> Figure:
    return heat_maps(cells(), value="loss", axes="threshold of group {}", smallest=smallest)


def mesh(figure: Figure, panel: int) -> QuadMesh:
    (found,) = (m for m in figure.figure.axes[panel].collections if isinstance(m, QuadMesh))
    return found


def test_panels_share_one_scale_and_group_0_runs_across() -> None:
    figure = drawn()
    first, second, bar = figure.figure.axes
    assert [panel.get_title(loc="left") for panel in (first, second)] == ["first", "second"]
    assert (first.get_xlabel(), first.get_ylabel()) == (
        "threshold of group 0",
        "threshold of group 1",
    )
    assert bar.get_ylabel() == "loss"
    assert mesh(figure, 0).get_clim() == mesh(figure, 1).get_clim() == (0.0, 2.6875)
    values = np.asarray(mesh(figure, 0).get_array()).reshape(5, 5)
    np.testing.assert_allclose(values, np.tile(np.linspace(0, 1, 5), (5, 1)))


def test_the_smallest_is_marked_where_it_has_a_name() -> None:
    assert not drawn().figure.axes[1].lines
    figure = drawn("the best pair")
    (mark,) = figure.figure.axes[1].lines
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (0.0, 0.25)
    assert "second: mean 1.06, the best pair is 0 at (0, 0.25)" in figure.alt_text


def test_what_is_no_grid_is_refused() -> None:
    with pytest.raises(UsageError, match="24 pairs are not a grid"):
        heat_maps(cells().iloc[:-1], value="loss", axes="{}")
    with pytest.raises(UsageError, match="value"):
        heat_maps(cells().drop(columns="value"), value="loss", axes="{}")
