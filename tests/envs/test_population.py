"""The population under replicator dynamics: regression values, long runs, Adult tables.

Values marked exact were computed in double precision and are given to the digits shown. Values of
long runs over the Adult tables were computed with a table of another resolution, so they agree to
about the error of interpolation; the tolerance is written beside each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.envs.population import (
    DISPARITIES,
    FitnessTable,
    PopulationModel,
    PopulationParams,
    PopulationVectorEnv,
    SurvivalTable,
    adult_table,
    model,
    start_grid,
)
from longfair.envs.population.params import SCORES
from longfair.errors import UsageError

SYNTHETIC = PopulationParams.synthetic()
MILD = PopulationParams.synthetic_mild()
ADULT_1, ADULT_2 = PopulationParams.adult_easier(), PopulationParams.adult()


def action(threshold: Any) -> Any:
    """Return the action that stands for a threshold between -4 and 4."""
    return (np.asarray(threshold, dtype=float) + 4) / 8


def adult_action(threshold: Any) -> Any:
    """Return the action that stands for a threshold between 1/32 and 31/32."""
    return (np.asarray(threshold, dtype=float) - 1 / 32) / (30 / 32)


def play(params: PopulationParams, policy: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Play one episode from each of the 16 evaluation states; axes are step, copy, ..."""
    env = PopulationVectorEnv(16, params.starting_at(start_grid()))
    _, info = env.reset(seed=0)
    loss, disparity, rates = [], [], [info["group_state"][:, :, 0]]
    for _ in range(params.episode_length):
        _, reward, _, truncated, info = env.step(policy(env.model, rates[-1]))
        state = info["final_info"] if truncated.any() else info
        loss.append(1 - reward)
        disparity.append(info["disparity"])
        rates.append(state["group_state"][:, :, 0])
    return {key: np.array(value) for key, value in locals().items() if key in _SERIES}


_SERIES = ("loss", "disparity", "rates")


def constant(actions: Any) -> Callable[[Any, Any], Any]:
    return lambda _, rates: np.broadcast_to(actions, rates.shape)


# Synthetic features: one step --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "change"),
    [
        (-4, -1.7034), (-2, -1.5361), (-1, -1.0411), (0, -0.0384), (0.3, 0.3447),
        (0.5, 0.6073), (1, 1.2136), (2, 1.6863), (3, 1.6302), (4, 1.6108),
    ],
)  # fmt: skip
def test_change_of_the_log_odds_by_threshold(threshold: float, change: float) -> None:
    """Exact to four decimals. From rate 1/2 the log-odds after the step are the change itself."""
    rates = PopulationModel(SYNTHETIC).outcome([0.5, 0.5], action([threshold] * 2)).next_rates
    np.testing.assert_allclose(np.log(rates / (1 - rates)), change, rtol=0, atol=5.1e-5)


@pytest.mark.parametrize(
    ("params", "threshold", "qualified", "unqualified"),
    [(SYNTHETIC, 0.0310, 0.8337, 0.1513), (MILD, -0.9157, 0.9723, 0.4664)],
)
def test_neutral_threshold(
    params: PopulationParams, threshold: float, qualified: float, unqualified: float
) -> None:
    """Exact to four decimals: at this threshold qualification stays where it is."""
    outcome = PopulationModel(params).outcome([0.3, 0.6], action([threshold] * 2))
    np.testing.assert_allclose(outcome.next_rates, [0.3, 0.6], rtol=0, atol=3e-5)
    np.testing.assert_allclose(
        outcome.acceptance, [[unqualified, qualified]] * 2, rtol=0, atol=6e-5
    )


def test_one_step_of_the_environment() -> None:
    """Exact to six decimals."""
    params = replace(SYNTHETIC.starting_at([[0.2, 0.8], [0.5, 0.5]]), true_negative_weight=0.7)
    actions = action([[-1, 0.5], [0, 1]])
    for weight, loss in ((0.0, 0.625690), (0.7, 0.420367)):
        env = PopulationVectorEnv(2, replace(params, true_negative_weight=weight))
        observation, _ = env.reset(seed=0)
        np.testing.assert_array_equal(observation, np.float32([[0.2, 0.8], [0.5, 0.5]]))
        observation, reward, _, _, info = env.step(actions)
        assert 1 - reward[0] == pytest.approx(loss, abs=6e-7)
        expected = [[0.081110, 0.880126], [0.490395, 0.770930]]
        np.testing.assert_allclose(info["group_state"][..., 0], expected, rtol=0, atol=6e-7)
        np.testing.assert_array_equal(observation, np.float32(info["group_state"][..., 0]))
        # Acceptance rates, and the four gaps between the groups.
        accepted = (info["acceptance"] * [[[0.8, 0.2], [0.2, 0.8]]]).sum(axis=2)[0]
        np.testing.assert_allclose(accepted, [0.595450, 0.566531], rtol=0, atol=6e-7)
        gaps = [0.000836, 0.081674, 0.134665, 0.36]
        np.testing.assert_allclose(info["disparity"][0], gaps, rtol=0, atol=6e-7)
    assert len(DISPARITIES) == info["disparity"].shape[1]


