"""Fair decision problems: occupancies, group values, refusals, batches of people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from longfair.agents import fair_mdp
from longfair.agents.fair_mdp.batch_decisions import batch_problem, joint_actions
from longfair.agents.fair_mdp.examples import (
    cannot_be_fair,
    deterministic_policies,
    needs_randomness,
)
from longfair.agents.fair_mdp.model import SeparableMDP, demographic_parity, equal_opportunity
from longfair.agents.finite import column_generation, linear_systems
from longfair.agents.finite.problem import evaluate, occupancy
from longfair.errors import UsageError


def two_groups(seed: int = 0, size: int = 3) -> SeparableMDP:
    """Draw a problem with `size` states in each of two groups, and two actions."""
    generator = np.random.default_rng(seed)
    transition = np.zeros((2 * size, 2, 2 * size))
    for first in (0, size):
        block = generator.dirichlet(np.ones(size), size=(size, 2))
        transition[first : first + size, :, first : first + size] = block
    group = np.repeat([0, 1], size)
    return SeparableMDP(
        transition=transition,  # dense, which is accepted
        reward=generator.normal(size=(2 * size, 2)),
        individual_reward=generator.random((2 * size, 2)) + 0.5 * group[:, None],
        group=group,
        initial_distribution=generator.dirichlet(np.ones(2 * size)),
        discount=0.9,
    )


def random_policy(mdp: SeparableMDP, seed: int = 1) -> Any:
    return np.random.default_rng(seed).dirichlet(np.ones(2), size=len(mdp.group))


def summed_up(mdp: SeparableMDP, policy: Any, start: Any, payment: Any) -> float:
    """Add discounted payments up step by step, from the definition."""
    dense = mdp.transition.toarray().reshape(*mdp.reward.shape, -1)
    moved = np.einsum("sa,sat->st", policy, dense)
    total, law, weight = 0.0, np.asarray(start), 1.0 - mdp.discount
    for _ in range(600):
        total += weight * float(law @ (policy * payment).sum(axis=1))
        law, weight = law @ moved, weight * mdp.discount
    return total


def test_an_occupancy_adds_up_to_one_and_gives_the_reward() -> None:
    mdp = two_groups()
    policy = random_policy(mdp)
    problem = demographic_parity(mdp)
    visited = occupancy(problem, policy)
    assert visited.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(visited / visited.sum(axis=1, keepdims=True), policy, atol=1e-12)
    expected = summed_up(mdp, policy, mdp.initial_distribution, mdp.reward)
    assert evaluate(problem, policy).reward == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("group", [0, 1])
def test_the_value_of_a_group_is_conditional_on_the_group(group: int) -> None:
    mdp = two_groups()
    policy = random_policy(mdp)
    start = np.where(mdp.group == group, mdp.initial_distribution, 0.0)
    expected = summed_up(mdp, policy, start / start.sum(), mdp.individual_reward)
    value = evaluate(demographic_parity(mdp), policy)
    assert value.group_values[group] == pytest.approx(expected, abs=1e-12)
    assert value.gap == pytest.approx(abs(np.diff(value.group_values)[0]), abs=1e-15)


def test_equal_opportunity_looks_at_who_started_qualified() -> None:
    """The first state of each group is qualified; what happens later does not matter."""
    mdp = two_groups()
    policy = random_policy(mdp)
    qualified = np.array([True, False, False] * 2)
    problem = equal_opportunity(mdp, qualified)
    value = evaluate(problem, np.concatenate([policy, policy]))
    assert value.reward == pytest.approx(evaluate(demographic_parity(mdp), policy).reward)
    for group in (0, 1):
        start = np.eye(6)[3 * group]
        expected = summed_up(mdp, policy, start, mdp.individual_reward)
        assert value.group_values[group] == pytest.approx(expected, abs=1e-12)


def test_a_policy_for_equal_opportunity_may_depend_on_the_start() -> None:
    mdp = two_groups()
    problem = equal_opportunity(mdp, [True, False, False] * 2)
    never, always = np.tile([1.0, 0.0], (6, 1)), np.tile([0.0, 1.0], (6, 1))
    mixed = evaluate(problem, np.concatenate([never, always]))
    np.testing.assert_allclose(
        mixed.group_values, evaluate(problem, np.concatenate([always, always])).group_values
    )


def test_large_systems_are_iterated_to_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = demographic_parity(two_groups())
    policy = random_policy(two_groups())
    factorised = occupancy(problem, policy)
    monkeypatch.setattr(linear_systems, "LARGEST_FACTORISED", 0)
    np.testing.assert_allclose(occupancy(problem, policy), factorised, rtol=0, atol=1e-13)
    lasting = replace(problem, continuation=problem.continuation * (1.0 - 1e-8) / 0.9)
    with pytest.raises(UsageError, match="did not settle within 100,000 iterations"):
        occupancy(lasting, policy)


# Theorem 2.5 -------------------------------------------------------------------------------------


def test_the_example_that_needs_randomness() -> None:
    """Exact: deterministic gaps are one half; the linear program mixes exactly as it must."""
    problem = demographic_parity(needs_randomness())
    gaps = [value.gap for _, value in deterministic_policies(problem)]
    assert gaps == pytest.approx([0.5] * 4, abs=1e-12)
    for tolerance, chance in ((0.0, 0.5), (0.1, 0.6), (0.49, 0.99), (0.5, 1.0)):
        found = fair_mdp.solve(problem, tolerance)
        assert found.policy[1, 1] == pytest.approx(chance, abs=1e-9)
        assert found.policy[0, 1] == pytest.approx(1.0, abs=1e-9)
        assert found.randomised_states.tolist() == ([1] if chance < 1 else [])


def test_the_example_that_cannot_be_fair() -> None:
    problem = demographic_parity(cannot_be_fair())
    assert all(value.gap == pytest.approx(1.0) for _, value in deterministic_policies(problem))
    with pytest.raises(fair_mdp.NoFairPolicyError, match=r"smallest gap of any policy is 1;"):
        fair_mdp.solve(problem, 0.99)
    assert fair_mdp.solve(problem, 1.0).value.reward == pytest.approx(1.0)


def test_too_many_policies_are_not_listed() -> None:
    with pytest.raises(UsageError, match=r"2\^20 deterministic policies"):
        next(deterministic_policies(demographic_parity(two_groups(size=10))))


# Batches of people -------------------------------------------------------------------------------


def test_a_batch_of_one_is_the_problem_itself() -> None:
    mdp = two_groups()
    single, batch = demographic_parity(mdp), batch_problem(mdp, 1)
    np.testing.assert_array_equal(batch.continuation.toarray(), single.continuation.toarray())
    np.testing.assert_allclose(batch.inflow, single.inflow, rtol=1e-14)
    np.testing.assert_array_equal(batch.reward, single.reward)
    np.testing.assert_allclose(batch.group_values, single.group_values, rtol=1e-14)


def test_the_value_of_a_group_in_a_batch_averages_over_the_places() -> None:
    """By hand: two people decided on independently have, on average, the single person's values."""
    mdp = two_groups()
    policy = random_policy(mdp)
    both = np.einsum("sa,tb->stab", policy, policy).reshape(36, 4)
    batch = evaluate(batch_problem(mdp, 2), both)
    single = evaluate(demographic_parity(mdp), policy)
    assert batch.reward == pytest.approx(single.reward, abs=1e-12)
    np.testing.assert_allclose(batch.group_values, single.group_values, atol=1e-12)


