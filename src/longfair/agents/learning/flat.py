"""All parameters of a torch module as one vector, and all their gradients as another."""

from __future__ import annotations

import math

import torch
from torch import nn

from longfair.agents.learning.memory import rows_apart
from longfair.arrays import Float32Array


class FlatParameters:
    """The parameters of a module on the CPU, in single precision, as one vector.

    The module's parameters become views. The gradient's norm and the optimiser's step are then one
    operation each instead of one per parameter.

    Parameters
    ----------
    module
        Whose parameters. All of them get a gradient, zero at first.

    Attributes
    ----------
    values
        The vector of parameters, with its gradient in `values.grad`.
    vector, gradient
        The same two as NumPy arrays on the same memory.
    """

    def __init__(self, module: nn.Module) -> None:
        parameters = list(module.parameters())
        sizes = [p.numel() for p in parameters]
        values, gradient = map(torch.from_numpy, rows_apart(2, sum(sizes)))
        torch.cat([p.detach().reshape(-1) for p in parameters], out=values)
        self.values = nn.Parameter(values)
        self.values.grad = gradient
        flat = (self.values.detach(), gradient)
        parts = zip(*(torch.split(vector, sizes) for vector in flat), strict=True)
        for parameter, (value, own_gradient) in zip(parameters, parts, strict=True):
            parameter.data = value.view_as(parameter)
            parameter.grad = own_gradient.view_as(parameter)
        self.vector: Float32Array = self.values.detach().numpy()
        self.gradient: Float32Array = gradient.numpy()

    def clipping(self, max_norm: float) -> float:
        """Return the factor that clips the gradient to `max_norm`, as `torch.nn.utils` does.

        It is 1 where the gradient's norm is not above `max_norm`.
        """
        gradient = self.values.grad
        assert gradient is not None
        norm = math.sqrt(torch.dot(gradient, gradient).item())
        return max_norm / (norm + 1e-6) if norm + 1e-6 > max_norm else 1.0
