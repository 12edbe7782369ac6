"""The stacked networks, clipping and flattening, against autograd and torch's own."""

from __future__ import annotations

import pytest
import torch

from longfair.agents.learning.flat import FlatParameters
from longfair.agents.ppo.networks import StackedActorCritic

SAMPLES, INPUTS, ACTIONS, CRITICS = 12, 5, 3, 4


@pytest.fixture
def stack() -> StackedActorCritic:
    torch.manual_seed(0)
    return StackedActorCritic(INPUTS, (8, 6), ACTIONS, CRITICS)


def test_lending_networks_have_the_published_number_of_parameters() -> None:
    stack = StackedActorCritic(11, (256, 128), 2, 5)
    assert sum(parameter.numel() for parameter in stack.parameters()) == 216_711


def test_the_policy_alone_gives_the_same_outputs(stack: StackedActorCritic) -> None:
    inputs = torch.randn(SAMPLES, INPUTS)
    torch.testing.assert_close(stack.policy(inputs), stack(inputs)[0])


def test_networks_are_independent(stack: StackedActorCritic) -> None:
    inputs = torch.randn(SAMPLES, INPUTS)
    _, before = stack(inputs)
    with torch.no_grad():
        stack.weights[0][2] += 1.0  # network 2 is critic 1
    _, after = stack(inputs)
    changed = (before != after).any(dim=0)
    assert changed.tolist() == [False, True, False, False]


@pytest.mark.parametrize("scale", [1e-3, 1e3], ids=["below the limit", "above the limit"])
def test_clipping_is_that_of_torch(stack: StackedActorCritic, scale: float) -> None:
    flat = FlatParameters(stack)
    assert flat.values.grad is not None
    flat.values.grad.copy_(torch.randn_like(flat.values) * scale)
    reference = torch.nn.Parameter(flat.values.detach().clone())
    reference.grad = flat.values.grad.clone()
    torch.nn.utils.clip_grad_norm_([reference], 0.5)
    flat.values.grad.mul_(flat.clipping(0.5))
    torch.testing.assert_close(flat.values.grad, reference.grad)


def test_flat_parameters_are_the_parameters(stack: StackedActorCritic) -> None:
    before = [parameter.detach().clone() for parameter in stack.parameters()]
    flat = FlatParameters(stack)
    for parameter, value in zip(stack.parameters(), before, strict=True):
        torch.testing.assert_close(parameter, value)
    with torch.no_grad():
        flat.values.zero_()
    assert all((parameter == 0).all() for parameter in stack.parameters())
