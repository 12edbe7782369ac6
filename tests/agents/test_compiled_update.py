"""What is compiled for PPO, against autograd, torch's distributions and torch's Adam."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from longfair.agents.ppo.compiled_policy import choices, policy_outputs
from longfair.agents.ppo.compiled_update import (
    Batch,
    Coefficients,
    adam_step,
    evaluate,
    surrogate_slope,
    write_gradient,
)
from longfair.agents.ppo.policy import FairActorCriticPolicy

SAMPLES, INPUTS, SIGNALS = 40, 5, 3
SPACES = {"choice": spaces.Discrete(4), "gaussian": spaces.Box(-3.0, 3.0, (3,), np.float32)}
LAYERS = {"one layer": [7], "two layers": [8, 6], "three layers": [6, 7, 5]}


def policy(space: str, layers: str) -> FairActorCriticPolicy:
    torch.manual_seed(0)
    observation = spaces.Box(-np.inf, np.inf, (INPUTS,), np.float32)
    made = FairActorCriticPolicy(
        observation, SPACES[space], lambda _: 0.01, LAYERS[layers], num_signals=SIGNALS
    )
    with torch.no_grad():  # larger than at the start, so that all parts of the loss matter
        made.networks.policy_weight.mul_(50.0)
        made.flat.values.add_(0.1 * torch.randn_like(made.flat.values))
    return made


def batch(space: str) -> Batch:
    rng = np.random.default_rng(1)
    actions = (
        rng.integers(0, 4, (SAMPLES, 1)) if space == "choice" else rng.normal(size=(SAMPLES, 3))
    )
    arrays = (
        rng.normal(size=(SAMPLES, INPUTS)),
        actions,
        rng.normal(-2.0, 0.5, SAMPLES),
        rng.normal(size=(SAMPLES, 1 + SIGNALS)),
        rng.normal(size=SAMPLES),
    )
    return Batch(*(array.astype(np.float32) for array in arrays))


def recorded_loss(made: FairActorCriticPolicy, data: Batch, weights: Coefficients) -> Any:
    """PPO's loss as textbooks write it, on torch's distributions."""
    observations, actions, old, returns, advantage = (torch.from_numpy(a) for a in data)
    outputs, values = made.networks(observations)
    distribution = made.distribution(outputs)
    chosen = actions[:, 0].long() if made.action_space.__class__ is spaces.Discrete else actions
    log_ratio = distribution.log_prob(chosen) - old
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - weights.clip_range, 1.0 + weights.clip_range)
    surrogate = torch.minimum(ratio * advantage, clipped * advantage).mean()
    value_loss = (values - returns).square().mean(dim=0).sum()
    entropy = distribution.entropy().mean()
    loss = -surrogate + weights.value * value_loss - weights.entropy * entropy
    divergence = (ratio - 1.0 - log_ratio).mean()
    kept = (ratio * advantage <= clipped * advantage).float().mean()
    return loss, divergence.item(), value_loss.item(), kept.item()


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("entropy", [0.0, 0.3])
def test_the_gradient_is_the_derivative_of_the_loss(
    space: str, layers: str, entropy: float
) -> None:
    made, data, weights = policy(space, layers), batch(space), Coefficients(0.2, 0.5, entropy)
    loss, divergence, value_loss, kept = recorded_loss(made, data, weights)
    assert 0.1 < kept < 0.9  # both sides of the clip are there
    expected = torch.autograd.grad(loss, list(made.parameters()))
    made.flat.values.grad.fill_(np.nan)
    values, gradients = made.arrays()
    found = write_gradient(values, gradients, data, weights)
    np.testing.assert_allclose(found, (divergence, value_loss), rtol=1e-4)
    for parameter, gradient in zip(made.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layers", LAYERS)
def test_evaluation_is_the_forward_pass(layers: str) -> None:
    made, observations = policy("gaussian", layers), batch("gaussian").observations
    for mine, torchs in zip(
        evaluate(made.arrays()[0], observations),
        made.networks(torch.from_numpy(observations)),
        strict=True,
    ):
        np.testing.assert_allclose(mine, torchs.detach(), rtol=1e-4, atol=1e-5)


def test_what_is_not_a_number_is_not_hidden() -> None:
    made, data = policy("choice", "two layers"), batch("choice")
    data.observations[3, 2] = np.nan
    values, gradients = made.arrays()
    assert np.isnan(write_gradient(values, gradients, data, Coefficients(0.2, 0.5, 0.0))).all()


def test_steps_are_those_of_torchs_adam() -> None:
    made = policy("gaussian", "two layers")
    values = torch.nn.Parameter(made.flat.values.detach().clone())
    reference = torch.optim.Adam([values], lr=0.01, eps=1e-5)
    for step in range(20):
        gradient = torch.randn_like(values) * 10.0 ** (step % 7 - 3)
        values.grad = gradient.clone()
        made.flat.values.grad.copy_(gradient)
        reference.step()
        made.step()
        torch.testing.assert_close(made.flat.values, values, rtol=1e-5, atol=1e-6)
    theirs, mine = reference.state[values], made.optimizer.state[made.flat.values]
    assert theirs["step"] == mine["step"] == 20
    for name in ("exp_avg", "exp_avg_sq"):
        torch.testing.assert_close(mine[name], theirs[name])


def test_adam_moves_by_the_learning_rate_at_first() -> None:
    values, gradient = np.zeros(3, np.float32), np.array([5.0, -0.2, 0.0], np.float32)
    moments = np.zeros((2, 3), np.float32)
    adam_step(values, gradient, *moments, 1, 0.01, (0.9, 0.999), 1e-8)
    np.testing.assert_allclose(values, [-0.01, 0.01, 0.0], rtol=1e-4)


def test_surrogate_slope_is_the_derivative_of_the_clipped_loss() -> None:
    torch.manual_seed(1)
    log_ratio = (torch.randn(200) * 0.4).requires_grad_()
    advantage = torch.randn(200)
    ratio = log_ratio.exp()
    loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).sum()
    (expected,) = torch.autograd.grad(loss, log_ratio)
    found = [
        surrogate_slope(log.item(), adv.item(), 0.2)
        for log, adv in zip(log_ratio, advantage, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)
    assert (expected == 0).any()
    assert (expected != 0).any()


def test_policies_of_a_stack_see_their_own_observations() -> None:
    rng = np.random.default_rng(0)
    weights = tuple(rng.normal(size=s).astype(np.float32) for s in ((3, 4, 8), (3, 8, 2)))
    biases = tuple(rng.normal(size=s).astype(np.float32) for s in ((3, 1, 8), (3, 1, 2)))
    observations = rng.normal(size=(3, 6, 4)).astype(np.float32)
    hidden = np.maximum(observations @ weights[0] + biases[0], 0.0)
    np.testing.assert_allclose(
        policy_outputs(weights, biases, observations), hidden @ weights[1] + biases[1], rtol=1e-4
    )


@pytest.mark.parametrize("actions", [2, 5])
def test_choices_follow_the_probabilities(actions: int) -> None:
    logits = np.random.default_rng(0).normal(size=actions).astype(np.float32) + 300.0
    probability = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    # Draws on a grid: the share of every choice is its probability, up to the grid's width.
    grid = (np.arange(100_000) + 0.5) / 100_000
    chosen = choices(np.tile(logits, (len(grid), 1)), grid)
    np.testing.assert_allclose(np.bincount(chosen) / len(grid), probability, atol=2e-5)


def test_an_action_without_probability_is_never_chosen() -> None:
    logits = np.array([[-1e9, 0.0, -1e9]], np.float32).repeat(3, axis=0)
    assert choices(logits, np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])).tolist() == [1, 1, 1]
