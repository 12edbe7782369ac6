"""Methods of one paper in the worlds of another: what is reported, and which are told apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.papers.fppo import beyond
from longfair.papers.registry import experiment
from longfair.papers.ucbfair import beyond as population


def test_every_world_has_both_papers_forms_and_both_methods() -> None:
    for name in beyond.SHARED:
        for paper in beyond.PAPERS:
            arms = experiment(f"fppo/beyond-{name}-{paper}").arms["book"]
            learned = {arm.method: arm.config for arm in arms if arm.variant == beyond.VARIANT}
            assert set(learned) == {"g-ppo", "elbert-po", "f-ppo", "f-ppo-in-use"}
            assert len({repr(config.learning) for config in learned.values()}) == 1
            assert not learned["f-ppo"].method.as_coded


@pytest.mark.parametrize("name", ["lending", "attention", "epidemic"])
def test_both_papers_measures_are_told(name: str) -> None:
    arm = experiment(f"fppo/beyond-{name}-elbert").arms["smoke"][0]
    told = arm.work(arm.config, 3).set_index("metric")["value"]
    assert {"bias", "reward", "late_distance", "late_short_term_gap"} <= set(told.index)
    assert np.isfinite(told).all()


def told_of(name: str, method: str) -> pd.Series:
    arms = experiment(f"fppo/beyond-{name}").arms["smoke"]
    arm = next(one for one in arms if one.method == method)
    return arm.work(arm.config, 3).set_index("metric")["value"]


def test_in_use_the_same_policy_acts_as_its_schedule_has_it() -> None:
    # Smoke runs end before massaging begins in lending, and massage in attention.
    lending = told_of("lending-fppo", "f-ppo")
    assert told_of("lending-fppo", "f-ppo-in-use").equals(lending)
    alone, massaged = (told_of("attention-fppo", name) for name in ("f-ppo", "f-ppo-in-use"))
    assert set(alone.index) == set(massaged.index)
    assert massaged["late_short_term_gap"] < alone["late_short_term_gap"]


def test_accepting_everybody_has_no_bias() -> None:
    arms = experiment("fppo/beyond-lending-fppo").arms["smoke"]
    arm = next(one for one in arms if one.method == "accept-all")
    told = arm.work(arm.config, 3).set_index("metric")["value"]
    assert told["bias"] == 0.0
    assert told["late_distance"] > 0.0


def test_learners_of_another_paper_act_in_the_population() -> None:
    arms = experiment("ucbfair/beyond-synthetic").arms["smoke"]
    assert {arm.method for arm in arms} >= {method for method, _ in population.METHODS}
    arm = next(one for one in arms if one.method == "elbert-po")
    first, again = (arm.work(arm.config, 3) for _ in range(2))
    assert first.equals(again)
    loss = first[(first.phase == "final") & (first.metric == "loss")].value.item()
    assert 0.0 < loss < 1.0
