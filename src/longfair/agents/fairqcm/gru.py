r"""A gated recurrent unit compiled for long sequences of small states.

With input :math:`x_t` and state :math:`h_{t-1}`, and gates reset :math:`r`, update :math:`z` and
candidate :math:`c`,

.. math::

    r_t &= \sigma(W_r x_t + b_r + U_r h_{t-1} + d_r) \\
    z_t &= \sigma(W_z x_t + b_z + U_z h_{t-1} + d_z) \\
    c_t &= \tanh(W_c x_t + b_c + r_t (U_c h_{t-1} + d_c)) \\
    h_t &= (1 - z_t) c_t + z_t h_{t-1} .

What depends on the inputs alone is one matrix product over all steps. What is left is a loop over
steps, each with a product too small to be worth a call from Python: that loop is compiled. The
derivative is written out; a test compares it with autograd through `torch.nn.GRU`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from longfair.arrays import Float32Array


class Run(NamedTuple):
    """A forward pass over L steps of B sequences with states of size H, kept for the derivative."""

    states: Float32Array
    """(L + 1, B, H): the start, then the state after every step."""
    gates: Float32Array
    """(L, B, 4 H): reset, update, candidate, and the candidate's part from the state."""


def run(
    from_input: Float32Array, weight: Float32Array, bias: Float32Array, start: Float32Array
) -> Run:
    """Follow the states over all steps.

    Parameters
    ----------
    from_input
        (L, B, 3 H): the gates' parts from the input.
    weight, bias
        (3 H, H) and (3 H,): the gates' parts from the state, in torch's order r, z, c.
    start
        (B, H): states before the first step.
    """
    length, batch, _ = from_input.shape
    size = weight.shape[1]
    states = np.empty((length + 1, batch, size), np.float32)
    states[0] = start
    gates = np.empty((length, batch, 4 * size), np.float32)
    _forward(from_input, np.ascontiguousarray(weight.T), bias, states, gates)
    return Run(states, gates)


def slopes(done: Run, weight: Float32Array, slope: Float32Array) -> tuple[Float32Array, ...]:
    """Return a loss's slopes by the gates' parts from the input and from the state.

    Parameters
    ----------
    done
        What `run` returned.
    weight
        As in `run`.
    slope
        (L, B, H): the loss's slope by every state after a step, its later effects left out.

    Returns
    -------
    by_input, by_state
        (L, B, 3 H) each.
    """
    by_input = np.empty((*slope.shape[:2], 3 * slope.shape[2]), np.float32)
    by_state = np.empty_like(by_input)
    _backward(done.states, done.gates, np.ascontiguousarray(weight), slope, by_input, by_state)
    return by_input, by_state


_ONE = np.float32(1.0)


@njit(cache=True)
def _forward(
    from_input: Float32Array,
    weight: Float32Array,
    bias: Float32Array,
    states: Float32Array,
    gates: Float32Array,
) -> None:
    length, batch, size = len(from_input), states.shape[1], states.shape[2]
    for t in range(length):
        from_state = np.dot(states[t], weight)
        for b in range(batch):
            for i in range(size):
                j, k = size + i, 2 * size + i
                reset = from_input[t, b, i] + from_state[b, i] + bias[i]
                update = from_input[t, b, j] + from_state[b, j] + bias[j]
                reset = _ONE / (_ONE + np.exp(-reset))
                update = _ONE / (_ONE + np.exp(-update))
                inner = from_state[b, k] + bias[k]
                candidate = np.tanh(from_input[t, b, k] + reset * inner)
                gates[t, b, i], gates[t, b, j] = reset, update
                gates[t, b, k], gates[t, b, k + size] = candidate, inner
                states[t + 1, b, i] = (_ONE - update) * candidate + update * states[t, b, i]


@njit(cache=True)
def _backward(
    states: Float32Array,
    gates: Float32Array,
    weight: Float32Array,
    slope: Float32Array,
    by_input: Float32Array,
    by_state: Float32Array,
) -> None:
    length, batch, size = slope.shape
    later = np.zeros((batch, size), np.float32)
    for t in range(length - 1, -1, -1):
        for b in range(batch):
            for i in range(size):
                j, k = size + i, 2 * size + i
                reset, update = gates[t, b, i], gates[t, b, j]
                candidate, inner = gates[t, b, k], gates[t, b, k + size]
                total = slope[t, b, i] + later[b, i]
                by_candidate = total * (_ONE - update) * (_ONE - candidate * candidate)
                by_update = total * (states[t, b, i] - candidate) * update * (_ONE - update)
                by_reset = by_candidate * inner * reset * (_ONE - reset)
                by_input[t, b, i] = by_state[t, b, i] = by_reset
                by_input[t, b, j] = by_state[t, b, j] = by_update
                by_input[t, b, k] = by_candidate
                by_state[t, b, k] = by_candidate * reset
                later[b, i] = total * update
        later += np.dot(by_state[t], weight)
