"""An actor-critic whose first layers serve the policy and the critics alike, as F-PPO's does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from longfair.agents.ppo.compiled_update import (
    Batch,
    Coefficients,
    FloatArray,
    Networks,
    Trunk,
    evaluate,
    evaluate_trunk,
    write_trunk_gradient,
)
from longfair.agents.ppo.networks import StackedActorCritic, orthogonal
from longfair.agents.ppo.policy import FairActorCriticPolicy, gradient_of, values_of
from longfair.errors import UsageError


class SharedTrunkActorCritic(nn.Module):
    """A trunk of layers, then one head for the policy and one for every critic, all ReLU.

    Parameters
    ----------
    input_size
        Size of the input.
    trunk, head
        Sizes of the hidden layers of the trunk, and of every head.
    num_outputs
        Outputs of the policy: logits or means.
    num_critics
        Number of critics C, each with one output.

    Notes
    -----
    Layers of the trunk have weights (1, before, after) and biases (1, 1, after), like a stack of
    one network.
    """

    def __init__(
        self,
        input_size: int,
        trunk: Sequence[int],
        head: Sequence[int],
        num_outputs: int,
        num_critics: int,
    ) -> None:
        super().__init__()
        self.trunk_weights = nn.ParameterList(
            orthogonal(before, after, math.sqrt(2.0))[None]
            for before, after in pairwise((input_size, *trunk))
        )
        self.trunk_biases = nn.ParameterList(torch.zeros(1, 1, after) for after in trunk)
        self.heads = StackedActorCritic(trunk[-1], head, num_outputs, num_critics)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Map inputs (B, input) to policy outputs (B, A) and values (B, C)."""
        outputs, values = self.heads(self.shared(inputs))
        return outputs, values

    def policy(self, inputs: Tensor) -> Tensor:
        """Evaluate trunk and policy only: inputs (B, input) to outputs (B, A)."""
        return self.heads.policy(self.shared(inputs))

    def shared(self, inputs: Tensor) -> Tensor:
        """Map inputs (B, input) to what all heads look at (B, last of the trunk)."""
        for weight, bias in self._trunk_layers():
            inputs = torch.addmm(bias, inputs, weight).relu()
        return inputs

    def policy_layers(self) -> list[tuple[Tensor, Tensor]]:
        """Return weight (before, after) and bias (after,) from the input to the policy's output."""
        return [*self._trunk_layers(), *self.heads.policy_layers()]

    def _trunk_layers(self) -> list[tuple[Tensor, Tensor]]:
        layers = zip(self.trunk_weights, self.trunk_biases, strict=True)
        return [(weight[0], bias[0, 0]) for weight, bias in layers]


class SharedTrunkPolicy(FairActorCriticPolicy):
    """A policy and critics on a common trunk.

    Of the sizes in `net_arch` the last two belong to every head, those before to the trunk.

    Notes
    -----
    Initialisation and optimiser are those of `FairActorCriticPolicy`.
    """

    own_layers: ClassVar[int] = 2
    """Hidden layers of every head."""

    def _made_networks(self, hidden_sizes: list[int], num_outputs: int) -> Any:
        trunk, head = hidden_sizes[: -self.own_layers], hidden_sizes[-self.own_layers :]
        if not trunk:
            raise UsageError(
                f"net_arch={hidden_sizes} leaves no layer to share: give more than "
                f"{self.own_layers}"
            )
        return SharedTrunkActorCritic(
            self.features_dim, trunk, head, num_outputs, 1 + self.num_signals
        )

    def arrays(self) -> tuple[Networks, Networks]:
        """Return views of the heads' parameters, and of their gradients, for compiled code."""
        return self._arrays(self.networks.heads, values_of), self._arrays(
            self.networks.heads, gradient_of
        )

    def trunk_arrays(self) -> tuple[Trunk, Trunk]:
        """Return views of the trunk's parameters, and of their gradients, for compiled code."""
        weights, biases = self.networks.trunk_weights, self.networks.trunk_biases
        of_values, of_gradients = (
            Trunk(tuple(map(view, weights)), tuple(map(view, biases)))
            for view in (values_of, gradient_of)
        )
        return of_values, of_gradients

    def evaluated(self, observations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Map observations (S, input) to outputs of the policy (S, A) and values (S, C)."""
        shared = evaluate_trunk(self.trunk_arrays()[0], observations)
        found: tuple[FloatArray, FloatArray] = evaluate(self.arrays()[0], shared)
        return found

    def gradient_writer(self, coefficients: Coefficients) -> Callable[[Batch], float]:
        """Return what writes the gradient of PPO's loss on a minibatch."""
        trunk, heads = self.trunk_arrays(), self.arrays()
        return lambda batch: write_trunk_gradient(*trunk, *heads, batch, coefficients)[0]
