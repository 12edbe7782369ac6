"""PPO's compiled gradient against autograd of the readable loss, and that against a textbook."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from longfair.agents.ppo.compiled_update import (
    Batch,
    Coefficients,
    evaluate,
    surrogate_slope,
    write_gradient,
)
from longfair.agents.ppo.loss import ppo_loss
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


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("entropy", [0.0, 0.3])
def test_the_gradient_is_the_derivative_of_the_loss(
    space: str, layers: str, entropy: float
) -> None:
    made, data, weights = policy(space, layers), batch(space), Coefficients(0.2, 0.5, entropy)
    loss = ppo_loss(made, data, weights)
    assert loss.clip_fraction > 0.1  # advantages of both signs: both sides of the clip are there
    expected = torch.autograd.grad(loss.total, list(made.parameters()))
    made.flat.values.grad.fill_(np.nan)
    values, gradients = made.arrays()
    found = write_gradient(values, gradients, data, weights)
    np.testing.assert_allclose(found, (loss.divergence.item(), loss.value.item()), rtol=1e-4)
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


@pytest.mark.parametrize("advantage", [2.0, -2.0])
@pytest.mark.parametrize("ratio", [0.5, 1.1, 1.5])
def test_the_loss_of_one_sample_by_hand(advantage: float, ratio: float) -> None:
    made, data = policy("choice", "one layer"), batch("choice")
    data = Batch(*(array[:1] for array in data))
    observations, actions = torch.from_numpy(data.observations), torch.from_numpy(data.actions)
    values, log_prob, entropy = made.evaluate_actions(observations, made.as_taken(actions))
    data.old_log_prob[:] = log_prob.item() - np.log(ratio)
    data.advantage[:] = advantage
    loss = ppo_loss(made, data, Coefficients(0.2, 0.5, 0.1))
    surrogate = min(ratio * advantage, np.clip(ratio, 0.8, 1.2) * advantage)
    errors = ((values.detach().numpy() - data.returns) ** 2).sum()
    assert loss.policy.item() == pytest.approx(-surrogate, rel=1e-5)
    assert loss.value.item() == pytest.approx(errors, rel=1e-5)
    assert loss.entropy.item() == pytest.approx(-entropy.item(), rel=1e-5)
    total = -surrogate + 0.5 * errors - 0.1 * entropy.item()
    assert loss.total.item() == pytest.approx(total, rel=1e-5)
    assert loss.clip_fraction.item() == (ratio != 1.1)
    assert loss.divergence.item() == pytest.approx(ratio - 1 - np.log(ratio), abs=1e-6)
