"""A replay buffer that also keeps what would have happened to other memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer

from longfair.agents.fairqcm.counterfactuals import Counterfactuals, Occurrence
from longfair.agents.fairqcm.networks import Float32Array, IntArray
from longfair.errors import UsageError


class Memory(Protocol):
    """What an agent remembers; the wrappers of `longfair.envs.memory` have this shape."""

    unit_of_person: IntArray
    """(P,): the unit, person or group, that each person's share is added to."""

    def update(self, memory: IntArray, received: IntArray) -> IntArray:
        """Return memories (..., U) after every unit `received` (..., U) something."""

    def encode(self, memory: IntArray) -> Float32Array:
        """Return what is observed of memories (..., U), shape (..., W)."""


@dataclass(frozen=True)
class Imagination:
    """Everything the buffer needs to make up counterfactual experience."""

    counterfactuals: Counterfactuals
    """Which memories are imagined, and their rewards."""
    memory: Memory
    """The memory wrapper of the environment that is learned from."""
    columns: tuple[int, int]
    """First column of the memory in the observation, and the one after the last."""


class Batch(NamedTuple):
    """A minibatch of B stored transitions."""

    observations: Float32Array
    """(B, I)."""
    actions: IntArray
    """(B,)."""
    targets: Float32Array
    """(B,): reward plus discounted value of the next observation."""


class _Moment(NamedTuple):
    """One step as it waits for the steps after it."""

    observation: Float32Array
    next_observation: Float32Array
    action: int
    done: bool
    occurrence: Occurrence


