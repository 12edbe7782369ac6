"""Products with the Fisher matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.distributions import Independent, Normal, kl_divergence
from torch.nn.utils import parameters_to_vector

from longfair.agents.cpo.fisher import fisher_product
from longfair.agents.cpo.networks import GaussianPolicy


def test_the_fisher_matrix_of_a_gaussian() -> None:
    """One layer and no hidden one: the matrix is known."""
    policy = GaussianPolicy((2, 1))
    with torch.no_grad():
        policy.log_std.fill_(0.3)
    seen = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 1.0]])
    product = fisher_product(policy, seen)
    inputs = np.column_stack([seen.numpy(), np.ones(3)])
    expected = np.zeros((4, 4))
    expected[0, 0] = 2.0
    expected[1:, 1:] = inputs.T @ inputs / 3.0 / np.exp(0.3) ** 2
    columns = np.column_stack([product(unit) for unit in np.eye(4)])
    assert columns == pytest.approx(expected, abs=1e-6)


def differentiated_twice(
    policy: GaussianPolicy, observations: torch.Tensor, vector: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The definition: second derivative of the divergence of the policy from itself."""
    parameters = list(policy.parameters())
    after = policy(observations)
    normal = after.base_dist
    assert isinstance(normal, Normal)
    before = Independent(Normal(normal.loc.detach(), normal.scale.detach()), 1)
    divergence = kl_divergence(before, after).mean()
    slope = torch.autograd.grad(divergence, parameters, create_graph=True)
    along = parameters_to_vector(slope) @ torch.tensor(vector, dtype=torch.float32)
    found = parameters_to_vector(torch.autograd.grad(along, parameters))
    return found.double().numpy()


@pytest.mark.parametrize("hidden", [(), (5,), (7, 4), (6, 5, 4)])
def test_it_is_the_second_derivative_of_the_divergence(hidden: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    policy = GaussianPolicy((6, *hidden, 2))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.copy_(torch.randn_like(parameter))
    observations = torch.randn(40, 6)
    size = sum(parameter.numel() for parameter in policy.parameters())
    vector = np.random.default_rng(1).standard_normal(size)
    expected = differentiated_twice(policy, observations, vector)
    scale = np.abs(expected).max()
    found = fisher_product(policy, observations)(vector)
    assert found / scale == pytest.approx(expected / scale, abs=1e-5)
    damped = fisher_product(policy, observations, 0.5)(vector)
    assert damped == pytest.approx(found + 0.5 * vector, abs=1e-9 * scale)
