"""Our L-UCBFair, with the released script's numbers, gives the numbers of the script itself.

The log is `authors_logs/ucbfair_learner.npz`; `authors_logs/README.md` says how it was made and
what is in it. Its starts and draws are fed to our learner, which works out everything else again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from logged_starts import LoggedStarts
from numpy.typing import NDArray

from longfair.agents.ucbfair.features import LearnedFeatures
from longfair.agents.ucbfair.learner import LUCBFair
from longfair.agents.ucbfair.memory import Episodes, Estimates
from longfair.agents.ucbfair.offline_features import random_play
from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.population import PopulationParams
from longfair.envs.population.histograms import FeatureHistograms

FloatArray = NDArray[np.float64]

LOG = dict(np.load(Path(__file__).parent / "authors_logs" / "ucbfair_learner.npz"))
SINGLE = {"rtol": 1e-6, "atol": 1e-6}
"""Rounding to single precision, in which the authors' simulator and networks work."""
FITTED = {"rtol": 5e-6, "atol": 5e-6}
"""Several steps of it, one after the other: a network, sums over episodes, and an inverse."""
PARAMS = PopulationParams(true_negative_weight=1.0)
"""Gaussian features and the loss of the released script."""


class LoggedDraws:
    """The draws of the log, one after the other."""

    def __init__(self, uniform: FloatArray, exponentials: FloatArray | None = None) -> None:
        self._uniform = iter(uniform)
        self._exponentials = iter([] if exponentials is None else exponentials)

    def random(self, shape: tuple[int, ...]) -> FloatArray:
        return next(self._uniform).reshape(shape)

    def exponential(self, size: tuple[int, ...]) -> FloatArray:
        return next(self._exponentials).reshape(size)


class ReleasedFeatures:
    """The script's network, of histograms of the population and of both thresholds."""

    size = 12

    def __init__(self) -> None:
        env = gymnasium.make_vec("longfair/Population-v0", num_envs=1, params=PARAMS)
        self._shown = FeatureHistograms(env)
        weights, biases = (
            [
                LOG[f"net_fc{layer}_{part}"].astype(np.float64) * LOG[f"scale_fc{layer}_{part}"]
                for layer in range(1, 5)
            ]
            for part in ("weight", "bias")
        )
        # The script takes 0.1 off the histograms, and ten times everything.
        biases[0] = biases[0] - weights[0][:, :128].sum(axis=1)
        weights[0] = 10.0 * weights[0]
        self.network = LearnedFeatures([weight.T for weight in weights], biases)

    def __call__(self, states: FloatArray, actions: FloatArray) -> FloatArray:
        seen = self._shown.histograms(states.reshape(-1, 2)).astype(np.float64)
        bins = seen.reshape(-1, 2, 65)[:, :, 1:].reshape(*states.shape[:-1], 128)
        return self.network(bins, actions)

    def to_saved(self) -> dict[str, NDArray[Any]]:
        return self.network.to_saved()


class Replay(NamedTuple):
    """What our learner makes of a log."""

    log: dict[str, NDArray[Any]]
    agent: LUCBFair
    played: list[Episodes]
    fitted: list[Estimates]
    """Those with which every episode was played."""
    chances: FloatArray
    """(K, H, M): of the cells."""


SETTINGS: dict[str, dict[str, Any]] = {
    "script": {},
    "priced": {"largest_price": 10.0, "sharpness": 20.0, "bonus": 0.5, "budget": 1.5 / 8},
}
"""By log, what it changes in the script's numbers."""


