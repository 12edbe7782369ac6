"""Vector wrappers that add memory of the episode to what an agent observes.

Each paper's observation is a composition of these over the environment's own observation, so it
can be read off one line. All of them forget at the end of an episode and complete the final
observation in `info["final_obs"]` before they do.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.arrays import Float32Array
from longfair.compiling import njit
from longfair.envs.vector import Batch
from longfair.errors import UsageError
from longfair.settings import Count, NonNegative, Range, validated

WindowLength = Annotated[int, Range(1, 100_000)]
"""Steps or decisions remembered, each with a row of numbers."""
Limit = Annotated[float, Range(infinite=True)]


class Boundaries:
    """In which copies an episode has just begun, whatever the environment's way to restart.

    Parameters
    ----------
    env
        The environment, possibly wrapped.
    """

    @validated
    def __init__(self, env: Batch) -> None:
        self._next_step = env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
        self._ended = np.zeros(env.num_envs, np.bool_)

    def reset(self, options: dict[str, Any] | None) -> Any:
        """Return what indexes the copies that a reset with these options has restarted."""
        copies = (options or {}).get("reset_mask", slice(None))
        self._ended[copies] = False
        return copies

    def restarted(self) -> NDArray[np.bool_] | None:
        """Return the copies (N,) that the step now made has restarted and nothing else, if any.

        Ask after the environment's step and before `step`. Facts of such a step are 0.
        """
        return self._ended if self._next_step and self._ended.any() else None

    def step(self, ended: NDArray[np.bool_], info: dict[str, Any]) -> NDArray[np.bool_] | None:
        """Return the copies (N,) whose observation is the first of an episode, if there are any.

        Parameters
        ----------
        ended
            Shape (N,): whether this step ended an episode.
        info
            The `info` of the step.
        """
        if not self._next_step:
            return info.get("_final_obs")
        begun, self._ended = self._ended, ended
        return begun if begun.any() else None


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

    revision: ClassVar[int] = 1
    """Raised by hand when what is appended is meant to change."""

    @validated
    def __init__(self, env: Batch, size: Count, low: Limit, high: Limit) -> None:
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
        self._boundaries = Boundaries(env)

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
        self._forget(self._boundaries.reset(options), observation)
        return self._extended(observation), info

    def step(self, actions: Any) -> tuple[Float32Array, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        self._remember(info)
        if "_final_obs" in info:
            info["final_obs"] = self._extended(info["final_obs"])
        begun = self._boundaries.step(terminated | truncated, info)
        if begun is not None:
            self._forget(begun, observation)
        self._observed(observation)
        return self._extended(observation), reward, terminated, truncated, info

    def _observed(self, observation: Any) -> None:
        """Take note of the observation that is returned."""

    def _extended(self, observation: Any) -> Float32Array:
        return np.concatenate([observation, self._memory()], axis=1, dtype=np.float32)


class Recoded(VectorWrapper[Any, Any, Any, Any]):
    """Show every observation in another form; a subclass says in which."""

    @abstractmethod
    def _recoded(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return what is shown for observations (N, ...)."""

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start episodes; see `FairVectorEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._recoded(observation), info

    def step(self, actions: Any) -> tuple[NDArray[Any], Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        if "_final_obs" in info:
            info["final_obs"] = self._recoded(info["final_obs"])
        return self._recoded(observation), reward, terminated, truncated, info


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

    @validated
    def __init__(self, env: Batch, offset: NonNegative = 0.0) -> None:
        groups = num_groups_of(env)
        require_rates(env)
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
        rates = np.zeros(self._supply.shape, np.float32)
        # Supply without demand is possible: a vaccine is given, needed or not.
        needed = self._demand > 0
        return np.divide(self._supply, self._demand, out=rates, where=needed, dtype=np.float32)


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
    as_coded
        The published code forgets the oldest decision after it has worked out the rates, so they
        are taken over one decision more than the shares. True does the same.
    """

    @validated
    def __init__(self, env: Batch, window: WindowLength = 300, as_coded: bool = False) -> None:
        groups = num_groups_of(env)
        repay = getattr(getattr(env.unwrapped, "params", None), "repay_probability", None)
        shape = env.single_observation_space.shape
        self._scores = 0 if repay is None else len(repay)
        if repay is None or shape != (self._scores + groups,):
            raise UsageError(
                f"env={env} shows numbers of shape {shape}: put WindowStatistics directly around a "
                "batch of longfair/Lending-v0"
            )
        super().__init__(env, size=groups + groups * self._scores, low=0.0, high=1.0)
        self._window = window
        self._groups = groups
        self._rates = Window(window + as_coded, (self.num_envs, 2 * groups))
        self._shares = Window(window, (self.num_envs, groups * self._scores))
        self._seen = np.zeros(self.num_envs, np.int64)
        self._applicants = np.zeros((self.num_envs, groups * self._scores), np.float32)

    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self._rates.forget(copies)
        self._shares.forget(copies)
        self._seen[copies] = 0
        self._observed(observation)

    def _remember(self, info: dict[str, Any]) -> None:
        self._rates.add(info["supply"], info["demand"])
        self._shares.add(self._applicants)
        self._seen += 1

    def _observed(self, observation: Any) -> None:
        score, group = observation[:, : self._scores], observation[:, self._scores :]
        self._applicants = (group[:, :, None] * score[:, None, :]).reshape(self.num_envs, -1)

    def _memory(self) -> Float32Array:
        supply, demand = halves(self._rates.total)
        counted = np.minimum(self._seen, self._window) + 1
        rates = supply / np.maximum(demand, _TINY)
        shares = self._shares.total / counted[:, None]
        return np.concatenate([rates, shares], axis=1, dtype=np.float32)


class WindowRates(AppendedMemory):
    """Append the benefit rate of every group within the last `window` steps: G numbers.

    The rate is supply / (demand + `offset`), both summed over the window, and 0 while the
    denominator is 0. F-PPO's agents observe it in attention allocation, with offset 1.

    Parameters
    ----------
    env
        A batch environment whose `info` carries `supply` and `demand`.
    window
        Steps remembered, at least 1; 300 in the paper.
    offset
        Added to the denominator; 1 in attention allocation.
    """

    @validated
    def __init__(self, env: Batch, window: WindowLength = 300, offset: NonNegative = 0.0) -> None:
        groups = num_groups_of(env)
        require_rates(env)
        super().__init__(env, size=groups, low=0.0, high=np.inf)
        self._offset = offset
        self._window = Window(window, (self.num_envs, 2 * groups), np.float64)

    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self._window.forget(copies)

    def _remember(self, info: dict[str, Any]) -> None:
        self._window.add(info["supply"], info["demand"])

    def _memory(self) -> Float32Array:
        supply, demand = halves(self._window.total)
        needed = demand + self._offset
        rates = np.divide(supply, needed, out=np.zeros_like(supply), where=needed > 0)
        shown: Float32Array = rates.astype(np.float32)
        return shown


class Window:
    """The last rows of numbers of every copy in a ring, and their sum.

    Parameters
    ----------
    length
        Rows remembered.
    shape
        Shape (N, K) of a row of all copies.
    dtype
        Their type.
    """

    @validated
    def __init__(self, length: Count, shape: tuple[Count, Count], dtype: Any = np.float32) -> None:
        self._rows = np.zeros((length, *shape), dtype)
        self._position = 0
        self.total = np.zeros(shape, dtype)

    def add(self, *parts: NDArray[Any]) -> None:
        """Take in the newest row (N, K), in one or several parts, and forget the oldest."""
        slot, start = self._rows[self._position], 0
        for part in parts:
            _replace(slot, self.total, part, start)
            start += part.shape[1]
        self._position = (self._position + 1) % len(self._rows)

    def forget(self, copies: slice | NDArray[np.bool_]) -> None:
        """Forget all rows of some copies."""
        self._rows[:, copies] = 0.0
        self.total[copies] = 0.0


@njit(cache=True)
def _replace(slot: NDArray[Any], total: NDArray[Any], part: NDArray[Any], start: int) -> None:
    """Write a part (N, J) over a slot's numbers (N, K) from `start` on; `total` sums all slots."""
    copies, numbers = part.shape
    for copy in range(copies):
        for number in range(numbers):
            column = start + number
            total[copy, column] -= slot[copy, column]
            slot[copy, column] = part[copy, number]
            total[copy, column] += slot[copy, column]


def halves(totals: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return views of supply and demand (N, G) in sums (N, 2G)."""
    groups = totals.shape[1] // 2
    return totals[:, :groups], totals[:, groups:]


_TINY = 1e-9


def num_groups_of(env: Batch) -> int:
    """Return the number of groups of the environment below all wrappers."""
    groups = getattr(env.unwrapped, "num_groups", None)
    if groups is None:
        raise UsageError(f"{env} has no groups: give an environment of longfair.envs")
    return int(groups)


def episode_length_of(env: Batch) -> int:
    """Return the length of an episode of the environment below all wrappers."""
    length = getattr(env.unwrapped, "episode_length", None)
    if length is None:
        raise UsageError(f"{env} has no episode length: give an environment of longfair.envs")
    return int(length)


def require_rates(env: Batch) -> None:
    """Raise `UsageError` where rates within an episode say nothing about how groups are treated."""
    if not getattr(env.unwrapped, "rates_within_episode", True):
        raise UsageError(
            f"{env}: an episode has people of one group only, so benefit rates within it compare "
            "nothing: add supply and demand up over copies"
        )
