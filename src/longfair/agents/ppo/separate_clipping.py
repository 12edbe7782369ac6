"""Clip the gradient of every network on its own.

The published code clips one norm over the policy and all critics together. While the critics of
large quantities still fit, their gradients use up the norm, and the policy hardly moves. With a
norm per network the size of a critic's error no longer slows the policy down.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from longfair.agents.learning.flat import FlatParameters
from longfair.agents.ppo.networks import StackedActorCritic
from longfair.agents.ppo.policy import FairActorCriticPolicy


class SeparatelyClippedPolicy(FairActorCriticPolicy):
    """A policy and critics whose gradients are clipped network by network.

    Parameters
    ----------
    *args, **kwargs
        Arguments of `FairActorCriticPolicy`.
    """

    def _lay_out(self, learning_rate: float) -> None:
        super()._lay_out(learning_rate)
        of_policy = [self.log_std.grad] if hasattr(self, "log_std") else []
        self.flat: Any = SeparateClipping(self.flat, self.networks, of_policy)

    def move(self, max_norm: float) -> None:
        """Move all parameters by a step, the gradient of every network clipped to a norm."""
        self.flat.clip_gradient(max_norm)
        self.optimizer.step()


class SeparateClipping:
    """The flat parameters of a policy and its critics, clipped one network at a time.

    Parameters
    ----------
    flat
        All parameters as one vector.
    networks
        The networks behind it.
    of_policy
        Gradients of parameters outside the networks that belong to the policy.

    Attributes
    ----------
    values
        The vector of parameters, with its gradient in `values.grad`.
    """

    def __init__(
        self, flat: FlatParameters, networks: StackedActorCritic, of_policy: list[Tensor | None]
    ) -> None:
        self.values = flat.values
        self._parts = [_gradients(networks, number) for number in range(networks.num_networks)]
        self._parts[0] += [gradient for gradient in of_policy if gradient is not None]

    def clip_gradient(self, max_norm: float) -> None:
        """Scale the gradient of every network down to at most `max_norm`."""
        for part in self._parts:
            norm = math.sqrt(sum(float(torch.sum(gradient * gradient)) for gradient in part))
            if norm + 1e-6 > max_norm:
                for gradient in part:
                    gradient.mul_(max_norm / (norm + 1e-6))


def _gradients(networks: StackedActorCritic, number: int) -> list[Tensor]:
    """Return views of the gradients of one network, 0 being the policy."""
    hidden = [_gradient(p)[number] for p in (*networks.weights, *networks.biases)]
    if number == 0:
        return [*hidden, _gradient(networks.policy_weight), _gradient(networks.policy_bias)]
    critic = number - 1
    heads = (networks.value_weight, networks.value_bias)
    return [*hidden, *(_gradient(parameter)[critic] for parameter in heads)]


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
