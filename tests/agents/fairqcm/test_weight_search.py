"""The search for weights finds them, follows its settings, and refuses what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.agents.fairqcm.ledgers import DoughnutLedger
from longfair.agents.fairqcm.presets import WeightSearch
from longfair.agents.fairqcm.weight_search import LinearRule, LinearSearch
from longfair.errors import UsageError
from longfair.papers.fairqcm.beyond import observed

WORLD = observed("doughnuts")
LEDGER = DoughnutLedger()
COLUMNS = (0, 1)


def search(seed: int = 3, **settings: int) -> LinearSearch:
    chosen = WeightSearch(COLUMNS, **settings)
    return LinearSearch(WORLD.make(chosen.candidates * chosen.episodes), LEDGER, chosen, seed)


def test_weights_on_presence_and_lead_are_the_oracle() -> None:
    rule = LinearRule(LEDGER, COLUMNS, np.array([10.0, -1.0]))
    env = WORLD.make(50)
    observation, _ = env.reset(seed=1)
    for _ in range(100):
        actions, _ = rule.act(observation)
        there, counts = observation[:, :5] > 0, np.rint(observation[:, 5:10])
        least = np.where(there, counts, np.inf)
        lowest = np.isclose(least[np.arange(50), actions], least.min(axis=1))
        assert (lowest | ~there.any(axis=1)).all()
        observation, *_ = env.step(actions)


def test_random_search_keeps_the_best_so_far() -> None:
    agent = search(candidates=1, episodes=1)
    kept: list[float] = []
    agent.learn(8 * 100, lambda agent: kept.append(agent._best))
    assert len(kept) == 8
    assert kept == sorted(kept)
    assert kept[-1] > kept[0]


def test_the_cross_entropy_method_narrows_down() -> None:
    agent = search(candidates=20, episodes=2, elites=4)
    agent.learn(6 * 40 * 100)
    assert (agent._deviation < 0.7).all()
    present, lead = agent.weights
    assert present > 0 > lead


def test_the_same_seed_finds_the_same_weights() -> None:
    first, again, other = (search(seed, candidates=2, episodes=1).learn(600) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)


def test_copies_must_fit_the_candidates() -> None:
    with pytest.raises(UsageError, match="7 copies: give 2 candidates times 5 episodes"):
        LinearSearch(WORLD.make(7), LEDGER, WeightSearch(COLUMNS))
