"""Methods of one paper in the worlds of another: what is reported, and which are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.papers.fppo import beyond
from longfair.papers.registry import experiment
from longfair.papers.ucbfair import beyond as population


def test_every_world_has_both_papers_forms_and_both_methods() -> None:
    for name in beyond.SHARED:
        for paper in beyond.PAPERS:
            arms = experiment(f"fppo/beyond-{name}-{paper}").arms["book"]
            learned = {arm.method: arm.config for arm in arms if arm.variant == beyond.VARIANT}
            assert set(learned) == {"g-ppo", "elbert-po", "f-ppo"}
            assert len({repr(config.learning) for config in learned.values()}) == 1
            assert not learned["f-ppo"].method.as_coded


@pytest.mark.parametrize("name", ["lending", "attention", "epidemic"])
def test_both_papers_measures_are_told(name: str) -> None:
    arm = experiment(f"fppo/beyond-{name}-elbert").arms["smoke"][0]
    told = arm.work(arm.config, 3).set_index("metric")["value"]
    assert {"bias", "reward", "late_distance", "late_short_term_gap"} <= set(told.index)
    assert np.isfinite(told).all()


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
