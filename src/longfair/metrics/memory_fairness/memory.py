r"""Memory augmentations: keep what the state forgets.

A function of traces is *Markovian* if it depends on the last state only.  A status usually is not.
A memory augmentation :math:`\langle M, m_{init}, \mu \rangle` adds a memory :math:`m_t` to the
state, and the same status may be a function of the pair:

.. math::

    m_1 = m_{init}, \qquad m_{t+1} = \mu(m_t, s_t, a_t, s_{t+1}) .

The paper's update does not see :math:`s_t`.  Both of its experiments need it: whether a person
could be served depends on the state before the action.  Nothing is lost or gained, because a
memory may also store the previous state.

States, actions and memories are whole numbers from 0 here; `memory_augmentation` numbers the
memories that any Python function produces.

References
----------
Alamdari et al. (2024), Definitions 5.1 and 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError
from longfair.metrics._arrays import finite
from longfair.metrics.memory_fairness.reachable import reachable

Memory = TypeVar("Memory", bound=Hashable)


@dataclass(frozen=True)
class MemoryAugmentation(Generic[Memory]):
    """A finite memory and its update, Definition 5.2.

    Parameters
    ----------
    memories
        What each number stands for; the first is the initial memory.
    update
        Shape (M, S, A, S): number of the memory after memory, state, action, next state.
    """

    memories: tuple[Memory, ...]
    update: IntArray

    def along(self, states: ArrayLike, actions: ArrayLike) -> IntArray:
        r"""Return the memories along traces.

        Parameters
        ----------
        states
            Shape (..., T + 1).
        actions
            Shape (..., T).

        Returns
        -------
        numpy.ndarray
            Shape (..., T + 1): numbers of :math:`m_1, \dots, m_{T+1}`.
        """
        visited, taken = np.asarray(states), np.asarray(actions)
        memory = np.zeros(visited.shape, dtype=np.int64)
        for step in range(taken.shape[-1]):
            memory[..., step + 1] = self.update[
                memory[..., step], visited[..., step], taken[..., step], visited[..., step + 1]
            ]
        return memory

    def augmented(self, transition: ArrayLike) -> FloatArray:
        r"""Return the transition probabilities over pairs of state and memory.

        :math:`P'(\langle s', m' \rangle \mid \langle s, m \rangle, a)` is
        :math:`P(s' \mid s, a)` if :math:`m' = \mu(m, s, a, s')`, else 0.

        Parameters
        ----------
        transition
            Shape (S, A, S), the probabilities :math:`P(s' \mid s, a)`.

        Returns
        -------
        numpy.ndarray
            Shape (S * M, A, S * M); the pair (s, m) has the number s * M + m.

        Raises
        ------
        UsageError
            If the shape does not fit the update.
        """
        probability = finite(transition, "transition")
        number, states, actions, _ = self.update.shape
        if probability.shape != (states, actions, states):
            raise UsageError(
                f"transition must have the shape {(states, actions, states)} of the memory's "
                f"states and actions; given {probability.shape}"
            )
        memory, state, action, after = np.indices(self.update.shape)
        pairs = np.zeros((states * number, actions, states * number))
        rows = state * number + memory
        pairs[rows, action, after * number + self.update] = probability[state, action, after]
        return pairs


def memory_augmentation(
    initial: Memory,
    update: Callable[[Memory, int, int, int], Memory],
    *,
    states: int,
    actions: int,
) -> MemoryAugmentation[Memory]:
    r"""Find all memories that an update can produce, and tabulate it.

    Parameters
    ----------
    initial
        :math:`m_{init}`; anything hashable.
    update
        :math:`\mu(m, s, a, s')`.
    states, actions
        Numbers of states and actions.

    Returns
    -------
    MemoryAugmentation
        Its memories are those that some sequence of states and actions leads to.

    Raises
    ------
    UsageError
        If there are too many to list, as with counts that grow for ever.
    """
    places = list(np.ndindex(states, actions, states))
    memories, table = reachable(
        initial, lambda memory: (update(memory, *place) for place in places)
    )
    return MemoryAugmentation(memories, table.reshape(-1, states, actions, states))


def is_markovian(values: ArrayLike, *keys: ArrayLike) -> bool:
    """Whether values are a function of keys, on the traces given: Definition 5.1.

    Parameters
    ----------
    values
        Shape (..., n) or (...): values of a function of traces, such as statuses or rewards.
    *keys
        Shape (...): last state, memory, or whatever the function may depend on, as whole numbers.

    Returns
    -------
    bool
        False if two moments with the same keys have different values. True says that the traces
        given do not speak against it.

    Raises
    ------
    UsageError
        If no key is given or the shapes do not fit.
    """
    if not keys:
        raise UsageError("keys must hold at least one array, such as the last state; given none")
    columns = np.stack([np.ravel(key) for key in np.broadcast_arrays(*keys)], axis=1)
    array = finite(values, "values")
    if not columns.size or array.size % len(columns):
        raise UsageError(f"values {array.shape} do not fit {len(columns)} moments of the keys")
    rows = np.concatenate([columns, array.reshape(len(columns), -1)], axis=1)
    return len(np.unique(rows, axis=0)) == len(np.unique(columns, axis=0))
