"""Training of ELBERT's experiments, as cases for `longfair bench train`.

A case makes the learner of an experiment and evaluates snapshots of it, so that a benchmark can
time collecting, updating and evaluating apart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.ppo import FairPPO
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.elbert import ablations, attention, infectious, lending
from longfair.papers.elbert.attention import attention_world
from longfair.papers.elbert.infectious import infectious_world
from longfair.papers.elbert.lending_world import lending_world
from longfair.papers.elbert.training import TrainedConfig, World

PUBLISHED_STEPS_PER_SECOND = {
    "elbert/lending": 351,
    "elbert/attention": 333,
    "elbert/attention-harder": 273,
    "elbert/infectious": 262,
    "elbert/infectious-harder": 249,
}
"""Training steps per second of the authors' code, without evaluation, on one core."""

PUBLISHED_HOURS = {
    "elbert/lending": 6.6,
    "elbert/attention": 19.9,
    "elbert/attention-harder": 6.1,
    "elbert/infectious": 11.7,
    "elbert/infectious-harder": 5.9,
}
"""Core hours of one run of the authors' code with its own settings, evaluation included."""

METHODS = (("elbert-po", "as_coded"), ("g-ppo", "as_published"))
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
    """Yield the cases of the five environments.

    Parameters
    ----------
    profiles
        Whose settings.
    """
    for profile in profiles:
        for method, variant in METHODS:
            strategy, _ = lending.METHODS[method, variant]
            config = ablations.lending_settings(profile, strategy)
            world = lending_world(config.preset)
            yield TrainingCase("elbert/lending", profile, method, variant, config, world)
        for experiment, world_of in (
            (infectious.INFECTIOUS, infectious_world),
            (infectious.INFECTIOUS_HARDER, infectious_world),
            (attention.ATTENTION, attention_world),
            (attention.ATTENTION_HARDER, attention_world),
        ):
            for arm in experiment.arms[profile]:
                if (arm.method, arm.variant) in METHODS:
                    world = world_of(arm.config.preset)
                    yield TrainingCase(
                        experiment.id, profile, arm.method, arm.variant, arm.config, world
                    )
