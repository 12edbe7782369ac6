"""Policies for epidemic control: they return who gets the vaccine, or V for nobody.

All read the start of an epidemic observation: V one-hot states (susceptible, infected, recovered).
What wrappers append is ignored.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.agents.policies.policy import Policy
from longfair.errors import UsageError
from longfair.settings import (
    Axes,
    Count,
    Length,
    Natural,
    NonNegative,
    Probability,
    Seed,
    require_distribution,
    require_length,
    validated,
)

Nodes = NDArray[np.int64]
Counts = NDArray[np.int64]
Adjacency = Annotated[ArrayLike, Axes(2)]
Groups = Annotated[Sequence[Natural], Length(1)]

_STATES = 3


class VaccinateNobody(Policy):
    """Let the infection run its course.

    Parameters
    ----------
    people
        Number of people V.
    """

    @validated
    def __init__(self, people: Count) -> None:
        self.people = people

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Nodes:
        """Return the action V, (N,), for observations (N, ...)."""
        return np.full(len(observation), self.people, np.int64)


class VaccinateUniformly(Policy):
    """Choose among all people and nobody with equal chances, as an untrained policy does.

    Parameters
    ----------
    people
        Number of people V.
    seed
        Seed of the agent's own generator.
    """

    @validated
    def __init__(self, people: Count, seed: Seed | None = None) -> None:
        self.people = people
        self._rng = np.random.default_rng(seed)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Nodes:
        """Return actions (N,); no choice is likelier than another, so `deterministic` draws too."""
        return self._rng.integers(self.people + 1, size=len(observation))


class RankedVaccination(Policy):
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
    """

    @validated
    def __init__(self, adjacency: Adjacency, as_in_fppo: bool = False) -> None:
        self.as_in_fppo = as_in_fppo
        self._adjacency = _neighbours(adjacency).astype(np.float32)
        self._degree: Counts = self._adjacency.sum(axis=0).astype(np.int64)

    @abstractmethod
    def _criteria(self, exposure: Counts) -> tuple[Counts, Counts]:
        """Return the first and second criterion, from 0 to V - 1 and of shape (V,) or (N, V).

        `exposure` (N, V) is the number of everybody's infected neighbours.
        """

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Nodes:
        """Return actions (N,) for observations (N, ...)."""
        people = len(self._degree)
        susceptible, infected = _states(observation, people)
        exposure = (infected @ self._adjacency).astype(np.int64)
        first, second = self._criteria(exposure)
        score = people * first if self.as_in_fppo else people * first + second
        # No score reaches V squared, so this puts susceptible people first.
        choice: Nodes = (score + people**2 * susceptible).argmax(axis=1)
        if self.as_in_fppo:
            return choice
        return np.where(susceptible.any(axis=1), choice, people)


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


class VaccinationLottery(Policy):
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

    @validated
    def __init__(
        self,
        adjacency: Adjacency,
        group: Groups,
        chances: Sequence[Probability],
        exposure_weight: NonNegative,
        seed: Seed | None = None,
    ) -> None:
        require_distribution("chances", chances, 1 + max(group))
        self._adjacency = _neighbours(adjacency).astype(np.float32)
        require_length("group", group, len(self._adjacency))
        self._degree = self._adjacency.sum(axis=0)
        self._group = np.asarray(group)
        self._limits = np.cumsum(chances)[:-1]
        self._exposure_weight = exposure_weight
        self._rng = np.random.default_rng(seed)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Nodes:
        """Return the person (N,) for epidemic observations (N, 3 * V), V for nobody."""
        people = len(self._degree)
        susceptible, infected = _states(observation, people)
        value = self._degree + self._exposure_weight * (infected @ self._adjacency)
        drawn = self._limits.searchsorted(self._rng.random(len(observation)), side="right")
        in_turn = self._group == drawn[:, None]
        beyond_any = 1.0 + value.max()
        choice = (value + beyond_any * (2.0 * susceptible + in_turn)).argmax(axis=1)
        return np.where(susceptible.any(axis=1), choice, people)


class VaccinateThenWaste(Policy):
    """Protect one group on the first days, and waste the other vaccines on the ill of the rest.

    On a useful day the susceptible person of the protected group with the most neighbours gets the
    vaccine. On the days after, an infected member of another group gets it, which helps nobody but
    counts as supply to that group. Where there is no such person, nobody is vaccinated. It shows
    what a benefit rate can be made of. The policy needs a clock: the last number of an observation
    is the share of the episode that has passed, as `longfair.envs.elapsed.ElapsedTime` appends it.

    Parameters
    ----------
    adjacency
        (V, V): 1 where two people can infect each other, 0 elsewhere.
    group
        (V,): group of every person.
    protected
        Group that gets the useful vaccines.
    useful_days
        Days on which vaccines are useful; the fraction is the probability of one day more.
    episode_length
        Days of an episode.
    seed
        Seed of the agent's own generator.
    """

    @validated
    def __init__(
        self,
        adjacency: Adjacency,
        group: Groups,
        protected: Natural,
        useful_days: NonNegative,
        episode_length: Count,
        seed: Seed | None = None,
    ) -> None:
        self._degree = _neighbours(adjacency).sum(axis=0)
        require_length("group", group, len(self._degree))
        self._protected = np.asarray(group) == protected
        self._useful_days = useful_days
        self._episode_length = episode_length
        self._rng = np.random.default_rng(seed)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> Nodes:
        """Return the person (N,) for epidemic observations (N, 3 * V + 1), V for nobody."""
        people = len(self._degree)
        susceptible, infected = _states(observation, people)
        day = np.rint(observation[:, -1] * self._episode_length)
        useful = day + self._rng.random(len(observation)) < self._useful_days
        wanted = np.where(useful[:, None], susceptible & self._protected, infected > 0)
        wanted &= useful[:, None] | ~self._protected
        choice: Nodes = ((1 + self._degree) * wanted).argmax(axis=1)
        return np.where(wanted.any(axis=1), choice, people)


def _neighbours(adjacency: ArrayLike) -> NDArray[np.bool_]:
    """Return whether two people can infect each other, (V, V)."""
    matrix = np.asarray(adjacency)
    if not np.array_equal(matrix, matrix.T):
        raise UsageError(f"adjacency has shape {matrix.shape}: give a symmetric (V, V) matrix")
    neighbours: NDArray[np.bool_] = matrix != 0
    return neighbours


def _states(
    observation: NDArray[Any], people: int
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Return who is susceptible and who infected, (N, V) each.

    Raises
    ------
    UsageError
        If the observations do not begin with one of three states of so many people.
    """
    health = observation[:, : _STATES * people]
    if health.shape[1] == _STATES * people:
        health = health.reshape(len(observation), people, _STATES)
    if health.ndim < 3 or not (health.sum(axis=2) == 1).all():
        raise UsageError(
            f"observations do not begin with the states of {people} people: make the policy for "
            "as many as this epidemic has"
        )
    return health[:, :, 0] > 0, health[:, :, 1]