def test_supply_and_demand_are_probability_masses() -> None:
    rng = np.random.default_rng(0)
    params = replace(SYNTHETIC, group_probability=(0.3, 0.7), true_negative_weight=0.4)
    env = PopulationVectorEnv(50, params)
    _, info = env.reset(seed=1)
    for _ in range(30):
        rates = info["group_state"][..., 0]
        actions = rng.random((50, 2))
        outcome = env.model.outcome(rates, actions)
        _, reward, _, _, info = env.step(actions)
        np.testing.assert_allclose(info["demand"], rates * [0.3, 0.7], rtol=1e-12)
        np.testing.assert_allclose(
            info["supply"], info["demand"] * info["acceptance"][..., 1], rtol=1e-12
        )
        # Qualified or not, accepted or not: the four masses make up the groups.
        rejected = info["demand"] * (1 - info["acceptance"][..., 1])
        unqualified = [0.3, 0.7] - info["demand"]
        accepted = unqualified * info["acceptance"][..., 0]
        total = info["supply"] + rejected + accepted + outcome.true_negatives
        np.testing.assert_allclose(total, np.tile([0.3, 0.7], (50, 1)), rtol=1e-12)
        np.testing.assert_allclose(
            reward, (info["supply"] + 0.4 * outcome.true_negatives).sum(axis=1), rtol=1e-12
        )


def test_the_update_is_the_replicator_equation() -> None:
    """The form with log-odds, which is written differently from the code, gives the same."""
    table = FitnessTable(0.2, 3.0, 0.7, 1.1)
    model = PopulationModel(replace(SYNTHETIC, fitness=table))
    rng = np.random.default_rng(0)
    rates, actions = rng.uniform(0.05, 0.95, (200, 2)), rng.random((200, 2))
    outcome = model.outcome(rates, actions)
    unqualified = 0.2 + (3.0 - 0.2) * outcome.acceptance[..., 0]
    qualified = 0.7 + (1.1 - 0.7) * outcome.acceptance[..., 1]
    odds = rates / (1 - rates) * qualified / unqualified
    np.testing.assert_allclose(outcome.next_rates, odds / (1 + odds), rtol=1e-12)


def test_groups_do_not_touch_each_other() -> None:
    model = PopulationModel(SYNTHETIC)
    one = model.outcome([0.4, 0.1], action([0.2, -1.0]))
    other = model.outcome([0.4, 0.9], action([0.2, 3.0]))
    assert one.next_rates[0] == other.next_rates[0]
    assert one.next_rates[1] != other.next_rates[1]


def test_rates_stay_off_the_ends() -> None:
    for actions, end in ((0.0, 0.001), (0.7, 0.999)):
        rates = play(SYNTHETIC, constant(actions))["rates"]
        np.testing.assert_allclose(rates[-1], end, rtol=0, atol=1e-12)
        assert (rates >= 0.001).all()
        assert (rates <= 0.999).all()


# Synthetic features: episodes --------------------------------------------------------------------


def test_rates_under_a_constant_threshold() -> None:
    """Exact to four decimals."""
    env = PopulationVectorEnv(1, SYNTHETIC.starting_at([[0.2, 0.8]]))
    env.reset(seed=0)
    states = [env.step(action([[0.3, 0.3]]))[4]["group_state"][0, :, 0] for _ in range(10)]
    expected = [[0.2608, 0.8495], [0.5835, 0.9573], [0.8870, 0.9921]]
    np.testing.assert_allclose([states[i] for i in (0, 4, 9)], expected, rtol=0, atol=6e-5)


