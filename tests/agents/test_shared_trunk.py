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
    assert sum(p.numel() for p in networks.trunk.parameters()) == sizes
    observations = np.random.default_rng(0).random((7, inputs), dtype=np.float32)
    outputs, values = model.policy.evaluated(observations)
    assert values.shape == (7, 1)
    assert np.allclose(model.policy.actor().output(observations), outputs, atol=1e-6)


def test_the_written_gradient_is_that_of_the_loss() -> None:
    model, rng = made("Attention"), np.random.default_rng(1)
    batch = Batch(
        rng.random((9, 15), dtype=np.float32),
        rng.random((9, 5), dtype=np.float32),
        np.full(9, -5.0, np.float32),
        rng.random((9, 1), dtype=np.float32),
        rng.standard_normal(9).astype(np.float32),
    )
    coefficients = Coefficients(0.2, 0.5, 0.0)
    write = model.policy.gradient_writer(coefficients)
    write(batch)
    once = model.policy.flat.gradient.copy()
    write(batch)
    assert np.array_equal(model.policy.flat.gradient, once)
    step, flat = 1e-2, model.policy.flat
    direction = torch.from_numpy(rng.standard_normal(len(once)).astype(np.float32))
    direction /= direction.norm()
    start, ends = flat.values.detach().clone(), []
    for sign in (1, -1):
        flat.values.data.copy_(start + sign * step * direction)
        ends.append(float(ppo_loss(model.policy, batch, coefficients).total))
    expected = float(np.dot(once, direction.numpy()))
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(expected, rel=0.05, abs=2e-4)


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
