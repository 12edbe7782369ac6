"""The adapter through which Stable-Baselines3 sees a batch environment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from stable_baselines3 import PPO, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from longfair.envs.lending import LendingParams, LendingVectorEnv
from longfair.envs.sb3 import BatchVecEnv
from longfair.envs.wrappers import RunningRates
from longfair.errors import UsageError

COPIES, LENGTH = 3, 8
PARAMS = LendingParams(episode_length=LENGTH)
ONES = np.ones(COPIES, dtype=np.int64)


def adapted(params: LendingParams = PARAMS) -> BatchVecEnv:
    return BatchVecEnv(RunningRates(LendingVectorEnv(COPIES, params)))


def at_the_end_of_an_episode(env: Any) -> tuple[Any, Any, Any, Any]:
    env.reset()
    for _ in range(LENGTH - 1):
        env.step(ONES)
    observation, reward, done, infos = env.step(ONES)
    assert done.all()
    return observation, reward, done, infos


def test_infos_are_a_sequence_of_dictionaries_made_on_demand() -> None:
    env = adapted()
    env.reset()
    infos: Any = env.step(ONES)[3]
    assert len(infos) == COPIES
    assert set(infos[0]) == {"supply", "demand", "group_state", "cash"}
    np.testing.assert_array_equal(infos[-1]["cash"], infos[COPIES - 1]["cash"])
    np.testing.assert_array_equal(
        [info["cash"] for info in infos], [info["cash"] for info in infos[:]]
    )
    assert len(infos[1:]) == COPIES - 1
    np.testing.assert_array_equal(infos.arrays["cash"], [info["cash"] for info in infos])
    for index in (COPIES, -COPIES - 1):
        with pytest.raises(IndexError):
            infos[index]


def test_the_last_observation_is_the_wrapped_one_of_the_ended_episode() -> None:
    env = adapted()
    env.seed(1)
    observation, _, _, infos = at_the_end_of_an_episode(env)
    for copy, info in enumerate(infos):
        last = info["terminal_observation"]
        assert last.shape == (11,)
        # The new episode has no rates yet, the ended one has.
        np.testing.assert_array_equal(observation[copy, 9:], 0.0)
        state = info["terminal_info"]["group_state"]
        assert not np.array_equal(state, info["group_state"])
        np.testing.assert_array_equal(info["group_state"], PARAMS.initial_distribution)
        assert not any(key.startswith(("final", "_final")) for key in info)
    assert any(info["terminal_observation"][9:].any() for info in infos)


def test_running_out_of_time_is_told_from_ruin() -> None:
    ended_by_time = at_the_end_of_an_episode(adapted())[3]
    assert all(info["TimeLimit.truncated"] is True for info in ended_by_time)
    ruin = replace(PARAMS, starting_cash=1.0, repay_probability=(0.0,) * 7)
    env = adapted(ruin)
    env.reset()
    _, _, done, infos = env.step(np.array([0, 1, 0]))
    np.testing.assert_array_equal(done, [False, True, False])
    assert infos[1]["TimeLimit.truncated"] is False
    assert "terminal_observation" not in infos[0]
    assert "TimeLimit.truncated" not in infos[0]


def test_a_seed_holds_for_one_reset() -> None:
    env, other = adapted(), adapted()
    env.seed(4)
    other.seed(4)
    first = env.reset()
    np.testing.assert_array_equal(first, other.reset())
    many = [env.reset() for _ in range(20)]
    assert any(not np.array_equal(first, later) for later in many)
    assert len(env.reset_infos) == COPIES
    assert env.reset_infos[0]["group_state"].shape == (2, 7)


def test_rewards_are_single_precision_and_dones_cover_both_ends() -> None:
    env = adapted()
    env.reset()
    _, reward, done, _ = env.step(ONES)
    assert reward.dtype == np.float32
    assert done.dtype == np.bool_


def test_attributes_and_methods_are_those_of_the_batch() -> None:
    env = adapted()
    assert env.get_attr("params") == [PARAMS] * COPIES
    assert env.get_attr("episode_length", indices=[0, 2]) == [LENGTH] * 2
    assert env.get_attr("render_mode") == [None] * COPIES
    assert env.env_is_wrapped(RunningRates) == [False] * COPIES
    env.reset()
    states = env.env_method("_group_state", indices=1)
    assert len(states) == 1
    assert states[0].shape == (COPIES, 2, 7)
    with pytest.raises(UsageError, match="params"):
        env.set_attr("params", PARAMS)
    with pytest.raises(AttributeError):
        env.get_attr("no_such_attribute")


def test_a_batch_that_does_not_reset_itself_is_refused() -> None:
    manual = LendingVectorEnv(COPIES, PARAMS, AutoresetMode.DISABLED)
    with pytest.raises(UsageError, match="SAME_STEP"):
        BatchVecEnv(manual)


def test_wrappers_of_stable_baselines_work_on_it() -> None:
    env = VecMonitor(adapted())
    env.reset()
    totals = np.zeros(COPIES)
    for _ in range(LENGTH):
        _, reward, done, infos = env.step(ONES)
        totals += reward
    assert done.all()
    np.testing.assert_allclose([info["episode"]["r"] for info in infos], totals, atol=1e-5)
    assert [info["episode"]["l"] for info in infos] == [LENGTH] * COPIES
    normalised = VecNormalize(adapted(), training=True)
    normalised.reset()
    for _ in range(LENGTH):
        observation, _, _, infos = normalised.step(ONES)
    assert np.isfinite(observation).all()
    assert infos[0]["terminal_observation"].shape == (11,)


def test_what_is_written_into_an_info_stays() -> None:
    env = adapted()
    infos = at_the_end_of_an_episode(env)[3]
    infos[-1]["terminal_observation"] = "changed"
    assert infos[COPIES - 1]["terminal_observation"] == "changed"
    assert [isinstance(info["terminal_observation"], str) for info in infos] == [False, False, True]
    assert infos[1:][-1] is infos[-1]


def population(copies: int) -> BatchVecEnv:
    name = "longfair/Population-v0"
    return BatchVecEnv(gymnasium.make_vec(name, num_envs=copies, episode_length=3))


def single_population() -> DummyVecEnv:
    return DummyVecEnv([lambda: gymnasium.make("longfair/Population-v0", episode_length=3)])


@pytest.mark.parametrize(
    "wrapped", [lambda env: VecNormalize(env, norm_reward=False), lambda env: VecFrameStack(env, 2)]
)
def test_wrappers_change_the_last_observation_as_in_single_environments(wrapped: Any) -> None:
    last = []
    for env in map(wrapped, (population(1), single_population())):
        env.seed(3)
        env.reset()
        for _ in range(3):
            infos = env.step(np.full((1, 2), 0.4, np.float32))[3]
        last.append(infos[0]["terminal_observation"])
    np.testing.assert_array_equal(*last)


def test_learners_of_stable_baselines_see_stacked_observations() -> None:
    env = VecFrameStack(population(2), 2)
    assert PPO("MlpPolicy", env, n_steps=6, batch_size=12, n_epochs=1, seed=0).learn(12)
    settings = {"policy_kwargs": {"net_arch": [8]}, "buffer_size": 50}
    assert TD3("MlpPolicy", env, learning_starts=4, seed=0, **settings).learn(12)


def test_statistics_of_gymnasium_are_told_of_ended_episodes_only() -> None:
    ruin = replace(PARAMS, starting_cash=1.0, repay_probability=(0.0,) * 7)
    env = BatchVecEnv(RecordEpisodeStatistics(LendingVectorEnv(COPIES, ruin)))
    env.reset()
    infos = env.step(np.array([0, 1, 0]))[3]
    assert [info.get("episode", {}).get("l") for info in infos] == [None, 1, None]
    assert not any(key.startswith("_") for info in infos for key in info)


def test_ppo_learns_with_statistics_of_gymnasium() -> None:
    env = BatchVecEnv(RecordEpisodeStatistics(LendingVectorEnv(2, PARAMS)))
    model = PPO("MlpPolicy", env, n_steps=20, batch_size=10, n_epochs=1).learn(80)
    assert [episode["l"] for episode in model.ep_info_buffer] == [LENGTH] * 10


def test_infos_in_a_list_are_refused_in_one_line() -> None:
    env = BatchVecEnv(DictInfoToList(LendingVectorEnv(2, PARAMS)))
    with pytest.raises(UsageError, match=r"info as a list: give .* without DictInfoToList$"):
        env.reset()


@pytest.mark.parametrize("options", [{"reset_mask": ONES > 0}, [{}, {"start": 1}, {}]])
def test_options_are_refused(options: Any) -> None:
    env = adapted()
    with pytest.raises(UsageError, match=r"options=.*: give none"):
        env.set_options(options)
    env.set_options()
    env.set_options({})


@pytest.mark.parametrize("indices", [[5], COPIES, [0, -COPIES - 1], ["first"]])
def test_copies_that_are_not_there_are_refused(indices: Any) -> None:
    with pytest.raises(UsageError, match=r"indices\[\d\]=.*: give an integer in -3..2"):
        adapted().get_attr("num_groups", indices)


def test_ppo_of_stable_baselines_learns_on_it() -> None:
    """PPO adds the value of the last observation where time ran out: it must find both there."""
    env = VecMonitor(adapted())
    agent = PPO("MlpPolicy", env, n_steps=2 * LENGTH, batch_size=16, n_epochs=1, seed=0)
    agent.learn(2 * LENGTH * COPIES * 2)
    assert agent.num_timesteps == 2 * LENGTH * COPIES * 2
    assert len(agent.ep_info_buffer) == 4 * COPIES
    action, _ = agent.predict(env.reset())
    assert action.shape == (COPIES,)
