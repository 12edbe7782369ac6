"""The doughnut counter with two people, small enough to say everything about it.

A state is who is at the counter, as the number :math:`s = x_0 + 2 x_1`; an action is whom to serve.
Everybody comes with the same probability at every step, whatever happened before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longfair.arrays import FloatArray, IntArray
from longfair.metrics.memory_fairness import received_by

PEOPLE = 2
STATES = 2**PEOPLE
EVERYBODY = STATES - 1
PRESENCE = 0.8


def presence(states: IntArray) -> NDArray[np.bool_]:
    """Return who is there (..., 2) in states (...)."""
    there: NDArray[np.bool_] = (states[..., None] >> np.arange(PEOPLE)) % 2 == 1
    return there


def received(states: IntArray, actions: IntArray) -> FloatArray:
    """Return who received a doughnut (..., T, 2) along states (..., T + 1), actions (..., T)."""
    return received_by(actions, presence(states[..., :-1]))


def served(counts: tuple[int, ...], state: int, person: int) -> tuple[int, ...]:
    """Return the counts after a person was chosen, who may not have been there."""
    gift = (state >> person) % 2
    return tuple(count + gift * (other == person) for other, count in enumerate(counts))


def state_probabilities() -> FloatArray:
    """Return the probability (4,) of every state."""
    there = presence(np.arange(STATES))
    chances: FloatArray = np.where(there, PRESENCE, 1.0 - PRESENCE).prod(axis=1)
    return chances


def random_traces(traces: int, length: int, seed: int) -> tuple[IntArray, IntArray]:
    """Draw states (N, T + 1) and actions (N, T), all equally likely, starting with everybody there.

    Parameters
    ----------
    traces, length
        Numbers N and T.
    seed
        Seed of the draw.
    """
    generator = np.random.default_rng(seed)
    states = generator.integers(STATES, size=(traces, length + 1))
    states[:, 0] = EVERYBODY
    return states, generator.integers(PEOPLE, size=(traces, length))
