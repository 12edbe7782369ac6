"""Vector wrappers that add memory of the episode to what an agent observes.

Each paper's observation is a composition of these over the environment's own observation, so it
can be read off one line. All of them forget at the end of an episode and complete the final
observation in `info["final_obs"]` before they do.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.errors import UsageError
from longfair.settings import Count, NonNegative, checked

Float32Array = NDArray[np.float32]


class AppendedMemory(VectorWrapper[Any, Any, Any, Any]):
    """Append numbers that depend on the episode so far to a flat observation.

    A subclass says what it remembers: `_forget` (an episode starts), `_remember` (a step was
    taken) and `_memory` (the numbers to append, shape (N, `size`)).

    Parameters
    ----------
    env
        A batch environment with a `Box` observation of one axis.
    size
        How many numbers are appended.
    low, high
        Their bounds.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], size: int, low: float, high: float) -> None:
        super().__init__(env)
        inner = env.single_observation_space
        if not isinstance(inner, Box) or len(inner.shape) != 1:
            raise UsageError(f"observation space {inner}: give an environment with a flat Box")
        self.single_observation_space = Box(
            np.concatenate([inner.low, np.full(size, low, np.float32)]),
            np.concatenate([inner.high, np.full(size, high, np.float32)]),
            dtype=np.float32,
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._autoreset = env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP

    @abstractmethod
    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        """Start an episode in some copies; `observation` (N, ...) is the wrapped one."""

    @abstractmethod
    def _remember(self, info: dict[str, Any]) -> None:
        """Take in the `info` of one step."""

    @abstractmethod
    def _memory(self) -> Float32Array:
        """Return the numbers to append, shape (N, size)."""

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32Array, dict[str, Any]]:
        """Start episodes; all copies forget, or those of `options["reset_mask"]`."""
        observation, info = self.env.reset(seed=seed, options=options)
        copies = (options or {}).get("reset_mask", slice(None))
        self._forget(copies, observation)
        return self._extended(observation), info

    def step(self, actions: Any) -> tuple[Float32Array, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        self._remember(info)
        if "_final_obs" in info:
            info["final_obs"] = self._extended(info["final_obs"])
            self._forget(info["_final_obs"], observation)
        self._observed(observation)
        return self._extended(observation), reward, terminated, truncated, info

    def _observed(self, observation: Any) -> None:
        """Take note of the observation that is returned."""

    def _extended(self, observation: Any) -> Float32Array:
        return np.concatenate([observation, self._memory()], axis=1, dtype=np.float32)


class RunningRates(AppendedMemory):
    """Append the benefit rate of every group since the episode began: G numbers.

    The rate is total supply / (total demand + `offset`), and 0 while the denominator is 0. Over
    lending with offset 0 this is the running true positive rate that all agents of the ELBERT
    paper observe.

    Parameters
    ----------
    env
        A batch environment whose `info` carries `supply` and `demand`.
    offset
        Added to the denominator; 0 in lending, 1 in attention allocation.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], offset: float = 0.0) -> None:
        checked("offset", offset, NonNegative)
        groups = _num_groups(env)
        super().__init__(env, size=groups, low=0.0, high=np.inf)
        self._offset = offset
        self._supply = np.zeros((self.num_envs, groups))
        self._demand = np.zeros((self.num_envs, groups))

    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self._supply[copies] = 0.0
        self._demand[copies] = self._offset

    def _remember(self, info: dict[str, Any]) -> None:
        self._supply += info["supply"]
        self._demand += info["demand"]

    def _memory(self) -> Float32Array:
        # Without demand there is no supply, and 0 divided by a tiny number is the 0 asked for.
        return np.divide(self._supply, np.maximum(self._demand, _TINY), dtype=np.float32)


class WindowStatistics(AppendedMemory):
    """Append what the last `window` decisions of an episode looked like: G + G * C numbers.

    First the benefit rate of every group within the window (0 while there is no demand), then,
    group by group, how many applicants of each score were seen, divided by the number of
    applicants in the window plus one. The present applicant is not counted. Over lending this is
    the observation of the F-PPO paper: 9 + 2 + 14 = 25 numbers.

    Parameters
    ----------
    env
        A batch of `longfair/Lending-v0`, whose observation is one-hot score, then one-hot group.
    window
        Decisions remembered, at least 1; 300 in the paper.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], window: int = 300) -> None:
        checked("window", window, Count)
        groups = _num_groups(env)
        shape = env.single_observation_space.shape
        assert shape is not None
        self._scores = shape[0] - groups
        super().__init__(env, size=groups + groups * self._scores, low=0.0, high=1.0)
        self._window = window
        self._groups = groups
        features = 2 * groups + groups * self._scores
        self._events = np.zeros((window, self.num_envs, features), np.float32)
        self._totals = np.zeros((self.num_envs, features), np.float32)
        self._seen = np.zeros(self.num_envs, np.int64)
        self._position = 0
        self._applicants = np.zeros((self.num_envs, groups * self._scores), np.float32)

    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self._events[:, copies] = 0.0
        self._totals[copies] = 0.0
        self._seen[copies] = 0
        self._observed(observation)

    def _remember(self, info: dict[str, Any]) -> None:
        slot = self._events[self._position]
        self._totals -= slot
        slot[:, : self._groups] = info["supply"]
        slot[:, self._groups : 2 * self._groups] = info["demand"]
        slot[:, 2 * self._groups :] = self._applicants
        self._totals += slot
        self._seen += 1
        self._position = (self._position + 1) % self._window

    def _observed(self, observation: Any) -> None:
        score, group = observation[:, : self._scores], observation[:, self._scores :]
        self._applicants = (group[:, :, None] * score[:, None, :]).reshape(self.num_envs, -1)

    def _memory(self) -> Float32Array:
        supply = self._totals[:, : self._groups]
        demand = self._totals[:, self._groups : 2 * self._groups]
        counted = np.minimum(self._seen, self._window) + 1
        shares = self._totals[:, 2 * self._groups :] / counted[:, None]
        rates = supply / np.maximum(demand, _TINY)
        return np.concatenate([rates, shares], axis=1, dtype=np.float32)


_TINY = 1e-9


def _num_groups(env: VectorEnv[Any, Any, Any]) -> int:
    """Return the number of groups of the environment below all wrappers."""
    groups = getattr(env.unwrapped, "num_groups", None)
    if groups is None:
        raise UsageError(f"{env} has no groups: give an environment of longfair.envs")
    return int(groups)
