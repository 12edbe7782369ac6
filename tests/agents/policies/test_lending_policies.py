"""Lending heuristics and the equal-opportunity oracle."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from scipy.optimize import linprog

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.policies import (
    AcceptanceTable,
    EqualOpportunityOracle,
    constant_policy,
    threshold_policy,
)
from longfair.envs.lending import LendingParams
from longfair.errors import UsageError

PARAMS = LendingParams()
REPAY = np.array(PARAMS.repay_probability)


def observation(group: int, score: int) -> np.ndarray:
    one = np.zeros((1, 11), np.float32)
    one[0, score] = one[0, 7 + group] = 1.0
    return one


def test_thresholds_are_per_group() -> None:
    agent = threshold_policy((2, 1))
    decisions = [[agent.predict(observation(g, c))[0][0] for c in range(7)] for g in (0, 1)]
    assert decisions == [[0, 0, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1]]


def test_constant_policy_accepts_its_share_and_rounds_when_deterministic() -> None:
    many = np.repeat(observation(0, 3), 20_000, axis=0)
    agent = constant_policy(0.3, seed=0)
    assert agent.predict(many)[0].mean() == pytest.approx(0.3, abs=4 * 0.0033)
    assert agent.predict(many, deterministic=True)[0].sum() == 0


@pytest.mark.parametrize("bad", [[[0.5, 1.5]], [0.5, 0.5]])
def test_bad_tables_are_refused(bad: list[object]) -> None:
    with pytest.raises(UsageError, match="probability"):
        AcceptanceTable(bad)
    with pytest.raises(UsageError, match=r"thresholds\[0\]=8"):
        threshold_policy((8, 0))


def best_equal_opportunity_profit(distribution: np.ndarray) -> float:
    """Solve the oracle's problem as a linear program over acceptance probabilities."""
    repaid = distribution * REPAY
    rates = repaid / repaid.sum(axis=1, keepdims=True)
    profit = (0.5 * distribution * (2 * REPAY - 1)).ravel()
    equal = np.concatenate([rates[0], -rates[1]])[None]
    return -linprog(-profit, A_eq=equal, b_eq=[0.0], bounds=(0, 1)).fun


def test_oracle_is_optimal_under_equal_rates() -> None:
    rng = np.random.default_rng(0)
    distribution = rng.dirichlet(np.ones(7) * 0.5, (30, 2))
    distribution[0] = PARAMS.initial_distribution
    acceptance = EqualOpportunityOracle(PARAMS.repay_probability).acceptance(distribution)
    repaid = distribution * REPAY
    rates = (acceptance * repaid).sum(axis=2) / repaid.sum(axis=2)
    np.testing.assert_allclose(rates[:, 0], rates[:, 1], atol=1e-9)
    profit = (0.5 * acceptance * distribution * (2 * REPAY - 1)).sum(axis=(1, 2))
    best = [best_equal_opportunity_profit(one) for one in distribution]
    np.testing.assert_allclose(profit, best, atol=1e-8)


def test_oracle_needs_to_look_first_and_rising_chances() -> None:
    with pytest.raises(UsageError, match="observe"):
        EqualOpportunityOracle(PARAMS.repay_probability).predict(observation(0, 0))
    with pytest.raises(UsageError, match="rising"):
        EqualOpportunityOracle((0.5, 0.4))
    with pytest.raises(UsageError, match="8 groups by 7 numbers, and the oracle knows 2 groups"):
        EqualOpportunityOracle(PARAMS.repay_probability).observe(
            {"group_state": np.ones((1, 8, 7))}
        )


def test_oracle_plays_with_small_bias() -> None:
    env = gymnasium.make_vec("longfair/Lending-v0", num_envs=40, episode_length=1000)
    oracle = EqualOpportunityOracle(PARAMS.repay_probability, seed=0)
    totals = play_episodes(acting(oracle), env, seed=1)
    rates = totals.supply.sum(axis=0) / totals.demand.sum(axis=0)
    assert np.ptp(rates) < 0.02
    assert totals.reward.mean() / 1000 > 0.17


def test_every_copy_plays_exactly_one_episode() -> None:
    params = LendingParams(starting_cash=3.0, episode_length=200)
    env = gymnasium.make_vec("longfair/Lending-v0", num_envs=60, params=params)
    totals = play_episodes(acting(constant_policy(1.0)), env, seed=2)
    broke = totals.steps < 200
    assert broke.any()
    assert (~broke).any()
    np.testing.assert_array_equal(totals.reward[broke], -3.0)
