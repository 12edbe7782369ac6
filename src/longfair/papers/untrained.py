"""Policies that learn nothing, by the names that settings give them.

A function ``(world, seed, **settings)`` makes the policy. What a policy has to know of the
environment, such as the network of an epidemic, it is told by the environment's own parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from longfair.agents import policies
from longfair.papers.setting import World

if TYPE_CHECKING:
    from longfair.envs.loan_pool.exact import OptimalLender

Maker = Callable[..., Any]

POLICIES: dict[str, Maker] = {}
"""By name."""


def policy(name: str, revision: int = 1) -> Callable[[Maker], Maker]:
    """Put a function that makes a policy into `POLICIES`.

    Parameters
    ----------
    name
        What settings call it.
    revision
        Raised by hand when the policy is meant to decide otherwise.
    """

    def declare(maker: Maker) -> Maker:
        maker.name, maker.revision = name, revision  # type: ignore[attr-defined]  # for a run's key
        POLICIES[name] = maker
        return maker

    return declare


def params(world: World) -> Any:
    """Return the parameters of a world's environment."""
    return world.make(1).unwrapped.params  # type: ignore[attr-defined]  # environments of longfair


# Lending ----------------------------------------------------------------------------------------


@policy("accept-with-chance")
def accept_with_chance(world: World, seed: int, chance: float) -> Any:
    """Accept everybody with the same probability."""
    return policies.constant_policy(chance, seed=seed)


@policy("thresholds")
def thresholds(world: World, seed: int, limits: Sequence[int]) -> Any:
    """Accept from a score on, one per group."""
    return policies.threshold_policy(limits)


@policy("real-thresholds")
def real_thresholds(world: World | None, seed: int | None, limits: Sequence[float]) -> Any:
    """Accept from a real score on: its fraction is the chance to refuse the score below it.

    A threshold of 1.6 accepts everybody from score 2 on, and score 1 with probability 0.4.
    """
    chance = np.arange(7) + 1.0 - np.asarray(limits)[:, None]
    return policies.AcceptanceTable(np.clip(chance, 0.0, 1.0), seed)


@policy("equal-opportunity")
def equal_opportunity(world: World, seed: int) -> Any:
    """Take the best profit now under equal true positive rates, knowing the scores."""
    known = params(world)
    return policies.EqualOpportunityOracle(
        known.repay_probability, known.group_probability, seed=seed
    )


# Attention --------------------------------------------------------------------------------------


@policy("equal-units")
def equal_units(world: World, seed: int) -> Any:
    """Send the same number of units everywhere."""
    return policies.EqualLogits(_sites(world))


@policy("gaussian-logits")
def gaussian_logits(world: World, seed: int) -> Any:
    """Draw random logits, as an untrained policy does."""
    return policies.GaussianLogits(_sites(world), seed=seed)


@policy("proportional-to-rates")
def proportional_to_rates(world: World, seed: int) -> Any:
    """Divide the units in proportion to the true rates."""
    return policies.ProportionalToRates()


@policy("constant-units")
def constant_units(world: World, seed: int, units: tuple[int, ...]) -> Any:
    """Send the same units always."""
    return policies.ConstantAllocation(units)


@policy("proportional-to-incidents")
def proportional_to_incidents(
    world: World, seed: int, logarithms: Sequence[float], rows: int
) -> Any:
    """Divide the units by weighted recent incidents, given the logarithms of the weights."""
    sites = len(logarithms)
    weights = tuple(np.exp(logarithms))
    return policies.ProportionalToIncidents(weights, slice(sites, 2 * sites), rows)


@policy("proportional-to-excess")
def proportional_to_excess(world: World, seed: int, target: float, rows: int) -> Any:
    """Divide the units by recent incidents above a target."""
    sites = _sites(world)
    return policies.ProportionalToExcess(target, slice(sites, 2 * sites), rows)


@policy("greedy-discoveries")
def greedy_discoveries(world: World, seed: int, rows: int) -> Any:
    """Send one unit after the other to where one more find is most likely."""
    sites = _sites(world)
    return policies.GreedyDiscoveries(params(world).units, slice(sites, 2 * sites), rows)


def _sites(world: World) -> int:
    return int(world.make(1).single_action_space.shape[0])  # type: ignore[index]  # a box


# Epidemic ---------------------------------------------------------------------------------------


@policy("vaccinate-nobody")
def vaccinate_nobody(world: World, seed: int) -> Any:
    """Vaccinate nobody."""
    return policies.VaccinateNobody(len(params(world).group))


@policy("vaccinate-uniformly")
def vaccinate_uniformly(world: World, seed: int) -> Any:
    """Vaccinate anybody or nobody with equal chances."""
    return policies.VaccinateUniformly(len(params(world).group), seed=seed)


@policy("vaccinate-highest-degree")
def vaccinate_highest_degree(world: World, seed: int, as_in_fppo: bool = False) -> Any:
    """Vaccinate the susceptible person with the most neighbours."""
    return policies.VaccinateHighestDegree(params(world).adjacency(), as_in_fppo)


@policy("vaccinate-most-exposed")
def vaccinate_most_exposed(world: World, seed: int, as_in_fppo: bool = False) -> Any:
    """Vaccinate the susceptible person with the most infected neighbours."""
    return policies.VaccinateMostExposed(params(world).adjacency(), as_in_fppo)


@policy("vaccination-lottery")
def vaccination_lottery(world: World, seed: int, chance: float, exposure_weight: float) -> Any:
    """Draw the group of two by lottery, given the chance of group 1, there who is exposed."""
    known = params(world)
    return policies.VaccinationLottery(
        known.adjacency(), known.group, (1.0 - chance, chance), exposure_weight, seed
    )


@policy("vaccinate-then-waste")
def vaccinate_then_waste(world: World, seed: int, useful_days: float, days: int) -> Any:
    """Protect group 1 on the first days, then waste vaccines on the ill of group 0."""
    known = params(world)
    return policies.VaccinateThenWaste(known.adjacency(), known.group, 1, useful_days, days, seed)


# Handing out ------------------------------------------------------------------------------------


@policy("anybody")
def anybody(world: World, seed: int, people: int) -> Any:
    """Serve anybody at random."""
    return policies.AnybodyAtRandom(people, seed)


@policy("somebody-there")
def somebody_there(world: World, seed: int, people: int) -> Any:
    """Serve somebody who is there, at random."""
    return policies.SomebodyThereAtRandom(people, seed)


@policy("least-served-there")
def least_served_there(world: World, seed: int, people: int) -> Any:
    """Serve whoever is there and has had least."""
    return policies.LeastServedThere(people)


@policy("rotation")
def rotation(world: World, seed: int, people: int) -> Any:
    """Let people take turns, skipping who is not there."""
    return policies.Rotation(people)


@policy("lagging-group")
def lagging_group(world: World, seed: int, groups: tuple[int, ...]) -> Any:
    """Lend to the group with fewer loans, there to the best credit."""
    return policies.LaggingGroupBestCredit(groups)


@policy("optimal-lender")
def optimal_lender(world: World, seed: int) -> Any:
    """Lend as the exact optimum does."""
    return copy(_optimal_lender())


@cache
def _optimal_lender() -> OptimalLender:
    """Compute the values once for all seeds of a process; who acts has a copy that holds them."""
    from longfair.envs.loan_pool.exact import OptimalLender

    return OptimalLender()
