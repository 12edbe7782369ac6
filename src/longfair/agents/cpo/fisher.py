r"""Products with the Fisher matrix of a Gaussian policy.

The Fisher matrix is the second derivative of the divergence of the policy from itself. With the
mean's derivative :math:`J_b` by the network's parameters at observation b of B, and deviations
:math:`\sigma` that no observation changes,

.. math:: H = \begin{pmatrix} 2 I & 0 \\ 0 & \frac1B \sum_b J_b^\top \sigma^{-2} J_b \end{pmatrix} .

Its first block belongs to the logarithms of the deviations. A product is one pass forward, along
the vector, and one pass back: differentiating the divergence twice costs twice as much.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from longfair.agents.cpo.networks import GaussianPolicy
from longfair.arrays import FloatArray


def fisher_product(
    policy: GaussianPolicy, observations: Tensor, damping: float = 0.0
) -> Callable[[FloatArray], FloatArray]:
    """Return what multiplies vectors (P,) by the Fisher matrix of a policy.

    Parameters
    ----------
    policy
        The policy; it must stay as it is while products are asked for.
    observations
        (B, input): where it acts.
    damping
        Times the identity, added to the matrix.
    """
    parameters = [parameter.detach() for parameter in policy.parameters()]
    sizes = [parameter.numel() for parameter in parameters]
    weights = [layer.weight.detach() for layer in policy.layers if isinstance(layer, nn.Linear)]
    inputs, slopes = _activations(policy, observations)
    precision = (-2.0 * policy.log_std.detach()).exp() / len(observations)

    def product(vector: FloatArray) -> FloatArray:
        parts = torch.split(torch.tensor(vector, dtype=observations.dtype), sizes)
        log_std, *along = (
            part.view(parameter.shape) for part, parameter in zip(parts, parameters, strict=True)
        )
        change = _forward(weights, inputs, slopes, along)
        found = [2.0 * log_std, *_back(weights, inputs, slopes, change * precision)]
        return torch.cat([part.flatten() for part in found]).double().numpy() + damping * vector

    return product


def _activations(policy: GaussianPolicy, observations: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Return what goes into every linear layer, and the slopes of the tanh between them."""
    inputs, values = [observations], observations
    with torch.no_grad():
        for layer in policy.layers:
            values = layer(values)
            if isinstance(layer, nn.Tanh):
                inputs.append(values)
    return inputs, [1.0 - values.square() for values in inputs[1:]]


def _forward(
    weights: list[Tensor], inputs: list[Tensor], slopes: list[Tensor], along: list[Tensor]
) -> Tensor:
    """Return how the mean (B, A) changes when weights and biases, in turn, move along vectors."""
    change = torch.addmm(along[1], inputs[0], along[0].T)
    for layer, slope in enumerate(slopes, start=1):
        change.mul_(slope)
        moved = torch.addmm(along[2 * layer + 1], inputs[layer], along[2 * layer].T)
        change = moved.addmm_(change, weights[layer].T)
    return change


def _back(
    weights: list[Tensor], inputs: list[Tensor], slopes: list[Tensor], slope_of_mean: Tensor
) -> list[Tensor]:
    """Return the gradient by weights and biases, in turn, from that by the mean (B, A)."""
    found: list[Tensor] = []
    back = slope_of_mean
    for layer in reversed(range(len(weights))):
        found[:0] = [back.T @ inputs[layer], back.sum(dim=0)]
        if layer:
            back = (back @ weights[layer]).mul_(slopes[layer - 1])
    return found
