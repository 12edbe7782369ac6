"""The networks: against torch, number by number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from longfair.agents.fair_mdp.policy_network import PolicyNetwork, inputs_of
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem
from longfair.errors import UsageError

SHORT = LoanProblem.of(LoanModel(replace(LoanMDPParams.fico(), episode_length=6)))
NETWORK = PolicyNetwork()
PARAMETERS = np.random.default_rng(0).normal(size=(3, NETWORK.size)) / 4


def test_is_the_network_of_the_code() -> None:
    assert NETWORK.size == 802
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 25),
        torch.nn.ReLU(),
        torch.nn.Linear(25, 25),
        torch.nn.ReLU(),
        torch.nn.Linear(25, 2),
        torch.nn.Softmax(dim=1),
    )
    found = NETWORK.chances(SHORT, PARAMETERS)
    for row, numbers in enumerate(torch.tensor(PARAMETERS, dtype=torch.float32)):
        rest = numbers
        for layer in (model[0], model[2], model[4]):
            weights, rest = rest[: layer.weight.numel()], rest[layer.weight.numel() :]
            biases, rest = rest[: layer.bias.numel()], rest[layer.bias.numel() :]
            layer.weight.data = weights.reshape(layer.weight.shape[::-1]).T
            layer.bias.data = biases
        assert len(rest) == 0
        for group, applicants in enumerate(SHORT.applicants):
            alpha, beta = applicants.beliefs.T
            inputs = np.stack([alpha / (alpha + beta), alpha - beta, np.full_like(alpha, group)], 1)
            with torch.no_grad():
                wanted = model(torch.tensor(inputs, dtype=torch.float32))[:, 1].numpy()
            assert found[group][row] == pytest.approx(wanted, abs=2e-6)
            assert np.ptp(wanted) > 0.01


def test_race_blind_network_cannot_tell_groups_apart() -> None:
    blind, seeing = PolicyNetwork(race_blind=True), NETWORK
    majority = SHORT.applicants[1]
    twins = replace(SHORT, applicants=(majority, majority))
    first, second = blind.chances(twins, PARAMETERS)
    assert np.array_equal(first, second)
    first, second = seeing.chances(twins, PARAMETERS)
    assert not np.array_equal(first, second)


def test_inputs_are_not_scaled() -> None:
    inputs = inputs_of(SHORT.applicants[1], 1)
    assert inputs[:, 1].max() == pytest.approx(1.51578208 - 0.19009129 + 15, abs=1e-4)
    assert set(inputs[:, 2]) == {1.0}


def test_extreme_weights_give_certainty_and_no_warning() -> None:
    with np.errstate(all="raise"):
        chances = NETWORK.chances(SHORT, PARAMETERS * 1000)
    assert {0.0, 1.0} <= set(np.concatenate([c.ravel() for c in chances]).tolist())


def test_refuses_rows_of_another_length() -> None:
    with pytest.raises(UsageError, match=r"give \(policies, 802\)"):
        NETWORK.chances(SHORT, np.zeros((2, 801)))
