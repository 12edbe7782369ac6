"""Observation wrappers for attention allocation and epidemic control, against naive versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from longfair.envs.attention import AttentionParams, AttentionVectorEnv
from longfair.envs.epidemic import EpidemicParams, EpidemicVectorEnv
from longfair.envs.history import History, VaccinationCounts, WindowRates
from longfair.envs.lending import LendingVectorEnv
from longfair.envs.scalar import ScalarFace
from longfair.envs.wrappers import RunningRates
from longfair.errors import UsageError

COPIES = 3


def logits(rng: np.random.Generator) -> Any:
    return rng.uniform(-3, 3, (COPIES, 5)).astype(np.float32)


def play(env: Any, draw: Any, steps: int) -> list[tuple[Any, dict[str, Any]]]:
    """Observation and info of a number of steps; the observation that ended an episode is kept."""
    rng = np.random.default_rng(5)
    env.reset(seed=1)
    seen = []
    for _ in range(steps):
        observation, *_, info = env.step(draw(rng))
        seen.append((observation, info))
    return seen


def stacked(rows: list[Any], length: int) -> Any:
    """The last `length` rows, the oldest first, with zeros before the first row."""
    padded = [np.zeros_like(rows[0])] * length + rows
    return np.concatenate(padded[-length:], axis=1)


# History -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 8, 30])
def test_history_shows_the_last_observations_oldest_first(length: int) -> None:
    plain = play(AttentionVectorEnv.make(COPIES), logits, 20)
    shown = play(History(AttentionVectorEnv.make(COPIES), length), logits, 20)
    rows: list[Any] = [np.zeros((COPIES, 15), np.float32)]
    for (row, _), (observation, _) in zip(plain, shown, strict=True):
        rows.append(row)
        np.testing.assert_array_equal(observation, stacked(rows, length))


def test_history_of_elbert_has_160_numbers() -> None:
    """Eight rows of discovered, occurred, allocated, and the running ratio with one added."""
    env = History(RunningRates(AttentionVectorEnv.make(COPIES, "elbert_harder"), offset=1.0), 8)
    assert env.single_observation_space.shape == (160,)
    discovered, occurred = np.zeros((2, COPIES, 5))
    rows = []
    for observation, info in play(env, logits, 20):
        discovered += info["supply"]
        occurred += info["demand"]
        ratio = discovered / (occurred + 1.0)
        rows.append(np.hstack([info["supply"], info["demand"], info["allocation"], ratio]))
        np.testing.assert_allclose(observation, stacked(rows, 8), rtol=1e-6)
        assert env.observation_space.contains(observation)


def test_history_begins_with_zeros_before_the_first_observation() -> None:
    observation, _ = History(EpidemicVectorEnv.make(COPIES), 4).reset(seed=0)
    rows = observation.reshape(COPIES, 4, 102)
    assert (rows[:, :3] == 0).all()
    assert (rows[:, 3].sum(axis=1) == 34).all()


def test_history_is_whole_at_the_end_of_an_episode_and_empty_afterwards() -> None:
    env = History(RunningRates(AttentionVectorEnv.make(COPIES, episode_length=5), offset=1.0), 3)
    rows = []
    for step, (observation, info) in enumerate(play(env, logits, 15)):
        rows.append(np.hstack([info["supply"], info["demand"], info["allocation"]]))
        if step % 5 == 4:
            final = info["final_obs"].reshape(COPIES, 3, 20)
            expected = stacked(rows, 3).reshape(COPIES, 3, 15)
            np.testing.assert_array_equal(final[:, :, :15], expected)
            assert (final[:, -1, 15:] > 0).any()
            np.testing.assert_array_equal(observation, 0)
            rows = []
        else:
            assert "final_obs" not in info
            np.testing.assert_array_equal(
                observation.reshape(COPIES, 3, 20)[:, :, :15],
                stacked(rows, 3).reshape(COPIES, 3, 15),
            )


def test_history_forgets_only_the_copies_that_are_reset() -> None:
    inner = AttentionVectorEnv(COPIES, autoreset_mode=AutoresetMode.DISABLED)
    env = History(WindowRates(inner, 10, offset=1.0), 2)
    before = play(env, logits, 4)[-1][0]
    mask = np.array([False, True, False])
    after, _ = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(after[mask], 0)
    np.testing.assert_array_equal(after[~mask], before[~mask])


def test_returned_histories_are_the_callers_to_change() -> None:
    env = History(AttentionVectorEnv.make(COPIES, episode_length=3), 2)
    first, info = play(env, logits, 1)[0]
    copy = first.copy()
    env.step(logits(np.random.default_rng(0)))
    np.testing.assert_array_equal(first, copy)
    first[:] = info["supply"][:] = -1
    assert (env.step(logits(np.random.default_rng(0)))[4]["final_obs"] >= 0).all()


def test_history_includes_zero_in_its_bounds() -> None:
    env = AttentionVectorEnv.make(COPIES)
    shown, inner = History(env, 2).single_observation_space, env.single_observation_space
    np.testing.assert_array_equal(shown.high, np.tile(inner.high, 2))
    np.testing.assert_array_equal(shown.low, 0)


# Windowed ratio ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("window", "offset"), [(1, 0.0), (4, 0.0), (4, 1.0), (300, 1.0)])
def test_window_rates_look_at_the_last_steps_only(window: int, offset: float) -> None:
    env = WindowRates(AttentionVectorEnv.make(COPIES, episode_length=9), window, offset)
    supplies, demands = [], []
    for step, (observation, info) in enumerate(play(env, logits, 30)):
        supplies.append(info["supply"])
        demands.append(info["demand"])
        supply, demand = sum(supplies[-window:]), sum(demands[-window:]) + offset
        expected = np.divide(supply, demand, out=np.zeros((COPIES, 5)), where=demand > 0)
        ended = step % 9 == 8
        shown = info["final_obs"] if ended else observation
        np.testing.assert_allclose(shown[:, 15:], expected, rtol=1e-6)
        if ended:
            supplies, demands = [], []
            np.testing.assert_array_equal(observation[:, 15:], 0)


def test_history_of_fppo_has_160_numbers() -> None:
    env = History(WindowRates(AttentionVectorEnv.make(COPIES, "fppo"), offset=1.0), 8)
    assert env.single_observation_space.shape == (160,)
    observation, info = play(env, logits, 3)[-1]
    np.testing.assert_array_equal(observation[:, :100], 0)
    np.testing.assert_array_equal(observation[:, 140:145], info["supply"])


# Vaccination counts ------------------------------------------------------------------------------


def nodes(rng: np.random.Generator) -> Any:
    return rng.integers(0, 35, COPIES)


@pytest.mark.parametrize("as_coded", [False, True])
def test_vaccination_counts(as_coded: bool) -> None:
    env = VaccinationCounts(EpidemicVectorEnv.make(COPIES), as_coded)
    assert env.single_observation_space.shape == (136,)
    counts = np.zeros((COPIES, 34))
    for step, (observation, info) in enumerate(play(env, nodes, 45)):
        for copy, node in enumerate(info["vaccinated"]):
            if as_coded:
                # Person 0 and nobody (34) both count for the last person.
                counts[copy, {0: 33, 34: 33}.get(node, node - 1)] += 1
            elif node < 34:
                counts[copy, node] += 1
        ended = step % 20 == 19
        shown = info["final_obs"] if ended else observation
        np.testing.assert_array_equal(shown[:, 102:], counts)
        assert env.observation_space.contains(shown)
        assert (shown[:, :102].sum(axis=1) == 34).all()
        if ended:
            counts[:] = 0
            np.testing.assert_array_equal(observation[:, 102:], 0)


@pytest.mark.parametrize(
    ("node", "correct", "coded"), [(0, 0, 33), (1, 1, 0), (33, 33, 32), (34, None, 33)]
)
def test_where_one_vaccine_is_counted(node: int, correct: int | None, coded: int) -> None:
    for as_coded, place in ((False, correct), (True, coded)):
        env = VaccinationCounts(EpidemicVectorEnv.make(1), as_coded)
        env.reset(seed=0)
        observation = env.step(np.array([node]))[0]
        places = [] if place is None else [place]
        assert list(np.flatnonzero(observation[0, 102:])) == places


def test_vaccination_counts_of_another_network() -> None:
    params = EpidemicParams(edges=((0, 1), (1, 2)), group=(0, 1, 1))
    env = VaccinationCounts(EpidemicVectorEnv.make(2, params=params))
    env.reset(seed=0)
    np.testing.assert_array_equal(env.step(np.array([2, 3]))[0][:, 9:], [[0, 0, 1], [0, 0, 0]])


# Both --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrap", "message"),
    [
        (lambda: History(AttentionVectorEnv.make(2), 0), "length=0"),
        (lambda: WindowRates(AttentionVectorEnv.make(2), 0), "window=0"),
        (lambda: WindowRates(AttentionVectorEnv.make(2), 5, offset=-1.0), "offset=-1.0"),
        (lambda: VaccinationCounts(AttentionVectorEnv.make(2)), "longfair/Epidemic-v0"),
        (lambda: VaccinationCounts(LendingVectorEnv.make(2)), "longfair/Epidemic-v0"),
    ],
)
def test_bad_arguments_are_refused(wrap: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        wrap()


# The checkers advise against unbounded counts and unnormalised logits, which the problem has.
@pytest.mark.filterwarnings("ignore:.*Box:UserWarning")
@pytest.mark.parametrize("paper", ["elbert", "fppo"])
def test_checkers_find_no_error(paper: str) -> None:
    units = AttentionVectorEnv(1, AttentionParams.fppo(), AutoresetMode.DISABLED)
    vaccines = EpidemicVectorEnv(1, autoreset_mode=AutoresetMode.DISABLED)
    wrapped = {
        "elbert": [History(RunningRates(units, offset=1.0))],
        "fppo": [History(WindowRates(units, offset=1.0)), VaccinationCounts(vaccines, True)],
    }
    for env in wrapped[paper]:
        check_env(ScalarFace(env), skip_render_check=True)
        check_env_sb3(ScalarFace(env))
