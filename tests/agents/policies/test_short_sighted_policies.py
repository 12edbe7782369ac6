"""Short-sighted policies of the population: reference values, gradients, where searches differ.

Mean losses of long runs over the Adult tables were computed with a table of another resolution.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from longfair.agents.policies.population import (
    BASELINES,
    NOTIONS,
    ConstantThresholds,
    Cost,
    Descent,
    ShortSighted,
)
from longfair.envs.population import (
    PopulationModel,
    PopulationParams,
    PopulationVectorEnv,
    start_grid,
)
from longfair.errors import UsageError

SYNTHETIC, MILD = PopulationParams.synthetic(), PopulationParams.synthetic_mild()
ADULT_1, ADULT_2 = PopulationParams.adult_easier(), PopulationParams.adult()


def play(params: PopulationParams, policy: Any) -> dict[str, Any]:
    """Play an episode from each of the 16 states: loss, parity gap (T, 16), last rates (16, 2)."""
    env = PopulationVectorEnv(16, params.starting_at(start_grid()))
    observation, _ = env.reset(seed=0)
    loss, gap = [], []
    for _ in range(params.episode_length):
        observation, reward, _, truncated, info = env.step(policy.predict(observation)[0])
        loss.append(1 - reward)
        gap.append(info["disparity"][:, 0])
    assert truncated.all()
    rates = info["final_info"]["group_state"][..., 0]
    return {"loss": np.array(loss), "gap": np.array(gap), "rates": rates}


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize(("params", "loss"), [(SYNTHETIC, 0.988), (MILD, 0.975)])
def test_all_baselines_accept_everybody_and_nobody_stays_qualified(
    name: str, params: PopulationParams, loss: float
) -> None:
    """With demographic parity the exact minimum is to accept all; mean losses to 0.0015."""
    played = play(params, ShortSighted(PopulationModel(params), BASELINES[name]))
    assert played["loss"].mean() == pytest.approx(loss, abs=1.5e-3)
    np.testing.assert_allclose(played["rates"], 0.001, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("params", "threshold", "loss"), [(SYNTHETIC, 0.3, 0.278), (MILD, -0.4, 0.115)]
)
def test_a_constant_threshold_keeps_people_qualified(
    params: PopulationParams, threshold: float, loss: float
) -> None:
    played = play(params, ConstantThresholds([(threshold + 4) / 8] * 2))
    assert played["loss"].mean() == pytest.approx(loss, abs=1.5e-3)


@pytest.mark.parametrize(
    ("params", "name", "loss", "final"),
    [
        (ADULT_1, "myopic", 0.507, (0.23, 0.71)),
        (ADULT_1, "maxmin", 0.507, (0.23, 0.71)),
        (ADULT_1, "myopic-fair", 0.366, (0.52, 0.77)),
        (ADULT_2, "myopic-fair", 0.376, (0.51, 0.77)),
        (ADULT_2, "maxmin-fair", 0.439, (0.53, 0.78)),
    ],
)
def test_baselines_over_adult_scores(
    params: PopulationParams, name: str, loss: float, final: tuple[float, float]
) -> None:
    """Mean losses to 0.003, mean last rates to 0.015."""
    played = play(params, ShortSighted(PopulationModel(params), BASELINES[name]))
    assert played["loss"].mean() == pytest.approx(loss, abs=3e-3)
    np.testing.assert_allclose(played["rates"].mean(axis=0), final, rtol=0, atol=0.015)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("params", [SYNTHETIC, ADULT_2])
@pytest.mark.parametrize("worst_group", [False, True])
def test_the_gradient_is_that_of_the_cost(
    notion: str, params: PopulationParams, worst_group: bool
) -> None:
    """Central differences agree, away from the corners of tables and from equal groups."""
    params = replace(params, group_probability=(0.3, 0.7), true_negative_weight=0.7)
    model, cost = PopulationModel(params), Cost(0.4, notion, worst_group)
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.05, 0.95, (200, 2))
    # Halfway between two edges of the tables of Adult scores.
    actions = (rng.integers(1, 29, (200, 2)) + 0.5) / 30
    slope, size = cost.slope(model, rates, actions), 1e-6
    for group in range(2):
        step = size * (np.arange(2) == group)
        ahead, behind = (cost.of(model, rates, actions + s) for s in (step, -step))
        np.testing.assert_allclose(slope[:, group], (ahead - behind) / (2 * size), atol=1e-8)
    assert np.abs(slope).max() > 0.1


def test_descent_finds_the_grid_s_minimum_where_there_is_only_one() -> None:
    """With both labels counted, the loss of Gaussian features has one minimum per group."""
    model = PopulationModel(replace(SYNTHETIC, true_negative_weight=1.0))
    rates = np.random.default_rng(1).uniform(0.2, 0.8, (50, 2))
    fine = ShortSighted(model, Cost(), knots=401).choose(rates)
    descended = ShortSighted(model, Cost(), "gd", descent=Descent(steps=800)).choose(rates)
    np.testing.assert_allclose(descended, fine, atol=2e-3)
    # The optimal threshold of two normal distributions is at half their log-odds.
    closed = np.log((1 - rates) / rates) / 2
    np.testing.assert_allclose(model.thresholds(descended), closed, atol=5e-3)


@pytest.mark.parametrize("name", ["myopic", "myopic-fair"])
def test_descent_reaches_the_minimum_over_adult_scores(name: str) -> None:
    model, rates, cost = PopulationModel(ADULT_2), start_grid(), BASELINES[name]
    values = {
        search: cost.of(model, rates, ShortSighted(model, cost, search, knots=121).choose(rates))
        for search in ("grid", "gd")
    }
    np.testing.assert_allclose(values["gd"], values["grid"], rtol=0, atol=5e-4)


def test_descent_leaves_the_better_group_where_it_began() -> None:
    """The worst group's loss does not depend on the other threshold, so nothing moves it."""
    policy = ShortSighted(PopulationModel(SYNTHETIC), BASELINES["maxmin"], "gd")
    chosen = policy.choose(np.array([[0.1, 0.9]]))
    np.testing.assert_allclose(chosen, [[0.0, 0.5]], rtol=0, atol=1e-6)


def test_nobody_can_shrink_a_gap_in_qualification_by_a_decision_now() -> None:
    model = PopulationModel(SYNTHETIC)
    rates = start_grid()
    free, fair = (ShortSighted(model, Cost(w, "qualification")).choose(rates) for w in (0.0, 0.5))
    np.testing.assert_array_equal(free, fair)


def test_ties_go_to_the_stricter_thresholds() -> None:
    model = PopulationModel(SYNTHETIC)
    only_gap = ShortSighted(model, Cost(1.0, "qualification"), knots=5)
    np.testing.assert_array_equal(only_gap.choose(np.full((3, 2), 0.4)), 1.0)


def test_bad_arguments_are_refused_in_one_line() -> None:
    model = PopulationModel(SYNTHETIC)
    with pytest.raises(UsageError, match="search='gird'"):
        ShortSighted(model, search="gird")
    with pytest.raises(UsageError, match="notion='parity'"):
        Cost(notion="parity")
    with pytest.raises(UsageError, match=r"fairness_weight=1\.5"):
        Cost(1.5)
    with pytest.raises(UsageError, match=r"actions\[1\]=2\.0"):
        ConstantThresholds([0.5, 2.0])
