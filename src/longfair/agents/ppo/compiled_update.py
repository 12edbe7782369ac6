"""The gradient of PPO's loss, compiled: one network after another.

At 64 samples a minibatch the matrix products of one network take some tens of microseconds. Asking
torch for every operation costs as much again, and going through all networks layer by layer keeps
none of them in the processor's cache. Here a network is evaluated and differentiated before the
next one is looked at, and what lies between the products costs next to nothing.

The derivative is written out; tests hold it against autograd of `longfair.agents.ppo.loss`.

Everything that is compiled stands in this one file. Machine code is kept beside the source until
the file changes, and a caller in another file would keep an old copy of what it calls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)

_compiled = njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
"""Sums may be reordered, as in a matrix product; what is not a number stays not a number."""


class Networks(NamedTuple):
    """One policy and C critics, K = 1 + C networks; their values or their gradients.

    Layers have the sizes before and after them. Network 0 is the policy.
    """

    weights: tuple[FloatArray, ...]
    """(K, before, after) for every hidden layer."""
    biases: tuple[FloatArray, ...]
    """(K, 1, after) for every hidden layer."""
    policy_weight: FloatArray
    """(hidden, A)."""
    policy_bias: FloatArray
    """(A,)."""
    value_weight: FloatArray
    """(C, 1, hidden)."""
    value_bias: FloatArray
    """(C, 1)."""
    log_std: FloatArray
    """(A,): logarithms of a Gaussian policy's deviations; (0,) for a choice among A actions."""


class Trunk(NamedTuple):
    """Layers that the policy and all critics share; their values or their gradients."""

    weights: tuple[FloatArray, ...]
    """(1, before, after) for every layer."""
    biases: tuple[FloatArray, ...]
    """(1, 1, after) for every layer."""


class Batch(NamedTuple):
    """Samples of one gradient step, B of them."""

    observations: FloatArray
    """(B, input)."""
    actions: FloatArray
    """(B, A) real numbers, or (B, 1) the number of the choice."""
    old_log_prob: FloatArray
    """(B,)."""
    returns: FloatArray
    """(B, C)."""
    advantage: FloatArray
    """(B,)."""


class Coefficients(NamedTuple):
    """Numbers in PPO's loss."""

    clip_range: float
    value: float
    """Weight of the critics' summed squared errors."""
    entropy: float
    """Weight of the policy's entropy, which the loss subtracts."""


@_compiled
def write_gradient(
    networks: Networks, gradients: Networks, batch: Batch, coefficients: Coefficients
) -> tuple[float, float]:
    """Write the gradient of PPO's loss on a minibatch.

    Parameters
    ----------
    networks
        Where to take it.
    gradients
        Arrays to write it to.
    batch, coefficients
        Data and weights of the loss: clipped surrogate, squared errors of the critics, entropy.

    Returns
    -------
    divergence, value_loss
        Stable-Baselines3's estimate of the divergence from the policy that acted, and the sum of
        the critics' mean squared errors.
    """
    samples = len(batch.advantage)
    hidden = [np.empty((samples, w.shape[2]), np.float32) for w in networks.weights]
    slopes = [np.empty((samples, w.shape[2]), np.float32) for w in networks.weights]
    divergence, value_loss = 0.0, 0.0
    for network in range(1 + len(networks.value_weight)):
        found = _one_network(
            networks, gradients, network, batch.observations, hidden, slopes, batch, coefficients
        )
        if network == 0:
            divergence = found
        else:
            value_loss += found
    return divergence, value_loss


@_compiled
def write_trunk_gradient(
    trunk: Trunk,
    trunk_gradients: Trunk,
    heads: Networks,
    head_gradients: Networks,
    batch: Batch,
    coefficients: Coefficients,
) -> tuple[float, float]:
    """Write the gradient of PPO's loss on a minibatch, for networks on a common trunk.

    Parameters
    ----------
    trunk, heads
        Where to take it: the layers in common, and what stands on them.
    trunk_gradients, head_gradients
        Arrays to write it to.
    batch, coefficients
        As for `write_gradient`, whose numbers it returns.
    """
    samples = len(batch.advantage)
    shared = [np.empty((samples, w.shape[2]), np.float32) for w in trunk.weights]
    by_shared = [np.empty((samples, w.shape[2]), np.float32) for w in trunk.weights]
    hidden = [np.empty((samples, w.shape[2]), np.float32) for w in heads.weights]
    slopes = [np.empty((samples, w.shape[2]), np.float32) for w in heads.weights]
    _forward(trunk, 0, batch.observations, shared)
    top, by_top = shared[-1], by_shared[-1]
    by_top[:] = 0.0
    divergence, value_loss = 0.0, 0.0
    for network in range(1 + len(heads.value_weight)):
        found = _one_network(
            heads, head_gradients, network, top, hidden, slopes, batch, coefficients
        )
        by_top += np.dot(slopes[0], heads.weights[0][network].T)
        if network == 0:
            divergence = found
        else:
            value_loss += found
    _backward(trunk, trunk_gradients, 0, batch.observations, shared, by_shared)
    return divergence, value_loss


