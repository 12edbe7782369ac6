"""FairPPO as a whole: collecting, learning, determinism, boundaries, saving."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper, VecFrameStack

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.learning.actor import Actor
from longfair.agents.ppo import APPO, RPPO, ElbertPO, FairPPO, Strategy
from longfair.envs.lending import LendingParams, LendingVectorEnv
from longfair.envs.sb3 import BatchVecEnv
from longfair.envs.wrappers import RunningRates
from longfair.errors import UsageError

EPISODE = 64


def lending(copies: int = 4, **params: Any) -> BatchVecEnv:
    fields = {"episode_length": EPISODE, **params}
    return BatchVecEnv(RunningRates(LendingVectorEnv(copies, LendingParams(**fields))))


def learner(env: Any = None, strategy: Strategy | None = None, **settings: Any) -> FairPPO:
    fields: dict[str, Any] = {
        "n_steps": EPISODE,
        "batch_size": 64,
        "n_epochs": 2,
        "net_arch": (16, 8),
        "seed": 3,
        **settings,
    }
    return FairPPO("FairMlpPolicy", env or lending(), strategy, **fields)


ALL = [Strategy(), Strategy(train_unused_critics=True), ElbertPO(), RPPO(), APPO()]


@pytest.mark.parametrize("strategy", ALL, ids=lambda s: f"{s.name}-{s.train_unused_critics}")
def test_same_seed_same_parameters(strategy: Strategy) -> None:
    first, second, other = (
        learner(strategy=strategy, seed=seed).learn(600).policy.flat.values for seed in (3, 3, 4)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_learning_raises_the_reward() -> None:
    """On 500-step episodes the untrained policy earns about 0.02 per step, the myopic 0.19."""
    env = lending(16, episode_length=500)
    model = learner(env, n_steps=500, batch_size=500, n_epochs=8, learning_rate=3e-3)
    model.learn(16 * 500)
    before = model.rollout_buffer.rewards.mean()
    model.learn(14 * 16 * 500, reset_num_timesteps=False)
    assert before < 0.06
    assert model.rollout_buffer.rewards.mean() > 0.12


def test_one_update_is_the_textbook_gradient() -> None:
    """The step of one minibatch follows autograd's gradient of PPO's loss plus the critics'."""
    strategy = ElbertPO.as_coded(alpha=100.0)
    model = learner(strategy=strategy, batch_size=4 * EPISODE, n_epochs=1, max_grad_norm=1e9)
    model.learn(4 * EPISODE)
    model.learning_rate = 0.0
    minibatches = model.rollout_buffer.minibatches(
        model._samples, 4 * EPISODE, model.rng, partial(strategy.advantage, plan=model._plan)
    )
    batch = next(minibatches)
    observations, actions, old, returns, advantage = (torch.from_numpy(array) for array in batch)
    values, log_prob, _ = model.policy.evaluate_actions(observations, actions[:, 0].long())
    ratio = (log_prob - old).exp()
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    loss = -surrogate + 0.5 * (values - returns).square().mean(dim=0).sum()
    expected = torch.cat(
        [g.flatten() for g in torch.autograd.grad(loss, list(model.policy.parameters()))]
    )
    model._train_epoch(clip_range=0.2)  # one minibatch of all samples, in another order
    torch.testing.assert_close(model.policy.flat.values.grad, expected, rtol=1e-3, atol=1e-5)


def test_rollout_keeps_what_the_environment_gave() -> None:
    model = learner()
    model.learn(4 * EPISODE)
    buffer = model.rollout_buffer
    accepted = buffer.actions == 1
    repaid = buffer.demand.sum(axis=2)
    np.testing.assert_array_equal(buffer.rewards, accepted * (2 * repaid - 1))
    np.testing.assert_array_equal(buffer.supply.sum(axis=2), accepted * repaid)
    assert buffer.episode_starts[0].all()
    assert not buffer.episode_starts[1:].any()
    assert buffer.ends(np.ones(4, bool))[-1].all()


