"""What constrained policy optimisation learns from: a batch of episodes, and its samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Independent, Normal

from longfair.agents.cpo.networks import GaussianPolicy
from longfair.arrays import Float32Array, FloatArray


class Played(NamedTuple):
    """One episode of T steps in each of N copies."""

    observations: Float32Array
    """(T, N, I): before the steps."""
    actions: Float32Array
    """(T, N, A): as drawn, not clipped."""
    rewards: FloatArray
    """(T, N)."""
    costs: FloatArray
    """(T, N)."""


class Samples(NamedTuple):
    """The samples of a batch, S = T * N of them, as the surrogates see them."""

    observations: Tensor
    """(S, I)."""
    actions: Tensor
    """(S, A)."""
    advantages: Tensor
    """(S,): of the reward."""
    cost_advantages: Tensor
    """(S,): of the cost, in costs of an episode."""
    log_prob: Tensor
    """(S,): under the policy that acted."""

    def surrogates(self, policy: Independent[Normal]) -> tuple[Tensor, Tensor]:
        """Return what reward and cost a policy promises, two scalars."""
        ratio = (policy.log_prob(self.actions) - self.log_prob).exp()  # type: ignore[no-untyped-call]  # torch
        return (ratio * self.advantages).mean(), (ratio * self.cost_advantages).mean()


def samples_of(
    policy: GaussianPolicy,
    observations: Tensor,
    actions: Tensor,
    advantages: Tensor,
    cost_advantages: Tensor,
) -> Samples:
    """Return the samples that a policy drew."""
    with torch.no_grad():
        log_prob = policy(observations).log_prob(actions)
    return Samples(observations, actions, advantages, cost_advantages, log_prob)


def with_time(observations: Float32Array) -> Tensor:
    """Append the share of the episode that has passed: (T, N, I) to (T * N, I + 1)."""
    steps, copies, _ = observations.shape
    passed = np.broadcast_to((np.arange(steps) / steps)[:, None, None], (steps, copies, 1))
    return flat(np.concatenate([observations, passed], axis=2))


def standardised(values: FloatArray) -> FloatArray:
    """Return values with mean 0 and deviation 1."""
    centred: FloatArray = values - values.mean()
    return centred / max(float(centred.std(ddof=1)), 1e-12)


def flat(array: NDArray[Any]) -> Tensor:
    """Join the axes of time and copies, in single precision."""
    return torch.tensor(array.reshape(-1, *array.shape[2:]), dtype=torch.float32)
