"""Tables made from stored runs, on made-up results whose answers are known."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from longfair.agents.fairqcm.presets import Switches
from longfair.figures import Words
from longfair.papers.fairqcm import deep_results as deep
from longfair.papers.fairqcm.deep import DOUGHNUTS, LENDING, UPDATES_PER_EPISODE, config_of
from longfair.papers.fairqcm.tabular import TABULAR
from longfair.papers.page import NOT_STORED, Runs
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


def shown(results: pd.DataFrame) -> Runs:
    return Runs(DOUGHNUTS, "book", deep.DOUGHNUTS_LOOK).showing(results)


def test_changes_are_paired_by_seed_and_compared_with_the_published_method(results):
    table = deep.changes(shown(results), {"return": ("last", 1)})
    name = deep.CHANGES["timed"]
    assert table.index.tolist() == [("Full", name)]
    # Seed 2 has no partner. The differences of the others are 3 and 5.
    assert table.loc[("Full", name), "last"].startswith("+4.0 [")
    unchanged = shown(results[results["variant"] != "timed"])
    assert isinstance(deep.changes(unchanged, {"return": ("last", 1)}), Words)


def test_a_change_of_the_code_is_compared_with_the_method_as_coded():
    rows = [run("fairqcm", "as_coded", seed, 10.0 + seed, [1.0] * 5) for seed in range(3)]
    rows += [run("fairqcm", "as_published", seed, 50.0, [1.0] * 5) for seed in range(3)]
    rows += [run("fairqcm", "min_memory", seed, 14.0 + seed, [1.0] * 5) for seed in range(3)]
    lending = Runs(LENDING, "book", deep.LENDING_LOOK).showing(pd.concat(rows, ignore_index=True))
    table = deep.changes(lending, {"return": ("last", 1)})
    assert table.index.tolist() == [("FairQCM", deep.CHANGES["min_memory"])]
    assert table["last"].tolist() == ["+4.0 [+4.0, +4.0]"]


def test_single_runs_stand_side_by_side_and_missing_ones_are_blank(results):
    table = deep.single_runs(shown(results), "return", "as_published", "timed")
    assert table.columns.tolist() == ["run 1", "run 2", "run 3"]
    assert table.loc[("Full", "as published")].tolist() == ["10", "20", ""]
    assert table.loc[("Full", deep.CHANGES["timed"])].tolist() == ["13", "25", "99"]
    assert isinstance(deep.single_runs(shown(results), "return", "as_coded"), Words)


def test_sentences_say_what_is_clear_and_count_what_is_above(results):
    runs, arm, timed = shown(results), ("full", "as_published"), ("full", "timed")
    assert deep.in_words(runs, "return", timed, arm) == "no clear difference, +4 [-9, +17]"
    steady = results.assign(value=results["value"] + 50.0 * (results["variant"] == "timed"))
    assert deep.in_words(shown(steady), "return", timed, arm).startswith("a clear gain, +54 [")
    assert deep.in_words(shown(steady), "return", arm, timed).startswith("a clear loss, -54 [")
    assert deep.in_words(runs, "return", ("min", "timed"), arm) == NOT_STORED
    assert deep.bar(runs, "return", "random") == pytest.approx(6.0)
    assert pd.isna(deep.bar(runs, "return", "oracle"))
    assert deep.above(runs, "return", 20.0) == "1 of 2"
    assert deep.runs_above(runs, "return", 15.0) == "3 of 5"
    assert deep.best(runs, "return") == f"Full {deep.CHANGES['timed']} with 46"
    assert deep.best(shown(results.iloc[:0]), "return") == NOT_STORED


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
    titles = deep.loss_table(
        shown(results.replace({"method": {"best": "oracle"}})), "waste", "uneven", 0
    )
    assert titles.loc[("Full", "as coded")].tolist() == ["20 [20, 20]", "9 [9, 9]", "11 [11, 11]"]
    assert titles.columns.tolist() == ["in all", "waste", "uneven"]
    named = deep.loss_table(
        shown(results.replace({"method": {"best": "oracle"}})), "a", "b", 0, "c"
    )
    assert named.columns.tolist() == ["c", "a", "b"]
    table = deep.losses(results, "best", 0)
    assert table.index.tolist() == [("full", "as_coded")]
    # In all 20: the welfare is 11 lower, and exceptions take 10 instead of 1.
    assert table.iloc[0].tolist() == ["20 [20, 20]", "9 [9, 9]", "11 [11, 11]"]
    assert deep.losses(results[results["method"] == "full"], "best").empty


def test_changes_without_a_clear_effect_share_a_sentence():
    results = pd.concat(
        [
            pd.DataFrame({"metric": ["return"], "value": [value + step * seed]}).assign(
                phase="final", group=-1, method=method, variant="as_published", seed=seed
            )
            for method, value, step in (("full", 50.0, 1), ("fairqcm", 90.0, 1), ("min", 48.0, 3))
            for seed in range(3)
        ]
    )
    full, fair, low = ((name, "as_published") for name in ("full", "fairqcm", "min"))
    pairs = {"One": (fair, full), "Two": (low, full), "Three": (full, low)}
    assert deep.effects(shown(results), "return", pairs) == [
        "One: a clear gain, +40 [+40, +40].",
        "No clear difference: Two; Three.",
    ]


def test_the_mean_curve_reaches_a_return_later_than_a_run_that_jumps():
    curves = [
        run("full", "as_coded", seed, 0.0, values)
        for seed, values in enumerate(([9.0, 1.0, 9.0], [1.0, 9.0, 9.0]))
    ]
    curves.append(run("min", "as_coded", 0, 0.0, [1.0, 1.0, 1.0]))
    table = deep.mean_curve_reaches(pd.concat(curves), "as_coded", [5.0, 8.0])
    assert table.loc["full"].tolist() == [1000.0, 3000.0]
    assert table.loc["min"].isna().all()


def test_levels_are_reached_by_single_runs_and_by_the_mean_curve():
    curves = [
        run("full", "as_coded", seed, 0.0, values)
        for seed, values in enumerate(([950.0, 100.0, 950.0], [100.0, 950.0, 950.0]))
    ]
    for seed, first in enumerate((10.0, 20.0)):
        end = pd.DataFrame({"phase": "final", "step": [3000], "metric": "episodes_to_900"})
        names = {"method": "full", "variant": "as_coded", "seed": seed, "group": -1}
        curves.append(end.assign(value=first, **names))
    runs = shown(pd.concat(curves, ignore_index=True))
    row = deep.episodes_to_levels(runs).loc[("Full", "as coded")]
    assert row["900, single runs"] == "15"
    assert row["900, mean curve"] == "30"
    assert row["900, rerun"] == "209"
    assert row["1000, mean curve"] == "never"
    assert deep.first_to_reach(runs, "as_coded", 900) == "Full after 30 episodes"
    assert deep.first_to_reach(runs, "as_coded", 1000) == "nobody"
    assert deep.first_to_reach(runs, "as_published", 900) == NOT_STORED


def test_ours_stand_beside_the_rerun():
    parts = [
        run("full", "as_coded", seed, score, [1.0]) for seed, score in ((0, 900.7), (1, 1100.7))
    ]
    runs = shown(pd.concat(parts, ignore_index=True))
    line = deep.beside_rerun(runs).loc["Full"]
    assert line["last hundred, ours"] == pytest.approx(1000.7)
    assert line["difference"] == pytest.approx(0.0)
    # Our deviation is 100 over two runs, the rerun's 99.1 over ten.
    # Both are of the runs at hand: 100 over the root of 1, and 99.1 over that of 9.
    assert line["its error"] == pytest.approx(105.3)  # rounded, of 105.31
    firsts = deep.first_runs(runs)
    assert firsts["the first is the worst"].to_dict() == {
        "FairQCM, rerun": True,
        "Full, rerun": True,
        "Full, as coded": True,
    }
    assert isinstance(deep.beside_rerun(shown(runs.results.iloc[:0])), Words)


def test_lending_stands_beside_both_versions_of_the_rerun():
    parts = [run("min", "as_coded", seed, score, [1.0]) for seed, score in enumerate((-10, -20, 0))]
    runs = Runs(LENDING, "book", deep.LENDING_LOOK).showing(pd.concat(parts, ignore_index=True))
    table = deep.lending_beside_rerun(runs)
    assert table.loc[("Min", "ours, as coded")].tolist() == [-10, 8, -10]
    assert table.loc[("Min", "rerun, second version")].tolist() == [-159, 121, -74]
    assert ("RNN", "rerun, second version") not in table.index
    assert isinstance(deep.lending_beside_rerun(runs.showing(runs.results.iloc[:0])), Words)


def test_a_step_of_the_recurrent_network_is_held_against_one_of_full():
    runs = Runs(DOUGHNUTS, "book", deep.DOUGHNUTS_LOOK)
    seconds = runs.provenance().groupby(["method", "variant"])["core_seconds"].median()
    wide, full = seconds["rnn", "as_published"], seconds["full", "as_published"]
    ratio = (wide / UPDATES_PER_EPISODE) / (full / 100)
    assert f"about {ratio:.0f} times" in repr(deep.recurrent_cost(runs))
    assert isinstance(deep.recurrent_cost(shown(runs.results.iloc[:0])), Words)


def test_policies_without_training_are_played():
    table = deep.untrained_table("doughnuts", {"return": "score", "allocated": "taken"})
    assert table.columns.tolist() == ["score", "taken"]
    assert table.loc["oracle", "score"] == pytest.approx(1103.3, abs=0.5)
    assert table.loc["random", "taken"] == pytest.approx(80.0, abs=0.5)


def test_short_runs_differ_in_what_was_asked_for_only():
    short = deep.shorter("doughnuts", "fairqcm", 7, batch=64)
    whole = config_of("doughnuts", "fairqcm", "as_published")
    assert short.learning.episodes == 7
    assert short.learning.settings.batch == 64
    assert short.learning.settings.buffer == whole.learning.settings.buffer
    switched = deep.with_switches(short, always_received=True)
    assert switched.method.switches.always_received
    assert not short.method.switches.always_received
    assert switched.learning == short.learning


def test_only_the_first_run_of_the_scripts_explores_from_one_on():
    rates = deep.exploration_rates(1000, 20)
    assert rates.index[-1] == 1000
    assert rates.iloc[0].tolist() == pytest.approx([1.0, 0.368, 0.2], abs=0.001)
    assert rates.iloc[-1].tolist() == pytest.approx([0.368, 0.2, 0.2], abs=0.001)


def test_costs_of_experiments_keep_the_papers_own_methods_apart(tmp_path: Path):
    assert deep.cost_of_experiments(Store(tmp_path), [DOUGHNUTS], "book").empty
    store = Store(Path(__file__).parents[2] / "results")
    table = deep.cost_of_experiments(store, [TABULAR], "book")
    seconds = store.provenance(experiment=TABULAR.id, profile="book")["core_seconds"]
    assert table.loc[TABULAR.id, "runs"] == len(seconds)
    whole, own = table.loc[TABULAR.id, ["core minutes", "of the paper's methods"]]
    assert whole == pytest.approx(seconds.sum() / 60)
    assert 0 < own < whole


def test_costs_are_held_against_what_a_paper_may_take():
    table = pd.DataFrame(
        {"runs": [3, 4], "core minutes": [200.0, 160.0], "of the paper's methods": [60.0, 12.0]}
    )
    words = repr(deep.budget_in_words(table, 2.0))
    assert words.startswith("All 7 stored runs take 3.0 hours on two cores, more than the 2 hours")
    assert "take 0.6 hours on two cores, within them" in words


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
