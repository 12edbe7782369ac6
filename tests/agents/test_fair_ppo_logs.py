"""FairPPO logs what Stable-Baselines3's PPO logs, and how fair the rollout was."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import KVWriter, Logger

from longfair.agents.ppo import ElbertPO, FairPPO
from longfair.agents.ppo.logs import Episodes, explained_variance, of_rollout
from longfair.agents.ppo.strategy import Rollout

EPISODE = 50


class Kept(KVWriter):
    """Keep what was logged last."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def write(self, key_values: Any, key_excluded: Any, step: int = 0) -> None:
        self.values.update(key_values)


def logged(model: Any, steps: int) -> dict[str, Any]:
    kept = Kept()
    model.set_logger(Logger(None, [kept]))
    model.learn(steps)
    model.dump_logs(1)
    return kept.values


def trained(env: str = "longfair/Lending-v0", **settings: Any) -> tuple[FairPPO, dict[str, Any]]:
    batch = gymnasium.make_vec(env, num_envs=3, episode_length=EPISODE)
    small = {"batch_size": 50, "n_epochs": 2, "net_arch": (8,), "seed": 1}
    model = FairPPO(env=batch, strategy=ElbertPO(alpha=10.0), **(small | settings))
    return model, logged(model, 2 * 3 * EPISODE)


@pytest.mark.parametrize("env", ["longfair/Lending-v0", "longfair/Population-v0"])
def test_every_name_of_stable_baselines3_is_there(env: str) -> None:
    base = PPO("MlpPolicy", make_vec_env(env, 2), n_steps=1000, batch_size=500, n_epochs=1)
    names = {name for name in logged(base, 2000) if not name.startswith("time/")}
    assert len(names) >= 8
    ours = trained(env)[1]
    assert names | {"rollout/ep_rew_mean", "rollout/ep_len_mean", "rollout/bias"} <= set(ours)
    assert all(np.isfinite(value) for value in ours.values())


def test_numbers_are_those_of_the_rollout() -> None:
    model, values = trained()
    buffer = model.rollout_buffer
    assert values["rollout/ep_len_mean"] == EPISODE
    rewards = [episode["r"] for episode in model.ep_info_buffer]
    assert len(rewards) == 6
    np.testing.assert_allclose(rewards[3:], buffer.rewards.sum(axis=0))
    rates = buffer.supply.sum(axis=(0, 1)) / buffer.demand.sum(axis=(0, 1))
    assert values["rollout/rate_1"] == pytest.approx(rates[1])
    assert values["rollout/bias"] == pytest.approx(np.ptp(rates))


def test_a_policy_that_stands_still_clips_nothing() -> None:
    values = trained(learning_rate=1e-12)[1]
    assert values["train/clip_fraction"] == 0.0
    assert abs(values["train/approx_kl"]) < 1e-6
    assert values["train/entropy_loss"] == pytest.approx(-np.log(2), abs=0.02)
    total = values["train/policy_gradient_loss"] + 0.5 * values["train/value_loss"]
    assert values["train/loss"] == pytest.approx(total)


def test_explained_variance_compares_the_critic_with_the_returns() -> None:
    returns = torch.tensor([1.0, 2.0, 3.0, 6.0])
    assert explained_variance(returns, torch.zeros(4)) == 1.0
    assert explained_variance(returns, returns - 5.0) == pytest.approx(0.0)
    assert explained_variance(returns, 0.5 * returns) == pytest.approx(0.75)
    assert np.isnan(explained_variance(torch.ones(4), returns))


def rollout(rewards: Any, starts: Any, ends: Any) -> Rollout:
    first, flags = np.asarray(rewards, float), [np.asarray(f, bool) for f in (starts, ends)]
    nothing = np.zeros((*first.shape, 2))
    return Rollout(first, nothing, nothing, *flags, 0.99)


def test_episodes_go_on_from_one_rollout_to_the_next() -> None:
    episodes = Episodes(2)
    found = episodes.finished(
        rollout([[1, 10], [2, 20], [4, 40]], [[1, 1], [0, 0], [1, 0]], [[0, 0], [1, 0], [0, 0]])
    )
    assert found == [{"r": 3.0, "l": 2}]
    found = episodes.finished(rollout([[8, 80], [16, 160]], [[0, 0], [1, 0]], [[1, 0], [0, 1]]))
    assert found == [{"r": 12.0, "l": 2}, {"r": 310.0, "l": 5}]
    fresh = episodes.finished(rollout([[32, 320]], [[1, 1]], [[1, 1]]))
    assert [episode["r"] for episode in fresh] == [32.0, 320.0]


def test_groups_without_demand_have_no_rate() -> None:
    assert of_rollout(rollout([[1, 10]], [[1, 1]], [[1, 1]])) == {}
