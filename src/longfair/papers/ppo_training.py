"""Training of the PPO family, with snapshots and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.learning.actor import Actor
from longfair.agents.learning.schedules import Annealed
from longfair.agents.ppo.fair_ppo import FairPPO
from longfair.agents.ppo.separate_clipping import SeparatelyClippedPolicy
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.protocol import Act, Snapshots
from longfair.papers.setting import PPO, Setting
from longfair.runs.checkpoints import Checkpoint

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
    kept = Keeping(setting.evaluating.every, checkpoint)
    kept.go_on(model)
    model.learn(
        learning.total_steps - model.num_timesteps, callback=kept, reset_num_timesteps=False
    )
    actors = [*kept.actors, model.policy.actor()]
    space = model.action_space

    def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
        generator = np.random.default_rng(own)
        return acting_snapshots([actors[number] for number in which], episodes, space, generator)

    return Snapshots([*kept.steps, model.num_timesteps], act, actors, model.learned())


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
            Annealed(learning.learning_rate) if learning.annealed else learning.learning_rate
        ),
        gamma=learning.discount,
        seed=seed,
    )


class Keeping(BaseCallback):
    """Keep a copy of the policy before every n-th rollout, the first included.

    Parameters
    ----------
    every
        The n.
    checkpoint
        Where to write, once in a while, what is needed to go on.
    """

    def __init__(self, every: int, checkpoint: Checkpoint | None = None) -> None:
        super().__init__()
        self.every = every
        self.checkpoint = checkpoint
        self.actors: list[Actor] = []
        self.steps: list[int] = []
        self._rollouts = 0

    def go_on(self, model: FairPPO) -> None:
        """Bring a new model and this callback to where a stopped training left its checkpoint."""
        found = None if self.checkpoint is None else self.checkpoint.read()
        if found is None:
            return
        arrays, settings = found
        own = {name: array for name, array in arrays.items() if not name.startswith("actor")}
        model.restore_training_state(own, settings["model"])
        self.steps, self._rollouts = list(settings["steps"]), settings["rollouts"]
        self.actors = [_actor(arrays, number) for number in range(len(self.steps))]

    def _on_rollout_start(self) -> None:
        assert isinstance(self.model, FairPPO)
        if self.checkpoint is not None and self.checkpoint.due():
            arrays, state = self.model.training_state()
            for number, actor in enumerate(self.actors):
                arrays |= _arrays(actor, number)
            settings = {"model": state, "steps": self.steps, "rollouts": self._rollouts}
            self.checkpoint.write(arrays, settings)
        if self._rollouts % self.every == 0:
            self.actors.append(self.model.policy.actor())
            self.steps.append(self.num_timesteps)
        self._rollouts += 1

    def _on_step(self) -> bool:
        return True


def _arrays(actor: Actor, number: int) -> dict[str, NDArray[Any]]:
    """Name the arrays of a snapshot."""
    pairs = enumerate(pair for layer in actor.layers for pair in layer)
    arrays = {f"actor {number} {place}": array for place, array in pairs}
    if actor.deviation is not None:
        arrays[f"actor {number} deviation"] = actor.deviation
    return arrays


def _actor(arrays: Mapping[str, NDArray[Any]], number: int) -> Actor:
    """Return the snapshot whose arrays `_arrays` named."""
    flat: list[NDArray[Any]] = []
    while f"actor {number} {len(flat)}" in arrays:
        flat.append(arrays[f"actor {number} {len(flat)}"])
    layers = list(zip(flat[::2], flat[1::2], strict=True))
    return Actor(layers, arrays.get(f"actor {number} deviation"))
