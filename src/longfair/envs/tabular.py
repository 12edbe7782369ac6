"""Finite environments written out in full, for solvers that need every probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from longfair.errors import UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_MODEL = 10_000_000
"""Models with more probabilities than this are refused: they would not fit a laptop."""


@dataclass(frozen=True)
class TabularModel:
    """Every state, action, probability and reward of a finite decision problem.

    The model includes the memory that makes rewards a function of state and action, so it is a
    Markov decision process even where the environment's observation is not.
    """

    fields: tuple[str, ...]
    """Names of the K numbers that make up a state."""
    states: NDArray[np.int64]
    """(S, K): the states; a state's index is its row."""
    initial_distribution: NDArray[np.float64]
    """(S,): probability of starting in each state."""
    transition: csr_array
    """(S * A, S), sparse: row `state * A + action` holds the probabilities of the next state."""
    reward: NDArray[np.float64]
    """(S, A): expected reward."""
    supply: NDArray[np.float64]
    """(G, S, A): what each group is expected to receive."""
    horizon: int
    """Steps of an episode."""


def require_small(probabilities: int, what: str) -> None:
    """Raise `UsageError` when a model would hold more than `LARGEST_MODEL` probabilities."""
    if probabilities > LARGEST_MODEL:
        raise UsageError(
            f"{what} written out takes at least {probabilities:,} probabilities: "
            f"at most {LARGEST_MODEL:,} are allowed; give fewer people or a shorter episode"
        )
