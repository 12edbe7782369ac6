"""Training of ELBERT's experiments, as cases for `longfair bench train`.

A case makes the learner of an experiment and evaluates snapshots of it, so that a benchmark can
time collecting, updating and evaluating apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.ppo import FairPPO
from longfair.papers.elbert import attention, infectious, lending
from longfair.papers.ppo_training import learner
from longfair.papers.setting import Setting
from longfair.papers.timing import seconds_of_a_step

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
    config: Setting
    rollouts_before: int = 0
    """Rollouts after which it is timed; all are alike."""

    def model(self) -> FairPPO:
        """Return the learner, ready for `learn`."""
        learning = replace(self.config.learning, annealed=False)
        return learner(learning, self.config, seed=0)

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
        length = evaluating.episode_length or model.n_steps
        rollouts: int = learning.total_steps // (model.n_steps * model.n_envs)
        snapshots = [model.policy.actor()] * max(rollouts // evaluating.every, 1)
        generator = np.random.default_rng(0)
        act = acting_snapshots(snapshots, evaluating.episodes, model.action_space, generator)
        env = self.config.world.make(
            len(snapshots) * evaluating.episodes, evaluating.episode_length
        )
        return seconds_of_a_step(env, act, steps) * length / rollouts


def cases(profiles: tuple[str, ...] = ("paper", "book")) -> Iterator[TrainingCase]:
    """Yield the cases of the five environments.

    Parameters
    ----------
    profiles
        Whose settings.
    """
    experiments = (
        lending.LENDING,
        infectious.INFECTIOUS,
        infectious.INFECTIOUS_HARDER,
        attention.ATTENTION,
        attention.ATTENTION_HARDER,
    )
    for profile in profiles:
        for experiment in experiments:
            arms = {(arm.method, arm.variant): arm.config for arm in experiment.arms[profile]}
            for method, variant in METHODS:
                yield TrainingCase(experiment.id, profile, method, variant, arms[method, variant])
