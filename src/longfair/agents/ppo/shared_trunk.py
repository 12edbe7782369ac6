"""An actor-critic whose first layers serve the policy and the critics alike, as F-PPO's does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from longfair.agents.ppo.compiled_update import Batch, Coefficients, FloatArray
from longfair.agents.ppo.loss import ppo_loss
from longfair.agents.ppo.policy import FairActorCriticPolicy
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
        self.trunk = _layers((input_size, *trunk))
        self.policy_head = _layers((trunk[-1], *head), (num_outputs, 0.01))
        self.value_heads = nn.ModuleList(
            _layers((trunk[-1], *head), (1, 1.0)) for _ in range(num_critics)
        )

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Map inputs (B, input) to policy outputs (B, A) and values (B, C)."""
        shared = self.trunk(inputs)
        return self.policy_head(shared), torch.cat([head(shared) for head in self.value_heads], 1)

    def policy(self, inputs: Tensor) -> Tensor:
        """Evaluate trunk and policy only: inputs (B, input) to outputs (B, A)."""
        outputs: Tensor = self.policy_head(self.trunk(inputs))
        return outputs

    def policy_layers(self) -> list[tuple[Tensor, Tensor]]:
        """Return weight (before, after) and bias (after,) from the input to the policy's output."""
        layers = (*self.trunk, *self.policy_head)
        return [(layer.weight.t(), layer.bias) for layer in layers if isinstance(layer, nn.Linear)]


class SharedTrunkPolicy(FairActorCriticPolicy):
    """A policy and critics on a common trunk, differentiated by autograd of the readable loss.

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

    def evaluated(self, observations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Map observations (S, input) to outputs of the policy (S, A) and values (S, C)."""
        with torch.no_grad():
            outputs, values = self.networks(torch.from_numpy(observations))
        return outputs.numpy(), values.numpy()

    def gradient_writer(self, coefficients: Coefficients) -> Callable[[Batch], float]:
        """Return what writes the gradient of PPO's loss on a minibatch."""

        def write(batch: Batch) -> float:
            self.flat.gradient.fill(0.0)
            loss = ppo_loss(self, batch, coefficients)
            loss.total.backward()  # type: ignore[no-untyped-call]
            return loss.divergence.item()

        return write


def _layers(sizes: Sequence[int], output: tuple[int, float] | None = None) -> nn.Sequential:
    """Return linear layers with ReLU between them, and a linear output of a size and a gain."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [_linear(before, after, math.sqrt(2.0)), nn.ReLU()]
    if output is not None:
        layers.append(_linear(sizes[-1], *output))
    return nn.Sequential(*layers)


def _linear(before: int, after: int, gain: float) -> nn.Linear:
    layer: Any = nn.Linear(before, after)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    linear: nn.Linear = layer
    return linear
