"""Policies for lending that look at an applicant's group and score only."""

from __future__ import annotations

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
    Probability,
    Range,
    Seed,
    checked,
    validated,
)


class AcceptanceTable(Policy):
    """Accept an applicant with a probability that depends on group and score only.

    Parameters
    ----------
    probability
        Shape (G, C): probability of a loan for every group and score.
    seed
        Seed of the agent's own generator, used where a probability is neither 0 nor 1.

    Notes
    -----
    Reads the start of a lending observation: one-hot score (C), then one-hot group (G). What
    wrappers append is ignored.
    """

    @validated
    def __init__(
        self,
        probability: Annotated[ArrayLike, Axes(2), Range(0.0, 1.0)],
        seed: Seed | None = None,
    ) -> None:
        self.probability = np.asarray(probability, dtype=np.float64)
        self._rng = np.random.default_rng(seed)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> NDArray[np.int64]:
        """Return decisions (N,) for observations (N, ...); `deterministic` rounds to the mode."""
        group, score = applicants(observation, *self.probability.shape)
        chance = self.probability[group, score]
        limit = 0.5 if deterministic else self._rng.random(len(chance))
        return (chance > limit).astype(np.int64)


def applicants(
    observation: NDArray[Any], groups: int, scores: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return group and score (N,) of the applicants in lending observations (N, ...).

    Raises
    ------
    UsageError
        If the observations do not begin with a one-hot score and a one-hot group of these sizes.
    """
    score, group = observation[:, :scores], observation[:, scores : scores + groups]
    if not (_one_hot(score, scores) and _one_hot(group, groups)):
        raise UsageError(
            f"observations do not begin with one of {scores} scores and one of {groups} groups: "
            "make the policy for as many as this lending environment has"
        )
    return group.argmax(axis=1), score.argmax(axis=1)


def _one_hot(rows: NDArray[Any], size: int) -> bool:
    return rows.shape[1] == size and bool(((rows == 1).sum(axis=1) == 1).all())


@validated
def threshold_policy(
    thresholds: Annotated[Sequence[Natural], Length(1)], scores: Count = 7
) -> AcceptanceTable:
    """Accept from a score on: one threshold per group; `scores` rejects everybody.

    With the papers' repayment probabilities a loan is profitable from score 3 on, so
    `threshold_policy((3, 3))` is the myopic lender, who maximises the profit of the next loan.
    """
    kept = checked("thresholds", thresholds, tuple[Annotated[int, Range(0, scores)], ...])
    return AcceptanceTable(np.arange(scores) >= np.asarray(kept)[:, None])


@validated
def constant_policy(
    chance: Probability, groups: Count = 2, scores: Count = 7, seed: Seed | None = None
) -> AcceptanceTable:
    """Accept everybody with the same probability."""
    return AcceptanceTable(np.full((groups, scores), chance), seed)
