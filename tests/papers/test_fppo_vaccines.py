"""Whom vaccines reach in F-PPO's epidemic."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from longfair.papers.fppo.epidemic import CASE
from longfair.papers.fppo.results import EPIDEMIC
from longfair.papers.fppo.vaccines import LEARNED, VACCINES
from longfair.papers.fppo.vaccines_results import (
    COLUMNS,
    lost_in_words,
    of_both_forms,
    whom_they_reach,
)
from longfair.papers.page import NOT_STORED, Runs
from longfair.papers.protocol import Evaluation, train_and_evaluate, untrained
from longfair.papers.setting import Setting
from longfair.runs.tables import checked


def of(name: str, profile: str = "smoke") -> Setting:
    arms = {arm.name: arm.config for arm in VACCINES.arms[profile]}
    setting: Setting = arms[name]
    return setting


@cache
def run(name: str, seed: int) -> pd.DataFrame:
    """Return the table of a run of the smoke profile, which no test changes; it is made once."""
    return train_and_evaluate(of(name), seed)


def final(table: pd.DataFrame, metric: str, group: int = -1) -> float:
    own = table[(table["phase"] == "final") & (table["metric"] == metric)]
    return float(own.loc[own["group"] == group, "value"].item())


def together(table: pd.DataFrame, metric: str) -> float:
    return final(table, metric, 0) + final(table, metric, 1)


@pytest.mark.parametrize("profile", ["book", "smoke"])
def test_the_arms_are_those_of_the_epidemic(profile: str) -> None:
    theirs = {arm.name: arm.config for arm in CASE.arms(profile)}
    learned = {f"{method}.{variant}" for method, variant in LEARNED}
    names = {arm.name for arm in VACCINES.arms[profile]}
    assert names == learned | {name for name in theirs if name.endswith(".reference")}
    for arm in VACCINES.arms[profile]:
        assert replace(arm.config, evaluating=theirs[arm.name].evaluating) == theirs[arm.name]


@pytest.mark.parametrize("name", ["ppo.as_coded", "uniform.reference", "max-degree.reference"])
def test_what_the_epidemic_reports_is_the_same(name: str) -> None:
    theirs = {arm.name: arm.config for arm in CASE.arms("smoke")}[name]
    own, plain = run(name, 3), train_and_evaluate(theirs, 3)
    for metric in ("end_reward", "end_short_term_gap"):
        assert final(own, metric) == pytest.approx(final(plain, metric), rel=1e-12)


@pytest.mark.parametrize("name", [arm.name for arm in VACCINES.arms["smoke"]])
def test_every_day_has_a_vaccine_that_is_useful_lost_or_kept(name: str) -> None:
    table = checked(run(name, 1), name)
    useful, lost = together(table, "useful"), together(table, "lost")
    assert useful + lost + final(table, "kept") == pytest.approx(20.0)
    share = lost / (useful + lost) if useful + lost else 0.0
    assert final(table, "lost_share") == pytest.approx(share)
    assert final(table, "useful_gap") >= 0.0


def test_nobody_gets_a_vaccine_that_is_lost_but_from_who_must_give_it() -> None:
    tables = {
        name: run(f"{name}.reference", 1) for name in ("nobody", "static-reward", "max-degree")
    }
    assert final(tables["nobody"], "kept") == 20.0
    # The lottery keeps the vaccine where nobody is susceptible; the code's Max gives it away.
    assert together(tables["static-reward"], "lost") == 0.0
    assert final(tables["max-degree"], "kept") == 0.0
    assert final(tables["max-degree"], "lost", 1) > 5.0
    assert final(tables["max-degree"], "useful_gap") < final(
        tables["max-degree"], "end_short_term_gap"
    )


def test_useful_is_who_was_susceptible_before() -> None:
    setting = of("uniform.reference")
    table = train_and_evaluate(setting, 2)
    people, episodes = 34, setting.evaluating.final_episodes
    act, env, seed = Evaluation(setting, untrained(setting), 2).ready([0], episodes, "final")
    observation, info = env.reset(seed=seed)
    useful, susceptible, day_lost = 0, [], []
    for _ in range(20):
        states = observation[:, : 3 * people].reshape(episodes, people, 3)[:, :, 0] > 0
        susceptible.append(states.sum() / episodes)
        actions = np.asarray(act(observation, info))
        reached = [states[copy, person] for copy, person in enumerate(actions) if person < people]
        useful += int(np.sum(reached))
        day_lost.append(1.0 - np.mean(reached))
        observation, _, _, _, info = env.step(actions)
    assert together(table, "useful") == pytest.approx(useful / episodes)
    told = table[table["phase"] == "curve"].set_index(["metric", "step"])["value"]
    np.testing.assert_allclose(told["at_susceptible"], susceptible)
    np.testing.assert_allclose(told["at_lost"], day_lost)


# What the page makes of it -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored() -> Runs:
    """Two runs of every arm but those of PPO."""
    names = [arm.name for arm in VACCINES.arms["smoke"] if arm.method != "ppo"]
    return with_runs(names, {0, 1})


def with_runs(names: list[str], seeds: set[int]) -> Runs:
    tables = []
    for name in names:
        method, variant = name.split(".")
        for seed in seeds:
            tables.append(run(name, seed).assign(method=method, variant=variant, seed=seed))
    runs = Runs(VACCINES, "smoke", EPIDEMIC)
    return runs.showing(pd.concat(tables, ignore_index=True))


def test_the_table_adds_up_to_what_is_given(stored: Runs) -> None:
    table = whom_they_reach(stored)
    assert isinstance(table, pd.DataFrame)
    numbers = table[list(COLUMNS)].astype(float)
    np.testing.assert_allclose(numbers.iloc[:, 1:].sum(axis=1), numbers["given"], atol=0.16)
    rows = numbers.droplevel("variant")
    assert rows.loc["nobody", "given"] == 0.0
    assert rows.loc["Max, most neighbours", "given"] == 20.0
    assert (table["runs"] == 2).all()


def test_words_are_of_the_day_and_the_rule_they_name(stored: Runs) -> None:
    lost, gaps = lost_in_words(stored)
    rows = stored.results[stored.results["metric"] == "at_susceptible"]
    left = rows[(rows["method"] == "uniform") & (rows["step"] == 5)]["value"].mean()
    assert f"{left:.1f} if anybody is at random" in lost
    assert f"{100 * stored.mean('lost_share', 'max-degree'):.0f} % of *Max*'s" in lost
    assert f"Under *Max* it is {stored.mean('end_short_term_gap', 'max-degree'):.2f}" in gaps


def test_what_is_learned_is_told_once_it_is_stored() -> None:
    both = with_runs(["ppo.as_coded", "f-ppo.as_coded"], {0})
    *_, learned = lost_in_words(both)
    assert f"and F-PPO {100 * both.mean('lost_share', 'f-ppo', 'as_coded'):.0f} %" in learned
    assert f"{both.mean('useful_gap', 'ppo', 'as_coded'):.2f} under PPO" in learned


def test_what_ppo_does_waits_for_both_forms(stored: Runs) -> None:
    assert NOT_STORED in of_both_forms(stored)
    both = with_runs(["ppo.as_coded", "ppo.as_published"], {0})
    told = of_both_forms(both)
    given = 20.0 - both.mean("kept", "ppo", "as_published")
    assert f"As published PPO gives {given:.1f} of 20 vaccines" in told
    assert "(1 run)" in told


def test_without_runs_it_says_so() -> None:
    empty = Runs(VACCINES, "smoke", EPIDEMIC)
    empty = empty.showing(empty.results.iloc[:0])
    assert whom_they_reach(empty) == empty.missing
    assert all(NOT_STORED in text or "nan" in text for text in lost_in_words(empty))
