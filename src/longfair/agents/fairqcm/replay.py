"""A replay buffer that also keeps what would have happened to other memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from longfair.agents.fairqcm.counterfactuals import Counterfactuals, Occurrence
from longfair.arrays import Float32Array, IntArray
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


class Step(NamedTuple):
    """One real step of N copies, as an agent sees it."""

    before: Any
    """What was seen before the step: (N, ...) observations, or what an agent reads in them."""
    actions: IntArray
    """(N,)."""
    rewards: Float32Array
    """(N,)."""
    after: Any
    """What the step led to, before a copy that has ended starts again."""
    ended: NDArray[np.bool_]
    """(N,): whether the step was the last of an episode."""
    info: Mapping[str, Any]
    """Arrays of the environment."""


class _Moment(NamedTuple):
    """One step of one copy as it waits for the steps after it."""

    observation: Float32Array
    next_observation: Float32Array
    action: int
    ended: bool
    occurrence: Occurrence


class CounterfactualReplayBuffer:
    """The latest transitions, every real one followed by counterfactual ones.

    Parameters
    ----------
    size
        Transitions kept, real and counterfactual together, the newest replacing the oldest.
    width
        Numbers in an observation I.
    discount
        Discount factor of the agent.
    imagination
        What is added to the real transitions; None for nothing.
    n_steps
        A stored transition spans up to this many real steps, fewer at the end of an episode.
    terminal_mask
        True: the end of an episode is worth nothing from then on. False: the value of the
        observation at which an episode ended counts as any other.

    Attributes
    ----------
    observations, next_observations
        (size, I).
    actions, rewards
        (size,).
    next_values
        (size,): value of the next observation, written by the agent. The target network stands
        still between two copies, so one evaluation per stored transition is enough.
    bootstrap
        (size,): what `next_values` is multiplied by: the discount over the steps spanned, or 0
        after a masked end.
    filled
        Rows that hold a transition.

    Notes
    -----
    A counterfactual transition shares with its real one the action and all of the observations
    except the columns of the memory.
    """

    def __init__(
        self,
        size: int,
        width: int,
        discount: float,
        imagination: Imagination | None = None,
        n_steps: int = 1,
        terminal_mask: bool = False,
    ) -> None:
        self.size, self.discount, self.n_steps = size, discount, n_steps
        self.imagination = imagination
        self.terminal_mask = terminal_mask
        self.observations = np.zeros((size, width), np.float32)
        self.next_observations = np.zeros((size, width), np.float32)
        self.actions = np.zeros(size, np.int64)
        self.rewards = np.zeros(size, np.float32)
        self.next_values = np.zeros(size, np.float32)
        self.bootstrap = np.zeros(size, np.float32)
        self.filled = 0
        self._next = 0
        self._unvalued = 0
        self._window: list[_Moment] = []
        units = 1 if imagination is None else 1 + int(imagination.memory.unit_of_person.max())
        self._counts = np.zeros(units, np.int64)

    @property
    def full(self) -> bool:
        """Whether the buffer has been filled once."""
        return self.filled == self.size

    def add(self, step: Step) -> None:
        """Store a real step of one copy and its counterfactuals."""
        occurrence = self._occurrence(int(step.actions[0]), float(step.rewards[0]), step.info)
        action, ended = int(step.actions[0]), bool(step.ended[0])
        self._window.append(_Moment(step.before[0], step.after[0], action, ended, occurrence))
        if len(self._window) == self.n_steps:
            self._store()
        if ended:
            while self._window:
                self._store()
            self._counts = np.zeros_like(self._counts)
        elif self.imagination is not None:
            self._counts = self._counts + occurrence.received()

    def unvalued(self) -> IntArray:
        """Return the rows written since the last call, whose `next_values` are out of date."""
        rows: IntArray = np.arange(self._next - min(self._unvalued, self.size), self._next)
        self._unvalued = 0
        return rows % self.size

    def uniform_rows(self, number: int, generator: np.random.Generator) -> IntArray:
        """Draw stored transitions uniformly, with replacement: their rows, shape (`number`,)."""
        return generator.integers(self.filled, size=number)

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
            When the buffer does not consist of whole episodes of real steps, or none is complete.
        """
        if self.size % length or self.imagination is not None or self.n_steps > 1:
            raise UsageError(
                f"buffer={self.size} with episodes of {length} steps: give a multiple, "
                "no counterfactuals and n_steps=1 to learn from whole episodes"
            )
        complete = np.arange(self.filled // length)
        if self._next % length:
            complete = complete[complete != self._next // length]
        if not len(complete):
            raise UsageError(
                f"the buffer of {self.size} steps holds no whole episode of {length}: play one to "
                "its end, in a buffer of two or more episodes"
            )
        return complete[generator.integers(len(complete), size=number)] * length + np.arange(
            length
        ).reshape(-1, 1)

    def batch(self, rows: IntArray) -> Batch:
        """Return the transitions of rows (B,), with targets from the stored `next_values`."""
        return Batch(
            self.observations.take(rows, axis=0),
            self.actions.take(rows),
            self.rewards.take(rows) + self.bootstrap.take(rows) * self.next_values.take(rows),
        )

    def _occurrence(self, action: int, reward: float, info: Mapping[str, Any]) -> Occurrence:
        if self.imagination is None:
            return Occurrence(self._counts, 0, True, False, reward)
        granted = bool(info["supply"][0, action])
        missed = "missed_margin" in info and bool(info["missed_margin"][0])
        unit = int(self.imagination.memory.unit_of_person[action])
        return Occurrence(self._counts, unit, granted, not granted or missed, reward)

    def _store(self) -> None:
        """Write the transition that the window spans, and drop its first step."""
        first, last = self._window[0], self._window[-1]
        real = sum(
            self.discount**ahead * moment.occurrence.reward
            for ahead, moment in enumerate(self._window)
        )
        masked = last.ended and self.terminal_mask
        if self.imagination is None:
            before = after = np.empty((0, 0), np.float32)
            imagined = np.empty(0)
        else:
            before, after, imagined = self._imagined(self.imagination)
        number = 1 + len(imagined)
        rows = np.arange(self._next, self._next + number) % self.size
        self.observations[rows] = first.observation
        self.next_observations[rows] = last.next_observation
        self.actions[rows] = first.action
        self.bootstrap[rows] = 0.0 if masked else self.discount ** len(self._window)
        self.rewards[rows[0]] = real
        if len(imagined) and self.imagination is not None:
            columns = slice(*self.imagination.columns)
            self.observations[rows[1:], columns] = before
            self.next_observations[rows[1:], columns] = after
            self.rewards[rows[1:]] = imagined
        self.filled = min(max(self.filled, self._next + number), self.size)
        self._next = (self._next + number) % self.size
        self._unvalued += number
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
