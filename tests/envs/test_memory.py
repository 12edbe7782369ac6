"""What agents remember: against naive counting, across episode ends, in bits and in numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st

from longfair.envs import doughnut, lending, loan_pool
from longfair.envs.bits import bit_table
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.memory import (
    AllocationMemory,
    FullMemory,
    IntegerCodes,
    MinMemory,
    NoMemory,
    ResetMemory,
)
from longfair.errors import UsageError

Counts = list[int]


def full(counts: Counts) -> Counts:
    return counts


def less_the_least(counts: Counts) -> Counts:
    return [count - min(counts) for count in counts]


def since_equal(counts: Counts) -> Counts:
    return [0] * len(counts) if len(set(counts)) == 1 else counts


def nothing(counts: Counts) -> Counts:
    return [0] * len(counts)


KINDS: dict[type[AllocationMemory], Callable[[Counts], Counts]] = {
    FullMemory: full,
    MinMemory: less_the_least,
    ResetMemory: since_equal,
    NoMemory: nothing,
}


def in_bits(counts: Counts, width: int) -> list[int]:
    return [int(bit) for count in counts for bit in format(count, f"0{width}b")]


# Encoding ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("largest", "width"), [(0, 1), (1, 1), (7, 3), (40, 6), (80, 7), (128, 8)])
def test_bits_are_as_many_as_the_largest_number_needs(largest: int, width: int) -> None:
    table = bit_table(largest)
    assert table.shape == (largest + 1, width)
    assert table.tolist() == [in_bits([number], width) for number in range(largest + 1)]


@pytest.mark.parametrize(
    ("env", "width"),
    [
        (doughnut.DoughnutVectorEnv.make(2), 40),
        (doughnut.DoughnutVectorEnv.make(2, preset="tabular"), 3 + 3 * 4),
        (loan_pool.LoanPoolVectorEnv.make(2), 35),
        (loan_pool.LoanPoolVectorEnv.make(2, preset="continuous"), 27),
    ],
    ids=["deep", "tabular", "discrete", "continuous"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_as_wide_as_published(env: Any, width: int, kind: Any) -> None:
    wrapped = kind(env)
    observation, _ = wrapped.reset(seed=0)
    assert observation.shape == (2, width)
    assert wrapped.observation_space.contains(observation)
    inner = env.single_observation_space.shape[0]
    assert not observation[:, inner:].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoding", ["bits", "counts"])
@pytest.mark.parametrize("pool", [False, True])
def test_memory_follows_whoever_is_served_across_episodes(
    kind: type[AllocationMemory], encoding: str, pool: bool
) -> None:
    copies, length = 20, 9
    inner: Any = (
        loan_pool.LoanPoolVectorEnv.make(copies, episode_length=length)
        if pool
        else doughnut.DoughnutVectorEnv.make(copies, preset="tabular", episode_length=length)
    )
    units = [0, 0, 1, 1] if pool else [0, 1, 2]
    env = kind(inner, encoding=encoding)
    width = inner.single_observation_space.shape[0]
    rng = np.random.default_rng(0)
    env.reset(seed=1)
    expected = [[0] * (max(units) + 1) for _ in range(copies)]

    def appended(observation: Any) -> list[list[int]]:
        return [[int(number) for number in row] for row in observation[:, width:]]

    def coded() -> list[list[int]]:
        return [in_bits(row, 4) if encoding == "bits" else row for row in expected]

    for step in range(1, 3 * length + 1):
        observation, _, _, _, info = env.step(rng.integers(len(units), size=copies))
        for copy, person in zip(*np.nonzero(info["supply"]), strict=True):
            expected[copy][units[person]] += 1
        expected = [KINDS[kind](row) for row in expected]
        if step % length == 0:
            assert appended(info["final_obs"]) == coded()
            expected = [[0] * len(row) for row in expected]
        assert appended(observation) == coded()
        assert env.memory.tolist() == expected
        assert env.observation_space.contains(observation)


def test_min_forgets_the_level_and_reset_forgets_it_only_when_all_are_equal() -> None:
    before, served = np.array([2, 1, 1]), np.array([1, 0, 0])
    envs = [kind(doughnut.DoughnutVectorEnv.make(1, preset="tabular")) for kind in KINDS]
    assert [env.update(before, served).tolist() for env in envs] == [
        [3, 1, 1],
        [2, 0, 0],
        [3, 1, 1],
        [0, 0, 0],
    ]
    level = np.array([1, 1, 0]), np.array([0, 0, 1])
    assert [env.update(*level).tolist() for env in envs] == [
        [1, 1, 1],
        *[[0, 0, 0]] * 3,
    ]


@given(st.lists(st.integers(0, 4), max_size=20))
def test_shortened_memories_can_be_computed_from_the_full_one(served: list[int]) -> None:
    people = np.eye(5, dtype=np.int64)
    envs = {kind: kind(doughnut.DoughnutVectorEnv.make(1)) for kind in KINDS}
    memory = {kind: np.zeros((1, 5), np.int64) for kind in KINDS}
    since = [0] * 5
    for person in served:
        for kind, env in envs.items():
            memory[kind] = env.update(memory[kind], people[[person]])
        since[person] += 1
        since = since_equal(since)
    total = memory[FullMemory]
    assert total.sum() == len(served)
    np.testing.assert_array_equal(memory[MinMemory], total - total.min())
    np.testing.assert_array_equal(memory[ResetMemory][0], since)


def test_a_memory_that_did_not_occur_is_updated_as_a_step_from_it_would() -> None:
    env = FullMemory(doughnut.DoughnutVectorEnv.make(64, preset="tabular"), encoding="counts")
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        observation, _, _, _, _ = env.step(rng.integers(3, size=64))
    real, there = env.memory.copy(), observation[:, :3].astype(np.int64)
    action = rng.integers(3, size=64)
    received = np.eye(3, dtype=np.int64)[action] * there
    others = real[:, None, :] + np.indices((2, 2, 2)).reshape(3, -1).T
    updated = env.update(others, received[:, None, :])
    observation, _, _, _, _ = env.step(action)
    np.testing.assert_array_equal(updated[:, 0], env.memory)
    np.testing.assert_array_equal(env.encode(updated)[:, 0], observation[:, 3:])
    np.testing.assert_array_equal(updated - others, np.repeat(received[:, None], 8, axis=1))


@pytest.mark.parametrize("encoding", ["bits", "counts"])
def test_no_memory_is_encoded_as_none(encoding: Any) -> None:
    env = FullMemory(doughnut.DoughnutVectorEnv.make(1, preset="tabular"), encoding=encoding)
    width = env.encode(np.zeros((1, 3), np.int64)).shape[1]
    assert env.encode(np.zeros((0, 3), np.int64)).shape == (0, width)


def test_copies_that_are_restarted_forget_and_the_others_do_not() -> None:
    params = doughnut.DoughnutParams((1.0, 1.0), episode_length=3)
    inner = doughnut.DoughnutVectorEnv(2, params, AutoresetMode.DISABLED)
    env = ElapsedTime(FullMemory(inner, encoding="counts"))
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.array([0, 1]))
    observation, _ = env.reset(options={"reset_mask": np.array([True, False])})
    assert observation[:, 2:].tolist() == [[0.0, 0.0, 0.0], [0.0, 3.0, 1.0]]


# Numbers for tables ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_the_sums_of_powers_that_tables_are_indexed_by(kind: Any) -> None:
    plain = kind(doughnut.DoughnutVectorEnv.make(10, preset="tabular"), encoding="counts")
    coded = IntegerCodes(
        kind(doughnut.DoughnutVectorEnv.make(10, preset="tabular"), encoding="counts")
    )
    assert coded.single_observation_space.nvec.tolist() == [8, 13**3]
    rng = np.random.default_rng(0)
    numbers, codes = plain.reset(seed=0)[0], coded.reset(seed=0)[0]
    weights = np.array([1, 2, 4]), np.array([1, 13, 169])
    for _ in range(25):
        np.testing.assert_array_equal(codes[:, 0], numbers[:, :3] @ weights[0])
        np.testing.assert_array_equal(codes[:, 1], numbers[:, 3:] @ weights[1])
        assert coded.observation_space.contains(codes)
        action = rng.integers(3, size=10)
        numbers, _, _, _, info = plain.step(action)
        codes, _, _, _, other = coded.step(action)
        if "final_obs" in info:
            expected = info["final_obs"][:, 3:] @ weights[1]
            np.testing.assert_array_equal(other["final_obs"][:, 1], expected)
            assert expected.any() != (kind is NoMemory)


# What is given -----------------------------------------------------------------------------------


def test_what_cannot_be_remembered_is_refused() -> None:
    deep, pool = doughnut.DoughnutVectorEnv.make(1), loan_pool.LoanPoolVectorEnv.make(1)
    with pytest.raises(UsageError, match="did you mean 'bits'"):
        FullMemory(deep, encoding="bit")
    with pytest.raises(UsageError, match="hands nothing to single people"):
        MinMemory(lending.LendingVectorEnv.make(1))
    with pytest.raises(UsageError, match="give a FullMemory, MinMemory or ResetMemory of counts"):
        IntegerCodes(FullMemory(deep))
    with pytest.raises(UsageError, match="directly over longfair/Doughnut-v0"):
        IntegerCodes(FullMemory(pool, encoding="counts"))
    with pytest.raises(UsageError, match="no episode length"):
        FullMemory(gymnasium.make_vec("CartPole-v1", num_envs=1))
