"""Values, gradients and steps of small networks, against torch's own."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from longfair.agents.fairqcm.networks import (
    ReluStack,
    orthogonal_start,
    relu_layers,
    unit_row_start,
)
from longfair.agents.fairqcm.recurrent_network import RecurrentLayers, RecurrentStack
from longfair.agents.learning.seeding import seeded


def gradient(module: nn.Module, loss: torch.Tensor) -> np.ndarray:
    parts = torch.autograd.grad(loss, list(module.parameters()))
    return np.concatenate([part.numpy().ravel() for part in parts])


def squared_error(values: torch.Tensor, actions: torch.Tensor, targets: torch.Tensor):
    chosen = values.gather(-1, actions[..., None])[..., 0]
    return (chosen - targets).square().mean()


@pytest.mark.parametrize(
    ("sizes", "parameters"), [((40, 32, 16, 8, 5), 2021), ((35, 32, 8, 4), 1452)]
)
def test_feed_forward_networks_have_the_published_size_and_autograds_gradient(sizes, parameters):
    torch.manual_seed(0)
    module = relu_layers(sizes)
    shared = ReluStack(module)
    assert len(shared.vector) == parameters
    inputs, targets = torch.randn(50, sizes[0]), torch.randn(50)
    actions = torch.randint(0, sizes[-1], (50,))
    values = module(inputs)
    expected = gradient(module, squared_error(values, actions, targets))
    np.testing.assert_allclose(shared.outputs(inputs.numpy()), values.detach(), atol=1e-6)
    shared.descend(inputs.numpy(), actions.numpy(), targets.numpy())
    np.testing.assert_allclose(shared.gradient, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "actions", "width", "parameters"),
    [(5, 5, 16, 2437), (23, 4, 16, 2996), (5, 5, 40, None)],
)
def test_recurrent_networks_have_the_published_size_and_autograds_gradient(
    inputs, actions, width, parameters
):
    torch.manual_seed(0)
    module = RecurrentLayers(inputs, actions, (32, 16), width)
    shared = RecurrentStack(module)
    assert parameters in (None, len(shared.vector))
    observations, targets = torch.randn(9, 3, inputs), torch.randn(9, 3)
    chosen = torch.randint(0, actions, (9, 3))
    values = module(observations)
    expected = gradient(module, squared_error(values, chosen, targets))
    np.testing.assert_allclose(shared.outputs(observations.numpy()), values.detach(), atol=1e-6)
    shared.descend(observations.numpy(), chosen.numpy(), targets.numpy())
    np.testing.assert_allclose(shared.gradient, expected, atol=1e-6)


def test_stepping_a_recurrent_network_is_running_it_over_the_sequence():
    torch.manual_seed(0)
    shared = RecurrentStack(RecurrentLayers(5, 5, (32, 16), 16))
    observations = np.random.default_rng(0).standard_normal((7, 2, 5)).astype(np.float32)
    state, stepped = None, []
    frozen = shared.frozen()
    for observation in observations:
        values, after = shared.step(observation, state)
        same, state_after = frozen.step(observation, state)
        np.testing.assert_array_equal(same, values)
        np.testing.assert_array_equal(state_after, after)
        state = after
        stepped.append(values)
    np.testing.assert_allclose(stepped, shared.outputs(observations), atol=1e-6)


def test_a_frozen_copy_does_not_follow_the_network_and_a_copy_takes_all_of_it():
    torch.manual_seed(0)
    first, second = ReluStack(relu_layers((4, 6, 3))), ReluStack(relu_layers((4, 6, 3)))
    inputs = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
    frozen, before = first.frozen(), first.outputs(inputs)
    first.copy_from(second)
    np.testing.assert_array_equal(first.outputs(inputs), second.outputs(inputs))
    np.testing.assert_array_equal(frozen.outputs(inputs), before)


def test_starts_are_orthogonal_or_of_unit_rows_with_zero_biases():
    module = relu_layers((6, 4, 3))
    original = copy.deepcopy(module[0].weight)
    orthogonal_start(module)
    weight = module[0].weight.detach()
    assert not torch.equal(weight, original)
    torch.testing.assert_close(weight @ weight.T, torch.eye(4))
    unit_row_start(module)
    torch.testing.assert_close(module[0].weight.norm(dim=1), torch.ones(4))
    assert not module[0].bias.any()
    assert not module[2].bias.any()


def test_a_seed_decides_the_start_and_leaves_torchs_generator_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    weights = [seeded(seed, lambda: nn.Linear(4, 3)).weight for seed in (1, 1, 2)]
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
