"""Propositions 3.1 and 3.2 by finite differences, and the tabular problem by simulation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from longfair.agents.ppo import ElbertPO
from longfair.agents.ppo.strategy import Rollout
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


def sampled_rollout(
    problem: SupplyDemandMDP, policy: np.ndarray, steps: int, copies: int, seed: int
) -> tuple[Rollout, np.ndarray, np.ndarray]:
    """Play episodes that end after any step with one less the discount as the probability.

    Their plain totals are, on average, the discounted totals of the problem.
    """
    rng = np.random.default_rng(seed)
    number, choices = policy.shape
    states, actions = np.zeros((2, steps, copies), dtype=int)
    ends = rng.random((steps, copies)) > problem.discount
    starts = np.vstack([np.ones((1, copies), dtype=bool), ends[:-1]])
    state = rng.choice(number, copies, p=problem.start)
    for step in range(steps):
        states[step] = state
        below = policy[state].cumsum(axis=1) < rng.random((copies, 1))
        actions[step] = below.sum(axis=1).clip(max=choices - 1)
        ahead = problem.transition[state, actions[step]].cumsum(axis=1)
        state = (ahead < rng.random((copies, 1))).sum(axis=1).clip(max=number - 1)
        anew = rng.choice(number, copies, p=problem.start)
        state = np.where(ends[step], anew, state)
    reward, *signals = problem.signals[:, states, actions]
    supply, demand = np.split(np.stack(signals, axis=-1), 2, axis=-1)
    rollout = Rollout(reward, supply, demand, starts, ends, discount=1.0)
    return rollout, states, actions


@pytest.mark.parametrize(
    ("standardise", "least", "most"),
    [("none", 0.99, 1.0), ("combined", 0.99, 1.0), ("signals", -1.0, 0.9)],
)
def test_what_elbert_po_samples_follows_the_gradient(
    standardise: str, least: float, most: float
) -> None:
    """Raw advantages do, as Proposition 3.2 says; standardised one by one they point elsewhere."""
    rng = np.random.default_rng(5)
    problem = SupplyDemandMDP.random(4, 3, 2, rng, discount=0.8)
    logits = rng.normal(size=(4, 3))
    policy = softmax_policy(logits)
    rollout, states, actions = sampled_rollout(problem, policy, steps=400, copies=400, seed=6)
    strategy = ElbertPO(alpha=20.0, standardise=standardise)
    exact = np.moveaxis(problem.advantages(policy)[:, states, actions], 0, -1)
    advantage = strategy.advantage(
        torch.as_tensor(exact.reshape(-1, 5)), torch.zeros(0), strategy.plan(rollout)
    ).numpy()
    score = np.eye(3)[actions.ravel()] - policy[states.ravel()]
    gradient = np.zeros((4, 3))
    np.add.at(gradient, states.ravel(), score * advantage[:, None])
    expected = finite_differences(problem, logits, alpha=20.0, beta=20.0)
    cosine = (gradient * expected).sum() / np.linalg.norm(gradient) / np.linalg.norm(expected)
    assert least < cosine < most
    if standardise == "none":
        np.testing.assert_allclose(gradient / rollout.ends.sum(), expected, atol=0.02)
