"""PPO's clipped loss, as one reads it in Stable-Baselines3 or CleanRL.

This is what training descends. `longfair.agents.ppo.compiled_update` computes its gradient about
three times as fast with the derivative written out; tests hold the two against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from longfair.agents.ppo.compiled_update import Batch, Coefficients

if TYPE_CHECKING:
    from longfair.agents.ppo.policy import FairActorCriticPolicy


class Loss(NamedTuple):
    """PPO's loss on a minibatch, and what it is made of; all are means over the samples."""

    total: Tensor
    policy: Tensor
    """The clipped surrogate, negative."""
    value: Tensor
    """Squared errors, summed over the critics."""
    entropy: Tensor
    """The policy's entropy, negative."""
    clip_fraction: Tensor
    """Share of samples whose ratio has left the clip range."""
    divergence: Tensor
    """Stable-Baselines3's estimate of the divergence from the policy that acted."""


def ppo_loss(policy: FairActorCriticPolicy, batch: Batch, coefficients: Coefficients) -> Loss:
    r"""Compute PPO's loss, with one squared error per critic.

    .. math::

        L = -\operatorname{mean}\min(r A,\ \operatorname{clip}(r, 1 - \epsilon, 1 + \epsilon) A)
            + c_V \sum_k \operatorname{mean} (V_k - R_k)^2 - c_H \operatorname{mean} H,
        \qquad r = \frac{\pi(a \mid s)}{\pi_{old}(a \mid s)}

    Parameters
    ----------
    policy
        Policy and critics.
    batch
        The minibatch.
    coefficients
        Clip range and weights.
    """
    observations, actions, old_log_prob, returns, advantage = map(torch.from_numpy, batch)
    outputs, values = policy.networks(observations)
    distribution = policy.distribution(outputs)
    log_prob = distribution.log_prob(policy.as_taken(actions))

    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - coefficients.clip_range, 1.0 + coefficients.clip_range)
    policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()

    value_loss = (values - returns).square().mean(dim=0).sum()
    # torch's types allow a distribution without an entropy; neither kind here lacks one.
    entropy_loss = -torch.mean(distribution.entropy())  # type: ignore[arg-type]
    total = policy_loss + coefficients.value * value_loss + coefficients.entropy * entropy_loss

    clip_fraction = ((ratio - 1.0).abs() > coefficients.clip_range).float().mean()
    divergence = (ratio - 1.0 - log_ratio).mean()
    return Loss(total, policy_loss, value_loss, entropy_loss, clip_fraction, divergence)
