"""A vector wrapper that appends how much of the episode has passed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from longfair.arrays import Float32Array
from longfair.envs.vector import Batch
from longfair.envs.wrappers import AppendedMemory, episode_length_of
from longfair.settings import validated


class ElapsedTime(AppendedMemory):
    """Append the steps taken in this episode, divided by its length: one number in [0, 1].

    It is 0 at the start of an episode and 1 in its last observation. An agent whose objective
    depends on time needs it, or it faces a problem that is not Markov: R-TD3 in the population
    problem, whose penalty grows from step to step. No agent of the FairQCM paper sees the time,
    though the last step of the loan pool depends on it.

    Parameters
    ----------
    env
        A batch environment of `longfair.envs`, possibly wrapped.
    """

    shows_time: ClassVar[bool] = True
    """Whether the time is seen, as agents must whose objective depends on it."""

    @validated
    def __init__(self, env: Batch) -> None:
        self._length = episode_length_of(env)
        super().__init__(env, size=1, low=0.0, high=1.0)
        self._taken = np.zeros(self.num_envs, np.int64)

    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self._taken[copies] = 0

    def _remember(self, info: dict[str, Any]) -> None:
        self._taken += 1

    def _memory(self) -> Float32Array:
        return (self._taken[:, None] / self._length).astype(np.float32)