@pytest.mark.parametrize(
    ("params", "threshold", "loss", "rate"),
    [
        (SYNTHETIC, -4.0, 0.988, 0.001),
        (SYNTHETIC, 0.3, 0.278, 0.999),
        (MILD, -4.0, 0.975, 0.001),
        (MILD, -0.4, 0.115, 0.999),
    ],
)
def test_constant_thresholds_from_the_evaluation_states(
    params: PopulationParams, threshold: float, loss: float, rate: float
) -> None:
    """Mean losses to 0.0015: the reference kept rates less far from 0 and 1."""
    series = play(params, constant(action(threshold)))
    assert series["loss"].mean() == pytest.approx(loss, abs=1.5e-3)
    np.testing.assert_allclose(series["rates"][-1], rate, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("params", "loss"), [(SYNTHETIC, 0.182), (MILD, 0.046)])
def test_the_best_policy_with_a_finite_horizon(params: PopulationParams, loss: float) -> None:
    """Groups are independent, so each is a problem of its own: dynamic programming on a grid.

    Mean losses to 0.003, for the grids differ; the reference found 0.182 and 0.046.
    """
    log_odds = np.linspace(*(np.log(r / (1 - r)) for r in (0.001, 0.999)), 401)
    rates, thresholds = 1 / (1 + np.exp(-log_odds)), np.linspace(0, 1, 81)
    model = PopulationModel(params)
    outcome = model.outcome(np.repeat(rates[:, None, None], 2, 2), thresholds[:, None] * np.ones(2))
    reward, following = (x[..., 0] for x in (outcome.true_positives, outcome.next_rates))
    landing = np.log(following / (1 - following))
    policy, value = [], np.zeros(len(rates))
    for _ in range(params.episode_length):
        future = reward + np.interp(landing, log_odds, value)
        value = future.max(axis=1)
        policy.append(thresholds[future.argmax(axis=1)])

    def act(_: Any, state: Any) -> Any:
        return np.interp(np.log(state / (1 - state)), log_odds, policy.pop())

    series = play(params, act)
    assert series["loss"].mean() == pytest.approx(loss, abs=3e-3)
    # Patience costs something at first: a decider who accepts everybody starts lower.
    assert series["loss"][0].mean() > play(params, constant(0.0))["loss"][0].mean() + 0.05


# Adult scores ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "threshold", "qualified", "unqualified"),
    [
        ((0.5, 0.5), 1 / 32, (0.9987, 0.9982), (0.809, 0.737)),
        ((0.5, 0.5), 0.5, (0.816, 0.842), (0.241, 0.137)),
        ((0.99, 0.01), 1 / 32, (0.997, 0.877), (0.782, 0.422)),
    ],
)
def test_acceptance_of_adult_scores(
    rates: Any, threshold: float, qualified: Any, unqualified: Any
) -> None:
    """To 0.0012: the reference does not say how exactly its regression was penalised."""
    outcome = PopulationModel(ADULT_2).outcome(rates, adult_action([threshold] * 2))
    np.testing.assert_allclose(outcome.acceptance[:, 1], qualified, rtol=0, atol=1.2e-3)
    np.testing.assert_allclose(outcome.acceptance[:, 0], unqualified, rtol=0, atol=1.2e-3)


def test_the_adult_table_is_a_table_of_survival_functions() -> None:
    survival = adult_table().survival
    assert survival.shape == (10, 10, 2, 2, 33)
    assert (survival[..., 0] == 1).all()
    assert (survival[..., -1] == 0).all()
    assert (np.diff(survival, axis=-1) <= 0).all()
    # Scores tell the qualified from the unqualified in every group and state. Where nearly all
    # of a group pass or fail, single rows can stand the other way round.
    advantage = survival[..., 1, :] - survival[..., 0, :]
    assert advantage.min() > -0.001
    assert (advantage.max(axis=-1) > 0.2).all()


PEOPLE = {"sex": [[20988, 9539], [13026, 1669]], "race": [[28696, 10207], [5318, 1001]]}
"""People of each group (outer list) and label (inner list), counted in the raw data."""


