r"""The best constant allocation of attention, found by trying all of them exactly.

A constant allocation gives every site the same units in every step. Incidents at a site then do not
depend on the other sites, and its rate follows a known path: with :math:`a` units and rates
:math:`\mu_t`,

.. math::

    \eta^D = \sum_t \mu_t,\qquad
    \eta^S = \sum_t E[\min(a, y_t)] = \sum_t \sum_{k<a} P(y_t > k),
    \qquad y_t \sim \mathrm{Poisson}(\mu_t) .

No number is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.metrics.benefit import benefit_rate, bias

Counts = NDArray[np.int64]


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
    from scipy.stats import poisson  # takes as long to import as the rest of the package

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
    units = _compositions(choices - 1, groups)
    site = np.arange(groups)
    supply, demand = sites.supply[site, units], sites.demand[site, units]
    reward = discovered_weight * supply.sum(axis=1) - missed_weight * (demand - supply).sum(axis=1)
    rates = benefit_rate(supply, demand, offset=1.0)
    return Allocations(units, reward, rates, bias(rates))


def best_allocation(allocations: Allocations, alpha: float) -> int:
    """Return the place of the allocation with the highest reward less `alpha` squared biases."""
    return int(np.argmax(allocations.reward - alpha * allocations.bias**2))


def _compositions(total: int, parts: int) -> Counts:
    """Return all ways (A, parts) to write a total as a sum of whole numbers, in order."""
    # Bars among stars: the gaps between increasing positions are the numbers.
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    return np.diff(bars, axis=1, prepend=-1, append=total + parts - 1) - 1