class CounterfactualReplayBuffer(ReplayBuffer):
    """Stable-Baselines3's buffer, with every real transition followed by counterfactual ones.

    Parameters
    ----------
    buffer_size
        Transitions kept, real and counterfactual together, the newest replacing the oldest.
    observation_space, action_space, device, n_envs, optimize_memory_usage
        As in Stable-Baselines3. `n_envs` is 1, `optimize_memory_usage` False.
    handle_timeout_termination
        True: the value of the observation at which an episode was cut counts as any other. False:
        the end of an episode is worth nothing from then on (the terminal mask).
    imagination
        What is added to the real transitions; None for nothing.
    n_steps
        A stored transition spans up to this many real steps, fewer at the end of an episode.
    discount
        Discount factor of the agent.

    Attributes
    ----------
    next_values
        (buffer_size,): value of the next observation, written by the agent. The target network
        stands still between two copies, so one evaluation per stored transition is enough.
    bootstrap
        (buffer_size,): what `next_values` is multiplied by: the discount over the steps spanned,
        or 0 after a masked end.

    Notes
    -----
    A counterfactual transition shares with its real one the action and all of the observations
    except the columns of the memory.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: Any = "cpu",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        imagination: Imagination | None = None,
        n_steps: int = 1,
        discount: float = 0.99,
    ) -> None:
        if n_envs != 1 or optimize_memory_usage:
            raise UsageError(
                f"n_envs={n_envs}, optimize_memory_usage={optimize_memory_usage}: this buffer "
                "follows one copy of the environment and keeps every transition whole"
            )
        if n_steps < 1:
            raise UsageError(f"n_steps={n_steps}: give at least 1")
        super().__init__(
            buffer_size,
            observation_space,
            action_space,
            device,
            n_envs,
            handle_timeout_termination=handle_timeout_termination,
        )
        self.imagination = imagination
        self.n_steps = n_steps
        self.discount = discount
        self.next_values = np.zeros(buffer_size, np.float32)
        self.bootstrap = np.zeros(buffer_size, np.float32)
        self._window: list[_Moment] = []
        self._new = 0
        units = 1 if imagination is None else 1 + int(imagination.memory.unit_of_person.max())
        self._counts = np.zeros(units, np.int64)

    def add(
        self,
        obs: NDArray[Any],
        next_obs: NDArray[Any],
        action: NDArray[Any],
        reward: NDArray[Any],
        done: NDArray[Any],
        infos: Any,
    ) -> None:
        """Store a real transition and its counterfactuals; arguments as in Stable-Baselines3.

        `infos` is the `BatchInfos` of the adapter, whose arrays say who received something.
        """
        occurrence = self._occurrence(int(action[0]), float(reward[0]), infos)
        moment = _Moment(obs[0], next_obs[0], int(action[0]), bool(done[0]), occurrence)
        self._window.append(moment)
        if len(self._window) == self.n_steps:
            self._store()
        if moment.done:
            while self._window:
                self._store()
            self._counts = np.zeros_like(self._counts)
        elif self.imagination is not None:
            self._counts = self._counts + occurrence.received()

    def unvalued(self) -> IntArray:
        """Return the rows written since the last call, whose `next_values` are out of date."""
        rows: IntArray = np.arange(self.pos - min(self._new, self.buffer_size), self.pos)
        self._new = 0
        return rows % self.buffer_size

    def uniform_rows(self, size: int, generator: np.random.Generator) -> IntArray:
        """Draw stored transitions uniformly, with replacement: their rows, shape (`size`,)."""
        return generator.integers(self.size(), size=size)

    def episode_rows(self, number: int, length: int, generator: np.random.Generator) -> IntArray:
        """Draw whole episodes uniformly, with replacement.

        Parameters
        ----------
        number
            Number of episodes B.
        length
            Steps of an episode L; it divides the size of the buffer.
        generator
            Source of the draws.

        Returns
        -------
        numpy.ndarray
            Rows, shape (L, B). The episode that is being written, and partly overwrites the oldest
            one, is left out.

        Raises
        ------
        UsageError
            When the buffer does not consist of whole episodes of real steps.
        """
        if self.buffer_size % length or self.imagination is not None or self.n_steps > 1:
            raise UsageError(
                f"buffer_size={self.buffer_size} with episodes of {length} steps: give a multiple, "
                "no counterfactuals and n_steps=1 to learn from whole episodes"
            )
        complete = np.arange(self.size() // length)
        if self.pos % length:
            complete = complete[complete != self.pos // length]
        return complete[generator.integers(len(complete), size=number)] * length + np.arange(
            length
        ).reshape(-1, 1)

    def batch(self, rows: IntArray) -> Batch:
        """Return the transitions of rows (B,), with targets from the stored `next_values`."""
        return Batch(
            self.observations[:, 0].take(rows, axis=0),
            self.actions[:, 0, 0].take(rows),
            self.rewards[:, 0].take(rows) + self.bootstrap.take(rows) * self.next_values.take(rows),
        )

    def _occurrence(self, action: int, reward: float, infos: Any) -> Occurrence:
        if self.imagination is None:
            return Occurrence(self._counts, 0, True, False, reward)
        arrays = infos.arrays
        granted = bool(arrays["supply"][0, action])
        missed = "missed_margin" in arrays and bool(arrays["missed_margin"][0])
        unit = int(self.imagination.memory.unit_of_person[action])
        return Occurrence(self._counts, unit, granted, not granted or missed, reward)

    def _store(self) -> None:
        """Write the transition that the window spans, and drop its first step."""
        first, last = self._window[0], self._window[-1]
        real = sum(
            self.discount**ahead * moment.occurrence.reward
            for ahead, moment in enumerate(self._window)
        )
        masked = last.done and not self.handle_timeout_termination
        bootstrap = 0.0 if masked else self.discount ** len(self._window)
        if self.imagination is None:
            before = after = np.empty((0, 0), np.float32)
            imagined = np.empty(0)
        else:
            before, after, imagined = self._imagined(self.imagination)
        rows = np.arange(self.pos, self.pos + 1 + len(imagined)) % self.buffer_size
        self.observations[rows, 0] = first.observation
        self.next_observations[rows, 0] = last.next_observation
        self.actions[rows, 0, 0] = first.action
        self.bootstrap[rows] = bootstrap
        self.dones[rows, 0] = last.done
        self.timeouts[rows, 0] = last.done
        self.rewards[rows[0], 0] = real
        if len(imagined) and self.imagination is not None:
            columns = slice(*self.imagination.columns)
            self.observations[rows[1:], 0, columns] = before
            self.next_observations[rows[1:], 0, columns] = after
            self.rewards[rows[1:], 0] = imagined
        self.full = self.full or self.pos + len(rows) >= self.buffer_size
        self.pos = (self.pos + len(rows)) % self.buffer_size
        self._new += len(rows)
        del self._window[0]

    def _imagined(
        self, imagination: Imagination
    ) -> tuple[Float32Array, Float32Array, NDArray[np.float64]]:
        """Return what is observed of the memories before and after (K, W), and rewards (K,)."""
        rule, memory = imagination.counterfactuals, imagination.memory
        counts = rule.imagined(self._window[0].occurrence)
        rewards = np.zeros(len(counts))
        remembered = start = memory.update(np.zeros_like(counts), counts)
        for ahead, moment in enumerate(self._window):
            received = rule.received(moment.occurrence)
            after = counts + received
            remembered = memory.update(remembered, np.broadcast_to(received, counts.shape))
            rewards += self.discount**ahead * rule.rewards(counts, after, moment.occurrence)
            counts = after
        return memory.encode(start), memory.encode(remembered), rewards
