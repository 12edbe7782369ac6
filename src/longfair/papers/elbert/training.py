"""Train a method of the ELBERT paper and evaluate it, in any of the paper's environments.

Which environment, and what its agents see, is the caller's business: it hands over a function that
makes a batch. The settings are dataclasses of plain values, so that a stored result can tell what
it was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from longfair.agents.evaluation import (
    Act,
    Agent,
    EpisodeTotals,
    acting,
    acting_snapshots,
    play_episodes,
)
from longfair.agents.ppo.fair_ppo import FairPPO
from longfair.agents.ppo.policy import Actor
from longfair.agents.ppo.separate_clipping import SeparatelyClippedPolicy
from longfair.agents.ppo.strategy import Strategy
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.elbert.lending import Evaluating, Snapshots
from longfair.papers.elbert.measures import ALL_GROUPS, measured

POLICIES = {"joint": "FairMlpPolicy", "separate": SeparatelyClippedPolicy}
"""Policies by how the gradient is clipped: all networks together, or each on its own."""

Measure = Callable[[EpisodeTotals, str, int], pd.DataFrame]
"""Makes rows of a result table of some episodes, the phase, and the training steps."""


def measured_with_extremes(totals: EpisodeTotals, phase: str, step: int) -> pd.DataFrame:
    """Return what `measured` does, and supply and demand of the best and the worst served group.

    Parameters
    ----------
    totals, phase, step
        As in `measured`.

    Notes
    -----
    As in the authors' Figure 9 the advantaged group is the one with the highest rate in this very
    evaluation, the disadvantaged one that with the lowest. So they can change during training.
    """
    frame = measured(totals, phase, step)
    rates, supply, demand = (
        frame.loc[frame["metric"] == name, "value"].to_numpy()
        for name in ("rate", "supply", "demand")
    )
    extremes = {"advantaged": rates.argmax(), "disadvantaged": rates.argmin()}
    rows = [
        (f"{name}_{quantity}", float(values[group]))
        for name, group in extremes.items()
        for quantity, values in (("supply", supply), ("demand", demand))
    ]
    return pd.concat([frame, _rows(rows, phase, step)], ignore_index=True)


class World(NamedTuple):
    """Where a method is trained and evaluated."""

    make: Callable[[int, int], VectorEnv[Any, Any, Any]]
    """Makes a batch of so many copies with episodes of so many steps, observed as in the paper."""
    counted: tuple[str, ...] = ()
    """Keys of the step's `info`, each one number per copy, whose mean per step is reported too."""
    measure: Measure = measured_with_extremes
    """What is reported of an evaluation's supply, demand and reward."""
    adapt: Callable[[VectorEnv[Any, Any, Any]], BatchVecEnv] = BatchVecEnv
    """What lets Stable-Baselines3 train on the batch."""


@dataclass(frozen=True)
class Learning:
    """Settings of PPO."""

    copies: int
    """Environments stepped together; the rollout is `copies` whole episodes."""
    minibatch: int
    epochs: int
    learning_rate: float
    hidden: tuple[int, ...]
    total_steps: int
    annealed: bool = False
    """Whether the learning rate falls to zero in a straight line; the authors keep it."""


@dataclass(frozen=True)
class TrainedConfig:
    """One learned method in one environment."""

    preset: str
    """Preset of the environment."""
    strategy: Strategy
    learning: Learning
    evaluating: Evaluating
    """How it is evaluated, as in the lending experiment."""
    episode_length: int
    """Steps of a training episode."""
    clipping: str = "joint"
    """Whether one norm of the gradient is clipped, or that of every network: see `POLICIES`."""


@dataclass(frozen=True)
class ReferenceConfig:
    """One policy that needs no training in one environment."""

    preset: str
    policy: str
    evaluating: Evaluating


