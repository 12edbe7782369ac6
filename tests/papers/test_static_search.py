"""The search behind the static optima: what it maximises, and that it finds what is best."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.agents.evaluation import EpisodeTotals, acting, play_episodes
from longfair.papers.elbert import static_search
from longfair.papers.elbert.static_search import FAMILIES, FIRST_SEED, Score, score, search


def totals_of(reward: list[float], supply: list[list[float]], demand: list[list[float]]) -> object:
    """Totals of episodes of ten steps each."""
    return EpisodeTotals(
        reward=np.array(reward),
        supply=np.array(supply),
        demand=np.array(demand),
        steps=np.full(len(reward), 10),
    )


@pytest.mark.parametrize(("added", "gap"), [(0.0, 6 / 10 - 2 / 8), (1.0, 6 / 12 - 2 / 10)])
def test_the_objective_is_the_reward_less_alpha_times_the_squared_bias(
    added: float, gap: float
) -> None:
    played = totals_of([3.0, 5.0], [[4.0, 1.0], [2.0, 1.0]], [[6.0, 4.0], [4.0, 4.0]])
    found = score(played, alpha=2.0, added=added)
    assert found == pytest.approx(Score(4.0 - 2.0 * gap**2, 8.0 / 20.0, gap))


def test_a_search_finds_a_better_policy_than_any_of_a_grid() -> None:
    """Of one number, on short episodes: no point of a grid is better on the episodes searched."""
    family = FAMILIES["attention-excess"]("elbert_harder")._replace(episode_length=100, copies=8)
    point, reached = search(family, alpha=0.0, iterations=6)

    def reward(target: float, seed: int, copies: int) -> float:
        agent = family.policy(np.array([target])).make(family.world, seed=0)
        env = family.world.make(copies, family.episode_length)
        return score(play_episodes(acting(agent), env, seed), 0.0, 1.0).reward

    grid = [reward(target, FIRST_SEED, family.copies) for target in np.linspace(0.0, 5.0, 11)]
    assert reward(point[0], FIRST_SEED, family.copies) >= max(grid) - 0.01
    assert reached.reward == pytest.approx(reward(point[0], FIRST_SEED + 1, 4 * family.copies))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_plays_in_its_world(name: str) -> None:
    preset = "elbert" if name == "lending" else "elbert_harder"
    family = FAMILIES[name](preset)._replace(episode_length=5, copies=2)
    middle = np.array([(low + high) / 2 for low, high in family.bounds])
    agent = family.policy(middle).make(family.world, seed=0)
    totals = play_episodes(acting(agent), family.world.make(2, 5), static_search.FIRST_SEED)
    assert np.isfinite(score(totals, 1.0, 1.0)).all()
