"""What is booked: read off the environment, rewarded as there, and shown without favour."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.fairqcm.ledgers import DoughnutLedger, Ledger, LoanLedger, Situation
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.memory import FullMemory, MinMemory
from longfair.errors import UsageError

LEDGERS: dict[str, Ledger] = {"doughnuts": DoughnutLedger(), "lending": LoanLedger()}


def problem(name: str, copies: int, memory: Any = FullMemory, encoding: str = "counts") -> Any:
    if name == "doughnuts":
        params = DoughnutParams(smoothing=0.0)
        env = gymnasium.make_vec("longfair/Doughnut-v0", num_envs=copies, params=params)
    else:
        env = gymnasium.make_vec("longfair/LoanPool-v0", num_envs=copies)
    return ElapsedTime(memory(env, encoding=encoding))


@pytest.mark.parametrize("name", LEDGERS)
def test_entries_and_rewards_are_those_of_the_environment(name):
    """Also at the last step, where a missed margin is fined."""
    ledger, env = LEDGERS[name], problem(name, 300)
    rng = np.random.default_rng(1)
    observation, _ = env.reset(seed=1)
    missed = 0
    for _ in range(ledger.length):
        before = ledger.read(observation)
        observation, reward, _, _, info = env.step(rng.integers(ledger.people, size=300))
        final = info["final_obs"] if "_final_obs" in info else observation
        after = ledger.read(final)
        entries = after.ledger - before.ledger
        granted = ledger.granted(entries)
        np.testing.assert_array_equal(granted, info["supply"].any(axis=1))
        np.testing.assert_allclose(ledger.rewards(after.ledger, granted), reward, rtol=1e-12)
        np.testing.assert_array_equal(ledger.ended(after.ledger), "_final_obs" in info)
        missed += (reward == -400).sum()
    assert missed == 0 if name == "doughnuts" else missed > 0


def test_imagined_steps_are_steps_of_the_environment_from_another_ledger():
    """What is booked in one ledger can be booked in any other (Equation 2)."""
    ledger = DoughnutLedger()
    before = np.array([[3, 4, 0, 0, 1, 9], [3, 4, 0, 0, 1, 9]])
    entries = np.array([[0, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1]])
    granted = ledger.granted(entries)
    assert granted.tolist() == [True, False]
    rewards = ledger.rewards(before + entries, granted)
    np.testing.assert_allclose(rewards, [np.log(4) + np.log(6) + np.log(2), 0.0])
    # The authors' code hands the wasted doughnut to the imagined person.
    anyway = ledger.granted_anyway(entries, np.array([1, 2]))
    assert anyway.tolist() == [[0, 1, 0, 0, 0, 1], [0, 0, 1, 0, 0, 1]]
    assert ledger.coded_rewards(before, before + anyway, granted)[1] == 0.0


def test_rewards_of_loans_by_hand():
    ledger = LoanLedger()
    after = np.array([[3, 1, 0, 10], [3, 1, 0, 10], [20, 19, 4, 40], [20, 19, 3, 40]])
    granted = np.array([True, False, True, True])
    assert ledger.rewards(after, granted).tolist() == [-2.0, -40.0, -1.0, -400.0]
    before = after - np.array([1, 0, 1, 1])
    assert ledger.coded_rewards(before, after, granted).tolist() == [-1.0, -1.0, 0.0, -400.0]
    assert ledger.granted_anyway(np.array([[0, 0, 0, 1]]), np.array([3])).tolist() == [[0, 1, 0, 1]]


@pytest.mark.parametrize(("name", "memory"), [("doughnuts", FullMemory), ("lending", MinMemory)])
def test_bits_are_what_the_papers_networks_observe(name, memory):
    ledger = LEDGERS[name]
    counts, bits = problem(name, 50), problem(name, 50, memory, "bits")
    rng = np.random.default_rng(2)
    plain, _ = counts.reset(seed=2)
    coded, _ = bits.reset(seed=2)
    for _ in range(ledger.length - 1):
        np.testing.assert_array_equal(ledger.bits(ledger.read(plain)), coded[:, :-1])
        actions = rng.integers(ledger.people, size=50)
        plain, coded = counts.step(actions)[0], bits.step(actions)[0]


def played(name: str, steps: int = 12) -> Situation:
    env = problem(name, 40)
    rng = np.random.default_rng(3)
    observation, _ = env.reset(seed=3)
    for _ in range(steps):
        observation = env.step(rng.integers(LEDGERS[name].people, size=40))[0]
    return LEDGERS[name].read(observation)


def test_renumbering_people_renumbers_the_rows():
    ledger, situation = LEDGERS["doughnuts"], played("doughnuts")
    rows = ledger.by_person(situation, clock=True)
    for order in list(permutations(range(5)))[::17]:
        moved = Situation(
            situation.scene[:, order], np.c_[situation.ledger[:, order], situation.ledger[:, -1]]
        )
        np.testing.assert_array_equal(ledger.by_person(moved, clock=True), rows[:, order])


def test_renumbering_borrowers_and_groups_renumbers_the_rows():
    ledger, situation = LEDGERS["lending"], played("lending")
    rows = ledger.by_person(situation, clock=True)
    for order, swapped in (([1, 0, 2, 3], False), ([0, 1, 3, 2], False), ([2, 3, 0, 1], True)):
        loans = situation.ledger[:, [1, 0] if swapped else [0, 1]]
        moved = Situation(
            np.c_[situation.scene[:, :4][:, order], situation.scene[:, 4:][:, order]],
            np.c_[loans, situation.ledger[:, 2:]],
        )
        np.testing.assert_array_equal(ledger.by_person(moved, clock=True), rows[:, order])


@pytest.mark.parametrize("name", LEDGERS)
def test_the_clock_is_shown_only_on_request(name):
    ledger, situation = LEDGERS[name], played(name)
    later = Situation(situation.scene, situation.ledger.copy())
    later.ledger[:, -1] += 5
    hidden = (ledger.by_person(s, clock=False) for s in (situation, later))
    np.testing.assert_array_equal(*hidden)
    shown = [ledger.by_person(s, clock=True) for s in (situation, later)]
    assert (shown[0] != shown[1]).any(axis=(1, 2)).all()


@pytest.mark.parametrize("name", LEDGERS)
def test_imagined_ledgers_are_of_any_time_and_possible(name):
    ledger, rng = LEDGERS[name], np.random.default_rng(4)
    drawn = ledger.anything(5000, rng)
    clock = drawn[:, -1]
    assert set(clock) == set(range(ledger.length))
    counts = drawn[:, : ledger.units]
    assert (counts >= 0).all()
    if name == "doughnuts":
        # Never far from what has been handed out, and unequal enough to learn from.
        assert np.abs(counts.sum(axis=1) - clock).mean() < 1.5
        assert np.ptp(counts, axis=1).mean() > 2
    else:
        assert (np.abs(drawn[:, 2]) <= clock).all()
        assert (counts.max(axis=1) <= clock).all()
        assert {-2, 0, 2} < set(counts[:, 0] - counts[:, 1])


@pytest.mark.parametrize("name", LEDGERS)
def test_nearby_ledgers_are_the_memories_of_the_paper(name):
    ledger, rng = LEDGERS[name], np.random.default_rng(5)
    real = np.tile(played(name).ledger[:1], (2000, 1))
    added = ledger.nearby(real, rng) - real
    assert (added[:, ledger.units :] == 0).all()
    found = {tuple(row) for row in added[:, : ledger.units].tolist()}
    if name == "doughnuts":
        assert len(found) == 32
        assert {value for row in found for value in row} == {1, 2}
        full = replace(ledger, length=4)
        np.testing.assert_array_equal(full.nearby(real, rng), real)
    else:
        assert found == {(k, 0) for k in range(1, 6)} | {(0, k) for k in range(1, 6)}


def test_equal_shares_are_the_best_there_is():
    ledger = DoughnutLedger()
    after = np.array([[2, 2, 2, 2, 2, 10], [3, 1, 2, 2, 2, 10], [10, 0, 0, 0, 0, 10]])
    short = ledger.rewards(after, np.ones(3, bool)) - ledger.equal_shares(after)
    assert short[0] == pytest.approx(0.0)
    assert 0 > short[1] > short[2]


def test_an_episode_needs_a_step():
    with pytest.raises(UsageError, match="length=0"):
        DoughnutLedger(length=0)
