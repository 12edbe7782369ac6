"""Exploring, estimating strangers, and the bound."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from scipy.stats import betabinom

import longfair  # noqa: F401  registers the environments
from longfair.agents.fair_mdp.explore_then_commit import (
    LoansSeen,
    estimate_strangers,
    explore,
    regret_bound,
    required_exploration,
    transition_error,
    value_error,
)
from longfair.errors import UsageError


def seen(episodes: int, length: int = 51, chance: float = 0.5) -> LoansSeen:
    env = gymnasium.make_vec("longfair/LoanMDP-v0", num_envs=episodes, episode_length=length)
    return explore(env, chance, 1, np.random.default_rng(2))


def test_keeps_every_loan_with_what_was_known_before_it() -> None:
    loans = seen(200, length=3, chance=1.0)
    # 7 or 10 loans before the episode and three in it.
    for group, earlier in enumerate((7, 10)):
        mine = loans.group == group
        borrowers = mine.sum() / (earlier + 3)
        assert borrowers == int(borrowers)
        assert borrowers > 30
        before = loans.counts[mine, :2].sum(axis=1)
        assert np.bincount(before, minlength=earlier + 3).tolist() == [borrowers] * (earlier + 3)
    assert (loans.counts[:, 2] == 0).all()
    fair = seen(200, length=20)
    assert 0.45 < (len(fair.group) - (7 * _people(fair, 0) + 10 * _people(fair, 1))) / 4000 < 0.55
    assert fair.counts[:, 2].max() > 5


def _people(loans: LoansSeen, group: int) -> int:
    first = (loans.group == group) & (loans.counts.sum(axis=1) == 0)
    return int(first.sum())


def test_outcomes_follow_the_belief() -> None:
    loans = seen(2000, length=10)
    prior = np.array([[1.4614873, 0.51479711], [1.51578208, 0.19009129]])[loans.group]
    good = prior[:, 0] + loans.counts[:, 0]
    bad = prior[:, 1] + loans.counts[:, 1] + 0.1 * loans.counts[:, 2]
    chance = good / (good + bad)
    # The order of earlier loans is not known: they are written repayments first.
    later = loans.counts.sum(axis=1) >= np.array([7, 10])[loans.group]
    for low, high in ((0.0, 0.6), (0.6, 0.9), (0.9, 1.0)):
        part = later & (chance >= low) & (chance < high)
        error = 4 * 0.5 / np.sqrt(part.sum())
        assert loans.repaid[part].mean() == pytest.approx(chance[part].mean(), abs=error)


def test_estimates_come_closer_with_more_episodes() -> None:
    true = np.array([[1.4614873, 0.51479711], [1.51578208, 0.19009129]])
    errors = [
        np.abs(np.log(estimate_strangers(seen(n), 0.1, 2) / true)).max() for n in (100, 20_000)
    ]
    assert errors[1] < 0.1
    assert errors[1] < errors[0]


def test_without_denials_it_is_the_beta_binomial_estimate() -> None:
    """The likelihood of sequences without denials depends on the number repaid only."""
    loans = seen(150, length=1, chance=0.0)
    estimate = estimate_strangers(loans, 0.1, 2)

    def likelihood(group: int, alpha: float, beta: float) -> float:
        first = (loans.group == group) & (loans.counts.sum(axis=1) == 0)
        earlier = (7, 10)[group]
        mine = loans.repaid[loans.group == group].reshape(int(first.sum()), earlier)
        return float(betabinom.logpmf(mine.sum(axis=1), earlier, alpha, beta).sum())

    for group in (0, 1):
        best = likelihood(group, *estimate[group])
        for step in ([1.02, 1.0], [1.0, 1.02], [0.98, 1.0], [1.0, 0.98], [1.02, 1.02]):
            assert likelihood(group, *(estimate[group] * step)) < best


def test_refuses_a_group_that_never_defaulted() -> None:
    loans = LoansSeen(np.array([0, 0]), np.zeros((2, 3), dtype=int), np.array([True, True]))
    with pytest.raises(UsageError, match=r"group 0 has 2 repaid loans of 2: .*explore for more"):
        estimate_strangers(loans, 0.1, 1)


def test_refuses_groups_without_loans_and_loans_without_a_group() -> None:
    loans = LoansSeen(np.array([0, 0]), np.zeros((2, 3), dtype=int), np.array([True, False]))
    with pytest.raises(UsageError, match="group 1 has 0 repaid loans of 0"):
        estimate_strangers(loans, 0.1, 2)
    none = LoansSeen(loans.group[:0], loans.counts[:0], loans.repaid[:0])
    with pytest.raises(UsageError, match="group 0 has 0 repaid loans of 0"):
        estimate_strangers(none, 0.1, 2)
    with pytest.raises(UsageError, match="groups=1: a loan is of group 1, give more groups"):
        estimate_strangers(LoansSeen(np.array([0, 1]), loans.counts, loans.repaid), 0.1, 1)


def test_values_are_off_by_less_than_the_bound_says() -> None:
    """Sums over an episode under perturbed transitions, on random problems."""
    generator = np.random.default_rng(0)
    states, steps = 4, 5
    worst = 0.0
    for _ in range(200):
        rows = generator.dirichlet(np.ones(states), states)
        change = generator.normal(size=rows.shape) * 0.02
        nearby = np.maximum(rows + change - change.mean(axis=1, keepdims=True), 0)
        nearby /= nearby.sum(axis=1, keepdims=True)
        reward = generator.uniform(-1, 1, states)
        values = [
            sum(np.linalg.matrix_power(p, t) @ reward for t in range(steps)) for p in (rows, nearby)
        ]
        bound = value_error(states, steps, 1.0, float(np.abs(rows - nearby).max()))
        worst = max(worst, float(np.abs(values[0] - values[1]).max()) / bound)
    assert 0.05 < worst <= 1.0


def test_bound_by_hand() -> None:
    error = transition_error(4, 2, 1000, 0.1, 0.05)
    assert error == pytest.approx(np.sqrt(np.log(4 * 16 * 2 / 0.05) / 100))
    assert required_exploration(4, 2, 0.1, 0.05) == pytest.approx(200 * np.log(320))
    assert value_error(4, 5, 2.0, 0.01) == pytest.approx(1.0)
    bound = regret_bound(np.array([0.0, 50.0, 100.0, 300.0]), 100, 5, 2.0, 0.3)
    assert bound == pytest.approx([0.0, 1000.0, 2000.0, 2000.0 + 120.0])
