"""What every fix adds, on made-up results whose answers are known."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from longfair.figures import Words
from longfair.papers import registry
from longfair.papers.fairqcm import beyond_results as beyond
from longfair.papers.fairqcm.beyond import COMPLETE, ladder, rungs, searches, without
from longfair.papers.page import NOT_STORED, Runs


def score(method: str, variant: str, values: list[float]) -> pd.DataFrame:
    rows = pd.DataFrame({"seed": range(len(values)), "value": values})
    return rows.assign(phase="final", metric="return", group=-1, method=method, variant=variant)


@pytest.fixture
def results() -> pd.DataFrame:
    return pd.concat(
        [
            score("oracle", "reference", [100.0, 102.0]),
            score("random", "reference", [50.0, 52.0]),
            score("fairqcm", "as_published", [80.0, 80.0]),
            score("drawn", "ladder", [60.0, 62.0]),
            score("coded", "ladder", [71.0, 76.0]),
            score("published", "ladder", [70.0, 74.0]),
            score(COMPLETE["lending"], "ladder", [99.0, 101.0]),
            score("memories", "without", [90.0, 92.0]),
            score("cross-entropy", "search", [97.0, 99.0]),
        ],
        ignore_index=True,
    )


def test_arms_are_the_ladder_then_everything_but_one_then_the_searches():
    arms = beyond.arms("doughnuts")
    assert arms[: len(rungs("doughnuts"))] == rungs("doughnuts")
    assert len(arms) == len(rungs("doughnuts")) + len(without("doughnuts")) + 2
    assert arms[0] == ("fairqcm", "as_published")
    assert arms[-2:] == [(name, "search") for name in searches("doughnuts")]
    assert ("memories", "without") in arms
    assert ("memories", "ladder") not in arms


def test_losses_are_paired_with_the_best_policy(results):
    runs = beyond.lost(results, "lending", "return").groupby(["method", "variant"])
    assert runs["value"].mean().to_dict() == {
        ("fairqcm", "as_published"): 21.0,
        ("drawn", "ladder"): 40.0,
        ("published", "ladder"): 29.0,
        (COMPLETE["lending"], "ladder"): 1.0,
        ("memories", "without"): 10.0,
        ("cross-entropy", "search"): 3.0,
    }
    assert set(runs["seed"].nunique()) == {2}
    assert beyond.lost(results[results["variant"] != "reference"], "lending", "return").empty


def test_bars_are_means_of_what_is_not_trained(results):
    assert beyond.bars(results, "return").to_dict() == {"oracle": 101.0, "random": 51.0}


def test_a_rung_is_compared_with_the_one_below_and_an_absence_with_the_whole(results):
    table = beyond.contributions(results, "lending", {"return": ("last", 0)})
    assert table.loc[("drawn", "ladder"), "last"].startswith("-19 [")
    assert table.loc[("published", "ladder"), "last"].startswith("+11 [")
    assert table.loc[("coded", "ladder"), "last"].startswith("+2 [")
    assert table.loc[("memories", "without"), "last"].startswith("-9 [-9, -9]")
    assert table.loc[("cross-entropy", "search"), "last"].startswith("-2 [-2, -2]")
    assert len(table) == 5  # of the other pairs one side has no results


@pytest.mark.parametrize("problem", ["doughnuts", "lending"])
def test_only_settings_that_differ_are_listed(problem):
    table = beyond.recipe_table(problem)
    assert (table["as published"] != table["all fixes"]).all()
    assert {"imagined", "clock", "by_person", "double", "discount"} <= set(table.index)
    assert ("shortfall" in table.index) == (problem == "doughnuts")


def ladder_runs(results: pd.DataFrame, problem: str = "lending") -> Runs:
    experiment = registry.experiment(f"fairqcm/beyond-{problem}")
    last = results.assign(metric="last_policy_return")
    both = pd.concat([last, results.assign(metric="return_all")], ignore_index=True)
    return Runs(experiment, "book", beyond.look(problem)).showing(both)


def test_every_arm_has_words(results):
    for problem in COMPLETE:
        assert set(ladder(problem)) <= set(beyond.ADDED)
        assert set(without(problem)) <= set(beyond.LEFT_OUT)
        assert set(searches(problem)) <= set(beyond.SOUGHT)
    table = beyond.contribution_table(ladder_runs(results), "lending", {"return_all": ("all", 0)})
    assert table.loc[("imagined nothing", "left out"), "all"].startswith("-9 [-9, -9]")
    assert table.loc[("the code's memories", "added"), "all"].startswith("+2 [")
    nothing = ladder_runs(results.iloc[:0])
    assert isinstance(beyond.contribution_table(nothing, "lending", {}), Words)


def test_the_ladder_is_drawn_from_top_to_bottom(results):
    policies = [
        score(name, "reference", [90.0, 92.0]) for name in ("random-present", "alternating")
    ]
    runs = ladder_runs(pd.concat([results, *policies], ignore_index=True))
    figure = beyond.loss_figure(runs, "lending")
    assert figure is not None
    assert figure.data["name"].tolist() == [
        "as published, authors' loop",
        "memories drawn when learned",
        "ten episodes side by side",
        "no discount",
        "nothing imagined",
        "linear, cross-entropy",
    ]
    assert figure.data["series"].tolist()[-3:] == ["added", "left out", "no network"]
    assert "mean, no interval, 2 seeds" in figure.alt_text
    assert "Vertical line: alternating 10." in figure.alt_text
    assert beyond.loss_figure(ladder_runs(results.iloc[:0]), "lending") is None


def test_a_mark_is_reached_by_the_whole_interval(results):
    nothing = ladder_runs(results.iloc[:0], "doughnuts")
    table = beyond.marks_table(nothing, ladder_runs(results))
    assert table.loc[("lending", "the optimum, exactly"), "value"] == "-22.59"
    assert table.loc[("lending", "the alternating lender, exactly"), "reached"] == "yes"
    assert table.loc[("doughnuts", "the Oracle, exactly"), "reached"] == ""
    low = results.assign(value=results["value"] - 500)
    below = beyond.marks_table(nothing, ladder_runs(low))
    assert set(below.loc["lending", "reached"]) == {"no"}


def test_fixes_are_named_by_what_they_add_and_cost(results):
    words = beyond.most_and_least(ladder_runs(results), "lending")
    assert "*no discount* adds most, 28.0" in words
    assert "*imagined nothing* costs most, 9.0" in words
    assert "1.0 points below the best possible" in words
    assert words.endswith("ends higher: none.")
    better = results.replace({"value": {90.0: 110.0, 92.0: 112.0}})
    harmed = beyond.most_and_least(ladder_runs(better), "lending")
    assert harmed.endswith("ends higher: *imagined nothing*, +11.0 [+11.0, +11.0].")
    assert beyond.most_and_least(ladder_runs(results.iloc[:0]), "lending") == NOT_STORED


def test_what_imagining_adds_is_counted_by_run(results):
    words = beyond.imagining_in_words(ladder_runs(results), "lending", "memories")
    assert words.startswith("a clear gain, +9.0 [+9.0, +9.0] for the last policy")
    assert words.endswith("more over all of training in 2 of 2 runs")
    assert beyond.imagining_in_words(ladder_runs(results), "lending", "ledgers") == NOT_STORED


def test_costs_are_those_of_the_stored_runs():
    experiment = registry.experiment("fairqcm/beyond-lending")
    runs = Runs(experiment, "book", beyond.look("lending"))
    table = beyond.cost_table({"lending": runs})
    seconds = runs.provenance().query("method == 'steps' and variant == 'ladder'")["core_seconds"]
    found = table.loc["larger, fewer steps", ("lending", "added")]
    assert found == pytest.approx(seconds.median(), abs=0.051)
    assert table.loc["linear, cross-entropy", ("lending", "added")] == ""
    empty = runs.showing(runs.results.iloc[:0])
    assert isinstance(beyond.cost_table({"lending": empty}), Words)


def test_the_numbers_of_both_loops_are_those_of_the_arms():
    table = beyond.loop_table()
    for problem in COMPLETE:
        arms = {
            arm.name: arm.config
            for arm in registry.experiment(f"fairqcm/beyond-{problem}").arms["book"]
        }
        theirs, ours = (
            table.loc[(problem, loop)] for loop in ("authors' loop", "from the third rung on")
        )
        assert theirs["minibatch"] == arms["fairqcm.as_published"].learning.settings.batch
        assert theirs.iloc[-1] == arms["fairqcm.as_published"].evaluating.final_episodes
        published = arms["published.ladder"]
        assert ours.tolist() == [
            published.method.batch,
            published.learning.copies,
            published.method.updates,
            published.evaluating.final_episodes,
        ]


@pytest.mark.parametrize("problem", list(COMPLETE))
def test_the_first_rung_of_the_loop_draws_and_plays_one_episode_at_a_time(problem):
    """The rung `drawn` differs from the next one in what that one adds, and in nothing else."""
    arms = {
        arm.name: arm.config
        for arm in registry.experiment(f"fairqcm/beyond-{problem}").arms["book"]
    }
    drawn, published = arms["drawn.ladder"], arms["published.ladder"]
    assert replace(drawn.method, updates=published.method.updates) == published.method
    assert (drawn.method.updates, drawn.learning.copies) == (1, 1)
    assert (drawn.method.imagined, drawn.world) == ("nearby", published.world)
    authors = arms["fairqcm.as_published"].learning.settings
    kept = ("learning_rate", "discount", "hidden", "target_every")
    assert all(getattr(drawn.method, name) == getattr(authors, name) for name in kept)
