"""Adam against torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from longfair.agents.learning.adam import Adam
from longfair.errors import UsageError


def made(size: int = 50, *, reordered: bool = False) -> tuple[np.ndarray, np.ndarray, Adam]:
    values = np.random.default_rng(0).normal(size=size).astype(np.float32)
    gradient = np.zeros(size, np.float32)
    return values, gradient, Adam(values, gradient, 0.01, (0.8, 0.99), 1e-5, reordered=reordered)


@pytest.mark.parametrize("reordered", [False, True])
def test_steps_are_those_of_torch(reordered: bool) -> None:
    values, gradient, adam = made(reordered=reordered)
    theirs = torch.nn.Parameter(torch.from_numpy(values.copy()))
    reference = torch.optim.Adam([theirs], lr=0.01, betas=(0.8, 0.99), eps=1e-5)
    rng = np.random.default_rng(1)
    for step in range(20):
        gradient[:] = rng.normal(size=len(gradient)) * 10.0 ** (step % 7 - 3)
        theirs.grad = torch.from_numpy(gradient.copy())
        adam.learning_rate = reference.param_groups[0]["lr"] = 0.01 / (1 + step)
        reference.step()
        adam.step()
        np.testing.assert_allclose(values, theirs.detach(), rtol=1e-5, atol=1e-6)
    state = reference.state[theirs]
    assert state["step"] == adam.steps == 20
    np.testing.assert_allclose(adam.moments[0], state["exp_avg"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(adam.moments[1], state["exp_avg_sq"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [5, 1024, 3000])
@pytest.mark.parametrize("reordered", [False, True])
def test_clipping_is_multiplying_before(size: int, reordered: bool) -> None:
    values, gradient, adam = made(size, reordered=reordered)
    other_values, other_gradient, other = made(size, reordered=reordered)
    rng = np.random.default_rng(2)
    for clipping in (0.3, 1.0, 1e-4):
        gradient[:] = rng.normal(size=size)
        np.multiply(gradient, np.float32(clipping), out=other_gradient)
        adam.step(clipping)
        other.step()
        np.testing.assert_array_equal(gradient, other_gradient)
        np.testing.assert_array_equal(values, other_values)


def test_the_first_step_has_the_length_of_the_learning_rate() -> None:
    values, gradient = np.zeros(3, np.float32), np.array([5.0, -0.2, 0.0], np.float32)
    Adam(values, gradient, 0.01).step()
    np.testing.assert_allclose(values, [-0.01, 0.01, 0.0], rtol=1e-4)


def test_a_restored_optimiser_goes_on_to_the_same_bits() -> None:
    values, gradient, adam = made()
    gradient[:] = np.linspace(-1, 1, len(gradient))
    adam.step()
    other_values, other_gradient, other = values.copy(), gradient.copy(), None
    other = Adam(other_values, other_gradient, 0.01, (0.8, 0.99), 1e-5)
    other.load_state_dict(adam.state_dict())
    adam.step()
    other.step()
    np.testing.assert_array_equal(values, other_values)
    with pytest.raises(UsageError, match="moments of shape"):
        Adam(other_values[:3], other_gradient[:3], 0.01).load_state_dict(adam.state_dict())
