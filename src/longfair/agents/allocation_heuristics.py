"""One-line policies for attention allocation and epidemic control.

They are the bar that a learned policy has to clear. The policies for attention return logits
(N, G), those for epidemics the number of the person who gets the vaccine, or V for nobody.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.errors import UsageError

Logits = NDArray[np.float32]
Nodes = NDArray[np.int64]
Counts = NDArray[np.int64]

_STATES = 3


class EqualLogits:
    """Divide the units equally; what does not divide goes to the sites with the lowest index.

    Parameters
    ----------
    sites
        Number of sites G.
    """

    def __init__(self, sites: int) -> None:
        self.sites = _positive("sites", sites)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Logits, None]:
        """Return logits (N, G) of zero for observations (N, ...)."""
        return np.zeros((len(observation), self.sites), np.float32), None


class GaussianLogits:
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

    def __init__(self, sites: int, limit: float = 3.0, seed: int | None = None) -> None:
        self.sites = _positive("sites", sites)
        self.limit = limit
        self._rng = np.random.default_rng(seed)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Logits, None]:
        """Return logits (N, G) for observations (N, ...); `deterministic` returns the mean, 0."""
        shape = (len(observation), self.sites)
        if deterministic:
            return np.zeros(shape, np.float32), None
        draws = self._rng.standard_normal(shape, np.float32)
        return np.clip(draws, -self.limit, self.limit), None


class ProportionalToRates:
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

    def __init__(self, limit: float = 3.0) -> None:
        self.limit = limit
        self._logits: Logits | None = None

    def observe(self, info: dict[str, Any]) -> None:
        """Look at the rates, `info["group_state"]` of shape (N, G, 1)."""
        rate = info["group_state"][:, :, 0]
        logarithm = np.log(np.maximum(rate, np.finfo(np.float64).tiny))
        below_highest = logarithm - logarithm.max(axis=1, keepdims=True)
        self._logits = np.maximum(below_highest + self.limit, -self.limit).astype(np.float32)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Logits, None]:
        """Return logits (N, G) for observations (N, ...)."""
        if self._logits is None:
            raise UsageError("the oracle has not seen the rates: call observe(info)")
        return self._logits, None


class VaccinateNobody:
    """Let the infection run its course.

    Parameters
    ----------
    people
        Number of people V.
    """

    def __init__(self, people: int) -> None:
        self.people = _positive("people", people)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Nodes, None]:
        """Return the action V, (N,), for observations (N, ...)."""
        return np.full(len(observation), self.people, np.int64), None


class VaccinateUniformly:
    """Choose among all people and nobody with equal chances, as an untrained policy does.

    Parameters
    ----------
    people
        Number of people V.
    seed
        Seed of the agent's own generator.
    """

    def __init__(self, people: int, seed: int | None = None) -> None:
        self.people = _positive("people", people)
        self._rng = np.random.default_rng(seed)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Nodes, None]:
        """Return actions (N,); no choice is likelier than another, so `deterministic` draws too."""
        return self._rng.integers(self.people + 1, size=len(observation)), None


class RankedVaccination:
    """Vaccinate whoever comes first in a ranking of the susceptible people.

    A subclass says what people are ranked by. The lowest number breaks remaining ties. Whoever
    is not susceptible is passed over, because a vaccine would be wasted.

    Parameters
    ----------
    adjacency
        (V, V): 1 where two people can infect each other, 0 elsewhere; symmetric.
    as_in_fppo
        False: a second criterion breaks ties, and nobody is vaccinated when nobody is
        susceptible. True: the rules of the agent "Max" in F-PPO's code. There is no second
        criterion, and when nobody is susceptible the vaccine is wasted on the first of all.

    Notes
    -----
    Reads the start of an epidemic observation: V one-hot states (susceptible, infected,
    recovered). What wrappers append is ignored.
    """

    def __init__(self, adjacency: ArrayLike, as_in_fppo: bool = False) -> None:
        matrix = np.asarray(adjacency)
        if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T):
            raise UsageError(f"adjacency has shape {matrix.shape}: give a symmetric (V, V) matrix")
        self.as_in_fppo = as_in_fppo
        self._adjacency = (matrix != 0).astype(np.float32)
        self._degree: Counts = self._adjacency.sum(axis=0).astype(np.int64)

    @abstractmethod
    def _criteria(self, exposure: Counts) -> tuple[Counts, Counts]:
        """Return the first and second criterion, from 0 to V - 1 and of shape (V,) or (N, V).

        `exposure` (N, V) is the number of everybody's infected neighbours.
        """

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Nodes, None]:
        """Return actions (N,) for observations (N, ...)."""
        people = len(self._degree)
        health = observation[:, : _STATES * people].reshape(len(observation), people, _STATES)
        susceptible = health[:, :, 0] > 0
        exposure = (health[:, :, 1] @ self._adjacency).astype(np.int64)
        first, second = self._criteria(exposure)
        score = people * first if self.as_in_fppo else people * first + second
        # No score reaches V squared, so this puts susceptible people first.
        choice = (score + people**2 * susceptible).argmax(axis=1)
        if self.as_in_fppo:
            return choice, None
        return np.where(susceptible.any(axis=1), choice, people), None


class VaccinateHighestDegree(RankedVaccination):
    """Vaccinate the susceptible person with the most neighbours.

    The second criterion is the number of infected neighbours. With `as_in_fppo` this is "Max" as
    F-PPO's code has it, which matches the paper's figure.
    """

    def _criteria(self, exposure: Counts) -> tuple[Counts, Counts]:
        return self._degree, exposure


class VaccinateMostExposed(RankedVaccination):
    """Vaccinate the susceptible person with the most infected neighbours.

    The second criterion is the number of neighbours. With `as_in_fppo` this is "Max" as F-PPO's
    text describes it.
    """

    def _criteria(self, exposure: Counts) -> tuple[Counts, Counts]:
        return exposure, self._degree


def _positive(name: str, count: int) -> int:
    if count < 1:
        raise UsageError(f"{name}={count}: give a number of at least 1")
    return count
