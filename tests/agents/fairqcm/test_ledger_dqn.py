"""The learner beyond FairQCM: what it learns from, and that every setting does something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.fairqcm.ledger_dqn import Journal, LedgerDQN, Recipe, Steps
from longfair.agents.fairqcm.ledgers import DoughnutLedger, LoanLedger, Situation
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.memory import FullMemory
from longfair.errors import UsageError

SHORT = DoughnutLedger(length=10, crowd=3)
SMALL = Recipe(learning_starts=40, batch=32, target_every=20, hidden=(16,))


def doughnuts(copies: int = 4) -> Any:
    params = DoughnutParams((0.8,) * 3, episode_length=10, smoothing=0.0)
    env = gymnasium.make_vec("longfair/Doughnut-v0", num_envs=copies, params=params)
    return ElapsedTime(FullMemory(env, encoding="counts"))


def agent(seed: int = 3, **changes: Any) -> LedgerDQN:
    return LedgerDQN(doughnuts(), SHORT, replace(SMALL, **changes), seed)


def test_it_learns_to_serve_whoever_is_there_and_had_least():
    learner = agent(hidden=(32,), batch=128).learn(6000)
    counts = np.array([[2, 1, 1], [1, 2, 1], [1, 1, 2], [2, 0, 2]])
    there = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]])
    observation = np.c_[there, counts, np.full(4, 0.4)].astype(np.float32)
    chosen = learner.predict(observation, deterministic=True)[0]
    assert chosen[:3].tolist() == [1, 0, 1]
    assert chosen[3] in (0, 2)  # the one who had least is not there


def test_the_same_seed_gives_the_same_agent():
    first, again, other = (agent(seed).learn(200).online.vector for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_learning_starts_and_exploration_falls_as_set():
    learner = agent(updates=3)
    start = learner.online.vector.copy()
    learner.learn(36)
    np.testing.assert_array_equal(learner.online.vector, start)
    assert learner.exploration_rate == 1.0
    rounds: list[int] = []
    learner = agent(updates=3).learn(120, lambda agent: rounds.append(agent.num_timesteps))
    assert rounds == [40, 80, 120]
    assert learner.exploration_rate == pytest.approx(0.999**12)
    assert learner._updates == 3 * 21


CHANGES = [
    {"imagined": "nothing"},
    {"imagined": "nearby"},
    {"imagined": "nearby", "granted_anyway": True},
    {"clock": False, "discount": 0.9},
    {"by_person": False},
    {"shortfall": False},
    {"double": False},
    {"discount": 0.9},
    {"kept": 40},
    {"last_rate": 1.0},
    {"reward_unit": 1.0},
]


def test_every_setting_changes_what_is_learned():
    learned = [agent(**change).learn(160).online.vector for change in ({}, *CHANGES)]
    for index, vector in enumerate(learned):
        for other in learned[index + 1 :]:
            assert vector.shape != other.shape or not np.array_equal(vector, other)


def steps_of(ledgers: list[list[int]], entries: list[list[int]]) -> Steps:
    scene = np.ones((len(ledgers), 3), np.int64)
    return Steps(
        Situation(scene, np.array(ledgers)),
        np.zeros(len(ledgers), np.int64),
        np.array(entries),
        scene,
    )


def test_targets_are_those_of_the_equation():
    """Reward less equal shares, plus the target's value of the learner's choice; 0 at the end."""
    learner = agent(imagined="nothing", reward_unit=2.0)
    learner.online.vector[:] = np.random.default_rng(0).normal(size=len(learner.online.vector))
    steps = steps_of([[1, 2, 1, 4], [3, 3, 3, 9]], [[1, 0, 0, 1], [1, 0, 0, 1]])
    before, entries, rewards = learner._imagine(steps)
    np.testing.assert_array_equal(before, steps.before.ledger)
    welfare = np.array([2 * np.log(3) + np.log(2), np.log(5) + 2 * np.log(4)])
    equal = 3 * np.log(np.array([5, 10]) / 3 + 1)
    np.testing.assert_allclose(rewards, welfare - equal)
    later = Situation(steps.next_scene, before + entries)
    value = learner._value(later)
    choice = learner.view.values(learner.online, later)[0].argmax()
    assert value[0] == learner.view.values(learner.target, later)[0, choice]
    assert value[1] == 0.0


def test_most_of_a_minibatch_is_imagined():
    steps = steps_of([[1, 2, 1, 4]] * 4000, [[1, 0, 0, 1]] * 4000)
    for imagined, share in (("nothing", 1.0), ("nearby", 0.25), ("anything", 0.25)):
        before, entries, _ = agent(imagined=imagined)._imagine(steps)
        same = (before == steps.before.ledger).all(axis=1).mean()
        assert same == pytest.approx(share, abs=0.05)
        np.testing.assert_array_equal(entries, steps.entries)


def test_the_code_books_what_was_wasted():
    steps = steps_of([[1, 2, 1, 4]] * 100, [[0, 0, 0, 1]] * 100)
    learner = agent(imagined="nearby", granted_anyway=True, real_share=0.0, shortfall=False)
    _, entries, rewards = learner._imagine(steps)
    assert (entries == [1, 0, 0, 1]).all()
    assert (rewards == 0).all()


def test_the_journal_keeps_the_latest():
    journal = Journal(6)
    for clock in range(5):
        journal.add(steps_of([[0, 0, 0, clock]] * 2, [[0, 0, 0, 1]] * 2))
    drawn = journal.draw(200, np.random.default_rng(0))
    assert set(drawn.before.ledger[:, -1]) == {2, 3, 4}


def test_what_is_saved_acts_alike(tmp_path):
    learner = agent().learn(200)
    learner.save(tmp_path / "agent.npz")
    loaded = LedgerDQN.load(tmp_path / "agent.npz", doughnuts(), SHORT)
    observation = np.random.default_rng(1).integers(0, 2, size=(50, 7)).astype(np.float32)
    expected = learner.predict(observation, deterministic=True)[0]
    np.testing.assert_array_equal(loaded.predict(observation, deterministic=True)[0], expected)
    np.testing.assert_array_equal(learner.greedy_policy().act(observation)[0], expected)
    assert loaded.recipe == learner.recipe
    assert loaded.exploration_rate == learner.exploration_rate


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match=r"imagined='any'.*anything"):
        Recipe(imagined="any")
    with pytest.raises(UsageError, match="without a clock"):
        Recipe(clock=False)
    with pytest.raises(UsageError, match="nearby memories only"):
        Recipe(granted_anyway=True)
    with pytest.raises(UsageError, match=r"discount=1\.5"):
        Recipe(discount=1.5)
    with pytest.raises(UsageError, match="batch=0"):
        Recipe(batch=0)
    with pytest.raises(UsageError, match="26 numbers"):
        LedgerDQN(doughnuts(), LoanLedger())
    with pytest.raises(UsageError, match="callback instead"):
        agent().learn(10, progress_bar=True)
