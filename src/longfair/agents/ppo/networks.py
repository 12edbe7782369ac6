"""One policy and several critics: separate networks of one shape that look at the same input.

ELBERT-PO trains one policy and 2M + 1 critics with the same hidden layers. Their weights are kept
in stacks, one per layer, so that the parameters of all networks are a few arrays.

Training evaluates and differentiates them in `longfair.agents.ppo.compiled_update`. `forward` is
the same function for Stable-Baselines3 and autograd.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class StackedActorCritic(nn.Module):
    """A policy network and C critics, K = 1 + C separate ReLU networks.

    Parameters
    ----------
    input_size
        Size of the shared input.
    hidden_sizes
        Sizes of the hidden layers of every network, at least one.
    num_outputs
        Outputs of the policy network: logits or means.
    num_critics
        Number of critics C, at least 1, each with one output.

    Notes
    -----
    Network 0 is the policy. Weights have shape (K, before, after), biases (K, 1, after), the
    critics' output weights (C, 1, hidden) and biases (C, 1).
    Initialisation is orthogonal per network, with gain sqrt(2) in hidden layers, 0.01 for the
    policy's output and 1 for the critics', as in Stable-Baselines3.
    """

    def __init__(
        self, input_size: int, hidden_sizes: Sequence[int], num_outputs: int, num_critics: int
    ) -> None:
        super().__init__()
        self.num_networks = count = 1 + num_critics
        sizes = (input_size, *hidden_sizes)
        self.weights = nn.ParameterList(
            torch.stack([orthogonal(before, after, math.sqrt(2.0)) for _ in range(count)])
            for before, after in pairwise(sizes)
        )
        self.biases = nn.ParameterList(torch.zeros(count, 1, after) for after in hidden_sizes)
        self.policy_weight = nn.Parameter(orthogonal(sizes[-1], num_outputs, 0.01))
        self.policy_bias = nn.Parameter(torch.zeros(num_outputs))
        heads = [orthogonal(sizes[-1], 1, 1.0) for _ in range(num_critics)]
        self.value_weight = nn.Parameter(torch.stack(heads).transpose(1, 2).contiguous())
        self.value_bias = nn.Parameter(torch.zeros(num_critics, 1))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Map inputs (B, input) to policy outputs (B, A) and values (B, C)."""
        hidden = inputs.expand(self.num_networks, -1, -1)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            hidden = torch.baddbmm(bias, hidden, weight).relu()
        outputs = torch.addmm(self.policy_bias, hidden[0], self.policy_weight)
        values = torch.linalg.vecdot(hidden[1:], self.value_weight) + self.value_bias
        return outputs, values.t()

    def policy(self, inputs: Tensor) -> Tensor:
        """Evaluate the policy network only: inputs (B, input) to outputs (B, A)."""
        for weight, bias in self.policy_layers()[:-1]:
            inputs = torch.relu(torch.addmm(bias, inputs, weight))
        return torch.addmm(self.policy_bias, inputs, self.policy_weight)

    def policy_layers(self) -> list[tuple[Tensor, Tensor]]:
        """Return weight (before, after) and bias (after,) of the policy's layers, head included."""
        hidden = zip(self.weights, self.biases, strict=True)
        return [
            *((weight[0], bias[0, 0]) for weight, bias in hidden),
            (self.policy_weight, self.policy_bias),
        ]


def orthogonal(before: int, after: int, gain: float) -> Tensor:
    """Return an orthogonal weight of shape (before, after), made as for `nn.Linear`."""
    weight = torch.empty(after, before)
    nn.init.orthogonal_(weight, gain)
    return weight.t().contiguous()
