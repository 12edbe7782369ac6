r"""Policies that a handful of numbers describe, and the best constant allocation.

They are the bar that a learned policy has to clear: `ConstantAllocation` and
`ProportionalToIncidents` for attention allocation, `VaccinationLottery` for epidemic control.

A constant allocation gives every site the same units in every step. Incidents at a site then do not
depend on the other sites, and its rate follows a known path: with :math:`a` units and rates
:math:`\mu_t`,

.. math::

    \eta^D = \sum_t \mu_t,\qquad
    \eta^S = \sum_t E[\min(a, y_t)] = \sum_t \sum_{k<a} P(y_t > k),
    \qquad y_t \sim \mathrm{Poisson}(\mu_t) .

So the best constant allocation is found by trying all of them, exactly and without drawing a
number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from longfair.errors import UsageError
from longfair.metrics.benefit import benefit_rate, bias

FloatArray = NDArray[np.float64]
Counts = NDArray[np.int64]

_NO_UNIT = 0.05
"""Weight of a site without units, small enough for rounding to give it none."""


class ConstantAllocation:
    """Give every site of attention allocation the same whole units in every step.

    Parameters
    ----------
    units
        (G,): units of every site.
    limit
        Logits lie in [-`limit`, `limit`].
    """

    def __init__(self, units: Sequence[int], limit: float = 3.0) -> None:
        if not units or min(units) < 0 or max(units) == 0:
            raise UsageError(f"units={tuple(units)}: give whole numbers from 0, one above 0")
        weight = np.log(np.maximum(np.asarray(units, dtype=np.float64), _NO_UNIT))
        self._logits = np.maximum(weight - weight.max() + limit, -limit).astype(np.float32)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[np.float32], None]:
        """Return the logits (N, G) of the allocation for observations (N, ...)."""
        return np.tile(self._logits, (len(observation), 1)), None


class ProportionalToIncidents:
    """Divide the units in proportion to recent incidents, times a fixed weight of every site.

    Parameters
    ----------
    weights
        (G,): weight of every site.
    incidents
        Columns of the observation's rows that hold the incidents of every site.
    rows
        Rows of the observation: past steps, oldest first.
    prior
        Added to the mean of the incidents seen; what is assumed of a site without incidents.
    limit
        Logits lie in [-`limit`, `limit`].

    Notes
    -----
    Unlike an oracle it sees what the learned policies see. Rows before the start of an episode are
    zero at all sites alike, which does not change the proportions.
    """

    def __init__(
        self,
        weights: Sequence[float],
        incidents: slice,
        rows: int,
        prior: float = 0.5,
        limit: float = 3.0,
    ) -> None:
        if not weights or min(weights) <= 0:
            raise UsageError(f"weights={tuple(weights)}: give numbers above 0, one per site")
        self._weights = np.asarray(weights, dtype=np.float64)
        self._incidents = incidents
        self._rows = rows
        self._prior = prior
        self._limit = limit

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[np.float32], None]:
        """Return logits (N, G) for observations (N, rows * columns)."""
        history = observation.reshape(len(observation), self._rows, -1)
        recent = history[:, :, self._incidents].mean(axis=1)
        logits = np.log(self._weights * (recent + self._prior))
        logits += self._limit - logits.max(axis=1, keepdims=True)
        return np.maximum(logits, -self._limit).astype(np.float32), None


class VaccinationLottery:
    """Draw which group gets the vaccine, then vaccinate its most valuable susceptible person.

    A person's value is the number of neighbours plus a weight times the number of infected ones;
    the lowest number breaks ties. A group without susceptible people passes its turn to the others,
    and nobody is vaccinated when nobody is susceptible.

    Parameters
    ----------
    adjacency
        (V, V): 1 where two people can infect each other, 0 elsewhere.
    group
        (V,): group of every person.
    chances
        (G,): probability of every group to be drawn, above 0.
    exposure_weight
        Value of an infected neighbour beyond that of any neighbour.
    seed
        Seed of the agent's own generator.
    """

    def __init__(
        self,
        adjacency: NDArray[Any],
        group: Sequence[int],
        chances: Sequence[float],
        exposure_weight: float,
        seed: int | None = None,
    ) -> None:
        if abs(sum(chances) - 1.0) > 1e-9 or min(chances) < 0:
            raise UsageError(f"chances={tuple(chances)}: give probabilities that sum to 1")
        self._adjacency = (np.asarray(adjacency) != 0).astype(np.float32)
        self._degree = self._adjacency.sum(axis=0)
        self._group = np.asarray(group)
        self._limits = np.cumsum(chances)[:-1]
        self._exposure_weight = exposure_weight
        self._rng = np.random.default_rng(seed)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Counts, None]:
        """Return the person (N,) for epidemic observations (N, 3 * V), V for nobody."""
        people = len(self._degree)
        health = observation[:, : 3 * people].reshape(len(observation), people, 3)
        susceptible = health[:, :, 0] > 0
        value = self._degree + self._exposure_weight * (health[:, :, 1] @ self._adjacency)
        drawn = self._limits.searchsorted(self._rng.random(len(observation)), side="right")
        in_turn = self._group == drawn[:, None]
        beyond_any = 1.0 + value.max()
        choice = (value + beyond_any * (2.0 * susceptible + in_turn)).argmax(axis=1)
        return np.where(susceptible.any(axis=1), choice, people), None


class Sites(NamedTuple):
    """What a constant number of units brings, by site and number of units: (G, units + 1)."""

    supply: FloatArray
    """Expected incidents discovered in an episode."""
    demand: FloatArray
    """Expected incidents in an episode."""


class Allocations(NamedTuple):
    """All constant allocations, A of them, with what they bring in expectation."""

    units: Counts
    """(A, G)."""
    reward: FloatArray
    """(A,): sum over an episode."""
    rates: FloatArray
    """(A, G): discovered incidents over incidents plus one, as the paper evaluates it."""
    bias: FloatArray
    """(A,): highest rate less the lowest."""


def sites_under_constant_units(
    initial_rate: Sequence[float],
    decrease: Sequence[float],
    increase: Sequence[float],
    units: int,
    episode_length: int,
) -> Sites:
    """Compute what every number of units brings at every site.

    Parameters
    ----------
    initial_rate, decrease, increase
        G numbers each, as in `longfair.envs.attention.AttentionParams`.
    units
        Units to give out in a step.
    episode_length
        Steps of an episode.
    """
    time = np.arange(episode_length)
    supply = np.zeros((len(initial_rate), units + 1))
    demand = np.zeros_like(supply)
    for site, (start, down, up) in enumerate(zip(initial_rate, decrease, increase, strict=True)):
        for given in range(units + 1):
            step = -down * given if given else up
            rate = np.maximum(start + step * time, 0.0)
            demand[site, given] = rate.sum()
            supply[site, given] = poisson.sf(np.arange(given)[:, None], rate).sum()
    return Sites(supply, demand)


def constant_allocations(
    sites: Sites, discovered_weight: float, missed_weight: float
) -> Allocations:
    """List all ways to give out all units, with reward and bias.

    Parameters
    ----------
    sites
        As from `sites_under_constant_units`.
    discovered_weight, missed_weight
        Reward of an incident discovered, cost of one missed.
    """
    groups, choices = sites.supply.shape
    units = np.array(list(_compositions(choices - 1, groups)))
    site = np.arange(groups)
    supply, demand = sites.supply[site, units], sites.demand[site, units]
    reward = discovered_weight * supply.sum(axis=1) - missed_weight * (demand - supply).sum(axis=1)
    rates = benefit_rate(supply, demand, offset=1.0)
    return Allocations(units, reward, rates, bias(rates))


def best_allocation(allocations: Allocations, alpha: float) -> int:
    """Return the place of the allocation with the highest reward less `alpha` squared biases."""
    return int(np.argmax(allocations.reward - alpha * allocations.bias**2))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as an ordered sum of so many numbers from 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
