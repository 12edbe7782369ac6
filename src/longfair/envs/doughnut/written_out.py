"""The doughnut problem written out in full, for solvers that need every probability."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from longfair.arrays import IntArray
from longfair.envs.doughnut.params import DoughnutParams
from longfair.envs.parameters import chosen_params
from longfair.envs.tabular import TabularModel, require_small
from longfair.settings import EpisodeLength, validated


@validated
def tabular(
    preset: str | None = None,
    params: DoughnutParams | None = None,
    episode_length: EpisodeLength | None = None,
) -> TabularModel:
    """Write a small doughnut problem out in full, with everybody's count in the state.

    Returns
    -------
    TabularModel
        A state is who is present (P numbers, 0 or 1) and what everybody has had (P counts, at
        most `episode_length` doughnuts together). Once all doughnuts are handed out nobody is
        served any more; an episode gets there at its end only.

    Raises
    ------
    UsageError
        When the problem is too large. The number of states is 2^P times the number of ways to hand
        out up to `episode_length` doughnuts: 3640 for the preset `tabular`.
    """
    from scipy.sparse import csr_array  # longer to import than all environments

    chosen = chosen_params(DoughnutParams, preset, params, episode_length, default="tabular")
    presence, length = np.array(chosen.presence_probability), chosen.episode_length
    people = len(presence)
    size = 2**people * math.comb(length + people, people)
    require_small(size * people * 2**people, "the doughnut problem")
    patterns = np.arange(2**people)[:, None] >> np.arange(people) & 1
    chance = np.where(patterns, presence, 1 - presence).prod(axis=1)
    counts = _count_vectors(people, length)
    # Axes: counts before the step, people present, person offered the doughnut.
    served = (counts.sum(axis=1) < length)[:, None, None] & patterns.astype(np.bool_)
    after = np.where(served, _one_more(counts)[:, None, :], np.arange(len(counts))[:, None, None])
    welfare = np.log(counts + 1 + chosen.smoothing).sum(axis=1)
    next_states = after[..., None] * len(patterns) + np.arange(len(patterns))
    transition = csr_array(
        (
            np.tile(chance, size * people),
            next_states.reshape(-1),
            np.arange(size * people + 1) * len(patterns),
        ),
        shape=(size * people, size),
    )
    return TabularModel(
        fields=tuple(
            f"{name}_{person}" for name in ("present", "count") for person in range(people)
        ),
        states=np.concatenate(
            [np.tile(patterns, (len(counts), 1)), np.repeat(counts, len(patterns), axis=0)], axis=1
        ),
        initial_distribution=np.concatenate([chance, np.zeros(size - len(patterns))]),
        transition=transition,
        reward=(welfare[after] * served).reshape(size, people),
        # One doughnut for the person chosen, where it is taken.
        supply=np.eye(people)[:, None, :] * served.reshape(size, people),
        horizon=length,
    )


def _count_vectors(people: int, total: int) -> IntArray:
    """Return all count vectors (C, P) that add up to at most `total`, all zeros first."""
    # Bars among stars: the gaps between increasing positions are the counts.
    positions = np.array(list(combinations(range(total + people), people)))
    return np.diff(positions, axis=1, prepend=-1) - 1


def _one_more(counts: IntArray) -> IntArray:
    """Return (C, P): the row of the vector with one more for each person, or C beyond the last."""
    base = counts.max() + 2
    weights = base ** np.arange(counts.shape[1])[::-1]
    # Lexicographic order of the rows is the order of these codes.
    codes = counts @ weights
    rows: IntArray = np.searchsorted(codes, codes[:, None] + weights)
    return rows
