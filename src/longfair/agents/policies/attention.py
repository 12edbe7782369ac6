"""Policies for attention allocation: they return logits (N, G), one per site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from longfair.agents.policies.policy import Policy
from longfair.errors import UsageError
from longfair.settings import (
    Count,
    Length,
    Natural,
    NonNegative,
    Positive,
    Seed,
    validated,
)

Logits = NDArray[np.float32]

_NO_UNIT = 0.05
"""Weight of a site without units, small enough for rounding to give it none."""


class EqualLogits(Policy):
    """Divide the units equally; what does not divide goes to the sites with the lowest index.

    Parameters
    ----------
    sites
        Number of sites G.
    """

    @validated
    def __init__(self, sites: Count) -> None:
        self.sites = sites

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Logits:
        """Return logits (N, G) of zero for observations (N, ...)."""
        return np.zeros((len(observation), self.sites), np.float32)


class GaussianLogits(Policy):
    """Draw every logit from a standard normal distribution, as an untrained policy does.

    Parameters
    ----------
    sites
        Number of sites G.
    limit
        Logits are clipped to [-`limit`, `limit`].
    seed
        Seed of the agent's own generator.
    """

    @validated
    def __init__(self, sites: Count, limit: Positive = 3.0, seed: Seed | None = None) -> None:
        self.sites = sites
        self.limit = limit
        self._rng = np.random.default_rng(seed)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Logits:
        """Return logits (N, G) for observations (N, ...); `deterministic` returns the mean, 0."""
        shape = (len(observation), self.sites)
        if deterministic:
            return np.zeros(shape, np.float32)
        draws = self._rng.standard_normal(shape, np.float32)
        return np.clip(draws, -self.limit, self.limit)


class ProportionalToRates(Policy):
    r"""Oracle: divide the units in proportion to the true current rates of the sites.

    The softmax of :math:`\log \mu_g` is the share :math:`\mu_g / \sum_h \mu_h`. Where a rate is
    smaller than the largest one by a factor of :math:`e^{2 \cdot \mathrm{limit}}` or more (403
    with a limit of 3), the limit makes its share a little larger than that.

    Parameters
    ----------
    limit
        Logits lie in [-`limit`, `limit`].

    Notes
    -----
    Call `observe(info)` with the batch `info` before `predict`: the oracle reads `group_state`.
    """

    @validated
    def __init__(self, limit: Positive = 3.0) -> None:
        self.limit = limit
        self._logits: Logits | None = None

    def observe(self, info: dict[str, Any]) -> None:
        """Look at the rates, `info["group_state"]` of shape (N, G, 1)."""
        rate = info["group_state"][:, :, 0]
        logarithm = np.log(np.maximum(rate, np.finfo(np.float64).tiny))
        below_highest = logarithm - logarithm.max(axis=1, keepdims=True)
        self._logits = np.maximum(below_highest + self.limit, -self.limit).astype(np.float32)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Logits:
        """Return logits (N, G) for observations (N, ...)."""
        if self._logits is None:
            raise UsageError("the oracle has not seen the rates: call observe(info)")
        return self._logits


class ConstantAllocation(Policy):
    """Give every site of attention allocation the same whole units in every step.

    Parameters
    ----------
    units
        (G,): units of every site.
    limit
        Logits lie in [-`limit`, `limit`].
    """

    @validated
    def __init__(self, units: Sequence[Natural], limit: Positive = 3.0) -> None:
        if not any(units):
            raise UsageError(f"units={units}: give at least one unit")
        weight = np.log(np.maximum(np.asarray(units, dtype=np.float64), _NO_UNIT))
        self._logits = np.maximum(weight - weight.max() + limit, -limit).astype(np.float32)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Logits:
        """Return the logits (N, G) of the allocation for observations (N, ...)."""
        return np.tile(self._logits, (len(observation), 1))


class ProportionalToIncidents(Policy):
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

    @validated
    def __init__(
        self,
        weights: Annotated[Sequence[Positive], Length(1)],
        incidents: slice,
        rows: Count,
        prior: NonNegative = 0.5,
        limit: Positive = 3.0,
    ) -> None:
        self._weights = np.asarray(weights, dtype=np.float64)
        self._incidents = incidents
        self._rows = rows
        self._prior = prior
        self._limit = limit

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Logits:
        """Return logits (N, G) for observations (N, rows * columns)."""
        recent = _recent(observation, self._rows, self._incidents)
        return _limited(np.log(self._weights * (recent + self._prior)), self._limit)


class ProportionalToExcess(Policy):
    """Divide the units in proportion to the recent incidents above a target.

    Parameters
    ----------
    target
        Mean incidents per step up to which a site gets no unit while others are above theirs.
    incidents
        Columns of the observation's rows that hold the incidents of every site.
    rows
        Rows of the observation: past steps, oldest first.
    limit
        Logits lie in [-`limit`, `limit`].

    Notes
    -----
    It holds the rates of incidents near one level at all sites, as a thermostat would, and knows
    nothing of how rates rise and fall.
    """

    @validated
    def __init__(
        self, target: NonNegative, incidents: slice, rows: Count, limit: Positive = 3.0
    ) -> None:
        self._target = target
        self._incidents = incidents
        self._rows = rows
        self._limit = limit

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Logits:
        """Return logits (N, G) for observations (N, rows * columns)."""
        excess = _recent(observation, self._rows, self._incidents) - self._target
        return _limited(np.log(np.maximum(excess, np.exp(-2.0 * self._limit))), self._limit)


class GreedyDiscoveries(Policy):
    """Send one unit after the other to where one more incident is most likely to be found.

    The incidents of a site are taken for draws from a Poisson distribution with the mean of those
    seen recently. A site's v-th unit finds something if there are at least v incidents. Where
    chances are equal, the site with the lowest index comes first.

    Parameters
    ----------
    units
        Number of units.
    incidents
        Columns of the observation's rows that hold the incidents of every site.
    rows
        Rows of the observation: past steps, oldest first.
    limit
        Logits lie in [-`limit`, `limit`].
    """

    @validated
    def __init__(self, units: Count, incidents: slice, rows: Count, limit: Positive = 3.0) -> None:
        self._units = units
        self._incidents = incidents
        self._rows = rows
        self._limit = limit

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Logits:
        """Return logits (N, G) for observations (N, rows * columns)."""
        from scipy.special import pdtrc  # longer to import than all policies

        recent = _recent(observation, self._rows, self._incidents)
        finds = pdtrc(np.arange(self._units), recent[:, :, None])
        order = np.argsort(-finds.reshape(len(finds), -1), axis=1, kind="stable")
        site = order[:, : self._units] // self._units
        given = (site[:, :, None] == np.arange(recent.shape[1])).sum(axis=1)
        return _limited(np.log(np.maximum(given, _NO_UNIT)), self._limit)


def _recent(observation: NDArray[Any], rows: int, incidents: slice) -> NDArray[np.float64]:
    """Return the mean incidents (N, G) of the steps seen in observations (N, rows * columns)."""
    history = observation.reshape(len(observation), rows, -1)
    recent: NDArray[np.float64] = history[:, :, incidents].mean(axis=1)
    return recent


def _limited(logits: NDArray[np.float64], limit: float) -> Logits:
    """Shift logits (N, G), so that the highest is the limit, and none below its negative."""
    shifted = logits + (limit - logits.max(axis=1, keepdims=True))
    limited: Logits = np.maximum(shifted, -limit).astype(np.float32)
    return limited
