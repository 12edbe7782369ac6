"""Policies of a handful of numbers: exact values against play, and naive versions of the rules."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest
from scipy.stats import poisson

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.policies import (
    ConstantAllocation,
    GreedyDiscoveries,
    ProportionalToExcess,
    ProportionalToIncidents,
    VaccinateThenWaste,
    VaccinationLottery,
)
from longfair.agents.policies.constant_allocations import (
    best_allocation,
    constant_allocations,
    sites_under_constant_units,
)
from longfair.envs.attention import AttentionParams, AttentionVectorEnv, allocate_units
from longfair.errors import UsageError


def all_allocations(params: AttentionParams) -> Any:
    sites = sites_under_constant_units(
        params.initial_rate,
        params.decrease,
        params.increase,
        params.units,
        params.episode_length,
    )
    return constant_allocations(sites, params.discovered_weight, params.missed_weight)


@pytest.mark.parametrize("preset", ["elbert", "elbert_harder"])
def test_logits_give_exactly_the_units(preset: str) -> None:
    params = getattr(AttentionParams, preset)()
    units = all_allocations(params).units
    assert (units.sum(axis=1) == params.units).all()
    chosen = units[:: max(1, len(units) // 3000)]
    logits = np.concatenate(
        [ConstantAllocation(tuple(row)).predict(np.zeros((1, 3)))[0] for row in chosen]
    )
    assert np.abs(logits).max() <= 3.0
    np.testing.assert_array_equal(allocate_units(logits, params.units), chosen)


def test_one_site_by_hand() -> None:
    sites = sites_under_constant_units(
        (2.0, 1.0), (0.5, 0.0), (1.0, 0.0), units=2, episode_length=3
    )
    # Rates 2, 3, 4 without units; 2, 1.5, 1 with one; 2, 1, 0 with two.
    np.testing.assert_allclose(sites.demand, [[9.0, 4.5, 3.0], [3.0, 3.0, 3.0]])
    one = sum(1 - poisson.pmf(0, rate) for rate in (2.0, 1.5, 1.0))
    two = sum(2 - 2 * poisson.pmf(0, rate) - poisson.pmf(1, rate) for rate in (2.0, 1.0, 0.0))
    np.testing.assert_allclose(sites.supply[0], [0.0, one, two])


def test_exact_values_agree_with_play() -> None:
    params = AttentionParams.elbert_harder()
    allocations = all_allocations(params)
    units = (9, 7, 6, 5, 3)
    row = int(np.flatnonzero((allocations.units == units).all(axis=1))[0])
    totals = play_episodes(
        acting(ConstantAllocation(units)), AttentionVectorEnv.make(40, "elbert_harder"), seed=0
    )
    spread = totals.reward.std() / 40**0.5
    assert totals.reward.mean() == pytest.approx(allocations.reward[row], abs=4 * spread)
    rates = totals.supply.sum(axis=0) / (totals.demand.sum(axis=0) + 40)
    np.testing.assert_allclose(rates, allocations.rates[row], atol=0.01)


def test_the_best_allocation_depends_on_what_bias_costs() -> None:
    harder = all_allocations(AttentionParams.elbert_harder())
    found = {alpha: tuple(harder.units[best_allocation(harder, alpha)]) for alpha in (0.0, 2e4)}
    assert found == {0.0: (12, 7, 5, 4, 2), 2e4: (9, 7, 6, 5, 3)}
    original = all_allocations(AttentionParams.elbert())
    for alpha in (0.0, 50.0):
        assert tuple(original.units[best_allocation(original, alpha)]) == (2, 1, 1, 1, 1)


def test_proportional_to_weighted_recent_incidents() -> None:
    agent = ProportionalToIncidents((1.0, 2.0), slice(1, 3), rows=2, prior=0.5)
    # Two rows of three columns; incidents are the last two: means (2, 1) and (0, 0).
    seen = np.array([[9.0, 4.0, 0.0, 9.0, 0.0, 2.0], [9.0, 0.0, 0.0, 9.0, 0.0, 0.0]])
    shares = np.exp(agent.predict(seen)[0])
    np.testing.assert_allclose(shares[:, 1] / shares[:, 0], [2 * 1.5 / 2.5, 2.0], rtol=1e-6)
    extreme = np.array([[0.0, 1e9, 0.0, 0.0, 1e9, 0.0]])
    np.testing.assert_allclose(agent.predict(extreme)[0], [[3.0, -3.0]])


def test_a_greedy_unit_goes_where_a_find_is_most_likely() -> None:
    agent = GreedyDiscoveries(3, slice(1, 3), rows=1)
    # Chances of a first, second and third find: .86, .59, .32 at mean 2 and .39, .09, .01 at 0.5.
    seen = np.array([[9.0, 2.0, 0.5], [9.0, 0.5, 0.5], [9.0, 0.5, 40.0], [9.0, 0.0, 0.0]])
    units = np.exp(agent.predict(seen)[0])
    np.testing.assert_allclose(units[:, 0] / units[:, 1], [2.0, 2.0, 0.05 / 3, 60.0], rtol=1e-6)


def test_proportional_to_incidents_above_a_target() -> None:
    agent = ProportionalToExcess(1.5, slice(1, 4), rows=2)
    # Two rows of four columns; incidents are the last three: means (4.5, 3, 1) and (1, 0, 1.5).
    seen = np.array(
        [[9.0, 9.0, 4.0, 0.0, 9.0, 0.0, 2.0, 2.0], [9.0, 1.0, 0.0, 2.0, 9.0, 1.0, 0.0, 1.0]]
    )
    logits = agent.predict(seen)[0]
    np.testing.assert_allclose(np.exp(logits[0, :2] - logits[0, 0]), [1.0, 0.5], rtol=1e-6)
    assert logits[0, 2] == -3.0, "below the target: nothing while others are above"
    np.testing.assert_allclose(logits[1], [3.0, 3.0, 3.0], err_msg="nobody is above: all alike")


def lottery_by_hand(
    graph: networkx.Graph, group: list[int], states: str, drawn: int, weight: float
) -> int:
    """Read the rule off the docstring: the drawn group first, then value, then number."""
    susceptible = [node for node in graph if states[node] == "S"]
    if not susceptible:
        return len(group)
    own = [node for node in susceptible if group[node] == drawn] or susceptible

    def value(node: int) -> float:
        infected = sum(states[other] == "I" for other in graph[node])
        return float(graph.degree[node] + weight * infected)

    return min(own, key=lambda node: (-value(node), node))


def test_lottery_follows_its_rule() -> None:
    graph = networkx.karate_club_graph()
    group = [node % 2 for node in graph]
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("SIR"), size=34, p=p)) for p in rng.dirichlet((1, 1, 1), 300)]
    words.append("R" * 34)
    seen = np.eye(3, dtype=np.float32)[[["SIR".index(x) for x in word] for word in words]]
    matrix = networkx.to_numpy_array(graph, weight=None)
    for drawn, chances in enumerate([(1.0, 0.0), (0.0, 1.0)]):
        agent = VaccinationLottery(matrix, group, chances, 0.7, seed=1)
        chosen = agent.predict(seen.reshape(len(words), -1))[0]
        expected = [lottery_by_hand(graph, group, word, drawn, 0.7) for word in words]
        np.testing.assert_array_equal(chosen, expected)


def test_lottery_draws_groups_with_their_chances() -> None:
    matrix = np.ones((2, 2)) - np.eye(2)
    agent = VaccinationLottery(matrix, (0, 1), (0.25, 0.75), 0.0, seed=0)
    seen = np.tile([1.0, 0.0, 0.0, 1.0, 0.0, 0.0], (4000, 1))
    assert agent.predict(seen)[0].mean() == pytest.approx(0.75, abs=0.03)


def test_schedule_protects_one_group_and_then_wastes_on_the_ill_of_the_other() -> None:
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 1
    star[3, 4] = star[4, 3] = 1
    agent = VaccinateThenWaste(star, (0, 0, 1, 1, 1, 1), 1, 2.5, 10, seed=0)
    states = {"S": (1, 0, 0), "I": (0, 1, 0), "R": (0, 0, 1)}

    def chosen(health: str, day: int, copies: int = 1) -> list[int]:
        seen = [number for state in health for number in states[state]] + [day / 10]
        return agent.predict(np.tile(np.array(seen, np.float32), (copies, 1)))[0].tolist()

    assert chosen("SSSSSS", 0) == [3], "the best connected of group 1, not of all"
    assert chosen("SSSRIS", 1) == [2], "nobody in group 1 is better connected, the first counts"
    assert chosen("SSRRII", 1) == [6], "nobody left to protect, so nobody is vaccinated"
    assert chosen("SISSII", 3) == [1], "an ill member of group 0 after the useful days"
    assert chosen("SSSSII", 9) == [6], "nobody is ill in group 0"
    drawn = chosen("SISSSS", 2, copies=2000)
    assert set(drawn) == {1, 3}
    assert np.mean(np.array(drawn) == 3) == pytest.approx(0.5, abs=0.05), "half a useful day"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VaccinateThenWaste(np.eye(2), (0, 1), 1, -1.0, 10), "useful_days"),
        (lambda: ConstantAllocation((0, 0)), "units"),
        (lambda: ConstantAllocation((-1, 2)), "units"),
        (lambda: ProportionalToIncidents((0.0, 1.0), slice(2), 1), "weights"),
        (lambda: ProportionalToExcess(-1.0, slice(2), 1), "target"),
        (lambda: GreedyDiscoveries(0, slice(2), 1), "units"),
        (lambda: VaccinationLottery(np.eye(2), (0, 1), (0.5, 0.6), 0.0), "chances"),
    ],
)
def test_bad_numbers_are_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()
