"""Exact solvers: by hand, against each other, and against the printed reference values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from longfair.agents import exact_loan_pool
from longfair.agents.dynamic_programming import backward_induction, policy_values
from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.exact_doughnut import (
    Controller,
    always_the_same,
    anybody_at_random,
    controller_score,
    fixed_priority,
    least_served_score,
    memoryless,
    rotation_skipping_absent,
    somebody_there_at_random,
    strict_rotation,
)
from longfair.agents.exact_loan_pool import (
    OptimalLender,
    PairedLoanPool,
    best_choice,
    lagging_group_best_credit,
    loan_pool_value,
    somebody_asking_at_random,
)
from longfair.envs import doughnut, loan_pool
from longfair.errors import UsageError

# Backward induction by hand ----------------------------------------------------------------------

# State 0: wait for 1 and stay, or go to state 1 for nothing. State 1: 3 a step, or 0, then 0 again.
TRANSITION = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
REWARD = np.array([[1.0, 0.0], [3.0, 0.0]])


def test_the_last_step_is_greedy_and_earlier_ones_look_ahead() -> None:
    solution = backward_induction(TRANSITION, REWARD, horizon=3)
    assert solution.values.tolist() == [[6.0, 9.0], [3.0, 6.0], [1.0, 3.0], [0.0, 0.0]]
    assert solution.actions.tolist() == [[1, 0], [1, 0], [0, 0]]
    assert solution.action_values[1].tolist() == [[2.0, 3.0], [6.0, 1.0]]


def test_a_discount_makes_the_future_count_less() -> None:
    solution = backward_induction(TRANSITION, REWARD, horizon=2, discount=0.25)
    assert solution.values[0].tolist() == [1.25, 3.75]
    assert backward_induction(TRANSITION, REWARD, horizon=5, discount=0.0).values[0].max() == 3.0


def test_sparse_and_dense_arrays_mean_the_same() -> None:
    rows = TRANSITION.reshape(4, 2)
    solutions = [
        backward_induction(transition, REWARD, 4, 0.9).values
        for transition in (TRANSITION, rows, csr_array(rows))
    ]
    assert np.array_equal(solutions[0], solutions[1])
    assert np.array_equal(solutions[0], solutions[2])


def test_a_policy_is_worth_the_average_over_what_it_does() -> None:
    half = np.full((2, 2), 0.5)
    values = policy_values(TRANSITION, REWARD, half, horizon=2)
    assert values.tolist() == [[1.5, 2.5], [0.5, 1.5], [0.0, 0.0]]
    best = backward_induction(TRANSITION, REWARD, horizon=3)
    optimal = np.eye(2)[best.actions]
    np.testing.assert_array_equal(policy_values(TRANSITION, REWARD, optimal, 3), best.values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": np.zeros(4)}, r"reward has shape \(4,\)"),
        ({"reward": np.zeros((2, 3))}, r"transition has shape \(4, 2\): give \(2 \* 3, 2\)"),
        ({"transition": TRANSITION * 0.5}, "misses 1 by 0.5"),
        ({"transition": TRANSITION * 3 - 1}, "transition has an entry -1"),
        ({"horizon": 0}, "horizon=0"),
        ({"discount": 1.5}, "discount=1.5"),
    ],
)
def test_bad_problems_are_refused(changes: dict[str, Any], message: str) -> None:
    given = {"transition": TRANSITION, "reward": REWARD, "horizon": 2, **changes}
    with pytest.raises(UsageError, match=message):
        backward_induction(**given)
    with pytest.raises(UsageError, match=message):
        policy_values(**given, policy=np.full(given["reward"].shape, 0.5))


def test_a_policy_has_to_add_up() -> None:
    with pytest.raises(UsageError, match="policy has a row that misses 1"):
        policy_values(TRANSITION, REWARD, np.ones((2, 2)), 2)


# Doughnuts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("discount", "value"), [(1.0, 37.6347), (0.99, 35.1488), (0.95, 26.8228)])
def test_serving_the_least_served_is_optimal_at_every_decision_point(
    discount: float, value: float
) -> None:
    model = doughnut.tabular()
    solution = backward_induction(model.transition, model.reward, model.horizon, discount)
    assert model.initial_distribution @ solution.values[0] == pytest.approx(value, abs=5e-5)
    present, counts = model.states[:, :3], model.states[:, 3:]
    served = np.where(present == 1, counts, 99).argmin(axis=1)
    points = 0
    for step, values in enumerate(solution.action_values):
        decides = present.any(axis=1) & (counts.sum(axis=1) <= step)
        points += int(decides.sum())
        worth = values[np.arange(len(values)), served]
        np.testing.assert_allclose(worth[decides], values.max(axis=1)[decides], rtol=1e-12)
    assert points == 9555


DEEP, TABULAR = ((0.8,) * 5, 100), ((0.8,) * 3, 12)


@pytest.mark.parametrize(
    ("policy", "problem", "score", "digits", "allocated"),
    [
        (anybody_at_random, DEEP, 791.144, 3, 80.0),
        (anybody_at_random, TABULAR, 25.480, 3, 9.60),
        (somebody_there_at_random, DEEP, 1082.9, 1, 99.968),
        (somebody_there_at_random, TABULAR, 35.58, 2, 11.904),
        (always_the_same, DEEP, 278.2, 1, 80.0),
        (rotation_skipping_absent, DEEP, 1099.41, 2, 99.968),
    ],
)
def test_exact_scores_agree_with_the_printed_ones_to_the_last_digit(
    policy: Any, problem: Any, score: float, digits: int, allocated: float
) -> None:
    presence, length = problem
    exact = controller_score(policy(presence), length)
    assert exact.reward == pytest.approx(score, abs=0.5 * 10**-digits)
    assert exact.allocated == pytest.approx(allocated, abs=1e-9)


@pytest.mark.parametrize(
    ("policy", "problem", "score", "deviation"),
    [
        (fixed_priority, DEEP, 647.3, 0.1),
        (fixed_priority, TABULAR, 28.59, 0.01),
        (strict_rotation, DEEP, 806.1, 0.1),
        (strict_rotation, TABULAR, 26.91, 0.01),
        # Printed without the smoothing, which is worth 0.0014 here.
        (rotation_skipping_absent, TABULAR, 37.319, 0.002),
    ],
)
def test_exact_scores_agree_with_those_printed_from_simulations(
    policy: Any, problem: Any, score: float, deviation: float
) -> None:
    presence, length = problem
    assert controller_score(policy(presence), length).reward == pytest.approx(score, abs=deviation)


def test_the_oracle_scores_as_printed() -> None:
    deep = least_served_score(5, 0.8, 100)
    # The printed value is a simulation's, with standard error 0.006.
    assert deep.reward == pytest.approx(1103.345, abs=0.006)
    assert deep.allocated == pytest.approx(99.968, abs=1e-9)
    tabular = least_served_score(3, 0.8, 12)
    assert tabular.reward == pytest.approx(37.6347, abs=5e-5)
    assert tabular.allocated == pytest.approx(11.904, abs=1e-9)


def test_dropping_improbable_counts_does_not_show() -> None:
    exact = least_served_score(3, 0.8, 12, negligible=0.0)
    assert least_served_score(3, 0.8, 12).reward == pytest.approx(exact.reward, abs=1e-11)
    coarse, fine = (least_served_score(5, 0.8, 100, negligible=x).reward for x in (1e-12, 1e-15))
    assert coarse == pytest.approx(fine, abs=1e-8)


def test_the_best_policy_without_memory_gives_everybody_there_the_same_share() -> None:
    # Without chance: somebody gets all the doughnuts of full attendance, 0.8^5 of them, besides
    # those that only this person can take; the rest is split evenly at best. The printed 1066.6
    # comes from a search over simulations, which errs upwards.
    favoured = 0.8**5 + 0.8 * 0.2**4
    others = (1 - 0.2**5 - favoured) / 4
    bound = controller_score(memoryless([favoured] + [others] * 4), 100).reward
    assert bound == pytest.approx(1066.26, abs=0.005)
    assert bound == pytest.approx(1066.6, rel=0.0005)
    assert bound < controller_score(somebody_there_at_random(DEEP[0]), 100).reward


def test_both_ways_to_an_exact_score_agree() -> None:
    params = doughnut.DoughnutParams((0.3, 0.7, 0.9), 5, 0.01)
    model = doughnut.tabular(params=params)
    chances = params.presence_probability
    present = model.states[:, :3]
    nobody = np.eye(3)[np.zeros(len(present), int)] * (present.sum(axis=1, keepdims=True) == 0)
    first = np.eye(3)[present.argmax(axis=1)]
    policies = {
        anybody_at_random: np.full((len(present), 3), 1 / 3),
        somebody_there_at_random: present / np.maximum(present.sum(axis=1), 1)[:, None] + nobody,
        fixed_priority: first,
        always_the_same: np.eye(3)[np.zeros(len(present), int)],
        strict_rotation: np.stack([np.eye(3)[np.full(len(present), t % 3)] for t in range(5)]),
    }
    for policy, table in policies.items():
        values = policy_values(model.transition, model.reward, table, model.horizon)
        exact = controller_score(policy(chances), 5, 0.01).reward
        assert model.initial_distribution @ values[0] == pytest.approx(exact, rel=1e-12)


def test_skipping_turns_with_everybody_there_is_plain_turn_taking() -> None:
    everybody = (1.0,) * 4
    turns = controller_score(strict_rotation(everybody), 10)
    assert turns == pytest.approx(controller_score(rotation_skipping_absent(everybody), 10))
    assert turns == pytest.approx(least_served_score(4, 1.0, 10))


def test_a_controller_has_to_add_up() -> None:
    with pytest.raises(UsageError, match="serving adds up to"):
        Controller(np.ones((1, 1, 3)))
    with pytest.raises(UsageError):
        memoryless([0.8, 0.8])


# The loan pool -----------------------------------------------------------------------------------

SHORT = PairedLoanPool(
    episode_length=5, required_profit=1, invalid_reward=-2.0, missed_reward=-20.0, asking=0.7
)


def written_out(pool: PairedLoanPool) -> Any:
    params = loan_pool.LoanPoolParams(
        request_probability=(pool.asking,) * 4,
        margin=pool.required_profit / pool.episode_length,
        invalid_grant_cost=-pool.invalid_reward / pool.episode_length,
        missed_margin_cost=-pool.missed_reward / pool.episode_length,
        episode_length=pool.episode_length,
    )
    return loan_pool.tabular(params=params)


def test_the_reduced_state_loses_nothing() -> None:
    for pool in (SHORT, replace(SHORT, required_profit=3), replace(SHORT, invalid_reward=-0.5)):
        model = written_out(pool)
        solution = backward_induction(model.transition, model.reward, model.horizon)
        best = model.initial_distribution @ solution.values[0]
        assert loan_pool_value(pool) == pytest.approx(best, rel=1e-12)
        anybody = np.full(model.reward.shape, 0.25)
        values = policy_values(model.transition, model.reward, anybody, model.horizon)
        assert loan_pool_value(pool, exact_loan_pool.anybody_at_random) == pytest.approx(
            model.initial_distribution @ values[0], rel=1e-12
        )


def test_the_heuristics_are_evaluated_as_they_play() -> None:
    model = written_out(SHORT)
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
        values = policy_values(model.transition, model.reward, table, model.horizon)
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
    pool = PairedLoanPool(
        episode_length=12, required_profit=2, invalid_reward=-12.0, missed_reward=-120.0
    )
    params = loan_pool.LoanPoolParams(episode_length=12, margin=2 / 12)
    env = loan_pool.LoanPoolVectorEnv.make(20_000, params=params)
    act = acting(OptimalLender(pool))
    reward = play_episodes(act, env, seed=0).reward
    error = reward.std() / math.sqrt(len(reward))
    assert reward.mean() == pytest.approx(loan_pool_value(pool, best_choice), abs=4 * error)
    assert reward.mean() > loan_pool_value(pool, lagging_group_best_credit) + 4 * error


def test_the_optimal_lender_notices_that_an_episode_ended() -> None:
    env = loan_pool.LoanPoolVectorEnv.make(500, episode_length=5)
    lender, fresh = (OptimalLender(replace(SHORT, asking=0.9)) for _ in range(2))
    act = acting(lender)
    observation, info = env.reset(seed=0)
    for _ in range(5):
        observation, _, _, _, info = env.step(act(observation, info))
    # To the fresh lender the same moment is the one after a reset.
    first = acting(fresh)(observation, {"group_state": info["group_state"]})
    np.testing.assert_array_equal(act(observation, info), first)


def test_the_optimal_lender_wants_to_be_told_what_happens() -> None:
    lender = OptimalLender(replace(SHORT, episode_length=1))
    env = loan_pool.LoanPoolVectorEnv.make(1, episode_length=1)
    observation, _ = env.reset(seed=0)
    with pytest.raises(UsageError, match="call observe"):
        lender.predict(observation)
    with pytest.raises(UsageError, match="after reset"):
        lender.observe(env.step(np.array([0]))[4])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"asking": 1.5}, "asking"),
        ({"repayment": (0.5,)}, "at least 2 levels"),
        ({"start": (4, 8)}, r"start=\(4, 8\): give levels in 0..7"),
        ({"largest_gap": 0}, "largest_gap=0"),
        ({"episode_length": 0}, "episode_length=0"),
    ],
)
def test_bad_pools_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PairedLoanPool(**fields)
