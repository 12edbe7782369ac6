"""Search for the best policy of a handful of numbers, on episodes that no result uses.

`STATIC` in the modules of the experiments holds what was found. To find it again:
`python -m longfair.papers.elbert.static_search attention elbert_harder 20000`.

Every candidate plays the same episodes, drawn from seeds from `FIRST_SEED` on. Results use
32-bit seeds hashed from small run numbers. What is maximised is ELBERT's own objective, the
reward of an episode less alpha times the squared bias; with alpha 0 the reward alone. The bias is
that of the code, which adds one to every episode's demand, or with `--text` that of the paper's
formula, which does not. The two agree where an episode has much demand; in the infectious
disease environment it has little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import differential_evolution

from longfair.agents.evaluation import EpisodeTotals, acting, play_episodes
from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers.elbert import attention, infectious, lending
from longfair.papers.setting import Untrained, World

FIRST_SEED = 2**40
"""Beyond the 32 bits of the seeds that results use."""


class Score(NamedTuple):
    """What a policy reaches."""

    objective: float
    """Reward of an episode less alpha times the squared bias."""
    reward: float
    """Mean per step."""
    bias: float


def score(totals: EpisodeTotals, alpha: float, added: float) -> Score:
    """Judge episodes by ELBERT's objective.

    Parameters
    ----------
    totals
        What the episodes added up to.
    alpha
        Weight of the squared bias.
    added
        What every episode adds to the demand: 1 in the code, 0 in the paper.
    """
    episodes = len(totals.steps)
    rates = benefit_rate(
        totals.supply.sum(axis=0), totals.demand.sum(axis=0), offset=added * episodes
    )
    gap = float(bias(rates))
    reward = float(totals.reward.sum())
    return Score(reward / episodes - alpha * gap**2, reward / float(totals.steps.sum()), gap)


class Family(NamedTuple):
    """Policies that a few numbers describe."""

    bounds: list[tuple[float, float]]
    policy: Callable[[NDArray[np.float64]], Untrained]
    world: World
    episode_length: int
    copies: int
    """Episodes on which a candidate is judged."""


def attention_family(preset: str) -> Family:
    """Divide the units by weighted recent incidents: logarithms of the weights of sites 1 to 4."""

    def policy(point: NDArray[np.float64]) -> Untrained:
        settings = {"logarithms": [0.0, *point], "rows": attention.ROWS}
        return Untrained("proportional-to-incidents", settings)

    bounds = [(-2.0, 3.0)] * (attention.SITES - 1)
    return Family(bounds, policy, attention.world(preset), 1024, copies=32)


def excess_family(preset: str) -> Family:
    """Divide the units by recent incidents above a target."""

    def policy(point: NDArray[np.float64]) -> Untrained:
        return Untrained("proportional-to-excess", {"target": point[0], "rows": attention.ROWS})

    return Family([(0.0, 5.0)], policy, attention.world(preset), 1024, copies=32)


def infectious_family(preset: str) -> Family:
    """Draw the group by lottery: chance of group 1, and weight of infected neighbours."""

    def policy(point: NDArray[np.float64]) -> Untrained:
        return Untrained("vaccination-lottery", {"chance": point[0], "exposure_weight": point[1]})

    return Family([(0.0, 1.0), (0.0, 5.0)], policy, infectious.world(preset), 20, copies=4000)


def waste_family(preset: str) -> Family:
    """Protect group 1 for some days, then waste the vaccines on the ill of group 0."""

    def policy(point: NDArray[np.float64]) -> Untrained:
        return infectious.vaccinate_then_waste(float(point[0]))

    return Family([(0.0, 20.0)], policy, infectious.with_clock(preset), 20, copies=20_000)


def lending_family(preset: str) -> Family:
    """Lend from a real threshold on; its fraction is the chance to refuse the score below it."""

    def policy(point: NDArray[np.float64]) -> Untrained:
        return Untrained("real-thresholds", {"limits": tuple(point)})

    world = replace(lending.WORLD, parameters={"preset": preset})
    return Family([(0.0, 5.0)] * 2, policy, world, 10_000, copies=128)


FAMILIES = {
    "attention": attention_family,
    "attention-excess": excess_family,
    "infectious": infectious_family,
    "infectious-waste": waste_family,
    "lending": lending_family,
}


def search(
    family: Family, alpha: float, iterations: int, added: float = 1.0
) -> tuple[NDArray[np.float64], Score]:
    """Find the best policy of a family by differential evolution, on the same episodes for all.

    Parameters
    ----------
    family
        Policies to search.
    alpha
        Weight of the squared bias.
    iterations
        Generations of the search.
    added
        As for `score`.

    Returns
    -------
    point, score
        The numbers of the best policy, rounded to two decimals, and what it reaches on episodes
        the search has not seen.
    """

    def play(point: NDArray[np.float64], seed: int, copies: int) -> Score:
        agent = family.policy(point).make(family.world, seed=0)
        env = family.world.make(copies, family.episode_length)
        totals = play_episodes(acting(agent), env, seed)
        return score(totals, alpha, added)

    found = differential_evolution(
        lambda point: -play(point, FIRST_SEED, family.copies).objective,
        family.bounds,
        maxiter=iterations,
        popsize=8,
        polish=False,
        rng=np.random.default_rng(0),
    )
    best = np.round(found.x, 2)
    return best, play(best, FIRST_SEED + 1, 4 * family.copies)


def main() -> None:
    """Search the family, preset and alpha named on the command line."""
    parser = argparse.ArgumentParser(description="Search for the best static policy.")
    parser.add_argument("environment", choices=sorted(FAMILIES))
    parser.add_argument("preset", help="preset of the environment, such as elbert_harder")
    parser.add_argument("alpha", type=float, help="weight of the squared bias; 0: reward alone")
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--text", action="store_true", help="bias by the paper's formula")
    given = parser.parse_args()
    family = FAMILIES[given.environment](given.preset)
    added = 0.0 if given.text else 1.0
    point, reached = search(family, given.alpha, given.iterations, added)
    print([round(float(number), 2) for number in point], reached)


if __name__ == "__main__":
    main()
