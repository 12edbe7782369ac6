"""What every fix adds, on made-up results whose answers are known."""

from __future__ import annotations

import pandas as pd
import pytest

from longfair.papers.fairqcm import beyond_results as beyond
from longfair.papers.fairqcm.beyond import COMPLETE, rungs, searches, without


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
    table = beyond.lost(results, "lending", "return").set_index(["method", "variant"])
    assert table["value"].to_dict() == {
        ("fairqcm", "as_published"): 21.0,
        ("drawn", "ladder"): 40.0,
        ("published", "ladder"): 29.0,
        (COMPLETE["lending"], "ladder"): 1.0,
        ("memories", "without"): 10.0,
        ("cross-entropy", "search"): 3.0,
    }
    assert set(table["seeds"]) == {2}
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