@pytest.mark.parametrize(
    ("features", "rates", "threshold", "qualified", "unqualified"),
    [
        ("adult_race", (0.99, 0.01), 1 / 32, (0.99755, 0.99301), (0.72480, 0.60060)),
        ("adult_race", (0.01, 0.99), 0.5, (0.82835, 0.84216), (0.21933, 0.16604)),
        ("adult_weak_ridge", (0.99, 0.01), 1 / 32, (0.99696, 0.83583), (0.77654, 0.39222)),
        ("adult_weak_ridge", (0.01, 0.99), 0.5, (0.13660, 0.94608), (0.06647, 0.34953)),
        ("adult_strong_ridge", (0.99, 0.01), 1 / 32, (0.99790, 0.97424), (0.81642, 0.56449)),
        ("adult_strong_ridge", (0.01, 0.99), 0.5, (0.20621, 0.92930), (0.06499, 0.32573)),
        ("adult_16_bins", (0.99, 0.01), 1 / 16, (0.99329, 0.76093), (0.71369, 0.27975)),
        ("adult_64_bins", (0.99, 0.01), 1 / 64, (0.99864, 0.94967), (0.83915, 0.57378)),
        ("adult_64_bins", (0.01, 0.99), 33 / 64, (0.14939, 0.93649), (0.06342, 0.33832)),
    ],
)
def test_other_adult_scores_are_those_of_another_fit(
    features: str, rates: Any, threshold: float, qualified: Any, unqualified: Any
) -> None:
    """The reference read the raw rows and found the coefficients by code of its own."""
    shares = adult_table(features)(np.array(rates), np.array([threshold, threshold]))
    np.testing.assert_allclose(shares[:, 1], qualified, rtol=0, atol=2e-4)
    np.testing.assert_allclose(shares[:, 0], unqualified, rtol=0, atol=2e-4)


@pytest.mark.parametrize("features", SCORES)
def test_shares_are_of_the_people_of_the_groups(features: str) -> None:
    """Every share is a whole number of people, so the table is of these groups and of no others."""
    survival = adult_table(features).survival
    people = {name: np.array(counts)[..., None] for name, counts in PEOPLE.items()}
    apart = {name: np.abs(survival * n - np.rint(survival * n)).max() for name, n in people.items()}
    own, other = ("race", "sex") if features == "adult_race" else ("sex", "race")
    assert apart[own] < 0.01
    assert apart[other] > 0.4
    counts = np.array(PEOPLE[own])
    base = (0.262, 0.158) if own == "race" else (0.3125, 0.1136)
    np.testing.assert_allclose(counts[:, 1] / counts.sum(axis=1), base, rtol=0, atol=5e-4)


def test_bins_change_the_resolution_and_nothing_else() -> None:
    """Where tables of other bins have an edge in common, they have the same share."""
    coarse, table, fine = (
        adult_table(name).survival for name in ("adult_16_bins", "adult", "adult_64_bins")
    )
    assert fine.shape == (10, 10, 2, 2, 65)
    np.testing.assert_array_equal(fine[..., ::2], table)
    np.testing.assert_array_equal(table[..., ::2], coarse)
    assert np.abs(fine[..., 1::2] - (table[..., 1:] + table[..., :-1]) / 2).max() > 0.01


@pytest.mark.parametrize("features", SCORES[1:])
def test_other_adult_scores_change_one_thing(features: str) -> None:
    known = getattr(PopulationParams, features)()
    assert known == replace(ADULT_2, features=features)
    action, rates = np.array([0.3, 0.31]), np.array([0.4, 0.2])
    found, adult = (PopulationModel(one).outcome(rates, action) for one in (known, ADULT_2))
    assert np.abs(found.acceptance - adult.acceptance).max() > 1e-4


def test_interpolation_is_linear_between_knots_and_flat_beyond() -> None:
    table = adult_table()
    rng = np.random.default_rng(0)
    for _ in range(20):
        rates, thresholds = rng.uniform(0.0, 1.0, 2), rng.random(2)
        inside = np.clip(rates, 0.01, 0.99)
        expected = np.empty((2, 2))
        for group in range(2):
            for label in range(2):
                edge = [
                    np.interp(thresholds[group], np.arange(33) / 32, row)
                    for row in table.survival[:, :, group, label].reshape(100, 33)
                ]
                columns = np.array(edge).reshape(10, 10)
                by_first = [np.interp(inside[0], table.knots, column) for column in columns.T]
                expected[group, label] = np.interp(inside[1], table.knots, by_first)
        np.testing.assert_allclose(table(rates, thresholds), expected, rtol=0, atol=1e-12)


