"""What `predict` is given: one finite observation per copy, whoever is asked."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.cpo.cpo import CPO
from longfair.agents.learning.observations import observations
from longfair.agents.policies.lending import threshold_policy
from longfair.agents.policies.population import ConstantThresholds, RandomThresholds, ShortSighted
from longfair.agents.ppo.fair_ppo import FairPPO
from longfair.agents.ucbfair import LUCBFair
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.population import PopulationModel, PopulationParams
from longfair.errors import UsageError

POPULATION = {"id": "longfair/Population-v0", "num_envs": 2, "episode_length": 5}


def cpo() -> Any:
    return CPO(gymnasium.make_vec("longfair/Attention-v0", num_envs=2))


def fair_ppo() -> Any:
    return FairPPO(env=gymnasium.make_vec("longfair/Lending-v0", num_envs=2))


def l_ucbfair() -> Any:
    return LUCBFair(ElapsedTime(gymnasium.make_vec(**POPULATION)))


LEARNERS = [(cpo, 15), (fair_ppo, 9), (l_ucbfair, 3)]
RULES = [
    (lambda: ShortSighted(PopulationModel(PopulationParams())), 2),
    (lambda: ConstantThresholds([0.5, 0.6]), 2),
    (RandomThresholds, 2),
    (lambda: threshold_policy((3, 3)), 9),
]


@pytest.mark.parametrize(("make", "width"), [*LEARNERS, *RULES])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda width: None, "observation=None: give numbers"),
        (lambda width: "text", "observation='text': give numbers"),
        (lambda width: [[0.5] * width, [0.5]], "give numbers, a row for every copy"),
        (lambda width: np.zeros((0, width)), r"observation has shape \(0, .*: give \(N, "),
        (lambda width: np.full((2, width), np.nan), "observation holds nan: give finite numbers"),
        (lambda width: np.full((2, width), np.inf), "observation holds inf: give finite numbers"),
    ],
)
def test_what_is_no_observation_is_refused(make: Any, width: int, given: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told) as refused:
        make().predict(given(width))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("make", "width"), [LEARNERS[0], LEARNERS[2], *RULES])
def test_one_observation_needs_the_axis_of_copies(make: Any, width: int) -> None:
    with pytest.raises(UsageError, match=rf"has shape \({width},\): give \(N, "):
        make().predict(np.full(width, 0.5))


@pytest.mark.parametrize(("make", "width"), LEARNERS)
def test_learners_know_how_much_they_see(make: Any, width: int) -> None:
    with pytest.raises(UsageError, match=rf"has shape \(2, {width + 1}\): give \(N, {width}\)"):
        make().predict(np.full((2, width + 1), 0.5))


def test_a_learner_of_stable_baselines3_takes_a_single_observation() -> None:
    agent, seen = fair_ppo(), np.zeros(9, np.float32)
    (both, _), (one, _) = (agent.predict(row, deterministic=True) for row in (seen[None], seen))
    assert both.shape == (1,)
    assert one.shape == ()


def test_arrays_are_taken_as_they_are() -> None:
    given = np.zeros((3, 4), np.float32)
    assert observations(given) is given
