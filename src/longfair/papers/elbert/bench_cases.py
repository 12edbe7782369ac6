"""Training of ELBERT's attention and infectious experiments, as cases for `longfair bench train`.

A case makes the learner of an experiment and evaluates snapshots of it, so that a benchmark can
time collecting, updating and evaluating apart. Lending has its own rows in
`longfair.papers.benchmarks`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.ppo import FairPPO
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.elbert.attention import ATTENTION, ATTENTION_HARDER, attention_world
from longfair.papers.elbert.infectious import INFECTIOUS, INFECTIOUS_HARDER, infectious_world
from longfair.papers.elbert.training import TrainedConfig, World
from longfair.runs.experiment import Arm, Experiment

PUBLISHED_STEPS_PER_SECOND = {
    "elbert/attention": 333,
    "elbert/attention-harder": 273,
    "elbert/infectious": 262,
    "elbert/infectious-harder": 249,
}
"""Training steps per second of the authors' code, without evaluation, on one core."""

PUBLISHED_HOURS = {
    "elbert/attention": 19.9,
    "elbert/attention-harder": 6.1,
    "elbert/infectious": 11.7,
    "elbert/infectious-harder": 5.9,
}
"""Core hours of one run of the authors' code with its own settings, evaluation included."""

WORLDS = (
    (ATTENTION, attention_world),
    (ATTENTION_HARDER, attention_world),
    (INFECTIOUS, infectious_world),
    (INFECTIOUS_HARDER, infectious_world),
)
TIMED = (("elbert-po", "as_coded"), ("g-ppo", "as_published"))
"""Methods timed: all networks are trained, or only policy and reward critic."""


@dataclass(frozen=True)
class TrainingCase:
    """One method with the settings of one profile in one environment."""

    experiment: str
    profile: str
    method: str
    variant: str
    config: TrainedConfig
    world: World

    @property
    def published_steps_per_second(self) -> int:
        """Return the speed of the authors' code."""
        return PUBLISHED_STEPS_PER_SECOND[self.experiment]

    def model(self) -> FairPPO:
        """Return the learner, ready for `learn`."""
        learning = self.config.learning
        return FairPPO(
            "FairMlpPolicy",
            BatchVecEnv(self.world.make(learning.copies, self.config.episode_length)),
            self.config.strategy,
            learning.hidden,
            n_steps=self.config.episode_length,
            batch_size=learning.minibatch,
            n_epochs=learning.epochs,
            learning_rate=learning.learning_rate,
            seed=0,
        )

    def evaluation_seconds(self, model: FairPPO, steps: int = 20) -> float:
        """Return processor seconds of evaluation per rollout, all snapshots side by side.

        Parameters
        ----------
        model
            The learner.
        steps
            Steps to time of each episode.
        """
        evaluating, learning = self.config.evaluating, self.config.learning
        rollouts = learning.total_steps // (model.n_steps * model.n_envs)
        snapshots = [model.policy.actor()] * max(rollouts // evaluating.every, 1)
        generator = np.random.default_rng(0)
        act = acting_snapshots(snapshots, evaluating.episodes, model.action_space, generator)
        env = self.world.make(len(snapshots) * evaluating.episodes, evaluating.episode_length)
        observation, info = env.reset(seed=0)
        started = time.process_time()
        for _ in range(steps):
            observation, _, _, _, info = env.step(act(observation, info))
        per_step = (time.process_time() - started) / steps
        return per_step * evaluating.episode_length / rollouts


def cases(profiles: tuple[str, ...] = ("paper", "book")) -> Iterator[TrainingCase]:
    """Yield the cases of all attention and infectious experiments.

    Parameters
    ----------
    profiles
        Whose settings.
    """
    for experiment, world in WORLDS:
        for profile in profiles:
            for arm in _timed(experiment, profile):
                yield TrainingCase(
                    experiment.id,
                    profile,
                    arm.method,
                    arm.variant,
                    arm.config,
                    world(arm.config.preset),
                )


def _timed(experiment: Experiment, profile: str) -> list[Arm]:
    return [arm for arm in experiment.arms[profile] if (arm.method, arm.variant) in TIMED]
