"""Heuristics for attention allocation and epidemic control, against naive versions."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.policies import (
    EqualLogits,
    GaussianLogits,
    ProportionalToRates,
    VaccinateHighestDegree,
    VaccinateMostExposed,
    VaccinateNobody,
    VaccinateUniformly,
)
from longfair.envs import attention, epidemic, history
from longfair.errors import UsageError

OBSERVATION = np.zeros((4, 15), np.float32)


def health(*people: str) -> Any:
    """Observations of states written as letters, one word per copy."""
    return np.eye(3, dtype=np.float32)[[["SIR".index(each) for each in word] for word in people]]


def seen(*people: str) -> Any:
    return health(*people).reshape(len(people), -1)


# Attention ---------------------------------------------------------------------------------------


def test_equal_logits() -> None:
    logits, state = EqualLogits(5).predict(OBSERVATION)
    np.testing.assert_array_equal(logits, np.zeros((4, 5)))
    assert state is None


def test_gaussian_logits_are_clipped_and_reproducible() -> None:
    many = np.zeros((20_000, 1))
    draws = GaussianLogits(5, limit=1.5, seed=0).predict(many)[0]
    assert np.abs(draws).max() == 1.5
    # Of a standard normal, 0.1336 lies beyond 1.5.
    assert (np.abs(draws) == 1.5).mean() == pytest.approx(0.1336, abs=4 * (0.116 / 1e5) ** 0.5)
    again = GaussianLogits(5, limit=1.5, seed=0)
    np.testing.assert_array_equal(draws, again.predict(many)[0])
    assert (draws != again.predict(many)[0]).any()
    np.testing.assert_array_equal(again.predict(many, deterministic=True)[0], 0)


def test_gaussian_logits_have_mean_zero_and_variance_one() -> None:
    draws = GaussianLogits(5, limit=50.0, seed=1).predict(np.zeros((20_000, 1)))[0]
    assert draws.mean() == pytest.approx(0.0, abs=4 / 1e5**0.5)
    assert draws.var() == pytest.approx(1.0, abs=4 * (2 / 1e5) ** 0.5)


def test_the_oracle_divides_in_proportion_to_the_rates() -> None:
    agent = ProportionalToRates()
    rates = np.array([[8, 6, 4, 3, 1.5], [0.3, 0.3, 0.3, 0.3, 0.3]])
    agent.observe({"group_state": rates[:, :, None]})
    logits = agent.predict(np.zeros((2, 15)))[0]
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(share, rates / rates.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(
        attention.allocate_units(logits, 30), [[11, 8, 5, 4, 2], [6, 6, 6, 6, 6]]
    )


def test_the_oracle_stays_within_the_limit_and_survives_rates_of_zero() -> None:
    agent = ProportionalToRates(limit=2.0)
    agent.observe({"group_state": np.array([[0.0, 1e-9, 5.0], [0.0, 0.0, 0.0]])[:, :, None]})
    np.testing.assert_array_equal(agent.predict(OBSERVATION[:2])[0], [[-2, -2, 2], [2, 2, 2]])


def test_the_oracle_has_to_look_first() -> None:
    with pytest.raises(UsageError, match="observe"):
        ProportionalToRates().predict(OBSERVATION)


@pytest.mark.parametrize(
    "agent", [EqualLogits(5), GaussianLogits(5, seed=0), ProportionalToRates()]
)
def test_attention_agents_play_any_observation(agent: Any) -> None:
    env = attention.AttentionVectorEnv.make(3, "elbert_harder", episode_length=20)
    wrapped = history.History(history.WindowRates(env, 5), 2)
    assert play_episodes(acting(agent), wrapped, seed=0).steps.tolist() == [20, 20, 20]


# Epidemic ----------------------------------------------------------------------------------------


def test_nobody() -> None:
    np.testing.assert_array_equal(VaccinateNobody(7).predict(OBSERVATION)[0], [7, 7, 7, 7])


def test_uniform_choice_includes_nobody() -> None:
    many = np.zeros((8000, 1))
    agent = VaccinateUniformly(7, seed=0)
    counts = np.bincount(agent.predict(many)[0], minlength=8)
    assert len(counts) == 8
    assert (np.abs(counts - 1000) < 4 * 875**0.5).all()
    again = VaccinateUniformly(7, seed=0)
    np.testing.assert_array_equal(counts, np.bincount(again.predict(many)[0]))


# Person 2 has three ties, 1 and 3 two, 0 and 4 one, 5 and 6 one (with each other).
TREE = networkx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (5, 6)])
TREE.add_edge(2, 7)
MATRIX = networkx.to_numpy_array(TREE, nodelist=range(8))


@pytest.mark.parametrize(
    ("people", "degree", "degree_in_fppo", "exposed", "exposed_in_fppo"),
    [
        # Nobody infected: degree decides, then the lowest number; exposure alone picks person 0.
        ("SSSSSSSS", 2, 2, 2, 0),
        # The hub is immune: 1 and 3 tie on degree, and 3 has an infected neighbour.
        ("SSRSISSS", 3, 1, 3, 3),
        # 3 and 7 are exposed to the hub; 3 has more ties and the lower number.
        ("SRISSSSS", 3, 3, 3, 3),
        # 3 is exposed twice, 7 once; 1 is immune.
        ("SRISISSS", 3, 3, 3, 3),
        # 6 and 7 are exposed once and have one tie each: the lower number.
        ("RRIRRISS", 6, 6, 6, 6),
        # The criteria disagree: 1 has two ties, none of them infected; 6 has one, infected.
        ("SSRRRISR", 1, 1, 6, 6),
        # Nobody is susceptible: nobody, or the first of all.
        ("RRRIRRRR", 8, 2, 8, 2),
        ("RRRRIRRR", 8, 2, 8, 3),
    ],
)
def test_rankings(
    people: str, degree: int, degree_in_fppo: int, exposed: int, exposed_in_fppo: int
) -> None:
    def choice(agent: Any) -> int:
        return int(agent.predict(seen(people))[0][0])

    assert choice(VaccinateHighestDegree(MATRIX)) == degree
    assert choice(VaccinateHighestDegree(MATRIX, as_in_fppo=True)) == degree_in_fppo
    assert choice(VaccinateMostExposed(MATRIX)) == exposed
    assert choice(VaccinateMostExposed(MATRIX, as_in_fppo=True)) == exposed_in_fppo


def naive(adjacency: Any, states: Any, by_degree: bool, as_in_fppo: bool) -> int:
    """The same rules person by person."""
    best, best_key = len(states), None
    for person, state in enumerate(states):
        degree = adjacency[person].sum()
        exposure = adjacency[person][states == 1].sum()
        first, second = (degree, exposure) if by_degree else (exposure, degree)
        key = (state == 0, first, 0 if as_in_fppo else second)
        allowed = state == 0 or as_in_fppo
        if allowed and (best_key is None or key > best_key):
            best, best_key = person, key
    return best


@pytest.mark.parametrize("as_in_fppo", [False, True])
@pytest.mark.parametrize("by_degree", [False, True])
def test_rankings_on_the_karate_club(by_degree: bool, as_in_fppo: bool) -> None:
    adjacency = epidemic.EpidemicParams().adjacency()
    rng = np.random.default_rng(0)
    # Copies differ in how common each state is, down to nobody susceptible.
    chances = rng.dirichlet((0.5, 0.5, 0.5), 300)
    states = np.array([rng.choice(3, 34, p=row) for row in chances])
    states[:20] = np.maximum(states[:20], 1)
    kind = VaccinateHighestDegree if by_degree else VaccinateMostExposed
    # What a wrapper appends must not matter.
    observation = np.hstack([np.eye(3)[states].reshape(300, -1), rng.random((300, 34))])
    chosen = kind(adjacency, as_in_fppo).predict(observation.astype(np.float32))[0]
    expected = [naive(adjacency, row, by_degree, as_in_fppo) for row in states]
    np.testing.assert_array_equal(chosen, expected)


def test_the_network_has_to_be_symmetric() -> None:
    for bad in (np.zeros((2, 3)), [[0, 1], [0, 0]]):
        with pytest.raises(UsageError, match="symmetric"):
            VaccinateHighestDegree(bad)


@pytest.mark.parametrize("kind", [EqualLogits, GaussianLogits, VaccinateNobody, VaccinateUniformly])
def test_there_has_to_be_something_to_decide(kind: Any) -> None:
    with pytest.raises(UsageError, match="=0: give an integer of at least 1"):
        kind(0)
