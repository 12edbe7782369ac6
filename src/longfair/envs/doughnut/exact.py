r"""Exact scores of doughnut policies whose counts can be followed one person at a time.

The score adds, over the doughnuts that are taken, :math:`\sum_i \log(n_i + 1 + \lambda)`. By
linearity its mean needs, for each person, only the distribution of that person's own count at every
step, together with whether the step's doughnut was taken. Two kinds of policy allow that.

*Policies that do not look at counts* (random, fixed priority, turn taking) are finite controllers:
a small state :math:`z`, which together with the presence drawn at the step decides who is served
and what the next :math:`z` is. Then :math:`(z, n_i)` is a Markov chain with a few hundred states.

*Serving whoever is there and has least* looks at all counts. When all people are present with the
same probability :math:`p` their names do not matter, and the sorted counts are a Markov chain: in
sorted order the first who is present is served, position :math:`j` with probability
:math:`p (1 - p)^j`. Its counts stay close together, so few sorted vectors have any probability to
speak of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import (
    Axes,
    Count,
    EpisodeLength,
    Length,
    Natural,
    NonNegative,
    Probability,
    Range,
    validate,
    validated,
)

Presence = Annotated[Sequence[Probability], Length(1)]
"""(P,): probability that each person is there."""


class DoughnutScore(NamedTuple):
    """What a policy is expected to achieve in one episode."""

    reward: float
    """Return: the sum of rewards, not discounted."""
    allocated: float
    """Doughnuts that were taken."""


@dataclass(frozen=True)
class Controller:
    """A policy that does not look at counts, together with the presence it meets."""

    serving: Annotated[FloatArray, Axes(3), Range(0.0, 1.0)]
    """(Z, Z, P + 1): entry [z, y, i] is the probability that in state z person i is served and
    the next state is y; index P stands for nobody."""
    start: Natural = 0
    """State at the start of an episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` when the probabilities do not add up."""
        validate(self)
        states, following, _ = self.serving.shape
        if states != following or self.start >= states:
            raise UsageError(
                f"serving has shape {self.serving.shape} and start={self.start}: "
                "give (states, states, people + 1) and one of the states"
            )
        sums = self.serving.sum(axis=(1, 2))
        if np.abs(sums - 1.0).max() > _SUM_TOLERANCE:
            raise UsageError(f"serving adds up to {sums}: give a distribution for every state")


_SUM_TOLERANCE = 1e-9


@validated
def memoryless(served: Annotated[ArrayLike, Axes(1), Range(0.0, 1.0)]) -> Controller:
    """Serve every person with a fixed probability (P,) at every step, else nobody."""
    chances = np.asarray(served, dtype=np.float64)
    return Controller(np.append(chances, 1.0 - chances.sum())[None, None, :])


@validated
def anybody_at_random(presence: Presence) -> Controller:
    """Choose anybody with equal probability, there or not; `presence` (P,) are probabilities."""
    return memoryless(np.asarray(presence) / len(presence))


@validated
def somebody_there_at_random(presence: Presence) -> Controller:
    """Choose among those who are there with equal probability."""
    return memoryless(
        [p * _expected_share(np.delete(presence, person)) for person, p in enumerate(presence)]
    )


@validated
def fixed_priority(presence: Presence) -> Controller:
    """Choose the first person who is there."""
    return memoryless(_first_there(np.asarray(presence)))


@validated
def strict_rotation(presence: Presence) -> Controller:
    """Let turns follow the steps; the turn of a person who is not there is lost."""
    people = len(presence)
    serving = np.zeros((people, people, people + 1))
    for turn, chance in enumerate(presence):
        after = (turn + 1) % people
        serving[turn, after, turn], serving[turn, after, people] = chance, 1.0 - chance
    return Controller(serving)


@validated
def rotation_skipping_absent(presence: Presence) -> Controller:
    """Pass the turn on to the next person who is there; the one after the served is next."""
    people = len(presence)
    serving = np.zeros((people, people, people + 1))
    for turn in range(people):
        order = (turn + np.arange(people)) % people
        first = _first_there(np.asarray(presence)[order])
        serving[turn, (order + 1) % people, order] = first
        serving[turn, turn, people] = 1.0 - first.sum()
    return Controller(serving)


@validated
def controller_score(
    controller: Controller, episode_length: EpisodeLength, smoothing: NonNegative = 1e-4
) -> DoughnutScore:
    """Return the exact score of a policy that does not look at counts.

    Parameters
    ----------
    controller
        The policy.
    episode_length
        Doughnuts per episode.
    smoothing
        Added inside the logarithm, as in the environment.
    """
    welfare = np.log(np.arange(episode_length + 1) + 1 + smoothing)
    states, people = controller.serving.shape[0], controller.serving.shape[2] - 1
    reward = 0.0
    for person in range(people):
        to_others = controller.serving[..., :people].sum(axis=2) - controller.serving[..., person]
        chance = np.zeros((states, episode_length + 1))
        chance[controller.start, 0] = 1.0
        for _ in range(episode_length):
            served = controller.serving[..., person].T @ chance
            taken = to_others.T @ chance
            taken[:, 1:] += served[:, :-1]
            reward += float(taken.sum(axis=0) @ welfare)
            chance = taken + controller.serving[..., people].T @ chance
    return DoughnutScore(reward, _allocated(controller, episode_length))


@validated
def least_served_score(
    people: Count,
    presence: Probability,
    episode_length: EpisodeLength,
    smoothing: NonNegative = 1e-4,
    negligible: Annotated[float, Range(0.0, 1.0, below=True)] = 1e-15,
) -> DoughnutScore:
    """Return the score of serving whoever is there and has least: the Oracle's.

    Parameters
    ----------
    people
        Number of people.
    presence
        Probability of presence, the same for everybody.
    episode_length
        Doughnuts per episode.
    smoothing
        Added inside the logarithm, as in the environment.
    negligible
        Sorted counts that are less probable than this are dropped, and the rest is scaled up. With
        0 nothing is dropped, which short episodes allow. With the default the score of the paper's
        100 doughnuts is exact to eleven digits.
    """
    position = presence * (1.0 - presence) ** np.arange(people)
    vectors, chance = np.zeros((1, people), dtype=np.int64), np.ones(1)
    reward = allocated = 0.0
    for _ in range(episode_length):
        # A vector in rising order, plus one at each position, and sorted again.
        taken = np.sort(vectors[:, None] + np.eye(people, dtype=np.int64), axis=2)
        taken_chance = chance[:, None] * position
        welfare = np.log(taken + 1 + smoothing).sum(axis=2)
        reward += float((taken_chance * welfare).sum())
        allocated += float(taken_chance.sum())
        vectors, chance = _merged(
            np.concatenate([taken.reshape(-1, people), vectors]),
            np.concatenate([taken_chance.reshape(-1), chance * (1.0 - presence) ** people]),
            negligible,
        )
    return DoughnutScore(reward, allocated)


def _expected_share(presence: FloatArray) -> float:
    """Return the mean of 1 / (1 + number of these people who are there)."""
    number = np.ones(1)
    for chance in presence:
        number = np.convolve(number, [1.0 - chance, chance])
    return float((number / (1 + np.arange(len(number)))).sum())


def _first_there(presence: FloatArray) -> FloatArray:
    """Return (P,): probability that each is the first in order who is there."""
    nobody_before = np.cumprod(np.append(1.0, 1.0 - presence[:-1]))
    return presence * nobody_before


def _allocated(controller: Controller, episode_length: int) -> float:
    people = controller.serving.shape[2] - 1
    step = controller.serving.sum(axis=2)
    taken = controller.serving[..., :people].sum(axis=(1, 2))
    state = np.zeros(len(step))
    state[controller.start] = 1.0
    total = 0.0
    for _ in range(episode_length):
        total += float(state @ taken)
        state = state @ step
    return total


def _merged(
    vectors: NDArray[np.int64], chance: FloatArray, negligible: float
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return distinct vectors with their probabilities, without the negligible ones."""
    distinct, inverse = np.unique(vectors, axis=0, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), weights=chance, minlength=len(distinct))
    kept = total > negligible
    return distinct[kept], total[kept] / total[kept].sum()
