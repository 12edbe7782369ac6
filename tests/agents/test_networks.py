"""The hand-written derivative, clipping and flattening, against autograd and torch's own."""

from __future__ import annotations

import pytest
import torch

from longfair.agents.ppo import networks
from longfair.agents.ppo.fair_ppo import surrogate_slope
from longfair.agents.ppo.heads import CategoricalHead, GaussianHead
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


@pytest.mark.parametrize("entropy_weight", [0.0, 0.3])
def test_categorical_head_is_the_distribution_of_torch(entropy_weight: float) -> None:
    outputs = torch.randn(SAMPLES, ACTIONS, requires_grad=True)
    actions, upstream = torch.randint(0, ACTIONS, (SAMPLES,)), torch.randn(SAMPLES)
    distribution = torch.distributions.Categorical(logits=outputs)
    log_prob = distribution.log_prob(actions)
    loss = (log_prob * upstream).sum() + entropy_weight * distribution.entropy().sum()
    (expected,) = torch.autograd.grad(loss, outputs)
    head = CategoricalHead()
    torch.testing.assert_close(head.log_prob(outputs, actions), log_prob)
    mine = head.backward(outputs.detach(), actions, upstream, entropy_weight)
    torch.testing.assert_close(mine, expected)


@pytest.mark.parametrize("entropy_weight", [0.0, 0.3])
def test_gaussian_head_is_the_distribution_of_torch(entropy_weight: float) -> None:
    log_std = torch.nn.Parameter(torch.randn(ACTIONS) * 0.3)
    means = torch.randn(SAMPLES, ACTIONS, requires_grad=True)
    actions, upstream = torch.randn(SAMPLES, ACTIONS), torch.randn(SAMPLES)
    distribution = torch.distributions.Normal(means, log_std.exp())
    log_prob = distribution.log_prob(actions).sum(dim=1)
    loss = (log_prob * upstream).sum() + entropy_weight * distribution.entropy().sum()
    by_means, by_log_std = torch.autograd.grad(loss, (means, log_std))
    head = GaussianHead(log_std)
    torch.testing.assert_close(head.log_prob(means, actions), log_prob)
    log_std.grad = torch.zeros(ACTIONS)
    with torch.no_grad():
        mine = head.backward(means.detach(), actions, upstream, entropy_weight)
    torch.testing.assert_close(mine, by_means)
    torch.testing.assert_close(log_std.grad, by_log_std, rtol=1e-4, atol=1e-5)


def test_surrogate_slope_is_the_derivative_of_the_clipped_loss() -> None:
    torch.manual_seed(1)
    log_ratio = (torch.randn(200) * 0.4).requires_grad_()
    advantage = torch.randn(200)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(0.8, 1.2)
    loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    (expected,) = torch.autograd.grad(loss, log_ratio)
    torch.testing.assert_close(surrogate_slope(log_ratio.detach(), advantage, 0.2), expected)
    assert (expected == 0).any()
    assert (expected != 0).any()


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
