"""Training by constrained policy optimisation: the last policy, which acts by its mean.

A run takes about an hour, so it keeps checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longfair.agents.cpo.cpo import CPO
from longfair.papers.fppo.learning import Trajectories
from longfair.papers.protocol import Act, Snapshots
from longfair.papers.setting import Setting
from longfair.runs.checkpoints import Checkpoint


def train(
    learning: Trajectories, setting: Setting, seed: int, checkpoint: Checkpoint | None = None
) -> Snapshots:
    """Train, and keep the last policy.

    Parameters
    ----------
    learning
        Batches, and how many steps in all.
    setting
        Everything else: the method is a `longfair.agents.cpo.settings.CPOSettings`.
    seed
        Seed of networks, learner and environment.
    checkpoint
        Where to keep what is needed to go on after the training was stopped.
    """
    env = setting.world.make(learning.copies, setting.episode_length)
    agent = CPO(env, setting.method, seed % 2**31)
    if checkpoint is not None and (found := checkpoint.read()) is not None:
        agent.restore_training_state(*found)

    def keep(agent: CPO) -> None:
        if checkpoint is not None and checkpoint.due():
            checkpoint.write(*agent.training_state())

    rest = learning.total_steps - agent.num_timesteps
    agent.learn(rest, keep, reset_num_timesteps=False)

    def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
        def by_mean(observation: Any, info: dict[str, Any]) -> Any:
            return agent.predict(observation, deterministic=True)[0]

        return by_mean

    return Snapshots([agent.num_timesteps], act, learned=agent.learned())
