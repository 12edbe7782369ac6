"""Our R-TD3 as coded gives the numbers of the authors' script: rewards, memory, actions, updates.

The log is `authors_logs/ucbfair_r_td3.npz`; `authors_logs/README.md` says how it was made and what
is in it. Its starts, weights and draws are fed to our agent, which works out everything else again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
import torch
from logged_starts import LoggedStarts
from numpy.typing import NDArray

from longfair.agents.ucbfair.td3 import RTD3, WeightedReward
from longfair.agents.ucbfair.td3_settings import RTD3Settings
from longfair.envs.population import PopulationParams
from longfair.envs.population.histograms import FeatureHistograms
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.ucbfair.training import BestActor

LOG = dict(np.load(Path(__file__).parent / "authors_logs" / "ucbfair_r_td3.npz"))
STEPS, LENGTH, STARTS = len(LOG["actions"]), 20, 50
SINGLE = {"rtol": 1e-6, "atol": 1e-6}
"""Rounding to single precision, in which the authors' simulator and networks work."""
UPDATED = {"rtol": 1e-5, "atol": 1e-6}
"""The same after as many as 80 updates."""


class LoggedNoise:
    """The noise of the log, one action after the other."""

    def __init__(self) -> None:
        self._left = iter(LOG["noise"])

    def __call__(self) -> NDArray[np.float64]:
        return next(self._left)

    def reset(self) -> None:
        pass


class Replay(NamedTuple):
    """What our agent makes of the log."""

    agent: RTD3
    first: NDArray[np.float32]
    """Its weights after its first updates."""
    losses: list[list[float]]
    """Of the critics and of the actor, after every episode that was learned from."""


def weights_of(agent: RTD3) -> NDArray[np.float32]:
    return np.concatenate([part.numpy().ravel() for part in agent.policy.state_dict().values()])


def filled(agent: RTD3, before: NDArray[np.float32]) -> None:
    """Give networks and their targets the same weights."""
    state, at = agent.policy.state_dict(), 0
    for name in state:
        if "target" not in name:
            size = state[name].numel()
            given = torch.from_numpy(before[at : at + size]).reshape(state[name].shape)
            own, part, rest = name.partition(".")
            state[name].copy_(given)
            state[f"{own}_target{part}{rest}"].copy_(given)
            at += size
    assert at == len(before)


@pytest.fixture(scope="module")
def replay() -> Replay:
    """Let our agent play and learn as long as the authors'.

    Of the script's numbers only the steps of an episode, the steps before learning and the layers
    of the networks are smaller.
    """
    params = replace(PopulationParams.adult(), episode_length=LENGTH)
    settings = RTD3Settings.as_coded(learning_starts=STARTS, hidden=(8, 6))
    env = FeatureHistograms(gymnasium.make_vec("longfair/Population-v0", num_envs=1, params=params))
    env.unwrapped._np_random = LoggedStarts(LOG["starts"])
    agent = RTD3.around(BatchVecEnv(WeightedReward(env, settings)), settings)
    assert list(agent.policy.state_dict()) == LOG["names"].tolist()
    filled(agent, LOG["before"])
    agent.action_noise = LoggedNoise()  # type: ignore[assignment]  # stands in for one
    patched = pytest.MonkeyPatch()
    chosen, batches = iter(LOG["random"]), iter(LOG["batches"])
    smoothing = iter(torch.from_numpy(LOG["target_noise"]))
    buffer: Any = agent.replay_buffer
    first: list[NDArray[np.float32]] = []
    losses: list[list[float]] = []
    train = agent.train

    def trained(*arguments: Any, **named: Any) -> None:
        train(*arguments, **named)
        first.append(weights_of(agent))
        told = agent.logger.name_to_value
        losses.append([told["train/critic_loss"], told["train/actor_loss"], agent._n_updates])

    def sampled(size: int, env: Any = None) -> Any:
        rows = next(batches).astype(int)
        assert len(rows) == size
        return buffer._get_samples(rows, env)

    with patched.context() as patch:
        patch.setattr(agent.action_space, "sample", lambda: next(chosen))
        patch.setattr(buffer, "sample", sampled)
        patch.setattr(torch.Tensor, "normal_", lambda own, *_: own.copy_(next(smoothing)))
        patch.setattr(agent, "train", trained)
        agent.learn(STEPS)
    return Replay(agent, first[0], losses)


def remembered(replay: Replay, name: str) -> NDArray[Any]:
    """Return what the replay buffer holds of the steps made."""
    held: NDArray[Any] = getattr(replay.agent.replay_buffer, name)[:STEPS, 0]
    return held


