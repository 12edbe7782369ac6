"""What the FairQCM agents remember: counts of who got how much, and three ways to shorten them.

The wrappers work over `longfair/Doughnut-v0`, where they count for every person, and over
`longfair/LoanPool-v0`, where they count for every group. The agents of the paper observe:

| Paper | Composition |
| --- | --- |
| Full, FairQCM (doughnuts) | `FullMemory(env)` |
| Min, FairQCM (loans) | `MinMemory(env)` |
| Reset | `ResetMemory(env)` |
| RNN, no memory | `env` |
| Full that remembers nothing (not in the paper) | `NoMemory(env)` |
| tabular agents | `IntegerCodes(FullMemory(env, encoding="counts"))`, or Min, or Reset |

The code's modes are called `binary` or `deep` (Full), `reset-binary` or `reset` (Min) and
`equal-binary` or `equal-reset` (Reset), with bits and with whole numbers respectively.

Only Full makes the doughnut reward a function of what is observed; in the loan pool Min does too.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.arrays import Float32Array, IntArray
from longfair.envs.bits import bit_table
from longfair.envs.vector import Batch
from longfair.envs.wrappers import AppendedMemory, Recoded, episode_length_of
from longfair.errors import UsageError
from longfair.settings import Give, OneOf, validated

ENCODINGS = ("bits", "counts")


class AllocationMemory(AppendedMemory):
    """Append counts of what everybody received in this episode, in a shortened form.

    Parameters
    ----------
    env
        A batch of `longfair/Doughnut-v0` or `longfair/LoanPool-v0`, possibly wrapped.
    encoding
        `"bits"` (default): every count as an unsigned binary number, most significant bit first,
        as wide as the episode length needs (7 bits for 100 doughnuts, 6 for 40 loans).
        `"counts"`: the whole numbers themselves.

    Attributes
    ----------
    memory
        The memory of every copy, shape (N, U), whole numbers. U is the number of people, or of
        groups in the loan pool.

    Notes
    -----
    `update` and `encode` are pure, and public because counterfactual learners apply them to
    memories that did not occur.
    """

    @validated
    def __init__(self, env: Batch, encoding: Annotated[str, OneOf(*ENCODINGS)] = "bits") -> None:
        length = episode_length_of(env)
        self.unit_of_person = _unit_of_person(env)
        units = int(self.unit_of_person.max()) + 1
        self._table = bit_table(length) if encoding == "bits" else None
        width = 1 if self._table is None else self._table.shape[1]
        high = float(length) if self._table is None else 1.0
        super().__init__(env, size=units * width, low=0.0, high=high)
        self._person_to_unit = np.eye(units, dtype=np.int64)[self.unit_of_person]
        self._alone = units == len(self.unit_of_person)
        self.memory = np.zeros((self.num_envs, units), np.int64)

    @abstractmethod
    def update(self, memory: IntArray, received: IntArray) -> IntArray:
        """Return the memory after somebody received something.

        Parameters
        ----------
        memory
            Shape (..., U): memory before the step.
        received
            Shape (..., U): what every unit received in the step. A wasted doughnut or a loan that
            was not asked for reaches nobody.

        Returns
        -------
        numpy.ndarray
            Shape (..., U).
        """

    def encode(self, memory: IntArray) -> Float32Array:
        """Return the appended numbers (..., U * bits) that stand for memories (..., U)."""
        if self._table is None:
            return memory.astype(np.float32)
        bits: Float32Array = self._table.take(memory, axis=0)
        return bits.reshape(*memory.shape[:-1], memory.shape[-1] * self._table.shape[1])

    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self.memory[copies] = 0

    def _remember(self, info: dict[str, Any]) -> None:
        received = info["supply"].astype(np.int64)
        if not self._alone:
            received = received @ self._person_to_unit
        self.memory = self.update(self.memory, received)

    def _memory(self) -> Float32Array:
        return self.encode(self.memory)


class FullMemory(AllocationMemory):
    """Append how much everybody received since the episode began."""

    def update(self, memory: IntArray, received: IntArray) -> IntArray:
        """Return the sums."""
        return memory + received


class MinMemory(AllocationMemory):
    """Append by how much everybody is ahead of whoever received least."""

    def update(self, memory: IntArray, received: IntArray) -> IntArray:
        """Return the sums less the smallest of them."""
        total = memory + received
        least: IntArray = total.min(axis=-1, keepdims=True)
        return total - least


class ResetMemory(AllocationMemory):
    """Append how much everybody received since all were last equal."""

    def update(self, memory: IntArray, received: IntArray) -> IntArray:
        """Return the sums, or zeros where all sums are equal."""
        total = memory + received
        return np.where((total == total[..., :1]).all(axis=-1, keepdims=True), 0, total)


class NoMemory(AllocationMemory):
    """Append zeros: nothing is remembered, and the observation is as wide as under `FullMemory`.

    A network for it has the size and the starting weights of one that remembers, so that the two
    differ in the memory alone. The zeros add nothing to its values or gradients.
    """

    def update(self, memory: IntArray, received: IntArray) -> IntArray:
        """Return zeros."""
        return np.zeros_like(memory + received)


class IntegerCodes(Recoded):
    """Turn who is present and the memory into two whole numbers, for tables of action values.

    The first is the sum of 2^i over the people i who are present, the second the sum of
    (T + 1)^i m_i over the memory m, where T is the episode length.

    Parameters
    ----------
    env
        An `AllocationMemory` with `encoding="counts"` directly over `longfair/Doughnut-v0`.
    """

    revision: ClassVar[int] = 1
    """Raised by hand when the codes are meant to change."""

    @validated
    def __init__(
        self,
        env: Annotated[AllocationMemory, Give("a FullMemory, MinMemory or ResetMemory of counts")],
    ) -> None:
        if env.encode(env.memory).shape != env.memory.shape:
            raise UsageError(f"{env}: give a FullMemory, MinMemory or ResetMemory of counts")
        super().__init__(env)
        people, units = len(env.unit_of_person), env.memory.shape[1]
        if env.env.single_observation_space.shape != (people,):
            raise UsageError(f"{env.env}: give a memory directly over longfair/Doughnut-v0")
        base = episode_length_of(env) + 1
        self._people = people
        self._presence_weights = 2 ** np.arange(people)
        self._memory_weights = base ** np.arange(units)
        self.single_observation_space = MultiDiscrete([2**people, base**units])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def _recoded(self, observations: NDArray[Any]) -> IntArray:
        numbers = observations.astype(np.int64)
        presence = numbers[:, : self._people] @ self._presence_weights
        return np.stack([presence, numbers[:, self._people :] @ self._memory_weights], axis=1)


def _unit_of_person(env: VectorEnv[Any, Any, Any]) -> IntArray:
    """Return (P,): whose count each person's share is added to."""
    units: IntArray | None = getattr(env.unwrapped, "memory_units", None)
    if units is None:
        raise UsageError(
            f"{env} hands nothing to single people: give longfair/Doughnut-v0 or LoanPool-v0"
        )
    return units
