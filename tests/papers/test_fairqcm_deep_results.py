"""Tables made from stored runs, on made-up results whose answers are known."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from longfair.agents.fairqcm.presets import Switches
from longfair.papers.fairqcm import deep_results as tidy
from longfair.papers.fairqcm.deep import DOUGHNUTS, LENDING, config_of
from longfair.papers.fairqcm.tabular import TABULAR
from longfair.runs.statistics import Estimate
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


def test_curves_are_averaged_in_whole_blocks(results):
    rows = tidy.curve(results, "return", "as_published", every=2)
    assert rows[rows["seed"] == 0]["step"].tolist() == [2000, 4000]
    assert rows[rows["seed"] == 0]["value"].tolist() == [2.0, 6.0]
    assert rows[rows["seed"] == 1]["value"].tolist() == [3.0, 7.0]
    assert len(tidy.curve(results, "return", "as_published")) == 10
    assert tidy.curve(results, "welfare", "as_published").empty


def test_references_average_all_episodes(results):
    table = tidy.references(results, "return")
    assert table.to_dict("records") == [{"method": "random", "value": 6.0}]


def test_changes_are_paired_by_seed_and_compared_with_the_published_method(results):
    table = tidy.changes(results, {"return": ("last", 1)})
    assert table.index.tolist() == [("full", "timed")]
    # Seed 2 has no partner. The differences of the others are 3 and 5.
    assert table.loc[("full", "timed"), "last"].startswith("+4.0 [")
    assert tidy.changes(results[results["variant"] != "timed"], {"return": ("last", 1)}).empty


def test_final_values_are_laid_out_with_intervals_and_seeds(results):
    table = tidy.final_table(results, {"return": ("last", 1), "invalid": ("wasted", 1)})
    assert table.loc[("full", "as_published"), "last"].startswith("15.0 [")
    assert table["seeds"].tolist() == [2, 3, 2]
    assert set(table["wasted"]) == {""}
    wide = tidy.by_seed(results)
    assert wide.columns.tolist() == ["method", "variant", "seed", "return"]
    assert len(wide) == 7


def test_single_runs_stand_side_by_side_and_missing_ones_are_blank(results):
    table = tidy.single_runs(results, "return", ["as_published", "timed"])
    assert table.columns.tolist() == ["run 1", "run 2", "run 3"]
    assert table.loc[("full", "as_published")].tolist() == ["10", "20", ""]
    assert table.loc[("full", "timed")].tolist() == ["13", "25", "99"]


def test_without_shared_seeds_nothing_is_compared(results):
    first = tidy.of_arm(results, "return", "full", "timed")
    assert tidy.change(first[[2]], first[[0]], "none") is None
    found = tidy.change(first, first - 2.0, "two")
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(2.0)


def test_numbers_are_written_with_sign_and_interval_where_there_is_one():
    assert tidy.written(Estimate(1.234, None, None, 1, "mean"), 1) == "1.2"
    assert (
        tidy.written(Estimate(1.234, 0.5, 2.0, 9, "mean"), 2, signed=True) == "+1.23 [+0.50, +2.00]"
    )


def test_differences_are_paired_and_leave_out_what_is_not_there(results):
    timed, published = ("full", "timed"), ("full", "as_published")
    pairs = {"time": (timed, published), "nothing": (timed, ("min", "as_published"))}
    table = tidy.differences(results, pairs, {"return": ("last", 1), "invalid": ("wasted", 1)})
    assert table.index.tolist() == ["time"]
    assert table.columns.tolist() == ["last"]
    assert table.loc["time", "last"].startswith("+4.0 [+3.0, +5.0]")
    assert tidy.difference(results, "return", published, timed).value == pytest.approx(-4.0)
    assert tidy.differences(results, {}, {}).empty


def test_a_sign_is_given_only_where_the_interval_has_one():
    assert tidy.sign(Estimate(2.0, 1.0, 3.0, 10, "mean")) == 1
    assert tidy.sign(Estimate(-2.0, -3.0, -1.0, 10, "mean")) == -1
    assert tidy.sign(Estimate(2.0, -1.0, 3.0, 10, "mean")) == 0
    assert tidy.sign(Estimate(2.0, None, None, 1, "mean")) == 0


def test_losses_are_split_into_exceptions_and_welfare():
    def summary(method: str, variant: str, seed: int, score: float, welfare: float) -> pd.DataFrame:
        rows = pd.DataFrame({"metric": ["return", "welfare"], "value": [score, welfare]})
        return rows.assign(phase="final", method=method, variant=variant, seed=seed)

    results = pd.concat(
        [
            summary("best", "reference", 0, 100.0, 101.0),
            summary("best", "reference", 1, 102.0, 103.0),
            summary("full", "as_coded", 0, 80.0, 90.0),
            summary("full", "as_coded", 1, 82.0, 92.0),
        ]
    )
    table = tidy.losses(results, "best", 0)
    assert table.index.tolist() == [("full", "as_coded")]
    # In all 20: the welfare is 11 lower, and exceptions take 10 instead of 1.
    assert table.iloc[0].tolist() == ["20 [20, 20]", "9 [9, 9]", "11 [11, 11]"]
    assert tidy.losses(results[results["method"] == "full"], "best").empty


def test_the_mean_curve_reaches_a_return_later_than_a_run_that_jumps():
    curves = [
        run("full", "as_coded", seed, 0.0, values)
        for seed, values in enumerate(([9.0, 1.0, 9.0], [1.0, 9.0, 9.0]))
    ]
    curves.append(run("min", "as_coded", 0, 0.0, [1.0, 1.0, 1.0]))
    table = tidy.mean_curve_reaches(pd.concat(curves), "as_coded", [5.0, 8.0])
    assert table.loc["full"].tolist() == [1000.0, 3000.0]
    assert table.loc["min"].isna().all()


def test_costs_of_experiments_keep_the_papers_own_methods_apart(tmp_path: Path):
    assert tidy.cost_of_experiments(Store(tmp_path), [DOUGHNUTS], "book").empty
    store = Store(Path(__file__).parents[2] / "results")
    table = tidy.cost_of_experiments(store, [TABULAR], "book")
    seconds = store.provenance(experiment=TABULAR.id, profile="book")["core_seconds"]
    assert table.loc[TABULAR.id, "runs"] == len(seconds)
    whole, own = table.loc[TABULAR.id, ["core minutes", "of the paper's methods"]]
    assert whole == pytest.approx(seconds.sum() / 60)
    assert 0 < own < whole


def test_the_reruns_numbers_are_of_methods_that_exist():
    for problem, numbers in {
        "doughnuts": [tidy.RERUN, tidy.RERUN_RUNS, tidy.RERUN_EPISODES],
        "lending": list(tidy.RERUN_LENDING.values()),
    }.items():
        for method in {name for table in numbers for name in table}:
            assert config_of(problem, method, "as_coded").problem == problem


def test_methods_come_in_the_order_of_the_experiment():
    table = pd.DataFrame({"method": ["random", "full", "fairqcm"], "value": [1, 2, 3]})
    ordered = tidy.in_order(table, DOUGHNUTS.methods("book"))
    assert ordered["method"].tolist() == ["full", "fairqcm", "random"]


def test_an_empty_store_has_no_results_and_all_runs_missing(tmp_path: Path):
    store = Store(tmp_path)
    assert tidy.stored(store, LENDING, "smoke").empty
    missing = tidy.gaps(store, [LENDING], "smoke")
    assert len(missing) == len(LENDING.arms["smoke"])
    assert set(missing["experiment"]) == {LENDING.id}


def test_settings_are_those_of_the_arms():
    switches = tidy.switch_table()
    assert set(switches.index) == {field.name for field in fields(Switches)}
    assert switches.loc["recurrent_width", ["as published", "as coded"]].tolist() == [256, 16]
    table = tidy.learning_table("lending", ["min", "rnn"], "as_published")
    assert table.loc["batch"].tolist() == [64, 512]
    assert table.loc["train_every", "rnn"] == 8
    assert config_of("lending", "rnn", "as_coded").learning.train_every == 1
