"""Memories: their update along traces, the augmented process, and what is Markovian with them."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.errors import UsageError
from longfair.metrics.memory_fairness import (
    MemoryAugmentation,
    counts,
    is_markovian,
    log_nash_welfare,
    memory_augmentation,
    received_by,
    relaxed_parity,
)

STATES, ACTIONS, CAP = 4, 2, 3


def update(memory: tuple[int, int], state: int, action: int, after: int) -> tuple[int, int]:
    """Count doughnuts, each up to the cap; state bit i says whether person i is there."""
    gift = (state >> action) % 2
    first, second = memory
    return (min(first + gift * (1 - action), CAP), min(second + gift * action, CAP))


@pytest.fixture(scope="module")
def memory() -> MemoryAugmentation[tuple[int, int]]:
    return memory_augmentation((0, 0), update, states=STATES, actions=ACTIONS)


def traces() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    return generator.integers(STATES, size=(300, 11)), generator.integers(ACTIONS, size=(300, 10))


def received(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return received_by(actions, (states[..., :-1, None] >> np.arange(2)) % 2)


def test_all_memories_are_found_and_the_first_is_the_initial_one(
    memory: MemoryAugmentation[tuple[int, int]],
) -> None:
    assert memory.memories[0] == (0, 0)
    assert set(memory.memories) == set(np.ndindex(CAP + 1, CAP + 1))
    assert memory.update.shape == (16, STATES, ACTIONS, STATES)


def test_the_memory_along_a_trace_is_the_capped_count(
    memory: MemoryAugmentation[tuple[int, int]],
) -> None:
    states, actions = traces()
    held = np.array(memory.memories)[memory.along(states, actions)]
    assert (held[:, 0] == 0).all()
    expected = np.minimum(counts(received(states, actions)), CAP)
    np.testing.assert_array_equal(held[:, 1:], expected)
    assert expected.max() == CAP


def test_the_augmented_process_moves_states_as_before_and_memories_by_the_update(
    memory: MemoryAugmentation[tuple[int, int]],
) -> None:
    transition = np.random.default_rng(8).dirichlet(np.ones(STATES), size=(STATES, ACTIONS))
    pairs = memory.augmented(transition)
    number = len(memory.memories)
    np.testing.assert_allclose(pairs.sum(axis=-1), 1.0)
    by_state = pairs.reshape(STATES, number, ACTIONS, STATES, number)
    np.testing.assert_allclose(
        by_state.sum(axis=-1), np.broadcast_to(transition[:, None], by_state.shape[:-1])
    )
    empty, full = memory.memories.index((0, 0)), memory.memories.index((0, 1))
    assert by_state[2, empty, 1, 0, full] == transition[2, 1, 0]  # person 1 is there and served
    assert by_state[1, empty, 1, 0, full] == 0.0  # person 1 is not there


def test_a_memory_that_never_stops_growing_is_refused() -> None:
    with pytest.raises(UsageError, match="keep them finite"):
        memory_augmentation(0, lambda count, *_: count + 1, states=1, actions=1)


def test_a_transition_that_does_not_fit_is_refused(
    memory: MemoryAugmentation[tuple[int, int]],
) -> None:
    with pytest.raises(UsageError, match=r"shape \(4, 2, 4\).*given \(4, 4\)"):
        memory.augmented(np.eye(4))


def test_counts_less_the_smallest_keep_parity_but_not_the_nash_welfare() -> None:
    states, actions = traces()
    statuses = counts(received(states, actions))
    ahead = (statuses - statuses.min(axis=-1, keepdims=True)) @ [1, 100]
    parity, nash = relaxed_parity(statuses), log_nash_welfare(statuses)
    assert not is_markovian(parity, states[:, 1:])
    assert is_markovian(parity, states[:, 1:], ahead)
    assert not is_markovian(nash, states[:, 1:], ahead)
    assert is_markovian(nash, states[:, 1:], statuses @ [1, 100])
    assert is_markovian(statuses, statuses @ [1, 100])


@pytest.mark.parametrize("keys", [(), (np.arange(5),)])
def test_keys_that_do_not_fit_are_refused(keys: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(UsageError):
        is_markovian(np.arange(3.0), *keys)
