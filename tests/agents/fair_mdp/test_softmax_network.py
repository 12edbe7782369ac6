"""The networks of the authors' code, and the distribution over them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longfair.agents.fair_mdp.cross_entropy import Gaussians
from longfair.agents.fair_mdp.floored_gaussians import FlooredGaussians
from longfair.agents.fair_mdp.policy_network import PolicyNetwork
from longfair.agents.fair_mdp.softmax_network import SoftmaxNetwork, softmax_of_two
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem
from longfair.errors import UsageError

SHORT = LoanProblem.of(LoanModel(replace(LoanMDPParams.fico(), episode_length=6)))
NETWORK = SoftmaxNetwork()
PARAMETERS = np.random.default_rng(0).normal(size=(3, NETWORK.size)) / 4


def test_lends_as_the_network_with_one_chance() -> None:
    """Up to rounding; the other output is what is left of one."""
    for blind in (False, True):
        network = SoftmaxNetwork(race_blind=blind)
        chances = PolicyNetwork(race_blind=blind).chances(SHORT, PARAMETERS)
        found = network.outputs(SHORT, PARAMETERS)
        acting = network.chances(SHORT, PARAMETERS)
        for chance, pair, lends in zip(chances, found, acting, strict=True):
            assert pair.dtype == lends.dtype == np.float32
            assert pair[..., 1] == pytest.approx(chance, abs=2e-6)
            assert pair.sum(axis=2) == pytest.approx(1.0, abs=2e-7)
            assert np.array_equal(lends, np.float32(1) - pair[..., 0])


def test_softmax_is_that_of_the_definition() -> None:
    values = np.array([[0.0, 0.0], [1.0, -2.0], [-30.0, 20.0], [-3.0, 4.0]], dtype=np.float32)
    power = np.exp(values.astype(np.float64))
    wanted = power / power.sum(axis=1, keepdims=True)
    assert softmax_of_two(values) == pytest.approx(wanted, rel=5e-7)


def test_both_outputs_are_rounded_one_by_one() -> None:
    """A small one is a number of its own, and the other is 1; the smallest are 0."""
    (first, second, third) = softmax_of_two(
        np.array([[17.0, 0.0], [0.0, 60.0], [0.0, 88.0]], dtype=np.float32)
    )
    assert first[0] == second[1] == third[1] == 1.0
    assert first[1] == pytest.approx(np.exp(-17.0), rel=5e-7)
    assert second[0] == pytest.approx(np.exp(-60.0), rel=5e-7)
    assert third[0] == 0.0


def test_refuses_rows_of_another_length() -> None:
    with pytest.raises(UsageError, match=r"give \(policies, 802\)"):
        NETWORK.outputs(SHORT, np.zeros((2, 801)))


def test_the_search_begins_with_gaussians_that_keep_their_floor() -> None:
    start = NETWORK.start()
    assert isinstance(start, FlooredGaussians)
    assert (len(start.mean), start.mean.max(), start.second_moment.min()) == (802, 0.0, 1.0)
    none = np.zeros((2, 802))
    assert isinstance(start.moved(none, np.ones(2), 0.5), FlooredGaussians)
    assert start.moved(none, np.ones(2), 1.0).second_moment.max() == 1e-5


def test_moments_are_repaired_as_in_the_code() -> None:
    """A variance of -v becomes 1e-5 - 2 v; no second moment is below 1e-5; others stay."""
    mean, second = np.array([1.0, 2.0, 0.001]), np.array([2.0, 4.0 - 1e-6, 2e-6])
    plain, floored = Gaussians(mean, second), FlooredGaussians(mean, second)
    samples, weights = np.array([[1.0, 2.0, 0.001]]), np.ones(1)
    before, after = (one.moved(samples, weights, 0.5) for one in (plain, floored))
    assert np.array_equal(before.mean, after.mean)
    assert after.second_moment[0] == before.second_moment[0]
    variance = before.second_moment[1] - 4.0
    assert variance == pytest.approx(-5e-7)
    assert after.second_moment[1] - 4.0 == pytest.approx(2 * variance + 1e-5)
    assert after.second_moment[2] == 1e-5
