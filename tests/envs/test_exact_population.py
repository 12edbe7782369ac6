"""The optimum of the population: against other solvers, against play, within its bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.policies.population import Cost, ShortSighted
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.population import DISPARITIES, PopulationModel, PopulationParams, start_grid
from longfair.envs.population.exact import (
    PlannedThresholds,
    Planner,
    Resolution,
    constrained_optimum,
    follow,
)
from longfair.errors import UsageError

SYNTHETIC, MILD = PopulationParams.synthetic(), PopulationParams.synthetic_mild()
COARSE = Resolution(41, 31)


@pytest.mark.parametrize(("params", "loss"), [(SYNTHETIC, 0.182), (MILD, 0.046)])
def test_best_mean_loss_from_the_evaluation_states(params: PopulationParams, loss: float) -> None:
    """The reference solved each group alone on a finer grid; mean losses to 0.002."""
    planner = Planner(params, resolution=COARSE)
    plan = planner.plan()
    planned = 1 - planner.at(plan.reward[0], start_grid()).mean() / 100
    played = 1 - follow(planner, plan, start_grid()).reward.mean() / 100
    assert planned == pytest.approx(loss, abs=2e-3)
    assert played == pytest.approx(loss, abs=2e-3)


def test_both_groups_at_once_are_as_good_as_each_alone() -> None:
    """Without a price on fairness the groups of Gaussian features do not touch each other."""
    params = replace(SYNTHETIC, episode_length=12)
    planner = Planner(params, resolution=COARSE)
    rates = 1 / (1 + np.exp(-planner.log_odds))
    outcome = PopulationModel(params).outcome(
        np.repeat(rates[:, None, None], 2, 2), planner.knots[:, None] * np.ones(2)
    )
    landing = outcome.next_rates[..., 0]
    landing = np.log(landing / (1 - landing))
    value = np.zeros(len(rates))
    for _ in range(params.episode_length):
        following = np.interp(landing, planner.log_odds, value)
        value = (outcome.true_positives[..., 0] + following).max(axis=1)
    np.testing.assert_allclose(
        planner.plan().reward[0], value[:, None] + value[None, :], rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("params", [SYNTHETIC, PopulationParams.adult()])
@pytest.mark.parametrize("disparity", DISPARITIES)
def test_in_one_step_the_planner_is_short_sighted(params: PopulationParams, disparity: str) -> None:
    """A price p is a weight p / (1 + p) of the gap; another code finds the same least cost."""
    params, price = replace(params, episode_length=1), 2.0
    planner = Planner(params, disparity, Resolution(9, 31))
    plan = planner.plan(price)
    cost = Cost(price / (1 + price), disparity.replace(" ", "-"))
    rates = 1 / (1 + np.exp(-planner.log_odds))
    states = np.stack(np.meshgrid(rates, rates, indexing="ij"), axis=-1).reshape(-1, 2)
    chosen = ShortSighted(planner.model, cost).choose(states)
    least = cost.of(planner.model, states, chosen) * (1 + price)
    value = plan.reward[0] + price * plan.fairness[0]
    np.testing.assert_allclose(1 + price - value.ravel(), least, rtol=0, atol=1e-10)


def test_two_steps_by_trying_everything() -> None:
    """Where the second step has only one choice left to make, all first choices are tried."""
    params = replace(SYNTHETIC, episode_length=2)
    planner = Planner(params, "equalised odds", Resolution(301, 6))
    plan = planner.plan(0.5)
    knots = planner.knots
    pairs = np.stack(np.meshgrid(knots, knots, indexing="ij"), axis=-1).reshape(-1, 2)
    start = np.array([0.3, 0.7])
    best = -np.inf
    for first in pairs:
        outcome = planner.model.outcome(start, first)
        value = planner.model.reward(outcome) + 0.5 * planner.fairness(start, outcome)
        then = planner.model.outcome(outcome.next_rates, pairs)
        later = planner.model.reward(then) + 0.5 * planner.fairness(outcome.next_rates, then)
        best = max(best, value + later.max())
    planned = planner.at(plan.reward[0] + 0.5 * plan.fairness[0], start)
    assert planned == pytest.approx(best, abs=2e-4)


def test_the_plan_is_followed_in_the_environment() -> None:
    params = replace(SYNTHETIC, episode_length=20)
    planner = Planner(params, resolution=Resolution(21, 11))
    plan = planner.plan(1.0)
    env = gymnasium.make_vec(
        "longfair/Population-v0", num_envs=16, params=params.starting_at(start_grid())
    )
    env = ElapsedTime(env)  # type: ignore[assignment]  # a vector environment
    observation, _ = env.reset(seed=0)
    policy, total = PlannedThresholds(planner, plan), np.zeros(16)
    for _ in range(20):
        observation, reward, *_ = env.step(policy.predict(observation)[0].astype(np.float32))
        total += reward
    # Observations are single-precision numbers.
    np.testing.assert_allclose(total, follow(planner, plan, start_grid()).reward, atol=1e-3)


def test_a_budget_is_spent_exactly_and_no_price_promises_less() -> None:
    params = replace(SYNTHETIC, episode_length=30)
    planner = Planner(params, resolution=Resolution(31, 21))
    starts = start_grid()
    free = constrained_optimum(planner, starts, 0.5)
    assert (free.price, free.share) == (0.0, 0.0)
    budget = free.disparity / 4
    found = constrained_optimum(planner, starts, budget)
    assert found.price > 0
    assert 0 <= found.share <= 1
    # Weak duality, with next to no gap, because the optimum may draw between two plans.
    assert found.bound <= found.loss + 1e-9
    assert found.loss - found.bound < 1e-4
    assert found.loss > free.loss + 1e-3
    played = [follow(planner, plan, starts) for plan in found.plans]
    for quantity, planned in (("reward", 1 - found.loss), ("fairness", 1 - found.disparity)):
        kept, spent = (getattr(course, quantity).mean() / 30 for course in played)
        assert (1 - found.share) * kept + found.share * spent == pytest.approx(planned, abs=5e-3)


def test_dearer_fairness_means_less_disparity_and_more_loss() -> None:
    planner = Planner(replace(SYNTHETIC, episode_length=15), resolution=Resolution(21, 11))
    plans = [planner.plan(price) for price in (0.0, 0.3, 3.0, 30.0)]
    fairness = [planner.at(plan.fairness[0], start_grid()).mean() for plan in plans]
    reward = [planner.at(plan.reward[0], start_grid()).mean() for plan in plans]
    assert fairness == sorted(fairness)
    assert reward == sorted(reward, reverse=True)


def test_what_cannot_be_done_is_said_in_one_line() -> None:
    params = replace(SYNTHETIC, episode_length=2)
    planner = Planner(params, "qualification", Resolution(5, 3))
    with pytest.raises(UsageError, match="budget=0: with price 1000 the mean disparity is"):
        constrained_optimum(planner, start_grid(), 0.0)
    with pytest.raises(UsageError, match="disparity='parity'"):
        Planner(params, "parity")
    with pytest.raises(UsageError, match="rates=2"):
        Resolution(rates=2)


def small_planner(params: PopulationParams = SYNTHETIC, **changes: Any) -> Planner:
    arguments = {"resolution": Resolution(5, 3), **changes}
    return Planner(replace(params, episode_length=5), **arguments)


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (Planner(replace(SYNTHETIC, episode_length=3), resolution=Resolution(5, 3)), "params"),
        (small_planner(MILD), "params"),
        (small_planner(disparity="qualification"), "disparity"),
        (small_planner(resolution=Resolution(7, 3)), "resolution"),
    ],
)
def test_a_plan_is_followed_in_its_own_problem(other: Planner, name: str) -> None:
    with pytest.raises(UsageError, match=f"the plan is for other {name}: give one"):
        follow(small_planner(), other.plan(), start_grid())


def test_a_plan_is_followed_wherever_episodes_start() -> None:
    starts = start_grid(2)
    found = [
        follow(planner, small_planner().plan(), starts).reward.tolist()
        for planner in (small_planner(), small_planner(SYNTHETIC.starting_at(starts)))
    ]
    assert found[0] == found[1]


def test_prices_with_nothing_between_them_end_the_search() -> None:
    planner = small_planner(disparity="equal opportunity")
    best = constrained_optimum(planner, start_grid(2), 0.05, tolerance=1e-16)
    assert best.disparity == 0.05
    assert best.plans[0].price == np.nextafter(best.plans[1].price, np.inf)


@pytest.mark.parametrize("ask", [Planner.plan, lambda p, v: constrained_optimum(p, HALF, 0.1, v)])
def test_prices_are_kept_small_enough_to_count_with(ask: Any) -> None:
    with pytest.raises(UsageError, match=r"price=1e\+308: give a finite number in .0, 1e\+100."):
        ask(small_planner(), 1e308)


HALF = np.full((1, 2), 0.5)


def test_values_of_the_grid_may_be_a_list() -> None:
    planner, values = small_planner(), np.arange(25.0).reshape(5, 5)
    np.testing.assert_array_equal(planner.at(values.tolist(), HALF), planner.at(values, HALF))
    with pytest.raises(UsageError, match=r"values=.*: give finite numbers in an array of 2 axes"):
        planner.at([[1.0], [1.0, 2.0]], HALF)


@pytest.mark.parametrize(
    ("observation", "line"),
    [
        ([[0.1, 0.2]], "observations have 2 numbers: give two rates and the time passed"),
        ([[0.1, 0.2, 0.0], [0.1, 0.2, 0.4]], "of times from 0 to 0.4: give one time for all"),
        ([[0.1, 0.2, 1.0]], "the time passed is 1: all 5 steps are over, give less"),
        ([[0.1, 0.2, 0.95]], "the time passed is 0.95: all 5 steps are over, give less"),
        ([[0.1, 0.2, 7.0]], "observation=.*: give finite numbers in"),
        ([[0.1, 0.2, -0.4]], "observation=.*: give finite numbers in"),
        ([[0.1, 0.2, np.nan]], "observation=.*: give finite numbers in"),
        ([0.1, 0.2, 0.0], "observation=.*: give finite numbers in .* of 2 axes"),
        (np.zeros((0, 3)), "observation=.*: give finite numbers in"),
    ],
)
def test_a_plan_is_read_for_rates_at_one_time_of_the_episode(observation: Any, line: str) -> None:
    planner = small_planner()
    with pytest.raises(UsageError, match=line) as refused:
        PlannedThresholds(planner, planner.plan()).predict(np.asarray(observation))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("shape", "rates", "line"),
    [
        ((5, 5), [1.2, 0.3], r"rates hold 1.2: give numbers in \[0, 1\]"),
        ((5, 5), [np.nan, 0.3], "rates hold nan"),
        ((5, 5), [0.2, 0.3, 0.4], r"rates have shape \(3,\): give \(..., 2\), by group"),
        ((6, 5, 5), [0.2, 0.3], r"values have shape \(6, 5, 5\): give \(5, 5\)"),
    ],
)
def test_values_of_the_grid_are_read_at_pairs_of_rates(
    shape: tuple[int, ...], rates: list[float], line: str
) -> None:
    with pytest.raises(UsageError, match=line):
        small_planner().at(np.zeros(shape), rates)
