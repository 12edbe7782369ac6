"""The network of the recurrent baseline, with a gated recurrent unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, nn

from longfair.agents.fairqcm import gru
from longfair.agents.fairqcm.networks import SharedParameters, error_slope, rectified, relu_backward
from longfair.arrays import Float32Array, IntArray


class RecurrentLayers(nn.Module):
    """Two linear layers with ReLU, a gated recurrent unit, and a linear layer.

    Parameters
    ----------
    inputs, outputs
        Sizes of the observation and of the action values.
    hidden
        Sizes of the two layers before the unit.
    width
        Size of the unit's state.
    """

    def __init__(self, inputs: int, outputs: int, hidden: tuple[int, int], width: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden[0])
        self.second = nn.Linear(hidden[0], hidden[1])
        self.unit = nn.GRU(hidden[1], width)
        self.head = nn.Linear(width, outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map sequences (L, B, I) to action values (L, B, A), each from a state of zeros."""
        states, _ = self.unit(self.second(self.first(inputs).relu()).relu())
        values: Tensor = self.head(states)
        return values


class RecurrentValues:
    """`RecurrentLayers` on arrays.

    Parameters
    ----------
    arrays
        The parameters of `RecurrentLayers`, in its order.
    """

    def __init__(self, arrays: list[Float32Array]) -> None:
        self.arrays = arrays
        self.width = arrays[5].shape[1]

    def outputs(self, inputs: Float32Array) -> Float32Array:
        """Map sequences (L, B, I) to action values (L, B, A), each from a state of zeros."""
        start = np.zeros((inputs.shape[1], self.width), np.float32)
        return recurrent_values(self.arrays, inputs, start)[0]

    def step(
        self, observation: Float32Array, state: Float32Array | None
    ) -> tuple[Float32Array, Float32Array]:
        """Return values (B, A) and the next state (B, H) for one observation (B, I) each.

        A state of None is all zeros.
        """
        if state is None:
            state = np.zeros((len(observation), self.width), np.float32)
        values, _, done = recurrent_values(self.arrays, observation[None], state)
        return values[0], done.states[1]


class RecurrentStack(SharedParameters, RecurrentValues):
    """`RecurrentLayers` to be trained.

    Parameters
    ----------
    module
        A module whose parameters are those of one `RecurrentLayers`.
    """

    def __init__(self, module: nn.Module) -> None:
        SharedParameters.__init__(self, module)
        RecurrentValues.__init__(self, self.arrays)

    def descend(self, inputs: Float32Array, actions: IntArray, targets: Float32Array) -> None:
        """Write the gradient of the mean squared error of the chosen actions' values.

        Parameters
        ----------
        inputs
            (L, B, I): sequences from their start.
        actions, targets
            (L, B): actions whose values have targets, and these.
        """
        first, second, unit, head = self._layers(self.arrays)
        by_first, by_second, by_unit, by_head = self._layers(self.gradients)
        start = np.zeros((inputs.shape[1], self.width), np.float32)
        values, hidden, done = recurrent_values(self.arrays, inputs, start)
        slope = error_slope(values.reshape(actions.size, -1), actions.ravel(), targets.ravel())
        states = done.states[1:].reshape(-1, self.width)
        relu_backward([head], [by_head], [states], slope)
        by_output = (slope @ head[0]).reshape(done.states[1:].shape)
        by_input, by_state = gru.slopes(done, unit[1], by_output)
        by_input, by_state = (part.reshape(len(states), -1) for part in (by_input, by_state))
        np.matmul(by_state.T, done.states[:-1].reshape(-1, self.width), out=by_unit[1])
        np.sum(by_state, axis=0, out=by_unit[3])
        # The unit's input weights are a linear layer after two with ReLU.
        relu_backward(
            [first, second, (unit[0], unit[2])],
            [by_first, by_second, (by_unit[0], by_unit[2])],
            hidden,
            by_input,
        )

    def frozen(self) -> RecurrentValues:
        """Return a copy that no longer changes."""
        return RecurrentValues([array.copy() for array in self.arrays])

    @staticmethod
    def _layers(arrays: list[Float32Array]) -> tuple[Any, Any, list[Float32Array], Any]:
        """Return first and second layer, the unit's four arrays, and the head."""
        return (arrays[0], arrays[1]), (arrays[2], arrays[3]), arrays[4:8], (arrays[8], arrays[9])


def recurrent_values(
    arrays: list[Float32Array], inputs: Float32Array, start: Float32Array
) -> tuple[Float32Array, list[Float32Array], gru.Run]:
    """Return action values (L, B, A), the layers before the unit (L * B, size), and its run."""
    hidden = [np.ascontiguousarray(inputs).reshape(-1, inputs.shape[2])]
    for weight, bias in ((arrays[0], arrays[1]), (arrays[2], arrays[3])):
        hidden.append(rectified(hidden[-1] @ weight.T, bias))
    from_input = hidden[-1] @ arrays[4].T + arrays[6]
    done = gru.run(from_input.reshape(*inputs.shape[:2], -1), arrays[5], arrays[7], start)
    return done.states[1:] @ arrays[8].T + arrays[9], hidden, done
