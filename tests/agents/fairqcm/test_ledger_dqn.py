"""The learner beyond FairQCM: what it learns from, and that every setting does something."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.fairqcm.dqn import FairDQN
from longfair.agents.fairqcm.ledger_dqn import Journal, LedgerDQN, Steps
from longfair.agents.fairqcm.ledgers import DoughnutLedger, LoanLedger, Situation
from longfair.agents.fairqcm.presets import LEARNING, Recipe
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.memory import FullMemory, MinMemory
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


def test_a_copy_learns_to_the_same_bits():
    model = agent().learn(80)
    twin = copy.deepcopy(model)
    start = twin.online.vector.copy()
    for one in (model, twin):
        one.learn(80, reset_num_timesteps=False)
    assert not np.array_equal(twin.online.vector, start)
    np.testing.assert_array_equal(twin.online.vector, model.online.vector)


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
    assert learner.num_updates == 3 * 21


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


# The published agent ----------------------------------------------------------------------------


class OneStream:
    """A generator whose draws of who is imagined come from another one."""

    def __init__(self, shared: np.random.Generator, batch: int) -> None:
        self._shared, self._batch = shared, batch

    def random(self, size: int) -> Any:
        return np.ones(size) if size == self._batch else self._shared.random(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shared, name)


@pytest.mark.parametrize("problem", ["doughnuts", "lending"])
def test_the_ledger_agent_with_the_published_settings_is_the_published_agent(problem: str):
    """Full and Min as published, number for number; the loop is the same.

    It has to be given the same start of the network and the same draws, because the ledger agent
    makes one network where the published agent makes two, and draws whether a ledger is imagined
    also if none can be. What is left is rounding: rewards in double precision, and a target
    network that is asked for 64 values together instead of one by one. What FairQCM imagines cannot
    be compared so: it stores all imagined memories, the ledger agent draws one when it learns.
    """
    doughnut = problem == "doughnuts"
    learning = replace(LEARNING[problem]["full" if doughnut else "min"], target_every=60)
    learning = replace(learning, buffer=200, learning_rate=1e-3)
    recipe = Recipe(
        imagined="nothing",
        clock=False,
        by_person=False,
        hidden=learning.hidden,
        shortfall=False,
        double=False,
        discount=learning.discount,
        learning_rate=learning.learning_rate,
        last_rate=1.0,
        reward_unit=1.0,
        batch=learning.batch,
        target_every=learning.target_every,
        kept=learning.buffer,
        learning_starts=learning.buffer,
    )
    name = "longfair/Doughnut-v0" if doughnut else "longfair/LoanPool-v0"
    params = {"params": DoughnutParams(smoothing=0.0)} if doughnut else {}
    bits, counts = (gymnasium.make_vec(name, num_envs=1, **params) for _ in range(2))
    memory = FullMemory(bits) if doughnut else MinMemory(bits)
    published = FairDQN(memory, learning, seed=3)
    ledger = DoughnutLedger() if doughnut else LoanLedger()
    rung = LedgerDQN(ElapsedTime(FullMemory(counts, encoding="counts")), ledger, recipe, seed=3)
    rung.online.copy_from(published.online)
    rung.rng = OneStream(rung.rng, recipe.batch)  # type: ignore[assignment]  # a recorder
    chosen: list[list[int]] = [[], []]
    for actions, learner in zip(chosen, (published, rung), strict=True):
        keep = learner._keep
        learner._keep = lambda step, keep=keep, actions=actions: (  # type: ignore[method-assign]  # spied
            actions.append(int(step.actions[0])),
            keep(step),
        )
        learner.learn(600)
    assert chosen[0] == chosen[1]
    assert published.num_updates == rung.num_updates == 401
    assert published.exploration_rate == rung.exploration_rate < 1.0
    np.testing.assert_allclose(rung.online.vector, published.online.vector, atol=1e-5)
    np.testing.assert_allclose(rung.target.vector, published.target.vector, atol=1e-5)
    start = FairDQN(memory, learning, seed=3).online.vector
    assert np.abs(published.online.vector - start).max() > 0.05


# What is learned from ---------------------------------------------------------------------------


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
    choice = learner.view.values(learner.online, later)[0][0].argmax()
    assert value[0] == learner.view.values(learner.target, later)[0][0, choice]
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
    loaded = LedgerDQN.load(tmp_path / "agent.npz")
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


def test_imagined_steps_are_rewarded_as_real_ones() -> None:
    """A ledger with other rules than the environment would be trained on another reward."""
    short = gymnasium.make_vec("longfair/LoanPool-v0", num_envs=2, episode_length=20)
    loans = ElapsedTime(FullMemory(short, encoding="counts"))
    rules = {"length": 20, "required_profit": 2, "invalid_reward": -20.0, "missed_reward": -200.0}
    LedgerDQN(loans, LoanLedger(**rules), SMALL)
    for name, other in {"required_profit": 0, "invalid_reward": -1.0, "missed_reward": 0.0}.items():
        told = rf"LoanLedger: {name}={other}, but the environment has {rules[name]}: give {name}="
        with pytest.raises(UsageError, match=told):
            LedgerDQN(loans, LoanLedger(**rules | {name: other}), SMALL)
    with pytest.raises(UsageError, match="length=9, but the environment has 10"):
        LedgerDQN(doughnuts(), DoughnutLedger(length=9, crowd=3), SMALL)