def test_a_table_of_any_size_is_read_at_its_entries() -> None:
    rng = np.random.default_rng(1)
    knots, survival = np.linspace(0.2, 0.8, 3), -np.sort(-rng.random((3, 3, 2, 2, 5)))
    table = SurvivalTable(knots, survival)
    for first in range(3):
        for second in range(3):
            for edge in range(5):
                shares = table(knots[[first, second]], np.full(2, edge / 4))
                np.testing.assert_allclose(shares, survival[first, second, ..., edge], rtol=1e-12)


def test_adult_groups_are_coupled_through_the_score() -> None:
    model = PopulationModel(ADULT_2)
    one, other = (model.outcome([0.4, rate], adult_action([0.5, 0.5])) for rate in (0.1, 0.9))
    assert abs(one.acceptance[0, 1] - other.acceptance[0, 1]) > 0.01


def short_sighted(fair: bool) -> Callable[[Any, Any], Any]:
    """Choose the thresholds, out of 31 x 31, that minimise the loss now; ties go to the larger.

    If `fair`, minimise the mean of the loss and the squared gap in acceptance rates.
    """
    knots = adult_action(np.arange(1, 32) / 32).clip(0, 1)[::-1]

    def act(model: PopulationModel, rates: Any) -> Any:
        states = np.repeat(rates[:, None, :], len(knots), axis=1)
        outcome = model.outcome(states, np.repeat(knots[:, None], 2, axis=1))
        # A group's share depends on its own threshold only, so pairs are sums and differences.
        first, second = np.moveaxis(outcome.true_positives, 2, 0)
        score = 1 - first[:, :, None] - second[:, None, :]
        if fair:
            accepted = states * outcome.acceptance[..., 1]
            accepted += (1 - states) * outcome.acceptance[..., 0]
            gap = accepted[:, :, None, 0] - accepted[:, None, :, 1]
            score = 0.5 * score + 0.5 * gap**2
        best = score.reshape(len(rates), -1).argmin(axis=1)
        return knots[np.stack(np.divmod(best, len(knots)), axis=1)]

    return act


@pytest.mark.parametrize(
    ("params", "fair", "loss", "final", "gap", "parity"),
    [
        (ADULT_1, False, 0.507, (0.23, 0.71), 0.48, (0.059, 0.011)),
        (ADULT_2, False, 0.511, (0.22, 0.70), 0.48, (0.076, 0.012)),
        (ADULT_1, True, 0.366, (0.52, 0.77), 0.68, (0.0270, 0.0260)),
        (ADULT_2, True, 0.376, (0.51, 0.77), 0.69, (0.0272, 0.0305)),
    ],
)
def test_short_sighted_deciders_over_adult_scores(
    params: PopulationParams, fair: bool, loss: float, final: Any, gap: float, parity: Any
) -> None:
    """Mean loss to 0.003, final rates and their gap to 0.015, early and late gaps to 0.005."""
    series = play(params, short_sighted(fair))
    last = series["rates"][-1]
    assert series["loss"].mean() == pytest.approx(loss, abs=3e-3)
    np.testing.assert_allclose(last.mean(axis=0), final, rtol=0, atol=0.015)
    assert np.abs(last[:, 0] - last[:, 1]).mean() == pytest.approx(gap, abs=0.015)
    demographic = series["disparity"][..., 0].mean(axis=1)
    assert demographic[:10].mean() == pytest.approx(parity[0], abs=5e-3)
    assert demographic[-10:].mean() == pytest.approx(parity[1], abs=5e-3)


@pytest.mark.parametrize(
    ("params", "loss", "final"),
    [(ADULT_1, 0.022, (0.98, 1.0)), (ADULT_2, 0.038, (0.98, 1.0))],
)
def test_a_strict_threshold_over_adult_scores(
    params: PopulationParams, loss: float, final: Any
) -> None:
    """To 0.0025 and 0.006: it gives up reward at first and ends with everybody qualified."""
    series = play(params, constant(adult_action(0.7)))
    assert series["loss"].mean() == pytest.approx(loss, abs=2.5e-3)
    assert series["loss"][0].mean() == pytest.approx(0.590, abs=2e-3)
    np.testing.assert_allclose(series["rates"][-1].mean(axis=0), final, rtol=0, atol=6e-3)


@pytest.mark.parametrize(("params", "loss"), [(ADULT_1, 0.952), (ADULT_2, 0.942)])
def test_accepting_everybody_over_adult_scores(params: PopulationParams, loss: float) -> None:
    """To 0.001: no score is out of reach, no gap remains, and nobody stays qualified."""
    series = play(replace(params, threshold_range=(0.0, 1.0)), constant(0.0))
    assert series["loss"].mean() == pytest.approx(loss, abs=1e-3)
    assert not series["disparity"][..., :3].any()
    np.testing.assert_allclose(series["rates"][-1], 0.001, rtol=0, atol=1e-9)


