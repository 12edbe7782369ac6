"""Policies that choose a person: what they choose, and what they have to be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from longfair.agents.policies import (
    AlwaysTheSame,
    AnybodyAtRandom,
    FixedPriority,
    LaggingGroupBestCredit,
    LeastServedThere,
    Rotation,
    SomebodyThereAtRandom,
)
from longfair.envs import doughnut
from longfair.errors import UsageError


def there(*people: str) -> Any:
    """Observations from strings of 0 and 1, one per copy, with something appended."""
    return np.array([[int(bit) for bit in word] + [1, 0, 1] for word in people], np.float32)


def chosen(agent: Any, observation: Any) -> list[int]:
    actions, state = agent.predict(observation)
    assert state is None
    assert actions.shape == (len(observation),)
    assert actions.dtype == np.int64
    return list(actions)


def test_random_choices_are_even_over_everybody_or_over_those_there() -> None:
    observation = there(*["0110"] * 20_000)
    everybody = np.bincount(chosen(AnybodyAtRandom(4, seed=0), observation), minlength=4) / 20_000
    np.testing.assert_allclose(everybody, 0.25, atol=4 * np.sqrt(0.19 / 20_000))
    some = np.bincount(chosen(SomebodyThereAtRandom(4, seed=0), observation), minlength=4) / 20_000
    np.testing.assert_allclose(some, [0, 0.5, 0.5, 0], atol=4 * np.sqrt(0.25 / 20_000))
    assert some[[0, 3]].tolist() == [0.0, 0.0]


def test_seeds_decide_random_choices() -> None:
    observation = there(*["1111"] * 50)
    for policy in (AnybodyAtRandom, SomebodyThereAtRandom):
        first, again, other = (chosen(policy(4, seed=seed), observation) for seed in (1, 1, 2))
        assert first == again != other


def test_one_person_or_the_first_in_order() -> None:
    observation = there("0111", "0010", "0000")
    assert chosen(AlwaysTheSame(4, 2), observation) == [2, 2, 2]
    assert chosen(FixedPriority((3, 0, 1, 2)), observation)[:2] == [3, 2]


def info(counts: list[list[float]], supply: list[list[float]] | None = None) -> dict[str, Any]:
    seen: dict[str, Any] = {"group_state": np.array(counts)[..., None]}
    if supply is not None:
        seen["supply"] = np.array(supply)
    return seen


def test_the_least_served_of_those_there_is_next() -> None:
    agent = LeastServedThere(3)
    agent.observe(info([[2, 1, 0], [1, 1, 0], [0, 0, 0]]))
    assert chosen(agent, there("110", "110", "011")) == [1, 0, 1]


def test_a_turn_passes_over_those_who_are_not_there() -> None:
    agent = Rotation(3)
    agent.observe(info([[0, 0, 0], [0, 0, 0]]))
    assert chosen(agent, there("011", "111")) == [1, 0]
    agent.observe(info([[0, 1, 0], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]]))
    assert chosen(agent, there("111", "101")) == [2, 2]
    # Nobody was served in the first copy: the turn stays.
    agent.observe(info([[0, 1, 0], [1, 0, 1]], [[0, 0, 0], [0, 0, 1]]))
    assert chosen(agent, there("111", "111")) == [2, 0]


def test_a_strict_turn_is_lost() -> None:
    agent = Rotation(3, skip_absent=False)
    agent.observe(info([[0, 0, 0]]))
    taken = []
    for _ in range(4):
        taken += chosen(agent, there("010"))
        agent.observe(info([[0, 0, 0]], [[0, 0, 0]]))
    assert taken == [0, 1, 2, 0]


@pytest.mark.parametrize("skip_absent", [True, False])
def test_turns_begin_anew_with_every_episode(skip_absent: bool) -> None:
    env = doughnut.DoughnutVectorEnv.make(1, params=doughnut.DoughnutParams((1.0,) * 3, 4))
    agent = Rotation(3, skip_absent)
    observation, seen = env.reset(seed=0)
    taken = []
    for _ in range(9):
        agent.observe(seen)
        actions, _ = agent.predict(observation)
        taken.append(int(actions[0]))
        observation, _, _, _, seen = env.step(actions)
    assert taken == [0, 1, 2, 0, 0, 1, 2, 0, 0]
    agent.observe(env.reset(seed=0)[1])
    assert chosen(agent, there("111")) == [0]


def test_the_lagging_group_gets_the_loan_and_there_the_best_credit() -> None:
    loans = [[1, 0, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1]]
    credit = [[0.9, 0.9, 0.3, 0.4]] * 4 + [[0.4, 0.5, 0.5, 0.2]]
    agent = LaggingGroupBestCredit((0, 0, 1, 1))
    agent.observe({"group_state": np.stack([np.array(loans, float), np.array(credit)], axis=2)})
    # B lags; A lags; level, so the best of all; B lags but does not ask; level and tied, so A.
    assert chosen(agent, there("1111", "1111", "0111", "0100", "1111")) == [3, 0, 1, 1, 1]


def test_policies_with_a_memory_want_to_be_told() -> None:
    for agent in (Rotation(3), LeastServedThere(3), LaggingGroupBestCredit((0, 1))):
        with pytest.raises(UsageError, match=r"call observe\(info\)"):
            agent.predict(there("111"))


def test_impossible_policies_are_refused() -> None:
    with pytest.raises(UsageError, match="people=0"):
        LeastServedThere(0)
    with pytest.raises(UsageError, match=r"person=3: give an integer in 0..2"):
        AlwaysTheSame(3, 3)
    with pytest.raises(UsageError, match=r"give each of 0..2 once"):
        FixedPriority((0, 0, 2))
