"""L-UCBFair: its regressions against ones written out, its learning, saving, presets, errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.register import find
from longfair.agents.ucbfair import (
    Cells,
    LearnedFeatures,
    LUCBFair,
    LUCBFairSettings,
    RadialFeatures,
)
from longfair.agents.ucbfair.draws import SharedDraws
from longfair.agents.ucbfair.memory import ANEW, MEMORIES, Episodes, Memory
from longfair.agents.ucbfair.offline_features import OfflineLearning, fit, random_play
from longfair.envs.elapsed import ElapsedTime
from longfair.errors import UsageError


def batch(copies: int = 4, horizon: int = 6, **arguments: Any) -> Any:
    env = gymnasium.make_vec(
        "longfair/Population-v0", num_envs=copies, episode_length=horizon, **arguments
    )
    return ElapsedTime(env)


def settings(**changes: Any) -> LUCBFairSettings:
    return LUCBFairSettings.calibrated(**{"episodes": 40, "cells": 3, **changes})


def learner(copies: int = 4, seed: int = 0, horizon: int = 6, **changes: Any) -> LUCBFair:
    features = RadialFeatures.spread(9)
    return LUCBFair(batch(copies, horizon), settings(**changes), features, seed=seed)


# Actions and features ----------------------------------------------------------------------------


def test_every_action_is_in_the_cell_of_the_nearest_centre() -> None:
    cells = Cells(5)
    rng = np.random.default_rng(0)
    numbers = rng.integers(len(cells), size=500)
    actions = cells.within(numbers, rng.random((500, 2)))
    distances = np.linalg.norm(actions[:, None] - cells.centres, axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), numbers)
    corner = np.sqrt(2) * 0.5 / 5
    assert 0.9 * corner < distances.min(axis=1).max() <= corner
    assert actions.min() >= 0
    assert actions.max() <= 1


def test_radial_features_are_normalised_bells() -> None:
    rng = np.random.default_rng(1)
    features = RadialFeatures(rng.random((7, 4)), width=0.3)
    states, actions = rng.random((5, 2)), rng.random((5, 2))
    points = np.concatenate([states, actions], axis=1)
    bells = np.exp(-((points[:, None] - features.centres) ** 2).sum(axis=2) / (2 * 0.3**2))
    expected = bells / bells.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(features(states, actions), expected, rtol=1e-12)


# Regressions -------------------------------------------------------------------------------------


def played(memory: Memory, episodes: int, rng: np.random.Generator) -> Episodes:
    shape = (memory.horizon, episodes)
    return Episodes(
        rng.random((*shape, 2)),
        rng.random((*shape, 2)),
        rng.random((memory.horizon, 2, episodes)),
        rng.random((memory.horizon, 2, episodes)) * memory.horizon,
        rng.random((episodes, 2)),
    )


def written_out(memory: Memory, parts: list[Episodes], price: float) -> tuple[Any, Any]:
    """Follow Algorithm 1 step by step, one episode after the other, with an inverse each time."""
    chosen, horizon = memory.settings, memory.horizon
    weights, values = np.zeros((horizon, 2, memory.features.size)), {}
    states, actions = (
        np.concatenate([getattr(p, k) for p in parts], axis=1) for k in ("states", "actions")
    )
    signals = np.concatenate([p.signals for p in parts], axis=2)
    count = states.shape[1]
    inverses = []
    for h in reversed(range(horizon)):
        phi = memory.features(states[h], actions[h])
        inverse = np.linalg.inv(chosen.ridge * np.eye(phi.shape[1]) + phi.T @ phi)
        inverses.insert(0, inverse)
        for j in range(2):
            total = np.zeros(phi.shape[1])
            for k in range(count):
                later = values[k][j] if h + 1 < horizon else 0.0
                total += phi[k] * (signals[h, j, k] + later)
            weights[h, j] = inverse @ total
        for k in range(count):
            q = np.empty((2, len(memory.cells)))
            for i, centre in enumerate(memory.cells.centres):
                f = memory.features(states[h, k], centre)
                raised = weights[h] @ f + chosen.bonus * np.sqrt(f @ inverse @ f)
                q[:, i] = np.clip(raised, 0, horizon - h if chosen.remaining_cap else horizon)
            powers = np.exp(chosen.sharpness * (q[0] + price * q[1] - (q[0] + price * q[1]).max()))
            values[k] = q @ (powers / powers.sum())
    return weights, np.array(inverses)


def memory_of(data: str, horizon: int = 3, **changes: Any) -> Memory:
    features = RadialFeatures.spread(6)
    chosen = settings(data=data, **changes).resolved(horizon, features.size)
    return MEMORIES[data](chosen, features, Cells(chosen.cells), horizon)


@pytest.mark.parametrize("sizes", [[1] * 6, [5, 1, 4], [8]])
@pytest.mark.parametrize("remaining", [False, True])
def test_updates_of_rank_one_give_the_regressions_of_algorithm_1(
    sizes: list[int], remaining: bool
) -> None:
    """Products are made in single precision, hence the tolerance."""
    memory, rng = (
        memory_of("per step", ridge=0.05, remaining_cap=remaining),
        np.random.default_rng(2),
    )
    parts = []
    for number, size in enumerate(sizes):
        parts.append(played(memory, size, rng))
        memory.add(parts[-1])
        memory.fit(price=0.3 * number)
    weights, inverse = written_out(memory, parts, 0.3 * (len(sizes) - 1))
    np.testing.assert_allclose(memory.estimates.weights, weights, rtol=0, atol=2e-4)
    np.testing.assert_allclose(memory.estimates.inverse, inverse, rtol=1e-8, atol=1e-10)


def test_inverses_made_anew_are_those_that_were_updated() -> None:
    fitted = []
    for pause in (ANEW // 2 - 1, ANEW + 1):
        memory = memory_of("per step", episodes=ANEW + 2)
        rng = np.random.default_rng(3)
        for number in range(ANEW + 2):
            memory.add(played(memory, 1, rng))
            if number == pause or number == ANEW + 1:
                memory.fit(0.5)
        fitted.append(memory.estimates)
    for one, other in zip(*fitted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


def test_frozen_targets_are_those_of_the_visit() -> None:
    memory, rng = memory_of("frozen", ridge=1.0), np.random.default_rng(4)
    parts = [played(memory, 3, rng) for _ in range(2)]
    for part in parts:
        memory.add(part)
        memory.fit(0.0)
    for h in range(memory.horizon):
        phi = np.concatenate([memory.features(p.states[h], p.actions[h]) for p in parts])
        later = np.zeros((2, 6))
        if h + 1 < memory.horizon:
            later = np.concatenate([p.promised[h + 1] for p in parts], axis=1)
        targets = np.concatenate([p.signals[h] for p in parts], axis=1) + later
        inverse = np.linalg.inv(np.eye(phi.shape[1]) + phi.T @ phi)
        np.testing.assert_allclose(memory.estimates.weights[h], targets @ phi @ inverse, atol=1e-12)


def test_pooled_data_make_one_gram_matrix() -> None:
    memory, rng = memory_of("pooled", horizon=2, ridge=0.1), np.random.default_rng(5)
    part = played(memory, 4, rng)
    memory.add(part)
    memory.fit(0.0)
    phi = memory.features(part.states, part.actions).reshape(-1, 6)
    inverse = np.linalg.inv(0.1 * np.eye(6) + phi.T @ phi)
    for own in memory.estimates.inverse:
        np.testing.assert_allclose(own, inverse, rtol=1e-9)
    last = memory.estimates.weights[-1]
    signals = np.moveaxis(part.signals, 1, -1).reshape(-1, 2)
    np.testing.assert_allclose(last, signals.T @ phi @ inverse, rtol=1e-9)


def test_a_sample_of_all_transitions_estimates_the_same() -> None:
    weights = []
    for sample in (100_000, 3_000):
        memory = memory_of("pooled", horizon=2, sample=sample)
        rng = np.random.default_rng(6)
        states, actions = rng.random((2, 2, 6000, 2))
        signals = np.stack([states.mean(axis=2), actions[..., 0]], axis=1)
        memory.add(Episodes(states, actions, signals, np.zeros((2, 2, 6000)), states[0]))
        memory.fit(0.0)
        weights.append(memory.estimates.weights[-1])
    np.testing.assert_allclose(weights[1], weights[0], atol=0.1)
    assert not np.array_equal(*weights)


# Learning ----------------------------------------------------------------------------------------


def test_it_learns_to_give_up_reward_now_for_more_later() -> None:
    """In 40 steps it beats both accepting everybody and acting at random."""
    features = RadialFeatures.spread(40)
    chosen = LUCBFairSettings.calibrated(episodes=480)
    agent = LUCBFair(batch(16, 40), chosen, features, seed=0).learn(480 * 40)
    assert agent.num_timesteps == 480 * 40
    loss = np.array(agent.history.loss)
    assert loss[-48:].mean() < loss[:16].mean() - 0.1
    env = batch(400, 40)
    means = {}
    for name in ("agent", "accept everybody"):
        observation, _ = env.reset(seed=1)
        total = np.zeros(400)
        for _ in range(40):
            action = agent.predict(observation)[0] if name == "agent" else np.zeros((400, 2))
            observation, reward, *_ = env.step(action)
            total += reward
        means[name] = total.mean() / 40
    assert means["agent"] > means["accept everybody"] + 0.2


def test_the_price_follows_the_promised_fairness() -> None:
    agent = learner(copies=2, budget=0.1, price_step=0.5).learn(2 * 6 * 10)
    price, promised = np.array(agent.history.price), np.array(agent.history.promised)
    for k in range(0, 18, 2):
        moved = price[k] + 0.5 * (0.9 * 6 - promised[k : k + 2]).sum()
        assert price[k + 2] == pytest.approx(np.clip(moved, 0, 10), abs=1e-12)
    assert price.max() > 0


def test_two_runs_of_a_seed_are_equal_and_two_seeds_are_not() -> None:
    first, same, other = (learner(seed=s).learn(200).history.loss for s in (0, 0, 1))
    assert first == same
    assert first != other


def test_values_of_a_state_are_those_behind_its_policy() -> None:
    agent = learner().learn(240)
    states = np.random.default_rng(7).random((5, 2))
    chances, values = agent.policy_at(2, states)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    assert (values >= 0).all()
    assert (values <= 4).all()  # four of six steps are left


def test_shared_draws_repeat_within_an_episode_in_use_as_in_training() -> None:
    """With no preference among cells, the same draw gives the same action at every step."""
    for shared in (False, True):
        agent = learner(copies=1, sharpness=1e-9, shared_draws=shared)
        trained = agent._play().actions[:, 0]
        times = np.arange(agent.horizon) / agent.horizon
        used = [agent.predict(np.array([[0.4, 0.6, time]]))[0][0] for time in times]
        for actions in (trained, used):
            assert (np.ptp(actions, axis=0) == 0).all() == shared
        again = agent.predict(np.array([[0.4, 0.6, 0.0]]))[0][0]
        assert not np.array_equal(again, used[0])
        assert agent.predict(np.full((3, 3), 0.5))[0].shape == (3, 2)


def test_shared_draws_follow_the_chances_at_every_step() -> None:
    chances = np.repeat([[0.1, 0.2, 0.3, 0.4]], 20_000, axis=0)
    draws = SharedDraws(Cells(2), np.random.default_rng(0))
    for step in range(2):
        actions = draws.actions(step, chances[:, ::-1] if step else chances)
        cells = (actions > 0.5) @ [2, 1]
        found = np.bincount(cells, minlength=4) / len(cells)
        np.testing.assert_allclose(found, [0.1, 0.2, 0.3, 0.4][:: -1 if step else 1], atol=0.012)


# Presets -----------------------------------------------------------------------------------------


def test_the_theorem_s_numbers() -> None:
    """For K = 2000, M = 25, H = 100 and a price up to 10 kappa is 29."""
    chosen = LUCBFairSettings.as_published(largest_price=10.0).resolved(100, 40)
    assert chosen.sharpness == pytest.approx(2000 * np.log(25) / 222)
    assert chosen.sharpness == pytest.approx(29, abs=0.1)
    assert chosen.price_step == pytest.approx(10 / np.sqrt(2000 * 100**2))
    assert chosen.bonus is not None
    assert chosen.bonus > 40 * 100
    assert chosen.ridge == 1.0
    assert LUCBFairSettings.as_published(budget=0.1).largest_price == pytest.approx(20)


def test_with_the_theorem_s_bonus_every_cell_looks_the_same() -> None:
    chosen = LUCBFairSettings.as_published(episodes=32, cells=3)
    agent = LUCBFair(batch(16, 6), chosen, RadialFeatures.spread(9), seed=0).learn(32 * 6)
    chances, values = agent.policy_at(0, np.random.default_rng(8).random((10, 2)))
    np.testing.assert_allclose(chances, 1 / 9, rtol=1e-12)
    np.testing.assert_allclose(values, 6, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"budget": 0}, r"^budget=0: give a finite number in .2e-12, 1.$"),
        ({"budget": -1}, "^budget=-1: give"),
        ({"budget": "x"}, "^budget='x': give"),
        ({"budget": None}, "^budget=None: give"),
        (
            {"budget": 0.0, "largest_price": 1e308},
            r"^largest_price=1e\+308: give .* in .0, 1e\+12.$",
        ),
        ({"price_step": 1e308}, r"^price_step=1e\+308: give"),
    ],
)
def test_the_theorem_s_bound_is_a_number(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError, match=line):
        LUCBFairSettings.as_published(**changes)


def test_a_budget_of_nothing_is_possible_with_a_bound_of_the_price() -> None:
    assert LUCBFairSettings.as_published(budget=0.0, largest_price=5.0).largest_price == 5.0


def test_the_highest_price_is_a_number() -> None:
    agent = learner(largest_price=1e12, price_step=1e12, budget=0.0, episodes=8).learn(8 * 6)
    assert np.isfinite(agent.price)


def test_the_released_script_has_no_constraint() -> None:
    chosen = LUCBFairSettings.as_coded(episodes=32, cells=3)
    agent = LUCBFair(batch(4, 6), chosen, RadialFeatures.spread(9), seed=0).learn(32 * 6)
    assert set(agent.history.price) == {0.0}


@pytest.mark.parametrize("step", [-1, 6, 0.5])
def test_a_policy_is_asked_about_a_step_of_an_episode(step: Any) -> None:
    with pytest.raises(UsageError, match=r"step=.*: give an integer in 0\.\.5"):
        learner().policy_at(step, np.full((1, 2), 0.5))


def test_more_episodes_than_the_settings_have_are_refused_before_they_are_played() -> None:
    agent = learner().learn(120)  # 20 of 40 episodes
    with pytest.raises(
        UsageError, match=r"24 episodes are asked for, .* room for 20 of episodes=40"
    ):
        agent.learn(144)
    assert agent.num_timesteps == 120
    agent.learn(120)
    assert learner(data="pooled").learn(600).num_timesteps == 600


@pytest.mark.parametrize("seed", [-1, [1, 2]])
def test_a_seed_is_one_number(seed: Any) -> None:
    with pytest.raises(UsageError, match=r"seed=.*: give an integer of at least 0"):
        learner().set_random_seed(seed)


# Saving, register, errors ------------------------------------------------------------------------


def test_a_loaded_agent_decides_alike(tmp_path: Path) -> None:
    agent = learner().learn(240)
    agent.save(tmp_path / "agent.npz")
    assert find("l-ucbfair").loaded_by.endswith(":LUCBFair")
    loaded = LUCBFair.load(tmp_path / "agent.npz", env=batch())
    observation = np.column_stack([np.random.default_rng(9).random((30, 2)), np.full(30, 0.5)])
    np.testing.assert_array_equal(
        loaded.predict(observation, deterministic=True)[0],
        agent.predict(observation, deterministic=True)[0],
    )
    assert loaded.settings == agent.settings
    with pytest.raises(UsageError, match="episodes of the environment have 7 steps"):
        LUCBFair.load(tmp_path / "agent.npz", env=batch(horizon=7))
    with pytest.raises(UsageError, match=r"^unknown argument 'nope': allowed: env, features"):
        LUCBFair.load(tmp_path / "agent.npz", batch(), nope=3)
    changed = replace(agent.settings, budget=0.5)
    assert LUCBFair.load(tmp_path / "agent.npz", batch(), settings=changed).settings == changed


def test_a_callback_ends_the_learning() -> None:
    agent = learner()
    agent.learn(10_000, callback=lambda one: one.num_timesteps < 48)
    assert agent.num_timesteps == 48


def test_bad_input_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="does not show two rates and the time"):
        LUCBFair(gymnasium.make_vec("longfair/Population-v0", num_envs=1))
    with pytest.raises(
        UsageError, match=r"168 episodes are asked for, .* room for 4 of episodes=4"
    ):
        learner(episodes=4).learn(1000)
    with pytest.raises(UsageError, match=r"ridge=0\.0"):
        settings(ridge=0.0)
    with pytest.raises(UsageError, match="data='polled'"):
        settings(data="polled")
    with pytest.raises(UsageError, match="give finite numbers"):
        RadialFeatures([[0.1, np.nan]])
    with pytest.raises(UsageError, match="one time for all"):
        learner().predict(np.array([[0.1, 0.2, 0.0], [0.1, 0.2, 0.5]]))
    for wrong in ([1.3, 0.2, 0.0], [0.1, 0.2, 7.0], [-0.1, 0.2, 0.0]):
        with pytest.raises(UsageError, match=r"^observations from .* from 0 to 1$"):
            learner().predict(np.array([wrong]))


MIDDLE = np.full((1, 2), 0.5)


def of_one_layer(numbers: int = 4) -> LearnedFeatures:
    return LearnedFeatures([np.ones((numbers, 3))], [np.zeros(3)])


@pytest.mark.parametrize("features", [RadialFeatures.spread(5), of_one_layer()])
@pytest.mark.parametrize(
    ("states", "actions", "line"),
    [
        (MIDDLE * np.nan, MIDDLE, "states hold nan: give finite numbers"),
        (MIDDLE, MIDDLE * np.inf, "actions hold inf: give finite numbers"),
        (MIDDLE, np.full((1, 3), 0.5), "states of 2 and actions of 3 numbers: .* take 4"),
    ],
)
def test_features_are_of_as_many_finite_numbers_as_they_were_made_for(
    features: Any, states: Any, actions: Any, line: str
) -> None:
    with pytest.raises(UsageError, match=line):
        features(states, actions)


@pytest.mark.parametrize("features", [RadialFeatures.spread(5, numbers=3), of_one_layer(3)])
def test_an_agent_s_features_take_its_rates_and_thresholds(features: Any) -> None:
    with pytest.raises(UsageError, match=r"states of 2 and actions of 2 numbers: .* take 3"):
        LUCBFair(batch(), settings(), features)


def test_an_agent_s_features_are_as_many_as_they_say() -> None:
    class Wrong(RadialFeatures):
        size = 7

    with pytest.raises(UsageError, match=r"have shape \(1, 5\): give \(1, 7\)"):
        LUCBFair(batch(), settings(), Wrong(np.zeros((5, 4))))


class NowAndThen(RadialFeatures):
    """Gives one feature that is no share where the first rate is above a half."""

    wrong = np.nan

    def __call__(self, states: Any, actions: Any) -> Any:
        features = super().__call__(states, actions)
        features[..., 0] = np.where(states[..., 0] > 0.5, self.wrong, features[..., 0])
        return features


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e160])
@pytest.mark.parametrize("data", sorted(MEMORIES))
def test_features_that_no_regression_can_bear_end_in_one_line(data: str, wrong: float) -> None:
    features = NowAndThen.spread(9)
    features.wrong = wrong
    agent = LUCBFair(batch(), settings(data=data), features, seed=0)
    with pytest.raises(UsageError, match=r"^the feature map gave .*: give finite numbers from -"):
        agent.learn(240)
    assert np.isfinite(agent.price)


@pytest.mark.parametrize("given", [None, np.full((1, 5), "0.2"), np.full((1, 5), np.nan)])
def test_a_feature_map_gives_numbers_from_the_beginning(given: Any) -> None:
    class Wrong(RadialFeatures):
        def __call__(self, states: Any, actions: Any) -> Any:
            return given

    with pytest.raises(UsageError, match=r"^the feature map gave .*: give ") as raised:
        LUCBFair(batch(), settings(), Wrong.spread(5))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("weights", "biases", "line"),
    [
        ([np.ones((4, 3))], [np.zeros(5)], r"weights\[0\] has shape \(4, 3\): give \(4, 5\)"),
        ([np.ones((4, 3)), np.ones((2, 3))], [np.zeros(3)] * 2, r"weights\[1\] .* \(3, 3\)"),
        ([], [], "weights has 0 entries: give at least 1"),
        ([np.ones((4, 3))], [np.zeros(3)] * 2, "layers have 1 weights and 2 biases: give one each"),
        ([np.full((4, 3), np.nan)], [np.zeros(3)], r"weights\[0\]=.*: give finite numbers"),
        ([np.ones(3)], [np.zeros(3)], r"weights\[0\]=.*: give finite numbers .* of 2 axes"),
        ([np.ones((4, 3))], ["b"], r"biases\[0\]='b': give finite numbers"),
    ],
)
def test_layers_that_do_not_fit_are_refused(weights: Any, biases: Any, line: str) -> None:
    with pytest.raises(UsageError, match=line) as refused:
        LearnedFeatures(weights, biases)
    assert "\n" not in str(refused.value)


# Learned features --------------------------------------------------------------------------------


def test_features_learned_from_random_play_explain_rewards_and_next_states() -> None:
    """Nearly all the variance of every signal, on transitions that were kept back."""
    learning = OfflineLearning(size=40, hidden=64, transitions=20_000, epochs=20)
    env = batch(50, 50)
    played = random_play(env, learning.transitions, "demographic-parity", seed=0)
    assert played.states.shape == (20_000, 2)
    found = fit(played, learning, seed=0)
    assert found.explained.shape == (2 + 16,)
    assert found.explained.min() > 0.9
    shares = found.features(played.states, played.actions)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-9)
    assert shares.min() >= 0


def test_random_play_keeps_the_state_that_a_step_led_to() -> None:
    """Also at an episode's end, where the next observation is of another episode."""
    env = batch(3, 4)
    played = random_play(env, 24, "demographic-parity", seed=1)
    outcome = env.unwrapped.model.outcome(played.states, played.actions)
    np.testing.assert_allclose(played.following, outcome.next_rates, atol=1e-6)


def test_an_agent_with_learned_features_is_saved_with_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    features = LearnedFeatures(
        [rng.normal(size=(4, 8)), rng.normal(size=(8, 5))], [rng.normal(size=8), rng.normal(size=5)]
    )
    agent = LUCBFair(batch(), settings(), features, seed=0).learn(48)
    agent.save(tmp_path / "agent.npz")
    loaded = LUCBFair.load(tmp_path / "agent.npz", env=batch())
    states = rng.random((5, 2))
    np.testing.assert_array_equal(loaded.policy_at(1, states)[0], agent.policy_at(1, states)[0])