def test_single_environments_work_too() -> None:
    env = DummyVecEnv([lambda: gymnasium.make("longfair/Lending-v0", episode_length=EPISODE)] * 2)
    model = learner(env, ElbertPO())
    model.learn(2 * EPISODE)
    assert model.rollout_buffer.demand.sum() > 0


def test_bootstrapping_adds_the_value_of_the_final_observation() -> None:
    terminal, bootstrapped = (
        learner(strategy=ElbertPO(), bootstrap_truncated=flag, n_epochs=1) for flag in (False, True)
    )
    for model in (terminal, bootstrapped):
        model._setup_learn(1000)
        model.collect_rollouts(model.env, _silent(model), model.rollout_buffer, EPISODE)
    difference = (bootstrapped._samples.advantages - terminal._samples.advantages).reshape(
        EPISODE, 4, 5
    )
    assert (difference[-1].abs() > 0).sum() >= 18
    # The value added to the last return reaches the step before discounted and decayed.
    torch.testing.assert_close(difference[-2], 0.99 * 0.95 * difference[-1], rtol=1e-3, atol=1e-5)


def test_bootstrapping_sees_stacked_final_observations() -> None:
    model = learner(VecFrameStack(lending(2), 3), bootstrap_truncated=True, n_epochs=1)
    assert model.learn(2 * EPISODE).num_timesteps == 2 * EPISODE


def test_bootstrapping_works_with_statistics_of_gymnasium() -> None:
    env = RecordEpisodeStatistics(lending(2).env)
    model = learner(BatchVecEnv(env), bootstrap_truncated=True, n_epochs=1)
    assert model.learn(2 * EPISODE).num_timesteps == 2 * EPISODE


class Doubled(VecEnvWrapper):
    """Shows every number twice, and forgets the final observation."""

    def __init__(self, venv: Any) -> None:
        box = venv.observation_space
        low, high = (np.tile(bound, 2) for bound in (box.low, box.high))
        super().__init__(venv, Box(low, high, dtype=np.float32))

    def reset(self) -> Any:
        return np.tile(self.venv.reset(), 2)

    def step_wait(self) -> Any:
        observation, *rest = self.venv.step_wait()
        return (np.tile(observation, 2), *rest)


def test_a_final_observation_of_another_shape_is_refused() -> None:
    model = learner(Doubled(lending(2)), bootstrap_truncated=True)
    with pytest.raises(UsageError, match=r"terminal_observation has shape \(11,\).*\(22,\): give"):
        model.learn(2 * EPISODE)


def _silent(model: FairPPO) -> Any:
    return model._init_callback(None)


def test_rollouts_may_go_on_across_episodes() -> None:
    env = lending(4, episode_length=50)
    model = learner(env, Strategy(), whole_episodes=False)
    model.learn(8 * EPISODE)
    starts = model.rollout_buffer.episode_starts
    assert starts.any(axis=1).tolist() == [(EPISODE + step) % 50 == 0 for step in range(EPISODE)]


def test_elbert_po_refuses_rollouts_without_a_whole_episode() -> None:
    model = learner(lending(4, episode_length=50), ElbertPO(), whole_episodes=False)
    with pytest.raises(UsageError, match="no episode begins and ends within a rollout"):
        model.learn(8 * EPISODE)


class BrokenReward(RunningRates):
    """Return a reward that is not a number once."""

    def step(self, actions: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(actions)
        reward[2] = np.nan
        return observation, reward, terminated, truncated, info


def test_nan_reward_is_reported_in_one_line() -> None:
    env = BatchVecEnv(BrokenReward(LendingVectorEnv(4, LendingParams(episode_length=EPISODE))))
    with pytest.raises(UsageError, match=r"reward nan in copy 2, step 0"):
        learner(env).learn(4 * EPISODE)


def test_environment_without_groups_is_refused() -> None:
    env = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])
    with pytest.raises(UsageError, match="num_groups"):
        learner(env)