@pytest.fixture(scope="module", params=SETTINGS)
def replay(request: pytest.FixtureRequest) -> Replay:
    """Let our learner play and learn the logged episodes."""
    tag = request.param
    log = {k.removeprefix(f"{tag}_"): v for k, v in LOG.items() if k.startswith(f"{tag}_")}
    episodes, horizon = log["cells"].shape
    env = gymnasium.make_vec(
        "longfair/Population-v0", num_envs=1, params=PARAMS, episode_length=horizon
    )
    # A copy begins anew when its episode ends, and once more when the learner asks for it.
    twice = np.repeat(np.append(log["starts"], log["starts"][-1:], axis=0), 2, axis=0)
    env.unwrapped._np_random = LoggedStarts(twice[1:])
    settings = LUCBFairSettings.as_coded(episodes=episodes, **SETTINGS[tag])
    agent = LUCBFair(ElapsedTime(env), settings, ReleasedFeatures())
    agent._unused_seed = None
    places, numbers = (log[name].astype(np.float64) for name in ("position", "exponentials"))
    agent._draws.rng = LoggedDraws(places, numbers)  # type: ignore[assignment]  # stands in for one
    played: list[Episodes] = []
    fitted: list[Estimates] = []
    chances: list[FloatArray] = []
    memory: Any = agent._memory
    take, decide = memory.add, memory.policy

    def taken(new: Episodes) -> None:
        fitted.append(Estimates(*(part.copy() for part in agent.estimates)))
        played.append(new)
        take(new)

    def decided(*given: Any) -> tuple[FloatArray, FloatArray]:
        found: tuple[FloatArray, FloatArray] = decide(*given)
        chances.append(found[0][0])
        return found

    # Both listen, and change nothing.
    memory.add = taken
    memory.policy = decided
    agent.learn(episodes * horizon)
    memory.policy = decide
    return Replay(log, agent, played, fitted, np.reshape(chances, (episodes, horizon, -1)))


def of_episodes(replay: Replay, name: str) -> NDArray[Any]:
    """Return what was played, by episode and step: (K, H, ...)."""
    return np.array([getattr(episode, name)[..., 0] for episode in replay.played])


# What is drawn and what comes of it --------------------------------------------------------------


def test_the_script_s_numbers_are_those_of_the_preset(replay: Replay) -> None:
    """Sharpness, bonus, step and bound of the price, and the fairness that is wanted."""
    own = replay.agent.settings
    wanted = (1.0 - own.budget) * replay.agent.horizon
    sharpness, bonus, step, bound, least = replay.log["settings"]
    assert (own.sharpness, own.bonus, own.largest_price) == (sharpness, bonus, bound)
    assert wanted == pytest.approx(least, rel=1e-12)
    if bound:
        assert own.price_step == pytest.approx(step, rel=1e-12)
    np.testing.assert_allclose(replay.agent.cells.centres, replay.log["centres"], rtol=1e-7)


def test_chosen_cells_and_thresholds_are_the_script_s(replay: Replay) -> None:
    """A number for every cell, and a place in it, are drawn once for all steps of an episode."""
    actions = np.array([episode.actions[:, 0] for episode in replay.played])
    cells = np.rint(actions * 5 - 0.5).astype(int)
    np.testing.assert_array_equal(cells[..., 0] * 5 + cells[..., 1], replay.log["cells"])
    np.testing.assert_allclose(actions, replay.log["actions"], **SINGLE)


def test_states_rewards_and_fairness_are_the_script_s(replay: Replay) -> None:
    """The reward is the share of right decisions, the fairness is 1 minus the squared gap.

    Rewards and rates are the same by construction, because our population stands in.
    """
    states = np.array([episode.states[:, 0] for episode in replay.played])
    np.testing.assert_allclose(states[:, 0], replay.log["starts"], **SINGLE)
    np.testing.assert_allclose(states[:, 1:], replay.log["rates"][:, :-1], **SINGLE)
    signals = of_episodes(replay, "signals")
    np.testing.assert_allclose(signals[..., 0], replay.log["r"], **SINGLE)
    np.testing.assert_allclose(signals[..., 1], replay.log["g"], **SINGLE)


# Values, regressions, price ----------------------------------------------------------------------


