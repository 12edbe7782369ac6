"""R-TD3: its reward, what the released code shows, and that Stable-Baselines3's own parts work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3 import TD3
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback, StopTrainingOnMaxEpisodes
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecMonitor

from longfair.agents.register import find
from longfair.agents.ucbfair.td3 import RTD3, WeightedReward
from longfair.agents.ucbfair.td3_settings import RTD3Settings
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.population import PopulationParams, start_grid
from longfair.envs.population.histograms import FeatureHistograms
from longfair.envs.sb3 import BatchVecEnv
from longfair.errors import UsageError

SMALL = RTD3Settings(hidden=(32, 32), learning_starts=20, batch_size=32)


def batch(copies: int = 2, length: int = 5, **arguments: Any) -> Any:
    return gymnasium.make_vec(
        "longfair/Population-v0", num_envs=copies, episode_length=length, **arguments
    )


def agent(copies: int = 2, length: int = 5, settings: RTD3Settings = SMALL) -> RTD3:
    env = WeightedReward(ElapsedTime(batch(copies, length)), settings)
    return RTD3.around(BatchVecEnv(env), settings, seed=0)


@pytest.mark.parametrize("exponent", [1, 20])
def test_the_weight_on_fairness_rises_to_one(exponent: int) -> None:
    env = WeightedReward(batch(3, 4), RTD3Settings(exponent=exponent))
    twin, rng = batch(3, 4), np.random.default_rng(0)
    for one in (env, twin):
        one.reset(seed=5)
    for step in range(8):  # two episodes
        actions = rng.random((3, 2), np.float32)
        _, reward, _, _, _ = env.step(actions)
        _, own, _, _, info = twin.step(actions)
        share = (step % 4 + 1) / 4
        gap = 1 - (1 - info["disparity"][:, 0]) ** exponent
        np.testing.assert_allclose(reward, 1 - ((1 - share) * (1 - own) + share * gap), rtol=1e-12)


def test_without_a_weight_the_reward_is_the_environment_s() -> None:
    env, twin = WeightedReward(batch(), RTD3Settings(weight="none")), batch()
    for one in (env, twin):
        one.reset(seed=5)
    actions = np.full((2, 2), 0.4, np.float32)
    np.testing.assert_allclose(env.step(actions)[1], twin.step(actions)[1], rtol=1e-12)


@pytest.mark.parametrize("preset", ["synthetic", "adult"])
def test_histograms_tell_the_population(preset: str) -> None:
    env = FeatureHistograms(
        batch(16, 3, params=getattr(PopulationParams, preset)().starting_at(start_grid()))
    )
    shown = env.reset(seed=0)[0].reshape(16, 2, 65)
    assert env.single_observation_space.shape == (130,)
    assert env.observation_space.contains(shown.reshape(16, 130))
    np.testing.assert_array_equal(shown[..., 0], 0.5)
    bins, qualified = shown[..., 1:33] / 10, shown[..., 33:]
    np.testing.assert_allclose(bins.sum(axis=2), 1, atol=1e-6)
    # Everybody is in some bin, so the bins' qualified are the group's.
    np.testing.assert_allclose((bins * qualified).sum(axis=2), start_grid(), atol=1e-6)
    if preset == "synthetic":  # features tell the qualified from the unqualified
        assert (np.diff(qualified, axis=2) >= -1e-6).all()


def test_an_episode_ends_for_good() -> None:
    """The buffer says so: no value is added behind the last step."""
    model = agent(copies=1)
    model.learn(11)
    buffer = model.replay_buffer
    assert buffer is not None
    np.testing.assert_array_equal(np.flatnonzero(buffer.dones[:11, 0]), [4, 9])
    sample = buffer._get_samples(np.array([4]))
    assert sample.dones.item() == 1


@pytest.mark.parametrize(("copies", "steps"), [(1, 15), (2, 12)])
def test_as_many_gradient_steps_as_steps(copies: int, steps: int) -> None:
    """One copy plays to the end of its episode before anything is learned."""
    model = agent(copies, settings=replace(SMALL, learning_starts=0))
    model.learn(11)
    assert model.num_timesteps == steps
    assert model._n_updates == steps


def test_it_is_stable_baselines3_s_algorithm() -> None:
    """What learns is not overridden, so a plain TD3 with the same arguments learns the same.

    Only the arguments of `learn`, `load`, `predict` and `set_env` are checked, and a model is
    loaded for other copies.
    """
    own = {name for name in vars(RTD3) if not name.startswith("__")}
    assert {"around", "training_state", "_repeat"} <= own
    checked = {"learn", "load", "predict", "set_env"}
    assert not any(hasattr(TD3, name) for name in own - checked - {"_abc_impl"})


def test_callbacks_logger_saving_and_loading_work(tmp_path: Path) -> None:
    model = agent()
    model.set_logger(configure(str(tmp_path), ["csv"]))
    evaluated = BatchVecEnv(WeightedReward(ElapsedTime(batch()), SMALL))
    stop = StopTrainingOnMaxEpisodes(max_episodes=8)
    model.learn(
        10_000, callback=[EvalCallback(evaluated, eval_freq=10, verbose=0), stop], log_interval=1
    )
    assert 40 <= model.num_timesteps < 100
    assert "train/critic_loss" in (tmp_path / "progress.csv").read_text()
    model.save(tmp_path / "agent")
    loader = find("r-td3").loaded_by.rpartition(":")[2]
    assert loader == "RTD3"
    observation = np.random.default_rng(0).random((6, 3), np.float32)
    for loaded in (RTD3.load(tmp_path / "agent"), TD3.load(tmp_path / "agent")):
        np.testing.assert_array_equal(
            loaded.predict(observation, deterministic=True)[0],
            model.predict(observation, deterministic=True)[0],
        )


def test_it_learns_to_reject_the_unqualified() -> None:
    """Two steps: accepting everybody first leaves next to nobody to accept afterwards."""
    settings = RTD3Settings(weight="none", hidden=(64, 64), learning_starts=200, batch_size=64)
    model = agent(copies=4, length=8, settings=settings)
    model.learn(1_600)
    env = ElapsedTime(batch(400, 8))
    rewards = {}
    for name in ("agent", "accept everybody"):
        observation, _ = env.reset(seed=1)
        total = np.zeros(400)
        for _ in range(8):
            action = model.predict(observation, deterministic=True)[0]
            if name != "agent":
                action = np.zeros((400, 2), np.float32)
            observation, reward, *_ = env.step(action)
            total += reward
        rewards[name] = total.mean() / 8
    assert rewards["agent"] > rewards["accept everybody"] + 0.1


def test_bad_input_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="weight='rissing'"):
        RTD3Settings(weight="rissing")
    with pytest.raises(UsageError, match="exponent=0"):
        RTD3Settings(exponent=0)
    with pytest.raises(UsageError, match="does not show two rates"):
        FeatureHistograms(ElapsedTime(batch()))
    with pytest.raises(UsageError, match="give none"):
        WeightedReward(batch(), SMALL).reset(options={"reset_mask": np.array([True, False])})


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (lambda: ElapsedTime(batch()), "has 0 WeightedReward in it: give BatchVecEnv around"),
        (
            lambda: WeightedReward(ElapsedTime(batch()), replace(SMALL, exponent=20)),
            "exponent=1, and 20 in the reward",
        ),
        (
            lambda: WeightedReward(
                ElapsedTime(batch()), replace(SMALL, notion="equal-opportunity")
            ),
            "notion='demographic-parity', and 'equal-opportunity' in the reward",
        ),
        (
            lambda: WeightedReward(ElapsedTime(batch()), replace(SMALL, weight="none")),
            "weight='rising', and 'none' in the reward",
        ),
        (lambda: WeightedReward(batch(), SMALL), "needs the time.*ElapsedTime"),
        (lambda: gymnasium.make_vec("longfair/Attention-v0", num_envs=2), "has 0 WeightedReward"),
    ],
)
def test_what_is_not_r_td3_is_refused(env: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RTD3.around(BatchVecEnv(env()), SMALL)


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        (FeatureHistograms, replace(SMALL, exponent=20)),
        (lambda env: env, replace(SMALL, weight="none")),
    ],
)
def test_the_time_may_be_hidden_as_coded_and_without_a_weight(env: Any, settings: Any) -> None:
    weighted = BatchVecEnv(WeightedReward(env(batch()), settings))
    assert RTD3.around(VecMonitor(weighted), settings).learn(4)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (lambda: gymnasium.make_vec("longfair/Lending-v0", num_envs=2), "tells no disparity"),
        (lambda: batch(autoreset_mode=AutoresetMode.NEXT_STEP), "AutoresetMode.SAME_STEP"),
        (lambda: batch(autoreset_mode=AutoresetMode.DISABLED), "AutoresetMode.SAME_STEP"),
    ],
)
def test_the_reward_is_refused_where_it_would_be_another(env: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        WeightedReward(env(), SMALL)


def weighted(copies: int) -> BatchVecEnv:
    return BatchVecEnv(WeightedReward(ElapsedTime(batch(copies)), SMALL))


@pytest.mark.parametrize(("saved", "loaded", "steps"), [(1, 3, 39), (3, 1, 40), (3, 2, 38)])
def test_a_model_is_loaded_for_other_copies(
    saved: int, loaded: int, steps: int, tmp_path: Path
) -> None:
    agent(saved).save(tmp_path / "agent")
    model = RTD3.load(tmp_path / "agent", env=weighted(loaded))
    model.learn(38)
    assert model.num_timesteps == steps
    assert model._n_updates > 0


OTHER_REWARDS = {
    "has 0 WeightedReward in it": lambda: ElapsedTime(batch()),
    "exponent=1, and 20 in the reward": lambda: WeightedReward(
        ElapsedTime(batch()), replace(SMALL, exponent=20)
    ),
    "weight='rising' needs the time": lambda: WeightedReward(batch(), SMALL),
}


@pytest.mark.parametrize("message", OTHER_REWARDS)
def test_a_model_goes_on_for_its_own_reward_only(message: str, tmp_path: Path) -> None:
    model, env = agent(), BatchVecEnv(OTHER_REWARDS[message]())
    model.save(tmp_path / "agent")
    again = RTD3.load(tmp_path / "agent")
    assert again.settings == SMALL
    with pytest.raises(UsageError, match=message):
        again.set_env(env)
    if "time" not in message:  # Stable-Baselines3 finds the spaces other before
        with pytest.raises(UsageError, match=message):
            RTD3.load(tmp_path / "agent", env=env)


def test_what_cannot_be_read_or_seen_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read a model from .*nothing"):
        RTD3.load(tmp_path / "nothing")
    with pytest.raises(UsageError, match=r"observation holds nan: give finite numbers"):
        agent().predict(np.full((2, 3), np.nan))
    assert agent().predict(np.full(3, 0.5))[0].shape == (2,)


def test_another_number_of_copies_is_not_set() -> None:
    with pytest.raises(UsageError, match=r"has 3 copies, .* made for 2: .*RTD3\.load"):
        agent(2).set_env(weighted(3))


def test_a_batch_without_the_adapter_is_refused(tmp_path: Path) -> None:
    model = agent()
    model.save(tmp_path / "agent")
    for door in (model.set_env, lambda env: RTD3.load(tmp_path / "agent", env=env)):
        with pytest.raises(UsageError, match=r"env=.*: give BatchVecEnv around WeightedReward"):
            door(batch())


class Listening(BaseCallback):
    """Keeps the actions, as going on needs them."""

    def __init__(self) -> None:
        super().__init__()
        self.actions: list[NDArray[Any]] = []

    def _on_step(self) -> bool:
        self.actions.append(np.array(self.locals["buffer_actions"]))
        return True

    def all(self) -> NDArray[Any]:
        return np.array(self.actions)


def test_a_training_goes_on_with_everything_in_its_place() -> None:
    """Also what the numbers of a run do not show: counters, buffer, optimisers, generators.

    Episodes have 5 steps and copies make 2 at once, so that the stop is within an episode.
    """
    model, kept = agent(), Listening()
    model.learn(80, callback=kept)
    arrays, settings = model.training_state(kept.all())
    stopped, kept = agent(), Listening()
    stopped.learn(46, callback=kept)
    state = stopped.training_state(kept.all())
    resumed = agent()
    resumed.restore_training_state(*state)
    assert (resumed.num_timesteps, resumed._episode_num) == (46, 8)
    resumed.learn(34, callback=kept, reset_num_timesteps=False)
    for name in ("num_timesteps", "_n_updates", "_episode_num", "_last_obs"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(model, name))
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "pos", "full"):
        np.testing.assert_array_equal(
            getattr(resumed.replay_buffer, name), getattr(model.replay_buffer, name)
        )
    own_arrays, own_settings = resumed.training_state(kept.all())
    assert own_settings == settings
    assert own_arrays.keys() == arrays.keys()
    for name, array in own_arrays.items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)


def test_the_actions_of_all_steps_are_asked_for() -> None:
    model, kept = agent(), Listening()
    model.learn(20, callback=kept)
    with pytest.raises(UsageError, match="the actions of 18 of 20 steps are given"):
        model.training_state(kept.all()[:-1])
