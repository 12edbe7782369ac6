"""Policies of the population that learn nothing, as settings name them."""

from __future__ import annotations

from functools import cache
from typing import Any

from longfair.agents.policies.population import (
    BASELINES,
    ConstantThresholds,
    Cost,
    Descent,
    RandomThresholds,
    ShortSighted,
)
from longfair.envs.population import PopulationModel, PopulationParams
from longfair.envs.population.exact import PlannedThresholds, Planner, Resolution
from longfair.papers.setting import World
from longfair.papers.untrained import params, policy


@policy("short-sighted")
def short_sighted(
    world: World,
    seed: int,
    baseline: str,
    notion: str = "demographic-parity",
    search: str = "grid",
    knots: int = 31,
    fairness_weight: float | None = None,
    **descent: Any,
) -> Any:
    """Minimise the cost of the present step, as one of the paper's four baselines does.

    The gap has the weight of the paper's first version, unless another one is given. What is left
    are fields of `longfair.agents.policies.population.Descent`.
    """
    named = BASELINES[baseline]
    weight = named.fairness_weight if fairness_weight is None else fairness_weight
    cost = Cost(weight, notion, named.worst_group)
    return ShortSighted(PopulationModel(params(world)), cost, search, knots, Descent(**descent))


@policy("constant-threshold")
def constant_threshold(world: World, seed: int, threshold: float) -> Any:
    """Keep one threshold for both groups, on the scale of the feature."""
    low, high = params(world).threshold_range
    return ConstantThresholds([(threshold - low) / (high - low)] * 2)


@policy("random-thresholds")
def random_thresholds(world: World, seed: int) -> Any:
    """Draw thresholds anew at every step."""
    return RandomThresholds(seed)


DRAWING = frozenset({random_thresholds})
"""Those that draw. Neither the others nor the population do, so they play alike for every seed."""


@policy("planned")
def planned(
    world: World, seed: int, price: float, disparity: str, rates: int = 61, thresholds: int = 41
) -> Any:
    """Follow the best plan for a price on fairness, found by dynamic programming."""
    known: PopulationParams = params(world)
    return _plan(known, price, disparity, rates, thresholds)


@cache
def _plan(
    known: PopulationParams, price: float, disparity: str, rates: int, thresholds: int
) -> PlannedThresholds:
    """Plan once for all seeds of a process."""
    planner = Planner(known, disparity, Resolution(rates, thresholds))
    return PlannedThresholds(planner, planner.plan(price))
