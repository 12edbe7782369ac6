"""Propositions 3.1 and 3.2 by finite differences, and the tabular problem by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.agents.supply_demand_mdp import (
    SupplyDemandMDP,
    finite_differences,
    policy_gradient,
    softmax_policy,
)
from longfair.errors import UsageError


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0])
def test_policy_gradient_is_the_gradient(groups: int, alpha: float) -> None:
    rng = np.random.default_rng(groups)
    problem = SupplyDemandMDP.random(4, 3, groups, rng)
    logits = rng.normal(size=(4, 3))
    expected = finite_differences(problem, logits, alpha, beta=10.0)
    np.testing.assert_allclose(
        policy_gradient(problem, logits, alpha, beta=10.0),
        expected,
        atol=1e-7 * max(1.0, np.abs(expected).max()),
    )


def test_totals_agree_with_simulation() -> None:
    rng = np.random.default_rng(0)
    problem = SupplyDemandMDP.random(3, 2, 2, rng, discount=0.7)
    policy = softmax_policy(rng.normal(size=(3, 2)))
    copies = 20_000
    state = rng.choice(3, size=copies, p=problem.start)
    totals = np.zeros((5, copies))
    for step in range(40):
        action = (rng.random(copies) > policy[state, 0]).astype(int)
        totals += problem.discount**step * problem.signals[:, state, action]
        cumulative = problem.transition[state, action].cumsum(axis=1)
        state = (rng.random(copies)[:, None] > cumulative).sum(axis=1).clip(0, 2)
    error = totals.std(axis=1) / np.sqrt(copies)
    assert (np.abs(totals.mean(axis=1) - problem.totals(policy)) < 4 * error).all()


def test_malformed_problems_are_refused() -> None:
    good = SupplyDemandMDP.random(3, 2, 2, np.random.default_rng(0))
    with pytest.raises(UsageError, match="sum to 1"):
        SupplyDemandMDP(good.transition * 0.5, good.signals, good.start, 0.9)
    with pytest.raises(UsageError, match="signals have shape"):
        SupplyDemandMDP(good.transition, good.signals[:4], good.start, 0.9)
    with pytest.raises(UsageError, match=r"discount=1\.0"):
        SupplyDemandMDP(good.transition, good.signals, good.start, 1.0)