@_compiled
def evaluate_trunk(trunk: Trunk, observations: FloatArray) -> FloatArray:
    """Map observations (S, input) to what the trunk makes of them (S, last)."""
    shared = [np.empty((len(observations), w.shape[2]), np.float32) for w in trunk.weights]
    _forward(trunk, 0, observations, shared)
    return shared[-1]


@_compiled
def evaluate(networks: Networks, observations: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Map observations (S, input) to outputs of the policy (S, A) and values (S, C)."""
    samples, critics = len(observations), len(networks.value_weight)
    outputs = np.empty((samples, len(networks.policy_bias)), np.float32)
    values = np.empty((samples, critics), np.float32)
    hidden = [np.empty((samples, w.shape[2]), np.float32) for w in networks.weights]
    for network in range(1 + critics):
        _forward(networks, network, observations, hidden)
        last = hidden[-1]
        if network == 0:
            np.dot(last, networks.policy_weight, outputs)
            outputs += networks.policy_bias
        else:
            critic = network - 1
            weight, bias = networks.value_weight[critic, 0], networks.value_bias[critic, 0]
            for sample in range(samples):
                values[sample, critic] = np.dot(last[sample], weight) + bias
    return outputs, values


@_compiled
def surrogate_slope(log_ratio: float, advantage: float, clip_range: float) -> float:
    r"""Return the slope of PPO's clipped loss by the log-probability of one action.

    The loss is :math:`-\min(r A, clip(r, 1-\epsilon, 1+\epsilon) A)` with :math:`r = \exp` of
    `log_ratio`. Its slope is zero where the clipped term is the smaller one, and :math:`-r A`
    elsewhere.
    """
    ratio = math.exp(log_ratio)
    clipped = ratio > 1.0 + clip_range if advantage > 0 else ratio < 1.0 - clip_range
    return 0.0 if clipped else -ratio * advantage


@_compiled
def _one_network(
    networks: Networks,
    gradients: Networks,
    network: int,
    inputs: FloatArray,
    hidden: list[FloatArray],
    slopes: list[FloatArray],
    batch: Batch,
    coefficients: Coefficients,
) -> float:
    """Write the gradient of one network, and the slopes by its hidden layers.

    Returns the policy's divergence, or a critic's mean squared error.
    """
    _forward(networks, network, inputs, hidden)
    if network == 0:
        found = _policy_head(networks, gradients, hidden[-1], slopes[-1], batch, coefficients)
    else:
        found = _value_head(
            networks,
            gradients,
            network - 1,
            hidden[-1],
            slopes[-1],
            batch.returns,
            coefficients.value,
        )
    _backward(networks, gradients, network, inputs, hidden, slopes)
    return found


@_compiled
def _forward(
    networks: Networks | Trunk, network: int, observations: FloatArray, hidden: list[FloatArray]
) -> None:
    """Fill the hidden layers (S, size) of one network."""
    before = observations
    for layer in range(len(hidden)):
        after, bias = hidden[layer], networks.biases[layer][network, 0]
        np.dot(before, networks.weights[layer][network], after)
        for sample in range(len(after)):
            for unit in range(len(bias)):
                total = after[sample, unit] + bias[unit]
                after[sample, unit] = np.float32(0.0) if total < 0 else total
        before = after


@_compiled
def _backward(
    networks: Networks | Trunk,
    gradients: Networks | Trunk,
    network: int,
    observations: FloatArray,
    hidden: list[FloatArray],
    slopes: list[FloatArray],
) -> None:
    """Write the gradient of one network's hidden layers, given the slope by the last of them."""
    for layer in range(len(hidden) - 1, -1, -1):
        slope, active = slopes[layer], hidden[layer]
        by_bias = gradients.biases[layer][network, 0]
        by_bias[:] = 0.0
        for sample in range(len(slope)):
            for unit in range(len(by_bias)):
                passed = slope[sample, unit] if active[sample, unit] > 0 else np.float32(0.0)
                slope[sample, unit] = passed
                by_bias[unit] += passed
        before = observations if layer == 0 else hidden[layer - 1]
        np.dot(before.T, slope, gradients.weights[layer][network])
        if layer > 0:
            np.dot(slope, networks.weights[layer][network].T, slopes[layer - 1])


@_compiled
def _value_head(
    networks: Networks,
    gradients: Networks,
    critic: int,
    last: FloatArray,
    slope: FloatArray,
    returns: FloatArray,
    coefficient: float,
) -> float:
    """Write a critic's head gradient and the slope by its last layer; return its mean error."""
    samples, units = last.shape
    weight, bias = networks.value_weight[critic, 0], networks.value_bias[critic, 0]
    by_weight = gradients.value_weight[critic, 0]
    by_weight[:] = 0.0
    by_bias, loss = 0.0, 0.0
    for sample in range(samples):
        error = np.dot(last[sample], weight) + bias - returns[sample, critic]
        by_value = np.float32(2.0 * coefficient / samples * error)
        by_bias += float(by_value)
        loss += error * error
        for unit in range(units):
            by_weight[unit] += by_value * last[sample, unit]
            slope[sample, unit] = by_value * weight[unit]
    gradients.value_bias[critic, 0] = by_bias
    return float(loss / samples)


@_compiled
def _policy_head(
    networks: Networks,
    gradients: Networks,
    last: FloatArray,
    slope: FloatArray,
    batch: Batch,
    coefficients: Coefficients,
) -> float:
    """Write the policy's head gradient and the slope by its last layer; return the divergence."""
    outputs = np.dot(last, networks.policy_weight) + networks.policy_bias
    if len(networks.log_std):
        divergence = _gaussian(networks.log_std, gradients.log_std, outputs, batch, coefficients)
    else:
        divergence = _categorical(outputs, batch, coefficients)
    np.dot(last.T, outputs, gradients.policy_weight)
    gradients.policy_bias[:] = outputs.sum(0)
    np.dot(outputs, networks.policy_weight.T, slope)
    return divergence


@_compiled
def _categorical(outputs: FloatArray, batch: Batch, coefficients: Coefficients) -> float:
    """Replace logits (B, A) by the slopes of the loss; return the divergence."""
    samples, actions = outputs.shape
    divergence = 0.0
    for sample in range(samples):
        logits = outputs[sample]
        logits -= logits.max()
        logits -= math.log(np.exp(logits).sum())
        entropy = -(np.exp(logits) * logits).sum()
        chosen = int(batch.actions[sample, 0])
        log_ratio = logits[chosen] - batch.old_log_prob[sample]
        divergence += math.exp(log_ratio) - 1.0 - log_ratio
        by_log_prob = surrogate_slope(log_ratio, batch.advantage[sample], coefficients.clip_range)
        for action in range(actions):
            chance = math.exp(logits[action])
            by_entropy = coefficients.entropy * chance * (logits[action] + entropy)
            hit = 1.0 if action == chosen else 0.0
            logits[action] = (by_log_prob * (hit - chance) + by_entropy) / samples
    return float(divergence / samples)


@_compiled
def _gaussian(
    log_std: FloatArray,
    by_log_std: FloatArray,
    outputs: FloatArray,
    batch: Batch,
    coefficients: Coefficients,
) -> float:
    """Replace means (B, A) by the slopes of the loss; return the divergence."""
    samples, actions = outputs.shape
    inverse = np.exp(-log_std)
    by_log_std[:] = -coefficients.entropy
    divergence = 0.0
    for sample in range(samples):
        log_prob = 0.0
        for action in range(actions):
            scaled = (batch.actions[sample, action] - outputs[sample, action]) * inverse[action]
            log_prob -= 0.5 * scaled * scaled + log_std[action] + _HALF_LOG_TWO_PI
            outputs[sample, action] = scaled
        log_ratio = log_prob - batch.old_log_prob[sample]
        divergence += math.exp(log_ratio) - 1.0 - log_ratio
        by_log_prob = surrogate_slope(log_ratio, batch.advantage[sample], coefficients.clip_range)
        by_log_prob /= samples
        for action in range(actions):
            scaled = outputs[sample, action]
            by_log_std[action] += by_log_prob * (scaled * scaled - 1.0)
            outputs[sample, action] = by_log_prob * scaled * inverse[action]
    return float(divergence / samples)