def test_settings_are_those_of_the_script() -> None:
    """Read off the agent that the unchanged script makes; one copy, learning after an episode."""
    own, params = RTD3Settings.as_coded(), PopulationParams.adult()
    env = FeatureHistograms(gymnasium.make_vec("longfair/Population-v0", num_envs=1, params=params))
    small = replace(own, hidden=(8, 6), buffer_size=1000)  # takes less time
    agent = RTD3.around(BatchVecEnv(WeightedReward(env, small)), small)
    noise: Any = agent.action_noise
    told = [
        own.learning_rate,
        own.batch_size,
        own.learning_starts,
        own.buffer_size,
        agent.tau,
        agent.gamma,
        agent.gradient_steps,
        agent.policy_delay,
        agent.target_policy_noise,
        agent.target_noise_clip,
        *noise._sigma,
    ]
    np.testing.assert_array_equal(told, LOG["settings"])
    assert own.hidden == tuple(LOG["hidden"])
    assert params.episode_length == LOG["length"]
    frequency: Any = agent.train_freq
    assert (frequency.frequency, frequency.unit.value) == (1, "episode")


def test_observations_are_the_authors(replay: Replay) -> None:
    """130 numbers, no time; that of the end of an episode is not that of the next one's start."""
    np.testing.assert_allclose(
        remembered(replay, "observations")[::10], LOG["observations"], **SINGLE
    )
    ends = remembered(replay, "next_observations")[LENGTH - 1 :: LENGTH]
    np.testing.assert_allclose(ends, LOG["next_ends"], **SINGLE)


def test_rewards_are_the_authors(replay: Replay) -> None:
    """The weight of the 20th power rises by a step before it counts, and begins anew."""
    np.testing.assert_allclose(remembered(replay, "rewards"), LOG["rewards"], **SINGLE)
    sums = remembered(replay, "rewards").reshape(-1, LENGTH).sum(axis=1)
    np.testing.assert_allclose(sums, LOG["episode_sums"][1:, 2], rtol=1e-6)


def test_episodes_end_for_good_as_the_authors_do(replay: Replay) -> None:
    np.testing.assert_array_equal(remembered(replay, "dones").astype(bool), LOG["dones"])
    assert LOG["dones"].sum() == STEPS / LENGTH


def test_actions_are_the_authors(replay: Replay) -> None:
    """Random ones at first, then the actor's; noise is added to both. The last are learned."""
    actions = remembered(replay, "actions")
    np.testing.assert_allclose(actions, LOG["actions"], **UPDATED)
    np.testing.assert_allclose((actions + 1) / 2, LOG["executed"], **UPDATED)
    random = 2 * LOG["random"].astype(np.float64) - 1
    noisy = np.clip(random + LOG["noise"][:STARTS], -1, 1)
    np.testing.assert_allclose(actions[:STARTS], noisy, **SINGLE)


def test_updates_are_the_authors(replay: Replay) -> None:
    """As many as the episode had steps; of the actor and of the targets half as many."""
    np.testing.assert_allclose(replay.first, LOG["first"], **UPDATED)
    np.testing.assert_allclose(weights_of(replay.agent), LOG["after"], **UPDATED)
    assert np.abs(LOG["after"] - LOG["first"]).max() > 0.02
    np.testing.assert_allclose(replay.losses, LOG["losses"], **UPDATED)


def test_the_policy_is_kept_when_the_authors_do(replay: Replay) -> None:
    """From the sixth episode on, by the mean of the last three; here at its end."""
    best, saves = BestActor(1), []
    actor = replay.agent.actor
    for step, (reward, ended) in enumerate(zip(LOG["rewards"], LOG["dones"], strict=True), 1):
        before = best.mean
        best.look(np.array([reward]), np.array([ended]), actor)
        if best.mean > before:
            saves.append([step, best.mean])
    np.testing.assert_allclose(saves, LOG["saves"], rtol=1e-6)


def test_the_best_policy_stays_kept_until_there_is_a_better_one() -> None:
    best, actor = BestActor(2), torch.nn.Linear(1, 1)
    for level in (9.0, 3.0, 6.0, 5.0, 4.0):
        with torch.no_grad():
            actor.weight.fill_(level)
        best.look(np.array([level - 1.0, level]), np.array([True, True]), actor)
    assert best.mean == 5.0  # 6, then 4 and 5: copies in their order
    assert float(best.parameters["weight"]) == 5.0
    other = BestActor(2)
    other.go_on(best.arrays())
    assert other.arrays().keys() == best.arrays().keys()
    assert other.mean == best.mean


def test_what_is_learned_acts_as_the_authors(replay: Replay) -> None:
    acts = replay.agent.predict(LOG["observations"], deterministic=True)[0]
    np.testing.assert_allclose(acts, LOG["predicted"], **UPDATED)
