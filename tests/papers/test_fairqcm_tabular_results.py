"""Reading tabular results, exact scores, and the small studies of the notebook."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.papers.fairqcm import tabular_results as tabular

TIME = QLearningSettings(imagine=True, time=True)


def rows(method: str, variant: str, seed: int, values: dict[tuple[str, str, int], float]) -> list:
    return [
        (method, variant, seed, phase, step, metric, -1, value)
        for (phase, metric, step), value in values.items()
    ]


@pytest.fixture(scope="module")
def results() -> pd.DataFrame:
    found = []
    for seed in range(4):
        for variant, gain in (("as_coded", 0.0), ("as_published", 2.0)):
            values = {
                ("curve", "return", 96_000): 30.0 + seed + gain,
                ("curve", "return", 108_000): 40.0,
                ("final", "return", 108_000): 35.0 + seed + gain,
            }
            found += rows("full", variant, seed, values)
        found += rows("oracle", "reference", seed, {("final", "return", 0): 37.0 + seed})
    columns = ["method", "variant", "seed", "phase", "step", "metric", "group", "value"]
    return pd.DataFrame(found, columns=columns)


def test_curve_table_takes_the_moments_asked_for(results: pd.DataFrame) -> None:
    table = tabular.curve_table(results, [8_000], ["as_coded"])
    assert list(table.columns) == ["8,000 episodes"]
    assert table.loc[("full", "as_coded"), "8,000 episodes"].startswith("31.50 [")


def test_changes_are_paired_by_seed(results: pd.DataFrame) -> None:
    pair = {("full", "as_published"): ("full", "as_coded"), ("min", "as_coded"): ("full", "x")}
    table = tabular.changes(results, pair, {"return": ("return", 1), "allocated": ("taken", 1)})
    assert list(table.index) == [("full", "as_published")]
    line = table.loc[("full", "as_published")]
    assert line.to_dict() == {"compared with": "full as_coded", "return": "+2.0 [+2.0, +2.0]"}


def test_distances_are_powers_of_ten_over_episodes() -> None:
    found = [
        row
        for seed, value in enumerate((0.05, 0.15))
        for row in rows("fairqcm", "as_published", seed, {("curve", "mean_distance", 400): value})
    ]
    columns = ["method", "variant", "seed", "phase", "step", "metric", "group", "value"]
    table = tabular.distance_curves(pd.DataFrame(found, columns=columns), "mean_distance")
    assert table.index.tolist() == [100]
    assert table.to_numpy().item() == pytest.approx(-1.0)


def test_exact_scores_are_those_recomputed_elsewhere() -> None:
    table = tabular.exact_scores()
    assert table.index[0] == "oracle"
    expected = {"oracle": 37.635, "rotation": 37.319, "random": 25.480, "strict-rotation": 26.91}
    for policy, value in expected.items():
        assert table.loc[policy, "return"] == pytest.approx(value, abs=0.005)
    assert table.loc["random", "allocated"] == pytest.approx(9.6)
    assert tabular.optimum() == pytest.approx(table.loc["oracle", "return"])


def test_without_time_wasting_looks_cheap_and_with_time_it_does_not() -> None:
    truth = tabular.exact_first_choice(TIME.discount)
    assert truth["serve"] == pytest.approx(35.186, abs=0.001)
    assert truth["gap"] == pytest.approx(truth["serve"] - truth["waste"])
    without = tabular.first_choice(QLearningSettings(imagine=True), [1_000, 20_000], seed=1000)
    knowing = tabular.first_choice(TIME, [20_000], seed=1000)
    assert without.index.tolist() == [1_000, 20_000]
    assert without.loc[20_000, "gap"] < truth["gap"] / 4 < knowing.loc[20_000, "gap"]
    assert np.isclose(knowing.loc[20_000, "serve"], truth["serve"], rtol=0.02)
