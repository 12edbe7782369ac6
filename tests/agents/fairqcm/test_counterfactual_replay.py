"""Counterfactual transitions against the environment itself, started from the imagined memory."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.fairqcm.counterfactuals import (
    Counterfactuals,
    DoughnutCounterfactuals,
    LoanCounterfactuals,
    Occurrence,
)
from longfair.agents.fairqcm.replay import CounterfactualReplayBuffer, Imagination, Step
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.memory import FullMemory, MinMemory
from longfair.errors import UsageError


def doughnuts() -> Any:
    params = DoughnutParams(smoothing=0.0)
    return gymnasium.make_vec("longfair/Doughnut-v0", num_envs=1, params=params)


def loans() -> Any:
    return gymnasium.make_vec("longfair/LoanPool-v0", num_envs=1)


def imagining(env: Any, counterfactuals: Counterfactuals) -> Imagination:
    edges = [e.single_observation_space.shape[0] for e in (env.env, env)]
    return Imagination(counterfactuals, env, (edges[0], edges[1]))


def filled(
    env: Any, imagination: Imagination | None, steps: int, actions: Any, **settings: Any
) -> tuple[CounterfactualReplayBuffer, list[dict[str, Any]]]:
    """Play and store; return the buffer and what really happened."""
    width = env.single_observation_space.shape[0]
    buffer = CounterfactualReplayBuffer(
        100 * steps, width, settings.pop("discount", 0.99), imagination, **settings
    )
    observation, _ = env.reset(seed=4)
    history = []
    for step in range(steps):
        action = np.array([actions(step, observation)])
        after, reward, terminated, truncated, info = env.step(action)
        ended = terminated | truncated
        end = info["final_obs"] if ended[0] else after
        buffer.add(Step(observation, action, reward.astype(np.float32), end, ended, info))
        happened = {
            "observation": observation[0],
            "next": end[0],
            "reward": float(reward[0]),
            "granted": bool(info["supply"].any()),
            "action": int(action[0]),
            "done": bool(ended[0]),
            "rows": slice(history[-1]["rows"].stop if history else 0, buffer.filled),
        }
        history.append(happened)
        observation = after
    return buffer, history


def plain_step(number: float, ended: bool = False) -> Step:
    """A step of one copy from and to a number, which is its reward, too."""
    value = np.array([[number]], np.float32)
    return Step(value, np.array([0]), value[0], value, np.array([ended]), {})


def anybody(step: int, observation: Any) -> int:
    return (7 * step + 3) % 4


def decoded(bits: Any, width: int) -> Any:
    return (bits.reshape(*bits.shape[:-1], -1, width) @ (2 ** np.arange(width)[::-1])).astype(int)


# Which memories, and how many -------------------------------------------------------------------


def served(counts: list[int], unit: int = 0) -> Occurrence:
    return Occurrence(np.array(counts), unit, True, False, 1.0)


@pytest.mark.parametrize(
    ("counterfactuals", "counts", "number"),
    [
        (DoughnutCounterfactuals(100), [0, 0, 0, 0, 0], 32),
        (DoughnutCounterfactuals(100), [98, 0, 0, 0, 0], 16),
        (DoughnutCounterfactuals(100), [99, 0, 0, 0, 0], 0),
        (DoughnutCounterfactuals(12, people=3), [0, 0, 0], 8),
        (LoanCounterfactuals(40), [0, 0], 10),
        (LoanCounterfactuals(40), [37, 0], 7),
        (LoanCounterfactuals(40), [0, 40], 5),
    ],
)
def test_the_number_of_imagined_memories_is_the_published_one(counterfactuals, counts, number):
    assert len(counterfactuals.imagined(served(counts))) == number


def test_imagined_memories_are_listed_in_lexicographic_order():
    first = DoughnutCounterfactuals(12, people=2).imagined(served([3, 5]))
    assert first.tolist() == [[4, 6], [4, 7], [5, 6], [5, 7]]
    second = LoanCounterfactuals(40, extra=2).imagined(served([1, 2]))
    assert second.tolist() == [[2, 2], [3, 2], [1, 3], [1, 4]]


# As published: the environment, started from the imagined memory --------------------------------


def test_every_doughnut_transition_is_a_step_of_the_environment_from_that_memory():
    env = FullMemory(doughnuts())
    imagination = imagining(env, DoughnutCounterfactuals(100))
    buffer, history = filled(env, imagination, 30, anybody)
    assert {entry["granted"] for entry in history} == {True, False}
    for entry in history:
        rows = np.arange(entry["rows"].start, entry["rows"].stop)
        assert len(rows) == 33
        presence = entry["observation"][:5]
        before = decoded(buffer.observations[rows, 5:], 7)
        after = decoded(buffer.next_observations[rows, 5:], 7)
        # The environment's own step, in as many copies as there are memories.
        world = gymnasium.make_vec(
            "longfair/Doughnut-v0", num_envs=33, params=DoughnutParams(smoothing=0.0)
        )
        world.reset(seed=0)
        world._present[:] = presence > 0
        world._counts[:] = before
        world._welfare = np.log(before + 1.0).sum(axis=1)
        _, reward, _, _, info = world.step(np.full(33, entry["action"]))
        np.testing.assert_array_equal(after, info["group_state"][..., 0])
        np.testing.assert_allclose(buffer.rewards[rows], reward, rtol=1e-5)
        assert (buffer.observations[rows, :5] == presence).all()
        assert (buffer.next_observations[rows, :5] == entry["next"][:5]).all()
        assert (buffer.actions[rows] == entry["action"]).all()


@pytest.mark.parametrize("kind", [FullMemory, MinMemory])
def test_every_loan_transition_is_a_step_of_the_environment_from_that_memory(kind):
    env = kind(loans())
    imagination = imagining(env, LoanCounterfactuals(40))
    buffer, history = filled(env, imagination, 120, anybody)
    seen, loans_so_far = set(), np.zeros(2, int)
    for entry in history:
        rows = np.arange(entry["rows"].start, entry["rows"].stop)
        before = decoded(buffer.observations[rows, 23:], 6)
        after = decoded(buffer.next_observations[rows, 23:], 6)
        share = np.zeros(2, int)
        share[entry["action"] // 2] = entry["granted"]
        np.testing.assert_array_equal(after, kind.update(env, before, share))
        gap = np.abs(after[:, 0] - after[:, 1])
        excepted = entry["reward"] in (-40.0, -400.0)
        seen.add(entry["reward"] if excepted else "gap")
        expected = np.full(len(rows), entry["reward"]) if excepted else -gap
        np.testing.assert_array_equal(buffer.rewards[rows], expected)
        real = loans_so_far if kind is FullMemory else loans_so_far - loans_so_far.min()
        assert before[0].tolist() == real.tolist()
        loans_so_far = np.zeros(2, int) if entry["done"] else loans_so_far + share
    assert {-40.0, "gap"} <= seen


# As coded ---------------------------------------------------------------------------------------


def test_the_code_counts_wasted_doughnuts_in_imagined_memories_only():
    env = FullMemory(doughnuts())
    imagination = imagining(env, DoughnutCounterfactuals(100, always_received=True))
    buffer, history = filled(env, imagination, 30, anybody)
    wasted = [entry for entry in history if not entry["granted"]]
    for entry in wasted:
        rows = np.arange(entry["rows"].start, entry["rows"].stop)
        before = decoded(buffer.observations[rows, 5:], 7)
        gained = decoded(buffer.next_observations[rows, 5:], 7) - before
        assert not gained[0].any()
        assert (gained[1:, entry["action"]] == 1).all()
        assert not buffer.rewards[rows].any()
    assert wasted


def test_the_code_makes_wrong_grants_cheap_and_looks_at_loans_before_the_step():
    coded = LoanCounterfactuals(40, always_received=True, gap_before=True)
    env = FullMemory(loans())
    buffer, history = filled(env, imagining(env, coded), 39, anybody)
    assert any(not entry["granted"] for entry in history)
    for entry in history:
        rows = np.arange(entry["rows"].start + 1, entry["rows"].stop)
        before = decoded(buffer.observations[rows, 23:], 6)
        after = decoded(buffer.next_observations[rows, 23:], 6)
        np.testing.assert_array_equal(buffer.rewards[rows], -np.abs(before[:, 0] - before[:, 1]))
        assert (after.sum(axis=1) == before.sum(axis=1) + 1).all()
    missed = Occurrence(np.array([3, 5]), 0, True, True, -400.0)
    counts = coded.imagined(missed)
    assert (coded.rewards(counts, counts, missed) == -400.0).all()


# The buffer -------------------------------------------------------------------------------------


def test_counts_begin_anew_with_every_episode():
    params = DoughnutParams(episode_length=5, smoothing=0.0)
    env = FullMemory(gymnasium.make_vec("longfair/Doughnut-v0", num_envs=1, params=params))
    buffer, history = filled(env, imagining(env, DoughnutCounterfactuals(5)), 12, anybody)
    width = env.encode(np.zeros((1, 5), int)).shape[1] // 5
    for first in (0, 5, 10):
        rows = np.arange(history[first]["rows"].start, history[first]["rows"].stop)
        counts = decoded(buffer.observations[rows, 5:], width)
        assert not counts[0].any()
        assert set(counts[1:].ravel()) == {1, 2}


def test_time_after_the_memory_is_shared_by_imagined_transitions():
    memory = FullMemory(doughnuts())
    buffer, history = filled(
        ElapsedTime(memory), imagining(memory, DoughnutCounterfactuals(100)), 10, anybody
    )
    for step, entry in enumerate(history):
        np.testing.assert_allclose(buffer.observations[entry["rows"], -1], step / 100)
        np.testing.assert_allclose(buffer.next_observations[entry["rows"], -1], (step + 1) / 100)


def test_the_newest_rows_replace_the_oldest_across_the_edge():
    buffer = CounterfactualReplayBuffer(7, 1, discount=0.5)
    for number in range(10):
        buffer.add(plain_step(number))
        if number == 6:
            assert buffer.full
            assert buffer.unvalued().tolist() == list(range(7))
    assert buffer.observations[:, 0].tolist() == [7, 8, 9, 3, 4, 5, 6]
    assert buffer.unvalued().tolist() == [0, 1, 2]
    assert buffer.unvalued().tolist() == []
    buffer.next_values[:] = 10.0
    assert buffer.batch(np.array([2, 4])).targets.tolist() == [9 + 5.0, 4 + 5.0]


def test_masked_ends_expect_nothing_and_others_go_on():
    env = FullMemory(
        gymnasium.make_vec(
            "longfair/Doughnut-v0", num_envs=1, params=DoughnutParams(episode_length=4)
        )
    )
    for mask in (True, False):
        buffer, _ = filled(env, None, 8, anybody, terminal_mask=mask, discount=0.9)
        expected = [0.9, 0.9, 0.9, 0.0 if mask else 0.9] * 2
        np.testing.assert_allclose(buffer.bootstrap[:8], expected)


def test_longer_transitions_add_up_discounted_rewards_and_stop_at_the_end_of_an_episode():
    params = DoughnutParams(episode_length=4, smoothing=0.0)
    env = FullMemory(gymnasium.make_vec("longfair/Doughnut-v0", num_envs=1, params=params))
    rule = imagining(env, DoughnutCounterfactuals(4))
    buffer, history = filled(env, rule, 4, anybody, n_steps=3, discount=0.5)
    rewards = np.array([entry["reward"] for entry in history])
    spans = [(0, 3), (1, 4), (2, 4), (3, 4)]
    position = 0
    for first, last in spans:
        length = last - first
        expected = (rewards[first:last] * 0.5 ** np.arange(length)).sum()
        assert buffer.rewards[position] == pytest.approx(expected, rel=1e-5)
        assert buffer.bootstrap[position] == pytest.approx(0.5**length)
        np.testing.assert_array_equal(buffer.observations[position], history[first]["observation"])
        np.testing.assert_array_equal(buffer.next_observations[position], history[last - 1]["next"])
        counts = decoded(buffer.observations[position, 5:], 3)
        imagined = rule.counterfactuals.imagined(served(counts.tolist()))
        # An imagined transition over several steps is the chain of the one-step ones.
        now, total = imagined, np.zeros(len(imagined))
        for ahead, entry in enumerate(history[first:last]):
            share = np.eye(5, dtype=int)[entry["action"]] * entry["granted"]
            now = now + share
            total += 0.5**ahead * np.log(now + 1.0).sum(axis=1) * entry["granted"]
        rows = np.arange(position + 1, position + 1 + len(imagined))
        np.testing.assert_allclose(buffer.rewards[rows], total, rtol=1e-5)
        np.testing.assert_array_equal(decoded(buffer.next_observations[rows, 5:], 3), now)
        position += 1 + len(imagined)
    assert position == buffer.filled


def test_whole_episodes_leave_out_the_one_that_is_being_written():
    buffer = CounterfactualReplayBuffer(12, 1, 0.9)
    generator = np.random.default_rng(0)
    for number in range(14):
        buffer.add(plain_step(number, ended=number % 4 == 3))
        if number == 11:
            rows = buffer.episode_rows(200, 4, generator)
            assert sorted(set(rows[0])) == [0, 4, 8]
    rows = buffer.episode_rows(200, 4, generator)
    assert sorted(set(rows[0])) == [4, 8]
    np.testing.assert_array_equal(rows - rows[0], np.tile(np.arange(4)[:, None], (1, 200)))


@pytest.mark.parametrize("steps", [0, 3, 6])
def test_a_buffer_without_a_whole_episode_is_refused(steps: int):
    """Nothing yet, the first being written, and the only one half overwritten."""
    buffer = CounterfactualReplayBuffer(4, 1, 0.9)
    for number in range(steps):
        buffer.add(plain_step(number, ended=number % 4 == 3))
    with pytest.raises(UsageError, match="buffer of 4 steps holds no whole episode of 4: play one"):
        buffer.episode_rows(1, 4, np.random.default_rng(0))


def test_what_the_buffer_cannot_do_is_refused():
    with pytest.raises(UsageError, match="buffer=10 with episodes of 4"):
        CounterfactualReplayBuffer(10, 1, 0.9).episode_rows(1, 4, np.random.default_rng(0))
    with pytest.raises(UsageError, match="people=0"):
        DoughnutCounterfactuals(100, people=0)
    with pytest.raises(UsageError, match="extra=0"):
        LoanCounterfactuals(40, extra=0)
