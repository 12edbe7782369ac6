"""Finite problems: backward induction by hand, unrolling, and solvers on environments' faces."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from scipy.sparse import csr_array

from longfair.agents.fair_mdp.cross_entropy import CrossEntropy
from longfair.agents.finite import FiniteProblem, NoFairPolicyError, linear_program, problem
from longfair.errors import UsageError

# State 0: wait for 1 and stay, or go to state 1 for nothing. State 1: 3 a step, or 0, then 0 again.
TRANSITION = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
REWARD = np.array([[1.0, 0.0], [3.0, 0.0]])
TWO_STATES = FiniteProblem.of(TRANSITION, REWARD)


def test_the_example_of_the_module_runs_through_all_solvers() -> None:
    tried = doctest.testmod(problem)
    assert tried.failed == 0
    assert tried.attempted > 15


def test_the_last_step_is_greedy_and_earlier_ones_look_ahead() -> None:
    solution = TWO_STATES.backward_induction(horizon=3)
    assert solution.values.tolist() == [[6.0, 9.0], [3.0, 6.0], [1.0, 3.0], [0.0, 0.0]]
    assert solution.actions.tolist() == [[1, 0], [1, 0], [0, 0]]
    assert solution.action_values[1].tolist() == [[2.0, 3.0], [6.0, 1.0]]


def test_a_discount_makes_the_future_count_less() -> None:
    solution = TWO_STATES.backward_induction(horizon=2, discount=0.25)
    assert solution.values[0].tolist() == [1.25, 3.75]
    assert TWO_STATES.backward_induction(horizon=5, discount=0.0).values[0].max() == 3.0


@pytest.mark.parametrize(
    "made", [TWO_STATES.discounted(0.9), TWO_STATES.unrolled(3), TWO_STATES.unrolled(3, 0.9)]
)
def test_a_discount_is_taken_once(made: FiniteProblem) -> None:
    with pytest.raises(UsageError, match="discounted or unrolled in time already"):
        made.discounted(0.5)


def test_sparse_and_dense_arrays_mean_the_same() -> None:
    rows = TRANSITION.reshape(4, 2)
    solutions = [
        FiniteProblem.of(transition, REWARD).backward_induction(4, 0.9).values
        for transition in (TRANSITION, rows, csr_array(rows))
    ]
    assert np.array_equal(solutions[0], solutions[1])
    assert np.array_equal(solutions[0], solutions[2])


def test_a_policy_is_worth_the_average_over_what_it_does() -> None:
    values = TWO_STATES.policy_values(np.full((2, 2), 0.5), horizon=2)
    assert values.tolist() == [[1.5, 2.5], [0.5, 1.5], [0.0, 0.0]]
    best = TWO_STATES.backward_induction(horizon=3)
    optimal = np.eye(2)[best.actions]
    np.testing.assert_array_equal(TWO_STATES.policy_values(optimal, 3), best.values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": np.zeros(4)}, r"reward has shape \(4,\)"),
        ({"reward": np.zeros((0, 2))}, r"reward has shape \(0, 2\)"),
        ({"reward": [[1.0, np.nan], [0.0, 0.0]]}, "reward has a value that is not finite: give"),
        ({"group_values": np.full((2, 2, 2), np.inf)}, "group_values has a value that is not fin"),
        ({"transition": TRANSITION * 0.0}, "transition has a row that misses 1 by 1"),
        ({"transition": csr_array((4, 2))}, "transition has a row that misses 1 by 1"),
        ({"reward": np.zeros((2, 3))}, r"transition has shape \(4, 2\): give \(2 \* 3, 2\)"),
        ({"transition": TRANSITION * 0.5}, "misses 1 by 0.5"),
        ({"transition": TRANSITION * 3 - 1}, "transition has an entry -1"),
        ({"start": [0.5, 0.6]}, "start has a row that misses 1"),
        ({"start": [1.0]}, r"start has shape \(1,\)"),
        ({"group_values": REWARD}, r"group_values \(2, 2\): give \(2,\) and \(groups, 2, 2\)"),
    ],
)
def test_bad_problems_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        FiniteProblem.of(**{"transition": TRANSITION, "reward": REWARD, **changes})


@pytest.mark.parametrize(
    ("horizon", "discount", "message"),
    [(0, 1.0, "horizon=0"), (2, 1.5, "discount=1.5"), (2.5, 1.0, "horizon=2.5")],
)
def test_bad_horizons_are_refused(horizon: Any, discount: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TWO_STATES.backward_induction(horizon, discount)
    with pytest.raises(UsageError, match=message):
        TWO_STATES.policy_values(np.full((2, 2), 0.5), horizon, discount)


def test_a_policy_has_to_add_up() -> None:
    with pytest.raises(UsageError, match="policy has a row that misses 1"):
        TWO_STATES.policy_values(np.ones((2, 2)), 2)


@pytest.mark.parametrize("number", [0, 1])
def test_a_gap_needs_two_groups(number: int) -> None:
    lonely = FiniteProblem.of(TRANSITION, REWARD, group_values=np.ones((number, 2, 2)))
    lonely = lonely.discounted(0.5)
    wanted = f"the problem has {number} groups: a tolerance needs two; give group_values"
    ways: list[Callable[[], Any]] = [
        lambda: lonely.linear_program(0.2),
        lambda: lonely.column_generation(0.2),
        lambda: lonely.lagrangian(0.2),
        lambda: lonely.solve(0.2),
        lambda: lonely.frontier(),
        lambda: lonely.cross_entropy(0.2, np.random.default_rng(0)),
        lambda: linear_program.smallest_tolerance(lonely),
    ]
    for way in ways:
        with pytest.raises(UsageError, match=wanted):
            way()
    assert lonely.linear_program().value.reward == pytest.approx(lonely.solve().value.reward)
    assert lonely.column_generation().tolerance is None


def test_without_groups_there_is_no_gap() -> None:
    with pytest.raises(UsageError, match="0 groups: a gap needs two; give group_values"):
        _ = TWO_STATES.discounted(0.5).linear_program().value.gap


# Faces of environments ---------------------------------------------------------------------------


def face(name: str, **arguments: Any) -> Any:
    env: Any = gymnasium.make_vec(f"longfair/{name}-v0", 1, **arguments).unwrapped
    return env.tabular()


def small_doughnuts() -> Any:
    return face("Doughnut", preset="tabular", episode_length=3)


@pytest.mark.parametrize(
    ("model", "discount"),
    [
        (small_doughnuts(), 1.0),
        (face("LoanPool", episode_length=2), 1.0),
        (face("LoanMDP", preset="discretised", episode_length=4), 0.8),
    ],
    ids=["Doughnut", "LoanPool", "LoanMDP"],
)
def test_every_solver_takes_every_tabular_face(model: Any, discount: float) -> None:
    plain = FiniteProblem.of_face(model)
    values = plain.backward_induction(model.horizon, discount).values[0]
    best = float(model.initial_distribution @ values)
    episodes = plain.unrolled(model.horizon, discount)
    for solved in (episodes.linear_program(), episodes.column_generation(), episodes.solve()):
        assert solved.value.reward == pytest.approx(best, rel=1e-9)
    free = episodes.solve().value
    bound = 0.5 * free.gap
    try:
        fair = [episodes.linear_program(bound), episodes.column_generation(bound)]
    except NoFairPolicyError as error:
        bound = error.smallest_tolerance + 0.5 * (free.gap - error.smallest_tolerance)
        fair = [episodes.linear_program(bound), episodes.column_generation(bound)]
    assert fair[0].value.reward == pytest.approx(fair[1].value.reward, rel=1e-8)
    assert fair[0].value.reward <= free.reward + 1e-9
    assert fair[0].value.gap <= bound + 1e-8


def test_equality_between_people_is_free_in_expectation() -> None:
    """Nobody loses anything when ties are broken so that all get equally many doughnuts."""
    model = small_doughnuts()
    episodes = FiniteProblem.of_face(model).unrolled(model.horizon)
    free, equal = episodes.linear_program(), episodes.linear_program(0.0)
    assert free.value.gap > 0.1
    assert equal.value.gap == pytest.approx(0.0, abs=1e-9)
    assert equal.value.reward == pytest.approx(free.value.reward, rel=1e-9)


def test_an_unrolled_problem_holds_what_can_be_reached_step_by_step() -> None:
    model = small_doughnuts()
    plain = FiniteProblem.of_face(model)
    episodes = plain.unrolled(model.horizon)
    assert episodes.stages is not None
    assert episodes.origin is not None
    counts = model.states[episodes.origin, 3:].sum(axis=1)
    step = np.repeat(np.arange(model.horizon), np.diff(episodes.stages))
    assert (counts <= step).all()
    anybody = np.full(plain.reward.shape, 1 / 3)
    value = episodes.evaluate(anybody[episodes.origin])
    expected = model.initial_distribution @ plain.policy_values(anybody, model.horizon)[0]
    assert value.reward == pytest.approx(expected, rel=1e-12)
    # Everybody is there with 0.8 and chosen with a third at each of three steps.
    np.testing.assert_allclose(value.group_values, 0.8, rtol=1e-12)


def test_sampling_finds_no_policy_within_a_gap_that_none_keeps() -> None:
    groups = np.array([[[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]])
    unfair = FiniteProblem.of(TRANSITION, REWARD, group_values=groups).discounted(0.5)
    settings = CrossEntropy(iterations=2)
    with pytest.raises(NoFairPolicyError, match="the smallest gap of any policy is 1"):
        unfair.cross_entropy(0.2, np.random.default_rng(0), settings)


def test_the_value_of_a_group_is_what_it_receives() -> None:
    pool = face("LoanPool", episode_length=2)
    episodes = FiniteProblem.of_face(pool).unrolled(2)
    anybody = episodes.evaluate(np.full(episodes.reward.shape, 0.25)).group_values
    np.testing.assert_allclose(anybody, 2 * 0.25 * 0.9, rtol=1e-12)
    loans = face("LoanMDP", preset="fico", episode_length=3)
    # One step more than there are decisions: nothing is received after the end.
    always = FiniteProblem.of_face(loans).unrolled(4)
    received = always.evaluate(np.tile([0.0, 1.0], (always.states, 1))).group_values
    np.testing.assert_allclose(received, 3 * np.array([0.29294318, 0.70705682]), rtol=1e-12)
