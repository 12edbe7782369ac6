"""The ladder beyond FairQCM: what its rungs are, and that runs measure what they should."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from longfair.agents.fairqcm.presets import Recipe, WeightSearch
from longfair.papers.fairqcm.beyond import (
    ALL_FIXES,
    AUTHORS,
    COMPLETE,
    DRAWN,
    EXPERIMENTS,
    coded,
    ladder,
    learned,
    published,
    reference,
    rungs,
    searched,
    searches,
    without,
)
from longfair.papers.fairqcm.deep import DOUGHNUTS, LENDING, episode_length
from longfair.papers.protocol import train_and_evaluate
from longfair.runs.store import Store

PROBLEMS = ("doughnuts", "lending")


def final(table: Any) -> Any:
    return table[table["phase"] == "final"].set_index("metric")["value"]


def changed(first: Recipe, second: Recipe) -> set[str]:
    return {name for name, value in asdict(first).items() if asdict(second)[name] != value}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_ladder_leads_from_the_published_agent_to_all_fixes(problem):
    names, recipes = list(ladder(problem)), [recipe for recipe, _ in ladder(problem).values()]
    assert rungs(problem) == [AUTHORS, *((name, "ladder") for name in names)]
    assert names[:2] == [DRAWN, "published"]
    assert recipes[0] == replace(published(problem), updates=1)
    assert recipes[1] == published(problem)
    assert recipes[-1] == ALL_FIXES[problem]
    assert names[-1] == COMPLETE[problem]
    assert all(changed(*pair) for pair in pairwise(recipes))
    assert changed(coded(problem)[0], published(problem)) == {"granted_anyway"}


@pytest.mark.parametrize(("number", "paper"), [(0, DOUGHNUTS), (1, LENDING)])
def test_the_first_rung_is_the_agent_of_the_papers_figures(number, paper):
    """The same settings, and so the same runs: their numbers agree to the last bit."""
    name = ".".join(AUTHORS)
    first, original = (
        {arm.name: arm for arm in experiment.arms["book"]}[name]
        for experiment in (EXPERIMENTS[number], paper)
    )
    assert (first.config, first.work) == (original.config, original.work)
    tables = [
        Store().load(experiment=experiment.id, profile="book", methods=[AUTHORS[0]])
        for experiment in (EXPERIMENTS[number], paper)
    ]
    rung, stored = (
        table[table["variant"] == AUTHORS[1]].set_index(["seed", "phase", "step", "metric"])
        for table in tables
    )
    seeds = rung.index.get_level_values("seed").unique()
    assert sorted(seeds) == list(range(10))  # the original has more
    same = stored[stored.index.get_level_values("seed").isin(seeds)]
    assert rung["value"].sort_index().equals(same["value"].sort_index())


def test_one_rung_plays_one_episode_at_a_time():
    arms = {arm.name: arm.config for arm in EXPERIMENTS[0].arms["book"]}
    drawn, published_ = arms[f"{DRAWN}.ladder"], arms["published.ladder"]
    assert (drawn.learning.copies, drawn.evaluating.episodes, drawn.method.updates) == (1, 1, 1)
    assert (published_.learning.copies, published_.method.updates) == (10, 10)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_each_recipe_without_a_fix_differs_from_all_fixes(problem):
    whole = ladder(problem)[COMPLETE[problem]][0]
    recipes = {name: recipe for name, (recipe, _) in without(problem).items()}
    for name, recipe in recipes.items():
        assert changed(recipe, whole), name
    assert changed(recipes["memories"], whole) == {"imagined"}
    assert changed(recipes["double"], whole) == {"double"}
    assert recipes["undiscounted"].discount == 0.95


def test_experiments_have_the_arms_that_the_claims_read():
    for experiment, problem in zip(EXPERIMENTS[:2], PROBLEMS, strict=True):
        names = {arm.name for arm in experiment.arms["book"]}
        assert f"{COMPLETE[problem]}.ladder" in names
        assert {"memories.without", "oracle.reference", "random-present.reference"} <= names
        assert {f"{name}.search" for name in searches(problem)} <= names
        assert experiment.seeds["book"] == 10
        assert experiment.horizon["book"] == 1000 * episode_length(problem)
    for experiment, whole in zip(EXPERIMENTS[2:], EXPERIMENTS[:2], strict=True):
        known = {arm.name: arm.config for arm in whole.arms["book"]}
        assert all(known[arm.name] == arm.config for arm in experiment.arms["book"])
        assert experiment.seeds["book"] == 30


REFERENCES = [
    ("doughnuts", "oracle", 1103.345, 0.5),
    ("doughnuts", "random-present", 1082.9, 1.8),
    ("lending", "alternating", -29.65, 9.0),
    ("lending", "random-present", -151.7, 17.0),
]


@pytest.mark.parametrize(("problem", "policy", "value", "tolerance"), REFERENCES)
def test_policies_without_training_score_what_is_known(problem, policy, value, tolerance):
    """Tolerances are about seven standard errors of the mean over 2000 episodes."""
    table = train_and_evaluate(reference(problem, policy, episodes=100, last=2000), 7)
    assert final(table)["last_policy_return"] == pytest.approx(value, abs=tolerance)


def test_doughnuts_are_shared_better_than_without_memory_after_a_hundred_episodes():
    """The memoryless policy that chooses among those present reaches 1082.9."""
    config = learned("doughnuts", ALL_FIXES["doughnuts"], episodes=100, last=200)
    table = train_and_evaluate(config, 1000)
    assert final(table)["last_policy_return"] > 1090
    curve = table[(table["phase"] == "curve") & (table["metric"] == "return")]
    assert curve["step"].tolist() == [1000 * (point + 1) for point in range(10)]
    assert curve["value"].iloc[-1] > curve["value"].iloc[0]


def test_runs_repeat_and_seeds_matter():
    recipe = replace(ALL_FIXES["lending"], batch=32, learning_starts=100)
    config = learned("lending", recipe, episodes=20, last=20)
    first, again, other = (train_and_evaluate(config, seed)["value"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_search_reaches_nearly_all_on_doughnuts_and_draws_its_curve():
    search = WeightSearch(candidates=4, elites=2)
    table = train_and_evaluate(searched("doughnuts", search, episodes=100, last=200), 1000)
    assert final(table)["last_policy_return"] > 1083
    curve = table[(table["phase"] == "curve") & (table["metric"] == "return")]
    assert curve["step"].tolist() == [1000 * (point + 1) for point in range(10)]
