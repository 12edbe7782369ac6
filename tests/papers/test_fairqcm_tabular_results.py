"""Reading tabular results, exact scores, and the small studies of the notebook."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.figures import Words
from longfair.papers.fairqcm import tabular_results as tabular
from longfair.papers.fairqcm.arms import arms_as_methods
from longfair.papers.fairqcm.tabular import CONVERGENCE, PUBLISHED, REFERENCE_POLICIES, TABULAR
from longfair.papers.live import LIVE
from longfair.papers.page import NOT_STORED, Runs
from longfair.runs.experiment import Experiment

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


def shown(results: pd.DataFrame, experiment: Experiment = TABULAR) -> Runs:
    return Runs(experiment, "book", tabular.LOOK).showing(results)


def test_curves_are_laid_out_at_the_moments_that_they_have(results: pd.DataFrame) -> None:
    table = tabular.at_moments(shown(results), "return", "as_coded")
    assert list(table.columns) == ["8,000 episodes"]
    assert table.loc[("Full", "as coded"), "8,000 episodes"].startswith("31.50 [")
    short = results[results["step"] != 96_000]
    assert list(tabular.at_moments(shown(short), "return", "as_coded")) == ["9,000 episodes"]
    assert isinstance(tabular.at_moments(shown(results.iloc[:0]), "return", "as_coded"), Words)


def test_changes_are_paired_by_seed(results: pd.DataFrame) -> None:
    pair = {("full", "as_published"): ("full", "as_coded"), ("min", "as_coded"): ("full", "x")}
    quantities = {"return": ("return", 1), "allocated": ("taken", 1)}
    table = tabular.changes(shown(results), pair, quantities)
    assert list(table.index) == [("Full", "as published")]
    line = table.loc[("Full", "as published")]
    assert line.to_dict() == {"compared with": "Full as coded", "return": "+2.0 [+2.0, +2.0]"}
    assert isinstance(tabular.changes(shown(results.iloc[:0]), pair, quantities), Words)


def test_one_figure_holds_several_variants_of_a_method(results: pd.DataFrame) -> None:
    arms = [("full", "as_published"), ("full", "as_coded"), ("min", "as_coded")]
    several = arms_as_methods(shown(results), "compared", arms)
    assert several.learned == [("full as_published", "compared"), ("full as_coded", "compared")]
    figure = several.curve_figure("return", "compared", beside=["oracle"])
    assert figure is not None
    assert "Full, as published goes from 33.5 to 40" in figure.alt_text
    assert "Full, as coded goes from 31.5 to 40" in figure.alt_text
    assert "Horizontal reference lines: Oracle 38.5." in figure.alt_text
    nothing = arms_as_methods(shown(results.iloc[:0]), "compared", arms)
    assert nothing.curve_figure("return", "compared") is None


def test_the_live_runs_have_the_papers_agents_and_what_learns_nothing() -> None:
    live = tabular.live(1000, 200, bin_episodes=100)
    assert set(live[live["variant"] == LIVE]["method"]) == set(PUBLISHED)
    assert set(live[live["variant"] == "reference"]["method"]) == set(REFERENCE_POLICIES)
    rows = live.query("method == 'fairqcm' and phase == 'curve' and metric == 'return'")
    assert rows["step"].tolist() == [1200, 2400]
    table = shown(live).live_table(live, {"return": ("return", 2)})
    assert float(table.loc["Oracle", "return"]) == pytest.approx(37.63, abs=0.1)


def test_runs_that_never_reach_the_goal_are_counted() -> None:
    found = []
    for seed, first in enumerate((3_000.0, 9_001.0)):
        values = {("curve", "return", 108_000): 1.0, ("final", "episodes_to_36", 108_000): first}
        found += rows("full", "as_coded", seed, values)
    columns = ["method", "variant", "seed", "phase", "step", "metric", "group", "value"]
    runs = shown(pd.DataFrame(found, columns=columns))
    assert tabular.who_arrives(runs, "full", "as_coded") == "1 of 2 runs"
    assert tabular.who_arrives(runs, "min", "as_coded") == NOT_STORED
    assert tabular.who_arrives(runs, "full", "as_coded", within=12) == "0 of 2 runs"


def test_an_early_lead_is_that_of_the_steps_of_the_text(results: pd.DataFrame) -> None:
    published, coded = (("full", variant) for variant in ("as_published", "as_coded"))
    assert tabular.early_lead(shown(results), published, coded, 1).startswith("2.0")
    assert tabular.early_lead(shown(results), ("min", "as_coded"), coded) == NOT_STORED
    assert tabular.early_lead(shown(results.iloc[:0]), published, coded) == NOT_STORED


def test_distances_are_drawn_with_the_names_of_the_arms() -> None:
    found = [
        row
        for step, value in ((400, 0.1), (4000, 0.01))
        for row in rows("fairqcm", "constant_step", 0, {("curve", "mean_distance", step): value})
    ]
    columns = ["method", "variant", "seed", "phase", "step", "metric", "group", "value"]
    limits = shown(pd.DataFrame(found, columns=columns), CONVERGENCE)
    figure = tabular.distance_figure(limits, "mean_distance", "mean distance")
    assert figure is not None
    assert "FairQCM, constant step size goes from -1 to -2" in figure.alt_text
    empty = shown(pd.DataFrame(columns=columns), CONVERGENCE)
    assert tabular.distance_figure(empty, "mean_distance", "mean distance") is None


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


@pytest.mark.parametrize("seed", [1, 2])
def test_imagining_lets_errors_of_neighbouring_memories_cancel(seed: int) -> None:
    full = tabular.errors(QLearningSettings(), [13_000, 60_000], seed)
    imagining = tabular.errors(QLearningSettings(imagine=True), [3_000, 60_000], seed)
    assert full.index.tolist() == [13_000, 60_000]
    assert not full.loc[60_000].any()
    assert full.loc[13_000, "difference"] > 0.6 * full.loc[13_000, "value"]
    assert imagining.loc[3_000, "difference"] < 0.45 * imagining.loc[3_000, "value"]
    assert imagining.loc[3_000, "difference"] < full.loc[13_000, "difference"]
