"""Portraits of learned policies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.papers.page import Runs
from longfair.papers.registry import experiment
from longfair.papers.ucbfair.flow import SIZE
from longfair.papers.ucbfair.portrait_results import learned_portraits, rising
from longfair.papers.ucbfair.results import POPULATION

PORTRAITS = experiment("ucbfair/portraits-synthetic")
ARM = ("l-ucbfair", "as_published")


@pytest.fixture(scope="module")
def runs() -> Runs:
    (arm,) = (one for one in PORTRAITS.arms["smoke"] if (one.method, one.variant) == ARM)
    table = arm.work(arm.config, 0).assign(
        method=ARM[0], variant=ARM[1], profile="smoke", seed=0, experiment=PORTRAITS.id
    )
    return Runs(PORTRAITS, "smoke", POPULATION).showing(table)


def test_a_learner_has_a_panel_for_each_moment(runs: Runs) -> None:
    missing = ("r-td3", "as_published")
    figure = learned_portraits(runs, {ARM: "L-UCBFair", missing: "R-TD3"})
    assert figure is not None
    titles = list(dict.fromkeys(figure.data["panel"]))
    assert titles == ["L-UCBFair, first step", "L-UCBFair, halfway"]
    assert len(figure.data) == 2 * SIZE**2
    first = figure.data[figure.data["panel"] == titles[0]]
    up = (first["change_0"] > 0) & (first["change_1"] > 0)
    assert up.mean() == pytest.approx(rising(runs, *ARM))
    assert np.isfinite(figure.data["shade"]).all()


def test_without_runs_there_is_no_portrait(runs: Runs) -> None:
    assert learned_portraits(runs.showing(pd.DataFrame()), {ARM: "L-UCBFair"}) is None
