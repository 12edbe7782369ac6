"""Supply and demand of the static notions against conditional frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from longfair.envs.attention import AttentionParams, AttentionVectorEnv
from longfair.errors import UsageError
from longfair.metrics.benefit import long_term_benefit_rate
from longfair.metrics.supply_demand import (
    accuracy_parity,
    demographic_parity,
    discovery_probability,
    equal_opportunity,
    equalised_odds,
)

GENERATOR = np.random.default_rng(5)
SHAPE = (200, 4)  # (time, environments)
DECISION = GENERATOR.integers(0, 2, SHAPE)
OUTCOME = GENERATOR.integers(0, 2, SHAPE)
GROUP = GENERATOR.integers(0, 3, SHAPE)


def frequency(event: np.ndarray, condition: np.ndarray, group: int) -> float:
    return float(event[condition & (group == GROUP)].mean())


def rates(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    supply, demand = pair
    assert supply.shape == demand.shape == (*SHAPE, 3)
    return long_term_benefit_rate(supply, demand, axis=(0, 1))


def test_rates_are_conditional_frequencies() -> None:
    everyone = np.ones(SHAPE, dtype=bool)
    accepted, right = DECISION == 1, DECISION == OUTCOME
    odds = equalised_odds(DECISION, OUTCOME, GROUP, 3)
    cases = [
        (demographic_parity(DECISION, GROUP, 3), accepted, everyone),
        (equal_opportunity(DECISION, OUTCOME, GROUP, 3), accepted, OUTCOME == 1),
        (accuracy_parity(DECISION, OUTCOME, GROUP, 3), right, everyone),
        (odds.true_positive, accepted, OUTCOME == 1),
        (odds.false_positive, accepted, OUTCOME == 0),
    ]
    for pair, event, condition in cases:
        expected = [frequency(event, condition, group) for group in range(3)]
        np.testing.assert_allclose(rates(pair), expected)


def test_supply_of_equal_opportunity_needs_both() -> None:
    pair = equal_opportunity([1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1], 2)
    np.testing.assert_array_equal(pair.supply, [[1, 0], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(pair.demand, [[1, 0], [0, 0], [0, 1], [0, 0]])


def test_discovery_probability_is_what_attention_allocation_counts() -> None:
    env = AttentionVectorEnv(1, AttentionParams.elbert_harder())
    env.reset(seed=1)
    info = env.step(np.zeros((1, 5)))[-1]
    found, incidents = (info[name][0].astype(int) for name in ("supply", "demand"))
    assert 0 < found.sum() < incidents.sum()
    site = np.repeat(np.arange(5), incidents)
    discovered = np.concatenate([np.arange(n) < m for m, n in zip(found, incidents, strict=True)])
    pair = discovery_probability(discovered, site, 5)
    np.testing.assert_array_equal(pair.supply.sum(axis=0), found)
    np.testing.assert_array_equal(pair.demand.sum(axis=0), incidents)
    np.testing.assert_array_equal(
        pair, equal_opportunity(discovered, np.ones_like(discovered), site, 5)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: demographic_parity([0, 2], [0, 1], 2), "decision must hold only 0 and 1"),
        (lambda: demographic_parity([0, 1], [0, 2], 2), "whole numbers from 0 to 1"),
        (lambda: demographic_parity([0, 1], [0.5, 1], 2), "whole numbers from 0 to 1"),
        (lambda: demographic_parity([0, 1], [0], 2), "decision and group must have the same"),
        (lambda: discovery_probability([0, 2], [0, 1], 2), "discovered must hold only 0 and 1"),
        (lambda: discovery_probability([0], [0, 1], 2), "discovered and group must have the same"),
        (lambda: demographic_parity([0], [0], 0), "groups=0: give an integer of at least 1"),
        (lambda: accuracy_parity([0, 1], [0], [0, 0], 1), "decision and outcome must have"),
        (lambda: equal_opportunity([0], [3], [0], 1), "outcome must hold only 0 and 1"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()


@pytest.mark.parametrize("groups", [2.5, "2", 0, True])
def test_the_number_of_groups_is_whole(groups: Any) -> None:
    with pytest.raises(UsageError, match=r"^groups="):
        demographic_parity([0, 1], [0, 0], groups)


def test_rows_are_equally_long() -> None:
    with pytest.raises(UsageError, match=r"^decision must be an array whose rows are equally long"):
        demographic_parity([[0, 1], [1]], [0, 0], 2)
    with pytest.raises(UsageError, match=r"^group must be an array whose rows are equally long"):
        demographic_parity([0, 1], [[0, 1], [1]], 2)
