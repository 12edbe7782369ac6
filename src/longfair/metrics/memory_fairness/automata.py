r"""Which statuses a finite memory can hold: finite automata that read traces.

A trace is a word of states and actions in turn, :math:`s_1 a_1 s_2 a_2 \cdots s_{t+1}`.  A status
is *value-regular* if it has finitely many values and, for each of them, the words with this value
form a regular language: some deterministic finite automaton (DFA) accepts exactly these words.

- **Theorem 5.4.** From one automaton per value follows a memory: let all of them read along, and
  remember the state that each is in. Exactly one accepts, and it names the value
  (`memory_of_automata`).
- **Theorem 5.5.** From a memory that determines the status follow the automata: their states are
  the pairs of state and memory (`automata_of_memory`).

So a status needs no more than a finite memory exactly when it is value-regular.  `memory_needed`
shows the other case: a status for which the memory has to grow with the length of the trace.

In a word, states are the symbols 0 to S - 1 and actions the symbols S to S + A - 1.

References
----------
Alamdari et al. (2024), Definition 5.3, Theorems 5.4 and 5.5 with their proofs in the appendix.
The test of `memory_needed` is that of Nerode (1958).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.errors import UsageError
from longfair.metrics.memory_fairness.memory import MemoryAugmentation
from longfair.metrics.memory_fairness.reachable import reachable

State = TypeVar("State", bound=Hashable)

NO_VALUE = -1
"""Index of the value where no automaton, or more than one, accepts."""


@dataclass(frozen=True)
class Automaton:
    """A deterministic finite automaton that starts in its state 0.

    Parameters
    ----------
    transitions
        Shape (Q, symbols): state after reading a symbol.
    accepting
        Shape (Q,), boolean.
    """

    transitions: IntArray
    accepting: BoolArray

    def read(self, words: ArrayLike) -> IntArray:
        """Return the state after reading words (..., L), shape (...)."""
        symbols = np.asarray(words)
        state = np.zeros(symbols.shape[:-1], dtype=np.int64)
        for place in range(symbols.shape[-1]):
            state = self.transitions[state, symbols[..., place]]
        return state

    def accepts(self, words: ArrayLike) -> BoolArray:
        """Return whether words (..., L) are accepted, shape (...)."""
        return self.accepting[self.read(words)]


def automaton(
    start: State,
    step: Callable[[State, int], State | None],
    accepts: Callable[[State], bool],
    symbols: int,
) -> Automaton:
    """Tabulate an automaton that is given as a function.

    Parameters
    ----------
    start
        State before anything is read; anything hashable but None.
    step
        State after reading a symbol; None if no continuation of the word can be accepted.
    accepts
        Whether a state is accepting.
    symbols
        Number of symbols.

    Returns
    -------
    Automaton
        With the states that can be reached, and a sink for None.

    Raises
    ------
    UsageError
        If too many states can be reached to list them.
    """

    def successors(state: State | None) -> list[State | None]:
        return [None if state is None else step(state, symbol) for symbol in range(symbols)]

    first: State | None = start
    items, transitions = reachable(first, successors)
    accepting = [item is not None and accepts(item) for item in items]
    return Automaton(transitions, np.array(accepting))


def as_words(states: ArrayLike, actions: ArrayLike, number_of_states: int) -> IntArray:
    """Write traces as words.

    Parameters
    ----------
    states
        Shape (..., T + 1).
    actions
        Shape (..., T).
    number_of_states
        S; action a becomes the symbol S + a.

    Returns
    -------
    numpy.ndarray
        Shape (..., 2 T + 1).
    """
    visited, taken = np.asarray(states), np.asarray(actions)
    words = np.empty((*visited.shape[:-1], 2 * visited.shape[-1] - 1), dtype=np.int64)
    words[..., 0::2] = visited
    words[..., 1::2] = taken + number_of_states
    return words


def same_language(first: Automaton, second: Automaton) -> bool:
    """Whether two automata accept the same words, all of them, of whatever length.

    Parameters
    ----------
    first, second
        Automata over the same symbols.

    Returns
    -------
    bool
        Exact: both read along, and never is one accepting and the other not.
    """
    pairs, _ = reachable(
        (0, 0),
        lambda pair: zip(
            first.transitions[pair[0]].tolist(), second.transitions[pair[1]].tolist(), strict=True
        ),
    )
    return all(first.accepting[one] == second.accepting[other] for one, other in pairs)


class StatusMemory(NamedTuple):
    """A memory from which a status can be read off."""

    augmentation: MemoryAugmentation[tuple[int, ...]]
    """Memories are the states of all automata."""
    value_of_memory: IntArray
    """Shape (M,): index of the value, or `NO_VALUE`."""


def memory_of_automata(
    automata: Sequence[Automaton], *, first_state: int, states: int, actions: int
) -> StatusMemory:
    r"""Theorem 5.4: build the memory that carries all automata along.

    .. math::

        m_{init} = \big(\delta_k(q^0_k, s_{init})\big)_k, \qquad
        \mu\big((q_k)_k, a, s'\big) = \big(\delta_k(\delta_k(q_k, a), s')\big)_k

    Parameters
    ----------
    automata
        One for each value of the status, accepting exactly the words of this value.
    first_state
        :math:`s_{init}`.
    states, actions
        Numbers of states and actions.

    Returns
    -------
    StatusMemory
        The memory and what value each of its memories stands for.
    """

    def read(memory: tuple[int, ...], symbol: int) -> tuple[int, ...]:
        pairs = zip(automata, memory, strict=True)
        return tuple(int(one.transitions[state, symbol]) for one, state in pairs)

    # The automata have read the present state already, so the update does not look at it.
    continuations = list(np.ndindex(actions, states))
    memories, table = reachable(
        read((0,) * len(automata), first_state),
        lambda memory: (
            read(read(memory, states + action), after) for action, after in continuations
        ),
    )
    update = np.repeat(table.reshape(-1, 1, actions, states), states, axis=1)
    accepting = np.stack(
        [one.accepting[np.array(memories)[:, k]] for k, one in enumerate(automata)], axis=1
    )
    unique = accepting.sum(axis=1) == 1
    values = np.where(unique, accepting.argmax(axis=1), NO_VALUE)
    return StatusMemory(MemoryAugmentation(memories, update), values)


def automata_of_memory(
    augmentation: MemoryAugmentation[Any], value_of_pair: ArrayLike, *, first_state: int
) -> list[Automaton]:
    r"""Theorem 5.5: turn a memory that determines the status into one automaton per value.

    Reading an action leads from :math:`\langle s, m \rangle` to
    :math:`\langle s, m, a \rangle`, and reading :math:`s'` on to
    :math:`\langle s', \mu(m, s, a, s') \rangle`. Words that are not traces end in a sink.

    Parameters
    ----------
    augmentation
        The memory.
    value_of_pair
        Shape (S, M): index of the status value of every pair of state and memory.
    first_state
        :math:`s_{init}`.

    Returns
    -------
    list of Automaton
        By index of the value.
    """
    _, states, actions, _ = augmentation.update.shape
    values = np.asarray(value_of_pair)

    def step(state: tuple[int, ...], symbol: int) -> tuple[int, ...] | None:
        is_state = symbol < states
        if not state:
            return (symbol, 0) if symbol == first_state else None
        if len(state) == 2:
            return None if is_state else (*state, symbol - states)
        before, memory, action = state
        if not is_state:
            return None
        return (symbol, int(augmentation.update[memory, before, action, symbol]))

    def accepts_only(value: int) -> Callable[[tuple[int, ...]], bool]:
        return lambda state: len(state) == 2 and values[state] == value

    start: tuple[int, ...] = ()
    return [
        automaton(start, step, accepts_only(value), states + actions)
        for value in range(int(values.max()) + 1)
    ]


def memory_needed(status: Callable[[IntArray], FloatArray], *, actions: int, length: int) -> int:
    """Count the memories that any augmentation needs after a number of actions.

    Two histories may share a memory only if no continuation tells them apart. All histories of
    the given length are compared over all continuations of the same length.

    Parameters
    ----------
    status
        Statuses (..., T, n) along sequences of actions (..., T), where nothing else happens.
    actions
        Number of actions.
    length
        Length of the histories, at least 1; the work grows as actions to the power 2 * length.

    Returns
    -------
    int
        Number of histories that pairwise have to be told apart, even by somebody with a clock.

    Raises
    ------
    UsageError
        If the length is smaller than 1.
    """
    if length < 1:
        raise UsageError(f"length must be at least 1; given {length}")
    words = np.indices((actions,) * length).reshape(length, -1).T
    histories, continuations = words[:, None, :], words[None, :, :]
    shape = (len(words), len(words), length)
    whole = np.concatenate(
        [np.broadcast_to(histories, shape), np.broadcast_to(continuations, shape)], axis=-1
    )
    outcomes = status(whole)[..., length - 1 :, :]  # from the end of the history on
    return len(np.unique(outcomes.reshape(len(words), -1), axis=0))
