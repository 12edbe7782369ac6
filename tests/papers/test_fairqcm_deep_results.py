"""Tables made from stored runs, on made-up results whose answers are known."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from longfair.agents.fairqcm.presets import Switches
from longfair.papers.fairqcm import deep_results as deep
from longfair.papers.fairqcm.deep import DOUGHNUTS, config_of
from longfair.papers.fairqcm.tabular import TABULAR
from longfair.runs.store import Store


def run(method: str, variant: str, seed: int, last: float, curve: list[float]) -> pd.DataFrame:
    steps = [1000 * (i + 1) for i in range(len(curve))]
    rows = pd.DataFrame({"phase": "curve", "step": steps, "metric": "return", "value": curve})
    end = pd.DataFrame({"phase": "final", "step": steps[-1:], "metric": "return", "value": [last]})
    both = pd.concat([rows, end], ignore_index=True)
    return both.assign(method=method, variant=variant, seed=seed, group=-1)


@pytest.fixture
def results() -> pd.DataFrame:
    return pd.concat(
        [
            run("full", "as_published", 0, 10.0, [1.0, 3.0, 5.0, 7.0, 9.0]),
            run("full", "as_published", 1, 20.0, [2.0, 4.0, 6.0, 8.0, 10.0]),
            run("full", "timed", 0, 13.0, [1.0] * 5),
            run("full", "timed", 1, 25.0, [1.0] * 5),
            run("full", "timed", 2, 99.0, [1.0] * 5),
            run("random", "reference", 0, 5.0, [4.0, 6.0, 5.0, 5.0, 5.0]),
            run("random", "reference", 1, 7.0, [7.0] * 5),
        ],
        ignore_index=True,
    )


def test_changes_are_paired_by_seed_and_compared_with_the_published_method(results):
    table = deep.changes(results, {"return": ("last", 1)})
    assert table.index.tolist() == [("full", "timed")]
    # Seed 2 has no partner. The differences of the others are 3 and 5.
    assert table.loc[("full", "timed"), "last"].startswith("+4.0 [")
    assert deep.changes(results[results["variant"] != "timed"], {"return": ("last", 1)}).empty


def test_single_runs_stand_side_by_side_and_missing_ones_are_blank(results):
    table = deep.single_runs(results, "return", ["as_published", "timed"])
    assert table.columns.tolist() == ["run 1", "run 2", "run 3"]
    assert table.loc[("full", "as_published")].tolist() == ["10", "20", ""]
    assert table.loc[("full", "timed")].tolist() == ["13", "25", "99"]


def test_losses_are_split_into_exceptions_and_welfare():
    def summary(method: str, variant: str, seed: int, score: float, welfare: float) -> pd.DataFrame:
        rows = pd.DataFrame({"metric": ["return", "welfare"], "value": [score, welfare]})
        return rows.assign(phase="final", group=-1, method=method, variant=variant, seed=seed)

    results = pd.concat(
        [
            summary("best", "reference", 0, 100.0, 101.0),
            summary("best", "reference", 1, 102.0, 103.0),
            summary("full", "as_coded", 0, 80.0, 90.0),
            summary("full", "as_coded", 1, 82.0, 92.0),
        ]
    )
    table = deep.losses(results, "best", 0)
    assert table.index.tolist() == [("full", "as_coded")]
    # In all 20: the welfare is 11 lower, and exceptions take 10 instead of 1.
    assert table.iloc[0].tolist() == ["20 [20, 20]", "9 [9, 9]", "11 [11, 11]"]
    assert deep.losses(results[results["method"] == "full"], "best").empty


def test_the_mean_curve_reaches_a_return_later_than_a_run_that_jumps():
    curves = [
        run("full", "as_coded", seed, 0.0, values)
        for seed, values in enumerate(([9.0, 1.0, 9.0], [1.0, 9.0, 9.0]))
    ]
    curves.append(run("min", "as_coded", 0, 0.0, [1.0, 1.0, 1.0]))
    table = deep.mean_curve_reaches(pd.concat(curves), "as_coded", [5.0, 8.0])
    assert table.loc["full"].tolist() == [1000.0, 3000.0]
    assert table.loc["min"].isna().all()


def test_costs_of_experiments_keep_the_papers_own_methods_apart(tmp_path: Path):
    assert deep.cost_of_experiments(Store(tmp_path), [DOUGHNUTS], "book").empty
    store = Store(Path(__file__).parents[2] / "results")
    table = deep.cost_of_experiments(store, [TABULAR], "book")
    seconds = store.provenance(experiment=TABULAR.id, profile="book")["core_seconds"]
    assert table.loc[TABULAR.id, "runs"] == len(seconds)
    whole, own = table.loc[TABULAR.id, ["core minutes", "of the paper's methods"]]
    assert whole == pytest.approx(seconds.sum() / 60)
    assert 0 < own < whole


def test_the_reruns_numbers_are_of_methods_that_exist():
    lengths = {"doughnuts": 100, "lending": 40}
    for problem, numbers in {
        "doughnuts": [deep.RERUN, deep.RERUN_RUNS, deep.RERUN_EPISODES],
        "lending": list(deep.RERUN_LENDING.values()),
    }.items():
        for method in {name for table in numbers for name in table}:
            assert config_of(problem, method, "as_coded").episode_length == lengths[problem]


def test_settings_are_those_of_the_arms():
    switches = deep.switch_table()
    assert set(switches.index) == {field.name for field in fields(Switches)}
    assert switches.loc["recurrent_width", ["as published", "as coded"]].tolist() == [256, 16]
    table = deep.learning_table("lending", ["min", "rnn"], "as_published")
    assert table.loc["batch"].tolist() == [64, 512]
    assert table.loc["train_every", "rnn"] == 8
    assert config_of("lending", "rnn", "as_coded").learning.settings.train_every == 1
