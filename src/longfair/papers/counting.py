"""Add up numbers of the step's `info` while policies play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray


class Counting(VectorWrapper[Any, Any, Any, Any]):
    """Add up numbers of the step's `info` in every copy, from the reset on.

    Parameters
    ----------
    env
        A batch environment.
    keys
        Keys of `info`, each one number per copy.

    Attributes
    ----------
    counts
        (N,) for every key.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], keys: Sequence[str]) -> None:
        super().__init__(env)
        self.counts: dict[str, NDArray[np.float64]] = {key: np.zeros(env.num_envs) for key in keys}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        for key, count in self.counts.items():
            count += info[key]
        return observation, reward, terminated, truncated, info
