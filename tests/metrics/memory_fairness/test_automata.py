"""Automata over traces, and the two constructions between automata and memories."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from longfair.errors import UsageError
from longfair.metrics.memory_fairness import (
    Automaton,
    as_words,
    automata_of_memory,
    automaton,
    counts,
    equal_so_far,
    memory_augmentation,
    memory_needed,
    memory_of_automata,
    same_language,
)
from longfair.metrics.memory_fairness.automata import NO_VALUE


def parity_of_ones(odd: bool) -> Automaton:
    """Accept words of zeros and ones by whether the number of ones is odd."""
    return automaton(0, lambda state, symbol: (state + symbol) % 2, lambda state: state == odd, 2)


def served_odd(value: int) -> Automaton:
    """Accept traces with one state in which action 1 was taken an even or odd number of times."""

    def step(now: tuple[int, str], symbol: int) -> tuple[int, str] | None:
        taken, expected = now
        if symbol == 0:
            return (taken, "action") if expected == "state" else None
        return ((taken + symbol - 1) % 2, "state") if expected == "action" else None

    return automaton((0, "state"), step, lambda now: now == (value, "action"), 3)


def test_an_automaton_reads_many_words_at_once() -> None:
    words = np.array(list(itertools.product([0, 1], repeat=5)))
    np.testing.assert_array_equal(parity_of_ones(True).accepts(words), words.sum(axis=1) % 2 == 1)
    assert parity_of_ones(True).accepts([1, 0, 1]) == np.False_


def test_languages_are_compared_exactly() -> None:
    long_way = automaton(
        0, lambda state, symbol: (state + symbol) % 4, lambda state: state % 2 == 1, 2
    )
    assert same_language(long_way, parity_of_ones(True))
    assert not same_language(long_way, parity_of_ones(False))
    late = automaton(0, lambda state, symbol: min(state + 1, 50), lambda state: state == 50, 2)
    never = automaton(0, lambda state, symbol: None, lambda state: False, 2)
    assert not same_language(late, never)


def test_a_trace_becomes_a_word() -> None:
    np.testing.assert_array_equal(as_words([0, 2, 1], [1, 0], 3), [0, 4, 2, 3, 1])


def test_automata_become_a_memory_and_back() -> None:
    automata = [served_odd(0), served_odd(1)]
    built = memory_of_automata(automata, first_state=0, states=1, actions=2)
    actions = np.random.default_rng(9).integers(2, size=(50, 12))
    states = np.zeros((50, 13), dtype=int)
    memories = built.augmentation.along(states, actions)
    expected = np.concatenate([np.zeros((50, 1)), actions.cumsum(axis=1) % 2], axis=1)
    np.testing.assert_array_equal(built.value_of_memory[memories], expected)
    back = automata_of_memory(built.augmentation, built.value_of_memory[None], first_state=0)
    assert len(back) == 2
    for ours, theirs in zip(automata, back, strict=True):
        assert same_language(ours, theirs)


def test_values_that_no_or_two_automata_accept_are_marked() -> None:
    built = memory_of_automata([served_odd(1)], first_state=0, states=1, actions=2)
    assert sorted(built.value_of_memory) == [NO_VALUE, 0]
    twice = memory_of_automata([served_odd(1)] * 2, first_state=0, states=1, actions=2)
    assert set(twice.value_of_memory) == {NO_VALUE}


def test_the_automata_of_a_memory_start_in_the_first_state_only() -> None:
    memory = memory_augmentation(0, lambda held, *_: 1 - held, states=2, actions=1)
    even, odd = automata_of_memory(memory, [[0, 1], [0, 1]], first_state=1)
    assert even.accepts(as_words([1], np.zeros(0, dtype=int), 2))
    assert odd.accepts(as_words([1, 0], [0], 2))
    assert not odd.accepts(as_words([0, 0], [0], 2))
    assert not even.accepts([1, 1])  # two states in a row
    assert not odd.accepts([1, 2])  # ends with an action


def test_how_much_memory_is_needed() -> None:
    def given(actions: np.ndarray) -> np.ndarray:
        return np.eye(2)[actions]

    for length in (1, 2, 3, 4, 5):
        needed = memory_needed(lambda a: equal_so_far(given(a)), actions=2, length=length)
        assert needed == length + 1
        parity = memory_needed(lambda a: counts(given(a)) % 2, actions=2, length=length)
        assert parity == 2
    assert memory_needed(lambda a: 0 * counts(given(a)), actions=2, length=3) == 1
    with pytest.raises(UsageError, match="at least 1; given 0"):
        memory_needed(counts, actions=2, length=0)
