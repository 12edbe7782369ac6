"""The best that can be done by seeing who is there is found without trying every policy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut.exact import controller_score, memoryless, rotation_skipping_absent
from longfair.errors import UsageError
from longfair.papers.fairqcm import memoryless as exact
from longfair.papers.fairqcm.memoryless import best_memoryless, memoryless_policies


def crowd(people: int, length: int, presence: float = 0.8) -> DoughnutParams:
    return DoughnutParams((presence,) * people, length, smoothing=0.0)


def served(named: dict[tuple[int, ...], int], presence: float, people: int) -> list[float]:
    """Return how probably a step serves each person, from whom a policy names for each set."""
    chances = [0.0] * people
    for there, person in named.items():
        if person in there:
            chances[person] += presence ** len(there) * (1 - presence) ** (people - len(there))
    return chances


def sets_of(people: int) -> list[tuple[int, ...]]:
    return [
        there
        for size in range(1, people + 1)
        for there in itertools.combinations(range(people), size)
    ]


@pytest.mark.parametrize("presence", [0.3, 0.8])
def test_no_policy_that_wastes_or_not_is_better_among_three_people(presence: float) -> None:
    params, sets = crowd(3, 5, presence), sets_of(3)
    scores = {
        named: controller_score(
            memoryless(served(dict(zip(sets, named, strict=True)), presence, 3)), 5, 0.0
        ).reward
        for named in itertools.product(range(3), repeat=len(sets))
    }
    assert best_memoryless(params).reward == pytest.approx(max(scores.values()), abs=1e-9)


def test_no_single_change_or_chance_find_is_better_among_five() -> None:
    params, sets = DoughnutParams.deep(), sets_of(5)
    best = best_memoryless(params)
    assert best.reward == pytest.approx(1066.0842, abs=1e-4)
    assert sum(best.served) == pytest.approx(1 - 0.2**5)
    # Somebody is named when all are there; more equal than that nobody could share.
    bound = [0.32896, *[(1 - 0.2**5 - 0.32896) / 4] * 4]
    assert best.reward < controller_score(memoryless(bound), 100).reward < best.reward + 0.2
    generator = np.random.default_rng(0)
    for _ in range(50):
        named = {there: int(generator.choice(there)) for there in sets}
        found = controller_score(memoryless(served(named, 0.8, 5)), 100).reward
        assert found < best.reward


def test_to_remember_whose_turn_it_is_helps_more() -> None:
    params = DoughnutParams.deep()
    turns = controller_score(rotation_skipping_absent(params.presence_probability), 100).reward
    assert best_memoryless(params).reward < turns - 30


@pytest.mark.parametrize("presence", [(0.8, 0.7), (0.8,) * 6])
def test_crowds_that_cannot_be_gone_through_are_refused(presence: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="equal probabilities"):
        best_memoryless(DoughnutParams(presence, 10))


def test_the_check_fails_if_the_formula_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memoryless_policies().passed
    right = exact._worth
    monkeypatch.setattr(exact, "_worth", lambda *arguments: right(*arguments) * 1.001)
    assert not memoryless_policies().passed
