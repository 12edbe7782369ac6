"""Training with F-PPO's settings: the last policy, and the short-term gap of every rollout."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.ppo import FairPPO
from longfair.agents.ppo.massaging.acting import intervening
from longfair.agents.ppo.shared_trunk import SharedTrunkPolicy
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.fppo.learning import TrunkPPO
from longfair.papers.protocol import Act, Snapshots
from longfair.papers.setting import Setting
from longfair.runs.checkpoints import Checkpoint


def train(
    learning: TrunkPPO,
    setting: Setting,
    seed: int,
    checkpoint: Checkpoint | None = None,
    recording: type[RolloutGaps] | None = None,
) -> Snapshots:
    """Train, and keep the last policy.

    Parameters
    ----------
    learning
        Settings of the algorithm.
    setting
        Everything else.
    seed
        Seed of networks, learner and environment.
    checkpoint
        Where to keep what is needed to go on after the training was stopped.
    recording
        What is kept of the training; `RolloutGaps` by default.

    Returns
    -------
    Snapshots
        The last policy; then, if asked for, the same with its strategy's interventions. Its
        `policies` are one `recording`.
    """
    model = learner(learning, setting, seed % 2**31)
    gaps = (recording or RolloutGaps)(checkpoint)
    gaps.go_on(model)
    rest = learning.total_steps - model.num_timesteps
    model.learn(rest, callback=gaps, reset_num_timesteps=False)
    actor, space = model.policy.actor(), model.action_space

    def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
        rng = np.random.default_rng(own)
        if list(which) == [1]:
            return intervening(setting.method, actor, learning.last_rollout, space, rng)
        return acting_snapshots([actor], episodes, space, rng)

    ways = 1 + learning.massaged_at_evaluation
    return Snapshots([model.num_timesteps] * ways, act, [gaps], model.learned())


def learner(learning: TrunkPPO, setting: Setting, seed: int) -> FairPPO:
    """Return the learner of settings, ready for `learn`."""
    env = setting.world.make(1, setting.episode_length)
    length: int = env.unwrapped.episode_length  # type: ignore[attr-defined]  # of longfair
    with warnings.catch_warnings():
        # A rollout is no multiple of a minibatch in the authors' settings, which is meant.
        warnings.filterwarnings("ignore", message=".*truncated mini-batch", category=UserWarning)
        return FairPPO(
            SharedTrunkPolicy,
            BatchVecEnv(env),
            strategy=setting.method,
            net_arch=learning.hidden,
            whole_episodes=learning.rollout % length == 0,
            n_steps=learning.rollout,
            batch_size=learning.minibatch,
            n_epochs=learning.epochs,
            learning_rate=learning.learning_rate,
            seed=seed,
        )


class RolloutGaps(BaseCallback):
    """The short-term gap of every rollout's steps, where the strategy keeps it.

    Parameters
    ----------
    checkpoint
        Where to write, once in a while, what is needed to go on.

    Attributes
    ----------
    steps
        Training steps at the end of every rollout.
    means, deviations
        Mean and standard deviation of the gap after the steps of every rollout.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("steps", "means", "deviations")
    """What of the callback is kept in a checkpoint."""

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self.steps: list[int] = []
        self.means: list[float] = []
        self.deviations: list[float] = []
        self._executed: list[NDArray[Any]] = []

    def go_on(self, model: FairPPO) -> None:
        """Bring a new model and this callback to where a stopped training left its checkpoint."""
        found = None if self.checkpoint is None else self.checkpoint.read()
        if found is None:
            return
        arrays, settings = found
        if "executed" in arrays:
            self._executed = [arrays["executed"]]
        model.restore_training_state(arrays, settings["model"])
        for name in self.KEPT:
            setattr(self, name, settings[name])

    def _on_rollout_start(self) -> None:
        assert isinstance(self.model, FairPPO)
        if self.checkpoint is not None and self.num_timesteps and self.checkpoint.due():
            arrays, state = self.model.training_state(self._so_far())
            kept = {name: getattr(self, name) for name in self.KEPT}
            self.checkpoint.write(arrays, {"model": state, **kept})

    def _so_far(self) -> NDArray[Any] | None:
        return np.concatenate(self._executed) if self._executed else None

    def _on_rollout_end(self) -> None:
        assert isinstance(self.model, FairPPO)
        if self.checkpoint is not None and not self.model.whole_episodes:
            self._executed.append(self.model.executed())
        gaps = self.model.rollout_buffer.info.get("short_term_gap")
        if gaps is not None:
            self.steps.append(self.num_timesteps)
            self.means.append(float(gaps.mean()))
            self.deviations.append(float(gaps.std()))

    def _on_step(self) -> bool:
        return True