def test_joint_transitions_are_products() -> None:
    mdp = two_groups()
    batch = batch_problem(mdp, 2)
    single = mdp.transition.toarray().reshape(6, 2, 6)
    first, second, action, other = 1, 5, 1, 0
    row = batch.continuation.toarray().reshape(6, 6, 2, 2, 6, 6)[first, second, action, other]
    expected = 0.9 * np.outer(single[first, action], single[second, other])
    np.testing.assert_allclose(row, expected, atol=1e-15)


def test_together_without_competition_is_as_good_as_alone() -> None:
    mdp = two_groups(size=2)
    for tolerance in (0.45, None):
        alone = fair_mdp.solve(demographic_parity(mdp), tolerance)
        together = fair_mdp.solve(batch_problem(mdp, 2), tolerance)
        assert together.value.reward == pytest.approx(alone.value.reward, abs=1e-8)


def test_money_for_one_only_makes_decisions_compete() -> None:
    mdp = replace(two_groups(size=2), reward=np.tile([0.0, 1.0], (4, 1)))
    actions = joint_actions(2, 2)
    assert actions.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    limited = batch_problem(mdp, 2, allowed=actions.sum(axis=1) <= 1)
    assert fair_mdp.solve(batch_problem(mdp, 2)).value.reward == pytest.approx(1.0)
    assert fair_mdp.solve(limited).value.reward == pytest.approx(0.5)
    assert column_generation.solve(limited).value.reward == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("people", "allowed", "message"),
    [
        (0, None, r"people=0: give an integer of at least 1"),
        (7, None, r"people=7: 12 pairs .* give fewer people"),
        (2, [True], r"allowed has shape \(1,\) .* give 4 booleans"),
        (2, [False] * 4, r"0 allowed actions"),
    ],
)
def test_batches_that_cannot_be(people: int, allowed: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        batch_problem(two_groups(), people, allowed)


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": np.zeros(6)}, r"reward has shape \(6,\): give \(states, actions\)"),
        ({"transition": np.eye(6)}, r"transition has shape \(6, 6\): give \(6 \* 2, 6\)"),
        ({"transition": np.full((6, 2, 6), 0.2)}, r"transition has a row that misses 1 by 0.2"),
        ({"transition": np.full((6, 2, 6), 1 / 6)}, r"state 0 of group 0 leads to state 3 of .* 1"),
        ({"reward": np.full((6, 2), np.nan)}, r"reward has a value that is not finite"),
        ({"individual_reward": np.full((6, 2), np.inf)}, r"individual_reward has a value that is"),
        ({"individual_reward": np.zeros((6, 3))}, r"individual_reward has shape \(6, 3\)"),
        ({"initial_distribution": np.full(6, 0.2)}, r"initial_distribution .* misses 1 by 0.2"),
        ({"initial_distribution": np.eye(6)[0]}, r"groups start with probabilities \[1.0, 0.0\]"),
        ({"group": np.zeros(6)}, r"number groups from 0, give at least two"),
        ({"discount": 1.0}, r"discount=1.0: give a number in \[0, 1\)"),
    ],
)
def test_what_is_no_separable_problem(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(two_groups(), **changes)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (np.ones((6, 1)), r"policy has shape \(6, 1\): give \(6, 2\)"),
        (np.ones((6, 2)), r"policy has a row that misses 1 by 1"),
        (np.tile([1.5, -0.5], (6, 1)), r"policy has an entry -0.5"),
    ],
)
def test_what_is_no_policy(policy: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(demographic_parity(two_groups()), policy)


def test_somebody_of_every_group_must_be_qualified() -> None:
    with pytest.raises(UsageError, match="group 1 has nobody who starts qualified"):
        equal_opportunity(two_groups(), [True] * 3 + [False] * 3)
    with pytest.raises(UsageError, match=r"qualified has shape \(3,\)"):
        equal_opportunity(two_groups(), [True] * 3)