# Starts, parameters, errors ----------------------------------------------------------------------


def test_starts_are_uniform_in_their_range() -> None:
    env = PopulationVectorEnv(20_000, replace(SYNTHETIC, start_range=(0.2, 0.6)))
    state = env.reset(seed=1)[1]["group_state"][..., 0]
    assert state.min() >= 0.2
    assert state.max() <= 0.6
    error = 0.4 / np.sqrt(12 * 20_000)
    np.testing.assert_allclose(state.mean(axis=0), 0.4, rtol=0, atol=4 * error)
    assert abs(np.corrcoef(state.T)[0, 1]) < 4 / np.sqrt(20_000)


def test_given_starts_go_round_the_copies_in_every_episode() -> None:
    grid = start_grid()
    assert grid.shape == (16, 2)
    np.testing.assert_allclose(np.unique(grid), [0.01, 0.336667, 0.663333, 0.99], atol=1e-6)
    env = PopulationVectorEnv(20, replace(SYNTHETIC.starting_at(grid), episode_length=3))
    expected = np.concatenate([grid, grid[:4]])
    observation, _ = env.reset(seed=1)
    np.testing.assert_array_equal(observation, np.float32(expected))
    for _ in range(3):
        observation = env.step(np.full((20, 2), 0.4))[0]
    np.testing.assert_array_equal(observation, np.float32(expected))


def test_a_fitness_table_can_be_chosen_by_name() -> None:
    env = gymnasium.make_vec("longfair/Population-v0", num_envs=1, preset="adult", fitness="cited")
    assert env.unwrapped.params == replace(ADULT_2, fitness=FitnessTable.cited())  # type: ignore[attr-defined]  # VectorEnv has no params
    tables = {
        "cited": (0.1, 5.5, 0.5, 1.0),
        "mild": (0.1, 2.0, 0.5, 1.0),
        "adult_1": (0.1, 1.25, 0.5, 1.0),
        "adult_2": (0.3, 1.2, 0.4, 1.0),
    }
    assert {name: FitnessTable(*values) for name, values in tables.items()} == {
        name: getattr(FitnessTable, name)() for name in FitnessTable.PRESETS
    }
    with pytest.raises(UsageError, match="no preset 'mildd': did you mean 'mild'"):
        gymnasium.make_vec("longfair/Population-v0", num_envs=1, fitness="mildd")
    with pytest.raises(UsageError, match="fitness=3: give text"):
        gymnasium.make_vec("longfair/Population-v0", num_envs=1, fitness=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": "gausian"}, "did you mean 'gaussian'"),
        ({"threshold_range": (1.0, 0.0)}, r"threshold_range\[1\]=0.0"),
        ({"threshold_range": (1.0,)}, "threshold_range has 1 entries"),
        ({"group_probability": (0.5, 0.6)}, "sums to 1.1"),
        ({"group_probability": (1.0, 0.0)}, r"group_probability\[1\]=0.0: give a finite number in"),
        ({"true_positive_weight": 1.5}, "true_positive_weight=1.5"),
        ({"start_range": (0.0, 0.5)}, r"start_range\[0\]=0.0"),
        ({"starts": ((0.2,),)}, r"starts\[0\] has 1 entries: give 2"),
        ({"starts": ((0.2, 1.0),)}, r"starts\[0\]\[1\]=1.0"),
        ({"rate_margin": 0.7}, "rate_margin=0.7"),
        ({"rate_margin": 0.5, "start_range": (0.5, 0.5)}, "rate_margin=0.5"),
        ({"features": "adult"}, r"threshold_range\[0\]=-4.0"),
        ({"features": "adult_race"}, r"threshold_range\[0\]=-4.0"),
        ({"features": "adult_rce"}, "did you mean 'adult_race'"),
        ({"fitness": "mild"}, "fitness='mild': give a FitnessTable"),
    ],
)
def test_impossible_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(SYNTHETIC, **change)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="size=0"):
        start_grid(0)
    with pytest.raises(UsageError, match=r"features=\['adult'\]: allowed"):
        adult_table(["adult"])  # type: ignore[arg-type]  # what is refused
    env = PopulationVectorEnv(2, SYNTHETIC)
    env.reset(seed=1)
    with pytest.raises(UsageError, match=r"threshold 1\.2 is not allowed"):
        env.step(np.array([[0.1, 1.2], [0.3, 0.4]]))
    with pytest.raises(UsageError, match=r"threshold 1\.0000001 is not allowed"):
        env.step(np.array([[0.1, 1.0000001], [0.3, 0.4]]))


