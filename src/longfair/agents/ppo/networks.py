"""One policy and several critics: separate networks of one shape that look at the same input.

ELBERT-PO trains one policy and 2M + 1 critics with the same hidden layers. Their weights are kept
in stacks, one per layer, so that the parameters of all networks are a few arrays.

Training evaluates and differentiates them in `longfair.agents.ppo.compiled_update`. `forward` is
the same function for Stable-Baselines3 and autograd. `trace` and `backward` are what can be done
with operations of torch: stacked, every layer of all networks is one batched product, which is
faster while the activations stay in the processor's cache. `longfair bench networks` holds the
compiled gradient against them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

STACKED_LIMIT = 2**20
"""Largest number of activations of one layer, over all networks, that are evaluated stacked.

Beyond it they do not stay in the processor's cache, and one network at a time is faster.
"""

threshold_backward = torch.ops.aten.threshold_backward.grad_input
"""Set a gradient to zero where a ReLU was inactive, in place."""


class Block(NamedTuple):
    """Views of the parameters, and of their gradients, of networks evaluated together."""

    networks: slice
    layers: list[tuple[Tensor, Tensor]]
    """Weight (K, before, after) and bias (K, 1, after) of every hidden layer."""
    layer_gradients: list[tuple[Tensor, Tensor]]
    critics: slice
    """Which critics are among the networks."""
    value_gradients: tuple[Tensor, Tensor]


Trace = list[tuple[Block, list[Tensor]]]
"""For every block: the input and all hidden layers, each (K, B, size)."""


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
        self._widest = max(hidden_sizes)
        self._blocks: dict[bool, list[Block]] = {}

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Map inputs (B, input) to policy outputs (B, A) and values (B, C).

        Recorded by autograd, unlike `trace`.
        """
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

    def trace(self, inputs: Tensor) -> Trace:
        """Evaluate all hidden layers and keep them for `backward`."""
        stacked = len(inputs) * self.num_networks * self._widest <= STACKED_LIMIT
        return [(block, _hidden(inputs, block)) for block in self.blocks(stacked)]

    def outputs(self, trace: Trace) -> tuple[Tensor, Tensor]:
        """Return policy outputs (B, A) and values (B, C) from the last hidden layers."""
        last = trace[0][1][-1] if len(trace) == 1 else torch.cat([h[-1] for _, h in trace])
        outputs = torch.addmm(self.policy_bias, last[0], self.policy_weight)
        values = torch.linalg.vecdot(last[1:], self.value_weight) + self.value_bias
        return outputs, values.t()

    def backward(self, trace: Trace, by_outputs: Tensor, by_values: Tensor) -> None:
        """Write the gradient of a loss into the parameters' `grad`.

        Parameters
        ----------
        trace
            What `trace` returned for the minibatch.
        by_outputs, by_values
            Gradient of the loss by the policy outputs (B, A) and by the values (B, C).
        """
        for block, hidden in trace:
            gradient = self._head_gradient(block, hidden[-1], by_outputs, by_values)
            for layer in reversed(range(len(block.layers))):
                by_weight, by_bias = block.layer_gradients[layer]
                threshold_backward(gradient, hidden[layer + 1], 0.0, grad_input=gradient)
                torch.bmm(hidden[layer].transpose(1, 2), gradient, out=by_weight)
                torch.sum(gradient, 1, keepdim=True, out=by_bias)
                if layer > 0:
                    gradient = torch.bmm(gradient, block.layers[layer][0].transpose(1, 2))

    def blocks(self, stacked: bool) -> list[Block]:
        """Return the networks in one block, or in one block each."""
        if stacked not in self._blocks:
            step = self.num_networks if stacked else 1
            firsts = range(0, self.num_networks, step)
            self._blocks[stacked] = [self._block(slice(k, k + step)) for k in firsts]
        return self._blocks[stacked]

    def _block(self, networks: slice) -> Block:
        layers = list(zip(self.weights, self.biases, strict=True))
        critics = slice(max(networks.start - 1, 0), networks.stop - 1)
        return Block(
            networks,
            [(weight.detach()[networks], bias.detach()[networks]) for weight, bias in layers],
            [(_grad(weight)[networks], _grad(bias)[networks]) for weight, bias in layers],
            critics,
            (_grad(self.value_weight)[critics], _grad(self.value_bias)[critics]),
        )

    def _head_gradient(
        self, block: Block, last: Tensor, by_outputs: Tensor, by_values: Tensor
    ) -> Tensor:
        """Write the heads' gradients; return that by the last hidden layers of the block."""
        gradient = torch.empty_like(last)
        with_policy = block.networks.start == 0
        if with_policy:
            torch.mm(last[0].t(), by_outputs, out=self.policy_weight.grad)
            torch.sum(by_outputs, 0, out=self.policy_bias.grad)
            torch.mm(by_outputs, self.policy_weight.t(), out=gradient[0])
        if len(last) > with_policy:
            by_weight, by_bias = block.value_gradients
            by_value = by_values.t()[block.critics]
            torch.bmm(by_value[:, None], last[with_policy:], out=by_weight)
            torch.sum(by_value, 1, keepdim=True, out=by_bias)
            weight = self.value_weight[block.critics]
            torch.mul(by_value[..., None], weight, out=gradient[with_policy:])
        return gradient


def _hidden(inputs: Tensor, block: Block) -> list[Tensor]:
    """Return the inputs and all hidden layers of a block, each (K, B, size)."""
    hidden = [inputs.expand(len(block.layers[0][0]), -1, -1)]
    for weight, bias in block.layers:
        hidden.append(torch.baddbmm(bias, hidden[-1], weight).relu_())
    return hidden


class FlatParameters:
    """All parameters of a module as one vector, and all their gradients as another.

    The module's parameters become views. Clipping, resetting and the optimiser's step are then one
    operation each instead of one per parameter.

    Attributes
    ----------
    values
        The vector of parameters, with its gradient in `values.grad`.
    """

    def __init__(self, module: nn.Module) -> None:
        parameters = list(module.parameters())
        self.values = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in parameters]))
        self.values.grad = torch.zeros_like(self.values)
        sizes = [p.numel() for p in parameters]
        flat = (self.values.detach(), self.values.grad)
        parts = zip(*(torch.split(vector, sizes) for vector in flat), strict=True)
        for parameter, (value, gradient) in zip(parameters, parts, strict=True):
            parameter.data = value.view_as(parameter)
            parameter.grad = gradient.view_as(parameter)

    def clip_gradient(self, max_norm: float) -> None:
        """Scale the gradient down to at most `max_norm`, as `torch.nn.utils` does."""
        gradient = self.values.grad
        assert gradient is not None
        norm = math.sqrt(torch.dot(gradient, gradient).item())
        if norm + 1e-6 > max_norm:
            gradient.mul_(max_norm / (norm + 1e-6))


def orthogonal(before: int, after: int, gain: float) -> Tensor:
    """Return an orthogonal weight of shape (before, after), made as for `nn.Linear`."""
    weight = torch.empty(after, before)
    nn.init.orthogonal_(weight, gain)
    return weight.t().contiguous()


def _grad(parameter: Tensor) -> Tensor:
    """Return the gradient of a parameter, zero if it has none yet."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad
