"""Training of the PPO family, with snapshots and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.ppo.fair_ppo import FairPPO
from longfair.agents.ppo.separate_clipping import SeparatelyClippedPolicy
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.protocol import Act, Snapshots
from longfair.papers.setting import PPO, Setting
from longfair.runs.checkpoints import Checkpoint

if TYPE_CHECKING:
    from longfair.agents.learning.actor import Actor

POLICIES = {"joint": "FairMlpPolicy", "separate": SeparatelyClippedPolicy}
"""Policies by how the gradient is clipped: all networks together, or each on its own."""


def train(
    learning: PPO, setting: Setting, seed: int, checkpoint: Checkpoint | None = None
) -> Snapshots:
    """Train, and keep a copy of the policy before every n-th rollout and at the end.

    Parameters
    ----------
    learning
        Settings of the algorithm.
    setting
        Everything else.
    seed
        Seed of networks, learner and environments.
    checkpoint
        Where to keep what is needed to go on after the training was stopped.
    """
    model = learner(learning, setting, seed % 2**31)
    kept = Keeping(setting.evaluating.every)
    model.learn(learning.total_steps, callback=kept)
    actors = [*kept.actors, model.policy.actor()]
    space = model.action_space

    def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
        generator = np.random.default_rng(own)
        return acting_snapshots([actors[number] for number in which], episodes, space, generator)

    return Snapshots([*kept.steps, model.num_timesteps], act, actors)


def learner(learning: PPO, setting: Setting, seed: int) -> FairPPO:
    """Return the learner of settings, ready for `learn`."""
    env = setting.world.make(learning.copies, setting.episode_length)
    for wrapper in setting.training:
        env = wrapper.around(env)
    return FairPPO(
        POLICIES[learning.clipping],  # type: ignore[arg-type]  # a name or a class of policies
        BatchVecEnv(env),
        strategy=setting.method,
        net_arch=learning.hidden,
        n_steps=setting.episode_length,
        batch_size=learning.minibatch,
        n_epochs=learning.epochs,
        learning_rate=(
            (lambda left: learning.learning_rate * left)
            if learning.annealed
            else learning.learning_rate
        ),
        gamma=learning.discount,
        seed=seed,
    )


class Keeping(BaseCallback):
    """Keep a copy of the policy before every n-th rollout, the first included."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every
        self.actors: list[Actor] = []
        self.steps: list[int] = []
        self._rollouts = 0

    def _on_rollout_start(self) -> None:
        if self._rollouts % self.every == 0:
            assert isinstance(self.model, FairPPO)
            self.actors.append(self.model.policy.actor())
            self.steps.append(self.num_timesteps)
        self._rollouts += 1

    def _on_step(self) -> bool:
        return True