@pytest.mark.parametrize("fitness", [0, 5e-324, 1e300])
def test_fitness_keeps_rates_numbers(fitness: float) -> None:
    with pytest.raises(UsageError, match=r"unqualified_rejected=.*: give a finite number in"):
        replace(FitnessTable.cited(), unqualified_rejected=fitness)


def test_a_fitness_table_has_no_number_that_was_not_given() -> None:
    with pytest.raises(TypeError, match="qualified_accepted"):
        FitnessTable(0.1, 0.2, 0.3)  # type: ignore[call-arg]  # what is refused


@pytest.mark.parametrize(
    ("states", "line"),
    [
        ([0.2, 0.3], "give finite numbers"),
        ("ab", "states='ab': give finite numbers"),
        ([["0.2", "0.3"]], "give finite numbers"),
        ([[0.2, 0.3], [0.4]], "give finite numbers"),
        ([[np.nan, 0.3]], "give finite numbers"),
        (np.zeros((0, 2)), "give finite numbers"),
        ([[0.2, 0.3, 0.4]], r"states have shape \(1, 3\): give \(M, 2\)"),
    ],
)
def test_starts_that_are_no_pairs_of_rates_are_refused(states: Any, line: str) -> None:
    with pytest.raises(UsageError, match=line) as refused:
        SYNTHETIC.starting_at(states)
    assert "\n" not in str(refused.value)


KNOTS, EVERYBODY = np.linspace(0.1, 0.9, 3), np.ones((3, 3, 2, 2, 5))


@pytest.mark.parametrize(
    ("knots", "survival", "line"),
    [
        (KNOTS, EVERYBODY * np.nan, "survival hold nan"),
        (KNOTS, EVERYBODY * 1.5, "survival hold 1.5"),
        (KNOTS, EVERYBODY[0], r"survival has shape \(3, 2, 2, 5\): give \(3, 3, 2, 2, B \+ 1\)"),
        (KNOTS, EVERYBODY * np.linspace(0, 1, 5), "survival rises with the score"),
        (KNOTS[:2], EVERYBODY, r"give \(2, 2, 2, 2, B \+ 1\)"),
        (KNOTS, np.ones((3, 3, 3, 2, 5)), r"give \(3, 3, 2, 2, B \+ 1\)"),
        (KNOTS, EVERYBODY[..., :1], r"give \(3, 3, 2, 2, B \+ 1\)"),
        (KNOTS * np.nan, EVERYBODY, "knots hold nan"),
        ("ab", EVERYBODY, "knots='ab': give numbers"),
        (KNOTS[:1], EVERYBODY[:1, :1], "give two rates or more that rise evenly"),
        (KNOTS[::-1], EVERYBODY, "give two rates or more that rise evenly"),
        (KNOTS**2, EVERYBODY, "give two rates or more that rise evenly"),
    ],
)
def test_what_is_no_survival_table_is_refused(knots: Any, survival: Any, line: str) -> None:
    with pytest.raises(UsageError, match=line) as refused:
        SurvivalTable(knots, survival)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("params", [SYNTHETIC, ADULT_2])
@pytest.mark.parametrize(
    ("rates", "thresholds", "line"),
    [
        ([0.5] * 3, [0.5] * 3, r"thresholds have shape \(3,\): give \(..., 2\), by group"),
        ([0.5] * 3, [0.5] * 2, r"rates have shape \(3,\): give \(..., 2\), by group"),
        ([0.5] * 2, 0.5, r"thresholds have shape \(\)"),
    ],
)
def test_everybody_who_passes_is_of_two_groups(
    params: PopulationParams, rates: Any, thresholds: Any, line: str
) -> None:
    with pytest.raises(UsageError, match=line):
        PopulationModel(params).acceptance(rates, thresholds)


