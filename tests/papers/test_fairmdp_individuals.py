"""Individual loans played in episodes come to the exact values."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from longfair.envs.loan_mdp import LoanMDPParams
from longfair.papers.fairmdp import playing
from longfair.papers.fairmdp.individuals import INDIVIDUALS, TOLERANCE
from longfair.papers.fairmdp.loans import loan_episode, measures
from longfair.papers.protocol import train_and_evaluate
from longfair.runs.experiment import Arm
from longfair.runs.tables import checked

ARMS = {arm.method: arm for arm in INDIVIDUALS.arms["book"]}
EPISODE = loan_episode()


@cache
def exact(name: str) -> dict[str, float]:
    chances = {
        "lend-to-all": 1.0,
        "lend-to-none": 0.0,
        "optimum": playing._plan(LoanMDPParams.fico(), 1.0),
        "fair-optimum": playing._plan(LoanMDPParams.fico(), TOLERANCE),
    }
    return measures(EPISODE, chances[name])


def played(arm: Arm, seed: int) -> dict[str, float]:
    table: pd.DataFrame = checked(train_and_evaluate(arm.config, seed), arm.name)
    assert set(table["phase"]) == {"final"}
    return dict(zip(table["metric"], table["value"], strict=True))


@pytest.mark.parametrize("name", ARMS)
def test_what_is_played_comes_near_the_exact_values(name: str) -> None:
    found = pd.DataFrame([played(ARMS[name], seed) for seed in (1000, 1001)]).mean()
    # Rates of 20,000 applicants, of whom the smaller group has a third, twice: four deviations.
    for metric in ("gap_dp_discounted", "gap_eo_discounted"):
        assert found[metric] == pytest.approx(exact(name)[metric], abs=0.02)
    assert found["reward"] == pytest.approx(exact(name)["reward"], abs=0.02)


def test_the_fair_optimum_keeps_its_gap_and_pays_for_it() -> None:
    best, fair = exact("optimum"), exact("fair-optimum")
    assert fair["gap_dp_discounted"] == pytest.approx(TOLERANCE)
    assert best["gap_dp_discounted"] > 2 * TOLERANCE
    assert 0.01 < best["reward"] - fair["reward"] < 0.05


def test_policies_meet_the_same_applicants() -> None:
    none, again = (played(ARMS["lend-to-none"], 3) for _ in range(2))
    assert none == again
    assert none["reward"] == pytest.approx(exact("lend-to-none")["reward"])
    fair, optimum = played(ARMS["fair-optimum"], 3), played(ARMS["optimum"], 3)
    lost = exact("optimum")["reward"] - exact("fair-optimum")["reward"]
    assert optimum["reward"] - fair["reward"] == pytest.approx(lost, abs=0.02)


def test_rates_are_those_of_each_group() -> None:
    loans, group = np.array([1.0, 0.0, 0.5, 1.0]), np.array([0, 0, 1, 1])
    assert playing.largest_gap(loans, group) == 0.25


def test_smoke_runs_are_short() -> None:
    (arm,) = (arm for arm in INDIVIDUALS.arms["smoke"] if arm.method == "lend-to-all")
    assert arm.config.evaluating.final_episodes == 200
    assert arm.config == replace(
        ARMS["lend-to-all"].config, evaluating=ARMS["lend-to-all"].config.evaluating.shortened()
    )