def test_snapshots_act_as_their_policies_would() -> None:
    models = [learner(seed=seed) for seed in (1, 2, 3)]
    actors = [model.policy.actor() for model in models]
    observations = np.random.default_rng(0).random((15, 11), dtype=np.float32)
    stacked = Actor.stack(actors).output(observations.reshape(3, 5, 11))
    for index, model in enumerate(models):
        rows = observations[5 * index : 5 * index + 5]
        alone = model.policy.networks.policy(torch.from_numpy(rows)).detach().numpy()
        np.testing.assert_allclose(stacked[index], alone, rtol=1e-5, atol=1e-6)
    act = acting_snapshots(actors, 5, models[0].action_space, np.random.default_rng(0))
    assert act(observations, {}).shape == (15,)


@pytest.mark.parametrize("actions", [2, 3])
def test_sampling_follows_the_probabilities(actions: int) -> None:
    logits = np.array([0.3, -0.5, 1.0], np.float32)[:actions]
    actor = Actor([(np.zeros((1, actions), np.float32), logits)], None)
    drawn = actor.sample(np.zeros((100_000, 1), np.float32), np.random.default_rng(0))
    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(np.bincount(drawn) / 100_000, expected, atol=4 * 0.0016)


@pytest.mark.parametrize("strategy", ALL[1:4], ids=lambda s: s.name)
def test_saved_agent_is_the_same_agent(strategy: Strategy, tmp_path: Path) -> None:
    model = learner(strategy=strategy)
    model.learn(4 * EPISODE)
    model.save(tmp_path / "agent.npz")
    loaded = FairPPO.load(tmp_path / "agent.npz")
    assert torch.equal(model.policy.flat.values, loaded.policy.flat.values)
    assert loaded.strategy == strategy
    observations = np.random.default_rng(0).random((20, 11), dtype=np.float32)
    np.testing.assert_array_equal(
        model.predict(observations, deterministic=True)[0],
        loaded.predict(observations, deterministic=True)[0],
    )
    going_on = FairPPO.load(tmp_path / "agent.npz", lending())
    going_on.learn(4 * EPISODE)
    assert not torch.equal(going_on.policy.flat.values, loaded.policy.flat.values)


def test_bad_model_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read a model"):
        FairPPO.load(tmp_path / "missing.npz")
    (tmp_path / "damaged.npz").write_bytes(b"PK\x03\x04 not a model")
    with pytest.raises(UsageError, match="is not a model"):
        FairPPO.load(tmp_path / "damaged.npz")
    np.savez(tmp_path / "pickled.npz", settings=np.array({"a": 1}, dtype=object))
    with pytest.raises(UsageError, match="is not a model"):
        FairPPO.load(tmp_path / "pickled.npz")
    model = learner()
    with pytest.raises(UsageError, match="cannot write"):
        model.save(tmp_path / "no such folder" / "agent.npz")
    model.save(tmp_path / "agent.npz")
    plain = BatchVecEnv(LendingVectorEnv(2, LendingParams(episode_length=EPISODE)))
    with pytest.raises(UsageError, match="was trained on"):
        FairPPO.load(tmp_path / "agent.npz", plain)
    with pytest.raises(UsageError, match=r"cannot load .*it was trained on"):
        FairPPO.load(tmp_path / "agent.npz", "longfair/Attention-v0")


@pytest.mark.parametrize("batch_size", [100, 64, 300])
def test_every_sample_is_used_once_per_epoch(batch_size: int) -> None:
    model = learner(batch_size=batch_size)
    model.learn(4 * EPISODE)
    combine = partial(model.strategy.advantage, plan=model._plan)
    batches = list(model.rollout_buffer.minibatches(model._samples, batch_size, model.rng, combine))
    sizes = [len(batch.advantage) for batch in batches]
    assert sum(sizes) == 4 * EPISODE
    assert all(size == batch_size for size in sizes[:-1])
    returns = np.concatenate([batch.returns for batch in batches])[:, 0]
    np.testing.assert_allclose(np.sort(returns), np.sort(model._samples.returns[:, 0]))
    for batch in batches:
        assert abs(batch.advantage.mean()) < 1e-4
