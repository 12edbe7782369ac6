"""What plays a policy: the state it wants back, the actions asked for, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.cpo import CPO, CPOSettings
from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.fairqcm.dqn import FairDQN
from longfair.agents.fairqcm.presets import Learning
from longfair.agents.fairqcm.recurrent import RecurrentDQN
from longfair.agents.policies.epidemic import VaccinateHighestDegree
from longfair.agents.policies.handing_out import FixedPriority
from longfair.agents.policies.lending import threshold_policy
from longfair.agents.ucbfair import LUCBFair, LUCBFairSettings, RadialFeatures
from longfair.envs.elapsed import ElapsedTime
from longfair.errors import UsageError
from longfair.papers.fppo.attention import world

SMALL = Learning(buffer=30, batch=16, hidden=(8,))


def doughnuts(copies: int = 1) -> Any:
    return gymnasium.make_vec("longfair/Doughnut-v0", num_envs=copies)


class Counting:
    """A policy that counts the steps it has made, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def predict(self, observation: Any, **asked: Any) -> Any:
        self.asked.append(asked)
        return np.zeros(len(observation), int), asked.get("state", 0) + 1


@pytest.mark.parametrize(("deterministic", "named"), [(False, {}), (True, {"deterministic": True})])
def test_a_policy_gets_its_state_back(deterministic: bool, named: dict[str, Any]) -> None:
    policy = Counting()
    act = acting(policy, deterministic=deterministic)
    length = int(play_episodes(act, doughnuts(), 0).steps[0])
    assert policy.asked == [named] + [{"state": step, **named} for step in range(1, length)]
    acting(policy)(np.zeros((1, 5)), {})
    assert policy.asked[-1] == {}


def test_a_recurrent_agent_acts_as_its_greedy_policy() -> None:
    """It has to remember: with a state that is forgotten, other doughnuts are handed out."""
    model = RecurrentDQN(doughnuts(), replace(SMALL, hidden=(8, 8)), width=4, seed=3)
    model.online.vector[:] *= 20
    policy, remembered, state = acting(model, deterministic=True), [], None
    env = doughnuts(3)
    observation, info = env.reset(seed=1)
    for _ in range(20):
        actions, state = model.greedy_policy().act(observation, state)
        np.testing.assert_array_equal(policy(observation, info), actions)
        fresh = model.predict(observation, deterministic=True)[0]
        remembered.append(np.array_equal(fresh, actions))
        observation, _, _, _, info = env.step(actions)
    assert not all(remembered)


# Looking does not change what is learned ----------------------------------------------------------


def dqn() -> Any:
    return FairDQN(doughnuts(), SMALL, seed=3)


def cpo() -> Any:
    return CPO(world(False).make(4, 20), CPOSettings(hidden=(8,), critic_steps=2), seed=3)


def l_ucbfair() -> Any:
    env = gymnasium.make_vec("longfair/Population-v0", num_envs=2, episode_length=6)
    settings = LUCBFairSettings.calibrated(episodes=40, cells=3)
    return LUCBFair(ElapsedTime(env), settings, RadialFeatures.spread(9), seed=3)


@pytest.mark.parametrize("make", [dqn, cpo, l_ucbfair])
def test_looking_at_a_learner_changes_nothing(make: Callable[[], Any]) -> None:
    looked_at, left_alone = make(), make()
    seen = np.full((2, *looked_at.env.single_observation_space.shape), 0.5, np.float32)
    for _ in range(2):
        looked_at.learn(80, **_going_on(looked_at))
        left_alone.learn(80, **_going_on(left_alone))
        looked_at.predict(seen)
        looked_at.set_random_seed(7)
        looked_at.predict(seen)
    for one, other in zip(looked_at.learned(), left_alone.learned(), strict=True):
        np.testing.assert_array_equal(one, other)


def _going_on(agent: Any) -> dict[str, bool]:
    return {} if isinstance(agent, LUCBFair) else {"reset_num_timesteps": False}


@pytest.mark.parametrize("make", [dqn, cpo, l_ucbfair])
def test_a_seed_decides_what_is_shown(make: Callable[[], Any]) -> None:
    agent = make()
    seen = np.full((50, *agent.env.single_observation_space.shape), 0.5, np.float32)
    shown = []
    for seed in (7, 7, 8):
        agent.set_random_seed(seed)
        shown.append(agent.predict(seen)[0])
    np.testing.assert_array_equal(shown[0], shown[1])
    assert not np.array_equal(shown[0], shown[2])


# What is refused ----------------------------------------------------------------------------------


class WithoutGroups(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """An environment of somebody else."""

    num_envs = 1

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.zeros((1, 2)), {}


@pytest.mark.parametrize(
    ("act", "env", "message"),
    [
        (Counting(), doughnuts(), r"act=.*: give a function of observations and info"),
        (acting(Counting()), WithoutGroups(), r"env=.* tells nothing of groups: give a batch"),
        (acting(Counting()), gymnasium.make("longfair/Doughnut-v0"), r"env=.*: give a batch"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(act: Any, env: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        play_episodes(act, env, seed=0)


def lending(**arguments: Any) -> Any:
    return gymnasium.make_vec("longfair/Lending-v0", num_envs=2, **arguments)


def epidemic() -> Any:
    return gymnasium.make_vec("longfair/Epidemic-v0", num_envs=2)


LINE = np.eye(40, k=1) + np.eye(40, k=-1)


@pytest.mark.parametrize(
    ("policy", "env", "message"),
    [
        (threshold_policy((3, 3), scores=5), lending(), "one of 5 scores and one of 2 groups"),
        (threshold_policy((3, 3, 3)), lending(), "one of 7 scores and one of 3 groups"),
        (threshold_policy((3, 3), scores=20), lending(), "one of 20 scores"),
        (threshold_policy((3, 3)), doughnuts(2), "one of 7 scores"),
        (FixedPriority(range(6)), doughnuts(2), "0 or 1 for each of 6 people"),
        (FixedPriority(range(3)), l_ucbfair().env, "each of 3 people"),
        (VaccinateHighestDegree(LINE), epidemic(), "the states of 40 people"),
        (VaccinateHighestDegree(LINE[:5, :5]), lending(), "the states of 5 people"),
    ],
)
def test_a_policy_for_another_world_says_so(policy: Any, env: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"observations do not begin with.*{message}"):
        play_episodes(acting(policy), env, seed=0)
