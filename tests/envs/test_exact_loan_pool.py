"""Exact values in the loan pool: against the problem written out, and as printed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.finite import FiniteProblem
from longfair.envs import loan_pool
from longfair.envs.loan_pool.exact import (
    OptimalLender,
    PairedLoanPool,
    best_choice,
    lagging_group_best_credit,
    loan_pool_value,
    somebody_asking_at_random,
)
from longfair.envs.loan_pool.exact import anybody_at_random as anybody_is_lent_to
from longfair.errors import UsageError


def short(**changes: Any) -> PairedLoanPool:
    """Five steps, in which refusals and a missed margin cost little."""
    params = loan_pool.LoanPoolParams(
        request_probability=(0.7,) * 4,
        margin=0.2,
        invalid_grant_cost=0.4,
        missed_margin_cost=4.0,
        episode_length=5,
    )
    return PairedLoanPool(replace(params, **changes))


SHORT = short()


def test_the_numbers_are_those_of_the_pool() -> None:
    pool = loan_pool.LoanPoolVectorEnv().exact()
    assert pool == PairedLoanPool()
    assert pool.repayment == (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert (pool.start, pool.asking, pool.episode_length) == ((4, 7), 0.9, 40)


def test_the_reduced_state_loses_nothing() -> None:
    coarse = short(lowest_repayment=0.3, highest_repayment=0.9, credit_step=0.3)
    for pool in (SHORT, short(margin=0.6), short(invalid_grant_cost=0.1), coarse):
        model = loan_pool.tabular(params=pool.params)
        solution = FiniteProblem.of_face(model).backward_induction(model.horizon)
        best = model.initial_distribution @ solution.values[0]
        assert loan_pool_value(pool) == pytest.approx(best, rel=1e-12)
        anybody = np.full(model.reward.shape, 0.25)
        values = FiniteProblem.of_face(model).policy_values(anybody, model.horizon)
        assert loan_pool_value(pool, anybody_is_lent_to) == pytest.approx(
            model.initial_distribution @ values[0], rel=1e-12
        )


def test_the_heuristics_are_evaluated_as_they_play() -> None:
    model = loan_pool.tabular(params=SHORT.params)
    states = dict(zip(model.fields, model.states.T, strict=True))
    level, asks = (
        np.stack([states[f"{name}_{person}"] for person in range(4)], axis=1)
        for name in ("credit_level", "request")
    )
    lagging = states["gap"][:, None] * np.array([1, 1, -1, -1]) < 0
    chosen = np.where(asks == 1, level + 100 * lagging, -1).argmax(axis=1)
    among = np.where(asks.any(axis=1)[:, None], asks / np.maximum(asks.sum(axis=1), 1)[:, None], 0)
    among[~asks.any(axis=1), 0] = 1.0
    for rule, table in (
        (lagging_group_best_credit, np.eye(4)[chosen]),
        (somebody_asking_at_random, among),
    ):
        values = FiniteProblem.of_face(model).policy_values(table, model.horizon)
        expected = model.initial_distribution @ values[0]
        assert loan_pool_value(SHORT, rule) == pytest.approx(expected, rel=1e-12)


def test_the_optimum_of_the_papers_pool() -> None:
    pool = PairedLoanPool()
    # The printed -22.856 is the best that can be done while the gap never exceeds ten loans.
    assert loan_pool_value(replace(pool, largest_gap=10)) == pytest.approx(-22.856, abs=5e-4)
    # A bank that may go further has a little more.
    assert loan_pool_value(pool) == pytest.approx(-22.5936, abs=5e-4)


def test_a_limit_on_the_gap_costs_something_if_it_binds() -> None:
    values = [loan_pool_value(replace(SHORT, largest_gap=limit)) for limit in (1, 2, 5)]
    assert values[0] < values[1] <= values[2] == loan_pool_value(SHORT)


def test_the_alternating_lender_scores_as_printed() -> None:
    # The printed value is a simulation's, with standard error 0.09.
    value = loan_pool_value(PairedLoanPool(), lagging_group_best_credit)
    assert value == pytest.approx(-29.65, abs=0.09)


def test_the_optimal_lender_earns_the_optimum() -> None:
    params = loan_pool.LoanPoolParams(episode_length=12, margin=2 / 12)
    env = loan_pool.LoanPoolVectorEnv.make(20_000, params=params)
    pool = env.exact()
    act = acting(OptimalLender(pool))
    reward = play_episodes(act, env, seed=0).reward
    error = reward.std() / math.sqrt(len(reward))
    assert reward.mean() == pytest.approx(loan_pool_value(pool, best_choice), abs=4 * error)
    assert reward.mean() > loan_pool_value(pool, lagging_group_best_credit) + 4 * error


def test_the_optimal_lender_notices_that_an_episode_ended() -> None:
    env = loan_pool.LoanPoolVectorEnv.make(500, episode_length=5)
    lender, fresh = (OptimalLender(short(request_probability=(0.9,) * 4)) for _ in range(2))
    act = acting(lender)
    observation, info = env.reset(seed=0)
    for _ in range(5):
        observation, _, _, _, info = env.step(act(observation, info))
    # To the fresh lender the same moment is the one after a reset.
    first = acting(fresh)(observation, {"group_state": info["group_state"]})
    np.testing.assert_array_equal(act(observation, info), first)


def test_the_optimal_lender_wants_to_be_told_what_happens() -> None:
    lender = OptimalLender(short(episode_length=1))
    env = loan_pool.LoanPoolVectorEnv.make(1, episode_length=1)
    observation, _ = env.reset(seed=0)
    with pytest.raises(UsageError, match="call observe"):
        lender.predict(observation)
    with pytest.raises(UsageError, match="after reset"):
        lender.observe(env.step(np.array([0]))[4])


@pytest.mark.parametrize(
    ("observation", "line"),
    [
        (np.ones((3, 10)), r"observation has shape \(3, 10\): give a row for each of 2 copies"),
        (np.ones((2, 3)), r"observation has shape \(2, 3\): .* first the requests of 4 people"),
        (np.ones(10), "observation=.*: give finite numbers in an array of 2 axes"),
        (np.full((2, 10), np.nan), "observation=.*: give finite numbers in an array of 2 axes"),
        ("everybody", "observation=.*: give finite numbers in an array of 2 axes"),
    ],
)
def test_the_optimal_lender_refuses_what_is_no_observation(observation: Any, line: str) -> None:
    lender = OptimalLender(short(episode_length=1))
    lender.observe(loan_pool.LoanPoolVectorEnv.make(2, episode_length=1).reset(seed=0)[1])
    with pytest.raises(UsageError, match=line) as refused:
        lender.predict(observation)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"groups": (0, 1, 0, 1)}, r"groups \(0, 0, 1, 1\)"),
        ({"request_probability": (0.9, 0.9, 0.9, 0.8)}, "one request probability"),
        ({"initial_repayment": (0.6, 0.7, 0.9, 0.9)}, "one initial repayment probability"),
        ({"credit_noise": 0.1}, "credit_noise=None"),
    ],
)
def test_pools_without_the_symmetry_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        short(**fields)


def test_bad_limits_are_refused() -> None:
    with pytest.raises(UsageError, match="largest_gap=0"):
        replace(SHORT, largest_gap=0)
