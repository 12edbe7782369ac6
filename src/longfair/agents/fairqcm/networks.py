"""Small action-value networks whose parameters NumPy and torch share.

The networks of FairQCM have two thousand parameters. At 64 samples a minibatch, recording and
replaying a graph costs several times the arithmetic, and so does calling torch for one observation
at a time. So the parameters belong to a torch module, while values and gradients are computed by
NumPy and numba on the same memory. Tests compare them with torch's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit
from torch import nn

from longfair.agents.learning.flat import FlatParameters
from longfair.arrays import Float32Array, IntArray

Layer = tuple[Float32Array, Float32Array]
"""Weight (after, before) and bias (after,)."""


class SharedParameters(FlatParameters):
    """The parameters of a torch module as one vector, with NumPy views of every part.

    Parameters
    ----------
    module
        Any module on the CPU with parameters in single precision.

    Attributes
    ----------
    arrays, gradients
        One view per parameter of the module, in the module's order.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        parameters = list(module.parameters())
        self.arrays: list[Float32Array] = [p.detach().numpy() for p in parameters]
        self.gradients: list[Float32Array] = [p.grad.numpy() for p in parameters]  # type: ignore[union-attr]  # FlatParameters has set them

    def copy_from(self, other: SharedParameters) -> None:
        """Take over the values of another module of the same shape."""
        self.vector[:] = other.vector


class ReluValues:
    """Linear layers with ReLU between them, on arrays.

    Parameters
    ----------
    arrays
        Weight (after, before) and bias (after,) of every layer in turn.
    """

    def __init__(self, arrays: list[Float32Array]) -> None:
        self.layers = _paired(arrays)

    def outputs(self, inputs: Float32Array) -> Float32Array:
        """Map inputs (B, I) to action values (B, A)."""
        return relu_trace(self.layers, inputs)[-1]


class ReluStack(SharedParameters, ReluValues):
    """Linear layers with ReLU between them, as `torch.nn.Sequential` has them, to be trained.

    Parameters
    ----------
    module
        A module whose parameters are weight and bias of every layer in turn.
    """

    def __init__(self, module: nn.Module) -> None:
        SharedParameters.__init__(self, module)
        ReluValues.__init__(self, self.arrays)
        self._layer_gradients = _paired(self.gradients)

    def descend(self, inputs: Float32Array, actions: IntArray, targets: Float32Array) -> None:
        """Write the gradient of the mean squared error of the chosen actions' values.

        Parameters
        ----------
        inputs
            (B, I).
        actions
            (B,): the action whose value has a target.
        targets
            (B,).
        """
        trace = relu_trace(self.layers, inputs)
        by_output = error_slope(trace[-1], actions, targets)
        relu_backward(self.layers, self._layer_gradients, trace, by_output)

    def frozen(self) -> ReluValues:
        """Return a copy that no longer changes."""
        return ReluValues([array.copy() for array in self.arrays])


def relu_trace(layers: list[Layer], inputs: Float32Array) -> list[Float32Array]:
    """Return the inputs, all hidden layers after their ReLU, and the outputs, each (B, size)."""
    trace = [inputs]
    for weight, bias in layers[:-1]:
        trace.append(rectified(trace[-1] @ weight.T, bias))
    weight, bias = layers[-1]
    outputs = trace[-1] @ weight.T
    outputs += bias
    trace.append(outputs)
    return trace


def relu_backward(
    layers: list[Layer], gradients: list[Layer], trace: list[Float32Array], slope: Float32Array
) -> None:
    """Write the gradient of every layer, given the loss's slope (B, A) by the outputs.

    Parameters
    ----------
    layers
        Weight and bias of every layer.
    gradients
        Where the gradients are written, shaped as `layers`.
    trace
        What `relu_trace` returned.
    slope
        (B, A); destroyed.
    """
    ones = np.ones(len(slope), np.float32)
    for layer in reversed(range(len(layers))):
        by_weight, by_bias = gradients[layer]
        np.matmul(slope.T, trace[layer], out=by_weight)
        np.matmul(ones, slope, out=by_bias)
        if layer > 0:
            slope = slope @ layers[layer][0]
            _stop_inactive(slope, trace[layer])


@njit(cache=True)
def rectified(hidden: Float32Array, bias: Float32Array) -> Float32Array:
    """Add the bias (H,) to hidden values (B, H) in place and cut them off below zero."""
    for row in range(hidden.shape[0]):
        for column in range(hidden.shape[1]):
            value = hidden[row, column] + bias[column]
            hidden[row, column] = value if value > 0.0 else np.float32(0.0)
    return hidden


@njit(cache=True)
def _stop_inactive(slope: Float32Array, hidden: Float32Array) -> None:
    """Set slopes (B, H) to zero in place where the hidden value is."""
    for row in range(hidden.shape[0]):
        for column in range(hidden.shape[1]):
            if not hidden[row, column] > 0.0:
                slope[row, column] = np.float32(0.0)


@njit(cache=True)
def error_slope(values: Float32Array, actions: IntArray, targets: Float32Array) -> Float32Array:
    """Return the slope (B, A) of the mean over B of the squared error of the chosen values."""
    slope = np.zeros_like(values)
    scale = np.float32(2.0) / np.float32(len(values))
    for row in range(len(values)):
        chosen = actions[row]
        slope[row, chosen] = (values[row, chosen] - targets[row]) * scale
    return slope


def relu_layers(sizes: Sequence[int]) -> nn.Sequential:
    """Return linear layers of the sizes given, with ReLU between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def orthogonal_start(module: nn.Module) -> nn.Module:
    """Set orthogonal weights and zero biases in every linear layer, as the authors' code does."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight)
            nn.init.zeros_(layer.bias)
    return module


def unit_row_start(module: nn.Module) -> nn.Module:
    """Set normal weights with rows of length one in every linear layer, and zero biases.

    The authors' recurrent networks start so. Their GRU keeps torch's own initialisation.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight)
            layer.weight.data /= layer.weight.data.norm(dim=1, keepdim=True)
            nn.init.zeros_(layer.bias)
    return module


def _paired(arrays: list[Float32Array]) -> list[Layer]:
    return list(zip(arrays[::2], arrays[1::2], strict=True))
