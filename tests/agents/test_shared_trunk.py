"""Networks with a common trunk: shapes, gradients, acting, saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from longfair.agents.ppo import FairPPO
from longfair.agents.ppo.compiled_update import Batch, Coefficients
from longfair.agents.ppo.loss import ppo_loss
from longfair.agents.ppo.shared_trunk import SharedTrunkPolicy
from longfair.errors import UsageError


def made(name: str, **arguments: Any) -> FairPPO:
    env = gymnasium.make_vec(f"longfair/{name}-v0", num_envs=2, episode_length=20)
    return FairPPO(
        SharedTrunkPolicy,
        env,
        net_arch=(16, 12, 10, 8),
        batch_size=20,
        learning_rate=1e-3,
        seed=3,
        **arguments,
    )


@pytest.mark.parametrize("name", ["Lending", "Attention"])
def test_the_trunk_is_shared_and_what_acts_is_what_learns(name: str) -> None:
    model = made(name)
    networks = model.policy.networks
    inputs = model.observation_space.shape[0]
    sizes = (inputs * 16 + 16) + (16 * 12 + 12)
    trunk = (*networks.trunk_weights, *networks.trunk_biases)
    assert sum(p.numel() for p in trunk) == sizes
    observations = np.random.default_rng(0).random((7, inputs), dtype=np.float32)
    outputs, values = model.policy.evaluated(observations)
    assert values.shape == (7, 1)
    assert np.allclose(model.policy.actor().output(observations), outputs, atol=1e-6)


@pytest.mark.parametrize("name", ["Lending", "Attention"])
@pytest.mark.parametrize("entropy", [0.0, 0.3])
def test_the_written_gradient_is_that_of_the_loss(name: str, entropy: float) -> None:
    model, rng = made(name), np.random.default_rng(1)
    policy = model.policy
    with torch.no_grad():  # larger than at the start, so that all parts of the loss matter
        policy.networks.heads.policy_weight.mul_(50.0)
        policy.flat.values.add_(0.1 * torch.randn_like(policy.flat.values))
    inputs, outputs = model.observation_space.shape[0], policy.networks.heads.policy_bias.numel()
    actions = rng.integers(0, 2, (40, 1)) if name == "Lending" else rng.normal(size=(40, outputs))
    arrays = (
        rng.normal(size=(40, inputs)),
        actions,
        rng.normal(-1.0 if name == "Lending" else -8.0, 0.5, 40),
        rng.normal(size=(40, 1)),
        rng.normal(size=40),
    )
    batch = Batch(*(array.astype(np.float32) for array in arrays))
    coefficients = Coefficients(0.2, 0.5, entropy)
    loss = ppo_loss(policy, batch, coefficients)
    assert loss.clip_fraction > 0.1
    expected = torch.autograd.grad(loss.total, list(policy.parameters()))
    policy.flat.values.grad.fill_(np.nan)
    divergence = policy.gradient_writer(coefficients)(batch)
    assert divergence == pytest.approx(loss.divergence.item(), rel=1e-4)
    for parameter, gradient in zip(policy.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


def test_a_saved_agent_acts_the_same(tmp_path: Path) -> None:
    model = made("Lending")
    before = model.policy.flat.vector.copy()
    model.learn(80)
    assert np.abs(model.policy.flat.vector - before).max() > 1e-4
    model.save(tmp_path / "agent")
    again = FairPPO.load(tmp_path / "agent")
    observations = np.eye(9, dtype=np.float32)
    assert np.array_equal(
        model.policy.actor().output(observations), again.policy.actor().output(observations)
    )


def test_without_a_layer_to_share_it_is_refused() -> None:
    with pytest.raises(UsageError, match="leaves no layer to share"):
        FairPPO(SharedTrunkPolicy, gymnasium.make_vec("longfair/Lending-v0"), net_arch=(8, 8))