@pytest.mark.parametrize("features", ["gaussian", "adult"])
def test_the_model_is_asked_about_many_states_and_actions_at_once(features: str) -> None:
    params = SYNTHETIC if features == "gaussian" else ADULT_2
    asked = PopulationModel(params)
    states = start_grid(2)[:, None, :]
    actions = np.random.default_rng(0).uniform(size=(1, 9, 2))
    together = asked.disparities(states, asked.outcome(states, actions))
    assert together.shape == (4, 9, 4)
    for state, action in np.ndindex(4, 9):
        alone = asked.outcome(states[state, 0], actions[0, action])
        expected = asked.disparities(states[state, 0], alone)
        np.testing.assert_array_equal(together[state, action], expected)


HALF = np.full((3, 2), 0.5)


def test_a_missing_or_damaged_adult_table_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model._packaged_table.cache_clear()
    monkeypatch.setattr(model, "_TABLES", tmp_path)
    with pytest.raises(UsageError, match=r"is missing: run `python scripts/make_adult_tables.py`"):
        PopulationVectorEnv(1, ADULT_2)
    (tmp_path / "adult_survival.npz").write_bytes(b"damaged")
    with pytest.raises(UsageError, match="is not the table of this version"):
        PopulationVectorEnv(1, ADULT_2)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (lambda m: m.outcome([1.5, 0.5], [0.5, 0.5]), r"rates hold 1.5: give numbers in \[0, 1\]"),
        (lambda m: m.outcome([np.nan, 0.5], [0.5, 0.5]), "rates hold nan"),
        (lambda m: m.outcome([0.5, 0.5], [0.5, -0.1]), "actions hold -0.1"),
        (lambda m: m.outcome([0.5, 0.5], [[0.5, np.inf]]), "actions hold inf"),
        (lambda m: m.outcome([0.5], [0.5, 0.5]), r"rates have shape \(1,\): give \(..., 2\)"),
        (lambda m: m.outcome([0.5, 0.5], 0.5), r"actions have shape \(\)"),
        (lambda m: m.slopes([0.5, 2.0], [0.5, 0.5]), "rates hold 2.0"),
        (lambda m: m.thresholds(1.5), "actions hold 1.5"),
        (lambda m: m.acceptance([0.5, 0.5], [0.0, 17.0]), "thresholds hold 17.0"),
        (lambda m: m.acceptance([0.5, -0.5], [0.0, 0.0]), "rates hold -0.5"),
        (lambda m: m.acceptance("ab", [0.0, 0.0]), "rates='ab': give numbers"),
        (lambda m: m.outcome([[0.2, 0.3], [0.4]], [0.5, 0.5]), "rates=.*: give numbers in"),
        (lambda m: m.outcome("ab", [0.5, 0.5]), "rates='ab': give numbers in"),
        (lambda m: m.outcome(["0.2", "0.3"], [0.5, 0.5]), "rates=.*: give numbers in"),
        (lambda m: m.outcome([0.2, 0.3], [[0.5], [0.2, 0.3]]), "actions=.*: give numbers in"),
        (lambda m: m.slopes([[0.2, 0.3], [0.4]], [0.5, 0.5]), "rates=.*: give numbers in"),
        (lambda m: m.disparities([1.2, 0.3], one_step(m)), "rates hold 1.2"),
        (lambda m: m.outcome(HALF, HALF[:2]), r"rates have shape \(3, 2\) and actions \(2, 2\)"),
        (lambda m: m.acceptance(HALF, HALF[:2]), r"and thresholds \(2, 2\): give as many of both"),
        (lambda m: m.disparities(HALF, m.outcome(HALF[:2], HALF[:2])), r"and outcome \(2, 2\)"),
        (lambda m: m.disparities([np.nan, 0.3], one_step(m)), "rates hold nan"),
        (lambda m: m.disparities([0.5] * 3, one_step(m)), r"rates have shape \(3,\): give"),
    ],
)
def test_numbers_out_of_their_range_are_refused_in_one_line(asked: Any, line: str) -> None:
    with pytest.raises(UsageError, match=line) as refused:
        asked(PopulationModel(SYNTHETIC))
    assert "\n" not in str(refused.value)


def one_step(asked: PopulationModel) -> Any:
    return asked.outcome([0.2, 0.3], [0.5, 0.5])


def test_single_precision_actions_are_worked_on_in_double() -> None:
    model, rates = PopulationModel(SYNTHETIC), np.array([[0.3, 0.6]])
    single = np.array([[0.1, 0.7]], dtype=np.float32)
    double = model.transition(rates, single.astype(np.float64))
    for one, other in zip(model.transition(rates, single), double, strict=True):
        np.testing.assert_array_equal(one, other)
