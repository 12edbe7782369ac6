"""Exact values of doughnut policies: by hand, written out, and as printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from longfair.agents.finite import FiniteProblem
from longfair.envs import doughnut
from longfair.envs.doughnut.exact import (
    Controller,
    anybody_at_random,
    controller_score,
    fixed_priority,
    least_served_score,
    memoryless,
    rotation_skipping_absent,
    somebody_there_at_random,
    strict_rotation,
)
from longfair.errors import UsageError


def always_the_same(presence: Sequence[float]) -> Controller:
    """Choose the first person, there or not."""
    return memoryless([presence[0], *[0.0] * (len(presence) - 1)])


@pytest.mark.parametrize(("discount", "value"), [(1.0, 37.6347), (0.99, 35.1488), (0.95, 26.8228)])
def test_serving_the_least_served_is_optimal_at_every_decision_point(
    discount: float, value: float
) -> None:
    model = doughnut.tabular()
    solution = FiniteProblem.of_face(model).backward_induction(model.horizon, discount)
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
        values = FiniteProblem.of_face(model).policy_values(table, model.horizon)
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