def test_values_and_chances_of_cells_are_the_script_s(replay: Replay) -> None:
    """In all steps of the last episode, with the estimates with which it was played."""
    memory, log, fitted = replay.agent._memory, replay.log, replay.fitted[-1]
    for step, states in enumerate(replay.played[-1].states):
        centres = memory.at_centres(states)
        products = np.moveaxis(centres @ fitted.weights[step].T, -1, 0)
        width = ((centres @ fitted.inverse[step]) * centres).sum(axis=-1)
        values = memory.judge.values(step, products, width)
        np.testing.assert_allclose(values[:, 0], log["values"][step], **FITTED)
    np.testing.assert_allclose(replay.chances[-1], log["chances"], **FITTED)
    np.testing.assert_allclose(fitted.weights, log["weights"], **FITTED)


def test_promised_values_are_the_script_s(replay: Replay) -> None:
    """Of the reward and of the fairness, before every step of every episode."""
    promised = of_episodes(replay, "promised")
    np.testing.assert_allclose(promised[..., 0], replay.log["vr"][:, :-1], **FITTED)
    np.testing.assert_allclose(promised[..., 1], replay.log["vg"][:, :-1], **FITTED)
    assert not replay.log["vr"][:, -1].any()


def test_gram_matrices_and_targets_are_the_script_s(replay: Replay) -> None:
    """Features of the thresholds played; a target stays as it was when its step was made."""
    memory: Any = replay.agent._memory
    identity = np.eye(memory.features.size)
    np.testing.assert_allclose(memory._gram - identity, replay.log["gram"], **FITTED)
    np.testing.assert_allclose(memory._sums, replay.log["sums"], **FITTED)


def test_the_price_is_the_script_s(replay: Replay) -> None:
    """It goes by the promised fairness; with the script's own numbers it stays 0."""
    prices = np.append(replay.agent.history.price, replay.agent.price)
    np.testing.assert_allclose(prices, replay.log["price"], rtol=1e-6, atol=1e-6)
    assert prices.any() == (replay.log["settings"][3] > 0)


# Features and what they are learned from ---------------------------------------------------------


def test_features_are_the_script_s_network(replay: Replay) -> None:
    """A softmax behind three layers, of 128 numbers of the population and two thresholds."""
    features = replay.agent.features(LOG["play_rates"], LOG["play_actions"].astype(np.float64))
    np.testing.assert_allclose(features, LOG["play_phi"], **FITTED)
    assert np.ptp(features, axis=0).max() > 0.5


def test_the_wrapper_s_tensor_holds_our_histograms() -> None:
    """Ten times the shares of the bins, and who is qualified in them, by group."""
    env = gymnasium.make_vec("longfair/Population-v0", num_envs=1, params=PARAMS)
    rates = LOG["play_rates"][[0, 1, 49, 50, 120]]
    seen = FeatureHistograms(env).histograms(rates).reshape(5, 2, 65)[:, :, 1:]
    shown = np.swapaxes(LOG["play_states"], 2, 3).reshape(5, 2, 64)
    np.testing.assert_allclose(seen, shown, **SINGLE)


def test_random_play_is_the_script_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniform thresholds, 50 steps an episode; a transition holds the state before the next start.

    The script's fairness is here that of the rates after the step, which its training leaves out.
    """
    env = gymnasium.make_vec("longfair/Population-v0", num_envs=1, params=PARAMS, episode_length=50)
    actions = LOG["play_actions"].astype(np.float64)
    given = LoggedDraws(actions)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: given)
    reset = env.reset

    def begun(seed: int) -> Any:
        env.unwrapped._np_random = LoggedStarts(LOG["play_starts"])
        return reset()

    monkeypatch.setattr(env, "reset", begun)
    played = random_play(env, len(actions), "qualification", seed=0)
    np.testing.assert_array_equal(played.actions, actions)
    np.testing.assert_allclose(played.states, LOG["play_rates"], **SINGLE)
    np.testing.assert_allclose(played.following, LOG["play_next"], **SINGLE)
    np.testing.assert_allclose(played.signals[:, 0], LOG["play_r"], **SINGLE)
    after = 1.0 - (played.following[:, 0] - played.following[:, 1]) ** 2
    np.testing.assert_allclose(after, LOG["play_g"], **SINGLE)
