"""The stacked networks, clipping and flattening, against autograd and torch's own."""

from __future__ import annotations

import pytest
import torch

from longfair.agents.ppo import networks
from longfair.agents.ppo.networks import FlatParameters, StackedActorCritic

SAMPLES, INPUTS, ACTIONS, CRITICS = 12, 5, 3, 4


@pytest.fixture
def stack() -> StackedActorCritic:
    torch.manual_seed(0)
    return StackedActorCritic(INPUTS, (8, 6), ACTIONS, CRITICS)


def test_lending_networks_have_the_published_number_of_parameters() -> None:
    stack = StackedActorCritic(11, (256, 128), 2, 5)
    assert sum(parameter.numel() for parameter in stack.parameters()) == 216_711


@pytest.mark.parametrize("limit", [0, 2**20], ids=["apart", "stacked"])
def test_trace_gives_the_recorded_outputs(
    stack: StackedActorCritic, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "STACKED_LIMIT", limit)
    inputs = torch.randn(SAMPLES, INPUTS)
    trace = stack.trace(inputs)
    assert len(trace) == (1 if limit else 1 + CRITICS)
    for mine, recorded in zip(stack.outputs(trace), stack(inputs), strict=True):
        torch.testing.assert_close(mine, recorded)
    torch.testing.assert_close(stack.policy(inputs), stack(inputs)[0])


@pytest.mark.parametrize("limit", [0, 2**20], ids=["apart", "stacked"])
def test_backward_is_the_derivative(
    stack: StackedActorCritic, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "STACKED_LIMIT", limit)
    FlatParameters(stack)
    inputs = torch.randn(SAMPLES, INPUTS)
    by_outputs, by_values = torch.randn(SAMPLES, ACTIONS), torch.randn(SAMPLES, CRITICS)
    outputs, values = stack(inputs)
    loss = (outputs * by_outputs).sum() + (values * by_values).sum()
    expected = torch.autograd.grad(loss, list(stack.parameters()))
    with torch.no_grad():
        stack.backward(stack.trace(inputs), by_outputs, by_values)
    for parameter, gradient in zip(stack.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


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
    flat.clip_gradient(0.5)
    torch.testing.assert_close(flat.values.grad, reference.grad)


def test_flat_parameters_are_the_parameters(stack: StackedActorCritic) -> None:
    before = [parameter.detach().clone() for parameter in stack.parameters()]
    flat = FlatParameters(stack)
    for parameter, value in zip(stack.parameters(), before, strict=True):
        torch.testing.assert_close(parameter, value)
    with torch.no_grad():
        flat.values.zero_()
    assert all((parameter == 0).all() for parameter in stack.parameters())
