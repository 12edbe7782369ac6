"""Training of R-TD3: what is learned, what happened in every episode, and checkpoints."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback

from longfair.agents.policies.notions import NOTIONS
from longfair.agents.ucbfair.td3 import RTD3, WeightedReward
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.setting import Setting
from longfair.papers.ucbfair.learning import TD3Learning
from longfair.runs.checkpoints import Checkpoint


def train(
    learning: TD3Learning, setting: Setting, seed: int, checkpoint: Checkpoint | None = None
) -> tuple[RTD3, list[float], list[float]]:
    """Train, and tell what happened in the episodes of training.

    Parameters
    ----------
    learning
        How long.
    setting
        Everything else: the method is a `longfair.agents.ucbfair.td3_settings.RTD3Settings`.
    seed
        Seed of networks, learner and environment.
    checkpoint
        Where to keep what is needed to go on after the training was stopped.

    Returns
    -------
    agent : RTD3
        What was learned; it acts as the policy that `learning` keeps.
    loss, disparity : list of float
        Mean over the steps of every whole episode of every copy, in their order.

    Notes
    -----
    Denormal numbers are flushed to zero from the first training on, in the whole thread and for
    good.
    """
    torch.set_flush_denormal(True)
    env = setting.world.make(learning.copies, setting.episode_length)
    length: int = env.unwrapped.episode_length  # type: ignore[attr-defined]  # of longfair
    weighted = BatchVecEnv(WeightedReward(env, setting.method))
    agent = RTD3.around(weighted, setting.method, seed % 2**31)
    best = BestActor(learning.copies) if learning.keeps_best else None
    recording = Recording(NOTIONS[setting.method.notion], checkpoint, best)
    recording.go_on(agent)
    rest = learning.total_steps - agent.num_timesteps
    agent.learn(rest, callback=recording, reset_num_timesteps=False)
    if best is not None and best.parameters:
        agent.actor.load_state_dict(best.parameters)
    steps = recording.steps()
    whole = steps[: len(steps) // length * length]
    episodes = whole.reshape(-1, length, 2, learning.copies).mean(axis=1)
    loss, disparity = (np.ravel(episodes[:, kind]).tolist() for kind in range(2))
    return agent, loss, disparity


class BestActor:
    """The actor whose last three episodes of training had the best mean return.

    It is what the released script keeps. It looks from the sixth episode on, at the step with which
    an episode ends, before anything is learned from it. Noise and random actions are in the
    returns.

    Parameters
    ----------
    copies
        Number of copies N, whose episodes count in this order where they end together.
    """

    FIRST: ClassVar[int] = 6
    LAST: ClassVar[int] = 3

    def __init__(self, copies: int) -> None:
        self.mean = -np.inf
        self.parameters: dict[str, torch.Tensor] = {}
        self._running = np.zeros(copies)
        self._returns: list[float] = []

    def look(self, rewards: NDArray[Any], ended: NDArray[Any], actor: torch.nn.Module) -> None:
        """Take in a step: rewards (N,), which copies ended with it (N,), and who acted."""
        self._running += rewards
        if not ended.any():
            return
        self._returns += self._running[ended].tolist()
        self._running[ended] = 0.0
        mean = float(np.mean(self._returns[-self.LAST :]))
        if len(self._returns) >= self.FIRST and mean > self.mean:
            self.mean = mean
            self.parameters = {name: one.clone() for name, one in actor.state_dict().items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is needed to go on."""
        kept = {f"{_BEST}{name}": one.numpy() for name, one in self.parameters.items()}
        told = {"best mean": self.mean, "running": self._running, "returns": self._returns}
        return kept | {name: np.array(value) for name, value in told.items()}

    def go_on(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what `arrays` returned."""
        self.mean, self._running = float(arrays["best mean"]), arrays["running"]
        self._returns = arrays["returns"].tolist()
        self.parameters = {
            name.removeprefix(_BEST): torch.from_numpy(array)
            for name, array in arrays.items()
            if name.startswith(_BEST)
        }


_BEST = "best actor "


class Recording(BaseCallback):
    """Keeps loss and disparity of every step, and what is needed to go on.

    Parameters
    ----------
    notion
        Number of the disparity.
    checkpoint
        Where to write, once in a while, what is needed to go on.
    best
        What to show every step, if the best actor is to be kept.
    """

    def __init__(
        self, notion: int, checkpoint: Checkpoint | None = None, best: BestActor | None = None
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self._best = best
        self._notion = notion
        self._steps: list[NDArray[Any]] = []
        self._actions: list[NDArray[Any]] = []

    def steps(self) -> NDArray[Any]:
        """Return loss and disparity (T, 2, N) of the steps so far."""
        return np.array(self._steps)

    def go_on(self, agent: RTD3) -> None:
        """Bring a new agent and this callback to where a stopped training left its checkpoint."""
        found = None if self.checkpoint is None else self.checkpoint.read()
        if found is None:
            return
        arrays, settings = found
        self._steps = list(arrays.pop("steps"))
        self._actions = list(arrays["actions"])
        if self._best is not None:
            self._best.go_on(arrays)
        agent.restore_training_state(arrays, settings)

    def _on_rollout_start(self) -> None:
        assert isinstance(self.model, RTD3)
        if self.checkpoint is not None and self._steps and self.checkpoint.due():
            arrays, settings = self.model.training_state(np.array(self._actions))
            best = {} if self._best is None else self._best.arrays()
            self.checkpoint.write({**arrays, "steps": self.steps(), **best}, settings)

    def _on_step(self) -> bool:
        arrays = self.locals["infos"].arrays
        told = (1.0 - arrays["own_reward"], arrays["disparity"][:, self._notion])
        self._steps.append(np.array(told))
        self._actions.append(np.array(self.locals["buffer_actions"]))
        if self._best is not None:
            assert isinstance(self.model, RTD3)
            self._best.look(self.locals["rewards"], self.locals["dones"], self.model.actor)
        return True
