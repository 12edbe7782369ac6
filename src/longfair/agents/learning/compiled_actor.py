"""A policy network and its choices, compiled.

Stepping an environment asks for one tiny network evaluation at a time. Its arithmetic takes two or
three microseconds, less than one call of NumPy for every operation costs.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]

_compiled = njit(cache=True, error_model="numpy")


@_compiled
def policy_outputs(
    weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...], observations: FloatArray
) -> FloatArray:
    """Evaluate P policies of one shape, each on observations of its own.

    Parameters
    ----------
    weights, biases
        (P, before, after) and (P, 1, after) for every layer, head included.
    observations
        (P, B, input).

    Returns
    -------
    outputs
        (P, B, A): logits or means.
    """
    policies, samples, _ = observations.shape
    outputs = np.empty((policies, samples, biases[-1].shape[2]), np.float32)
    for policy in range(policies):
        hidden = observations[policy]
        for layer in range(len(weights)):
            after = np.dot(hidden, weights[layer][policy]) + biases[layer][policy]
            if layer + 1 < len(weights):
                after = np.maximum(after, np.float32(0.0))
            hidden = after
        outputs[policy] = hidden
    return outputs


@_compiled
def choices(logits: FloatArray, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose among A actions, by inverting the distribution function.

    Parameters
    ----------
    logits
        (S, A).
    uniform
        (S,): draws from the unit interval.

    Returns
    -------
    choices
        (S,).
    """
    samples, actions = logits.shape
    chosen = np.empty(samples, np.int64)
    weights = np.empty(actions)
    for sample in range(samples):
        row = logits[sample]
        top, total = row.max(), 0.0
        for action in range(actions):
            weights[action] = math.exp(row[action] - top)
            total += weights[action]
        action, left = 0, uniform[sample] * total - weights[0]
        while left >= 0.0 and action < actions - 1:
            action += 1
            left -= weights[action]
        chosen[sample] = action
    return chosen