def train_and_evaluate(config: TrainedConfig, seed: int, world: World) -> pd.DataFrame:
    """Train a method, evaluate snapshots along the way and the last policy at length.

    Parameters
    ----------
    config
        What to run.
    seed
        Number of the run. Training and evaluation draw from disjoint streams made from it, the
        same for every method, so that methods can be compared in pairs.
    world
        Where to run it.

    Returns
    -------
    pandas.DataFrame
        The result table; see `longfair.runs`.
    """
    training, evaluation = _two_streams(seed)
    learning, evaluating = config.learning, config.evaluating
    model = FairPPO(
        POLICIES[config.clipping],  # type: ignore[arg-type]  # a name or a class of policies
        world.adapt(world.make(learning.copies, config.episode_length)),
        strategy=config.strategy,
        net_arch=learning.hidden,
        n_steps=config.episode_length,
        batch_size=learning.minibatch,
        n_epochs=learning.epochs,
        learning_rate=_learning_rate(learning),
        seed=training % 2**31,
    )
    snapshots = Snapshots(evaluating.every)
    model.learn(learning.total_steps, callback=snapshots)
    steps = [*snapshots.steps, model.num_timesteps]
    actors = [*snapshots.actors, model.policy.actor()]
    space = model.action_space

    def act_as(actors: list[Actor], episodes: int, stream: int) -> Act:
        generator = np.random.default_rng(_stream(evaluation, stream))
        return acting_snapshots(actors, episodes, space, generator)

    curve = _evaluate(
        act_as(actors, evaluating.episodes, 3),
        world,
        evaluating.episodes,
        evaluating.episode_length,
        _stream(evaluation, 4),
        "curve",
        steps,
    )
    final = _evaluate(
        act_as(actors[-1:], evaluating.final_episodes, 1),
        world,
        evaluating.final_episodes,
        evaluating.episode_length,
        _stream(evaluation, 2),
        "final",
        steps[-1:],
    )
    return pd.concat([curve, final], ignore_index=True)


def evaluate_reference(
    config: ReferenceConfig,
    seed: int,
    world: World,
    policy: Callable[[ReferenceConfig, int], Agent],
) -> pd.DataFrame:
    """Evaluate a policy that needs no training, on the episodes the learned ones get.

    Parameters
    ----------
    config
        What to run.
    seed
        Number of the run; streams as in `train_and_evaluate`.
    world
        Where to run it.
    policy
        Makes the policy of the settings and of a seed for its own draws.
    """
    _, evaluation = _two_streams(seed)
    agent = policy(config, _stream(evaluation, 1))
    evaluating = config.evaluating
    return _evaluate(
        acting(agent),
        world,
        evaluating.final_episodes,
        evaluating.episode_length,
        _stream(evaluation, 2),
        "final",
        [0],
    )


class Counting(VectorWrapper[Any, Any, Any, Any]):
    """Add up numbers of the step's `info` in every copy, from the reset on.

    Parameters
    ----------
    env
        A batch environment.
    keys
        Keys of `info`, each one number per copy.

    Attributes
    ----------
    counts
        (N,) for every key.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], keys: Sequence[str]) -> None:
        super().__init__(env)
        self.counts: dict[str, NDArray[np.float64]] = {key: np.zeros(env.num_envs) for key in keys}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        for key, count in self.counts.items():
            count += info[key]
        return observation, reward, terminated, truncated, info


def _learning_rate(learning: Learning) -> float | Callable[[float], float]:
    """Return the learning rate, or how it follows from the part of the training still to come."""
    if not learning.annealed:
        return learning.learning_rate
    return lambda left: learning.learning_rate * left


def _evaluate(
    act: Act,
    world: World,
    episodes: int,
    episode_length: int,
    seed: int,
    phase: str,
    steps: list[int],
) -> pd.DataFrame:
    """Let policies play side by side, one for every entry of `steps`, and report on each.

    Copies are ordered by policy, then episode. All episodes have the same length, so that every
    copy plays exactly one.
    """
    env = Counting(world.make(len(steps) * episodes, episode_length), world.counted)
    totals = play_episodes(act, env, seed)
    frames = []
    for place, step in enumerate(steps):
        own = slice(place * episodes, (place + 1) * episodes)
        part = EpisodeTotals(*(total[own] for total in totals))
        frames.append(world.measure(part, phase, step))
        counted = [(key, float(n[own].sum() / part.steps.sum())) for key, n in env.counts.items()]
        frames.append(_rows(counted, phase, step))
    return pd.concat(frames, ignore_index=True)


def _rows(values: list[tuple[str, float]], phase: str, step: int) -> pd.DataFrame:
    """Return rows of a result table for metrics of all groups together."""
    frame = pd.DataFrame(values, columns=["metric", "value"]).astype({"value": np.float64})
    frame.insert(1, "group", np.int32(ALL_GROUPS))
    frame.insert(0, "step", np.int64(step))
    frame.insert(0, "phase", phase)
    return frame


def _two_streams(seed: int) -> tuple[int, int]:
    """Return the seeds from which training and evaluation draw."""
    training, evaluation = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
    return training, evaluation


def _stream(seed: int, index: int) -> int:
    """Return an independent seed of at most 32 bits."""
    return int(np.random.SeedSequence((seed, index)).generate_state(1)[0])
