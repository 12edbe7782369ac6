"""What `FairPPO` logs: the names of Stable-Baselines3, and how fair the rollout was."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from longfair.agents.ppo.compiled_update import Batch, Coefficients
from longfair.agents.ppo.loss import ppo_loss
from longfair.agents.ppo.policy import FairActorCriticPolicy
from longfair.agents.ppo.strategy import Rollout
from longfair.metrics.benefit import bias


class Episodes:
    """Reward and length of episodes, also of those that go on from one rollout to the next.

    Parameters
    ----------
    copies
        Number N of environments stepped together.
    """

    def __init__(self, copies: int) -> None:
        self._reward: NDArray[np.float64] = np.zeros(copies)
        self._length: NDArray[np.int64] = np.zeros(copies, np.int64)

    def finished(self, rollout: Rollout) -> list[dict[str, float]]:
        """Return reward `r` and length `l` of the episodes that ended, copy by copy."""
        going_on = ~rollout.starts[0]
        rewards = self._reward * going_on + np.cumsum(rollout.rewards, axis=0)
        lengths = self._length * going_on + np.arange(1, 1 + len(rewards))[:, None]
        found: list[dict[str, float]] = []
        for copy, ends in enumerate(rollout.ends.T):
            reward, length = (np.append(0, totals[ends, copy]) for totals in (rewards, lengths))
            found += [
                {"r": float(r), "l": int(n)}
                for r, n in zip(np.diff(reward), np.diff(length), strict=True)
            ]
            self._reward[copy] = rewards[-1, copy] - reward[-1]
            self._length[copy] = lengths[-1, copy] - length[-1]
        return found


def of_rollout(rollout: Rollout) -> dict[str, float]:
    """Return benefit rates and bias over all steps of a rollout, of groups that had a demand."""
    supply, demand = (totals.sum(axis=(0, 1)) for totals in (rollout.supply, rollout.demand))
    with_demand = np.flatnonzero(demand > 0)
    rates = supply[with_demand] / demand[with_demand]
    measured = {
        f"rate_{group}": float(rate) for group, rate in zip(with_demand, rates, strict=True)
    }
    if len(with_demand) == len(demand) > 0:
        measured["bias"] = float(bias(rates))
    return measured


def of_update(
    policy: FairActorCriticPolicy, batch: Batch, coefficients: Coefficients
) -> dict[str, float]:
    """Return PPO's loss and its parts on the last minibatch, after the last step."""
    with torch.no_grad():
        loss = ppo_loss(policy, batch, coefficients)
        deviation = getattr(policy, "log_std", None)
        measured = {
            "loss": loss.total,
            "policy_gradient_loss": loss.policy,
            "value_loss": loss.value,
            "entropy_loss": loss.entropy,
            "clip_fraction": loss.clip_fraction,
            "approx_kl": loss.divergence,
        }
        if deviation is not None and len(deviation):
            measured["std"] = deviation.exp().mean()
    return {name: float(value) for name, value in measured.items()}


def explained_variance(returns: Tensor, advantages: Tensor) -> float:
    """Return the share of the returns' variance (S,) that the reward's critic foresaw."""
    variance = float(returns.var())
    return 1.0 - float(advantages.var()) / variance if variance > 0 else float("nan")
