"""Doughnuts: rewards, boundaries, reference scores, and the face that is written out in full."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.policies import (
    AlwaysTheSame,
    AnybodyAtRandom,
    FixedPriority,
    LeastServedThere,
    Rotation,
    SomebodyThereAtRandom,
)
from longfair.envs.doughnut import (
    DoughnutParams,
    DoughnutVectorEnv,
    tabular,
)
from longfair.errors import UsageError

make_vector, make_scalar = DoughnutVectorEnv.make, DoughnutVectorEnv.make_scalar

# A correct environment fails a comparison at four standard errors once in 16,000 times.
WIDTH = 4.0


def everybody(people: int = 5, length: int = 100, smoothing: float = 1e-4) -> DoughnutParams:
    return DoughnutParams((1.0,) * people, length, smoothing)


def hand_out(env: DoughnutVectorEnv, people: list[int]) -> tuple[list[float], dict[str, Any]]:
    """Hand out doughnuts in a batch of one; return the rewards and the last info."""
    env.reset(seed=0)
    steps = [env.step(np.array([person])) for person in people]
    return [float(step[1][0]) for step in steps], steps[-1][4]


# One step ----------------------------------------------------------------------------------------


def test_the_reward_is_the_smoothed_nash_welfare_of_all_counts() -> None:
    rewards, info = hand_out(make_vector(1, params=everybody()), [0, 1, 2, 3, 4] * 20)
    assert rewards[0] == pytest.approx(0.693597, abs=5e-7)
    assert rewards[-1] == pytest.approx(15.222636, abs=5e-7)
    assert info["final_info"]["group_state"][0, :, 0].tolist() == [20.0] * 5


@pytest.mark.parametrize(
    ("people", "length", "smoothing", "total"),
    [
        (5, 100, 1e-4, 1104.0658),
        (3, 12, 1e-4, 38.2605),
        (5, 100, 0.0, 1104.0582),
        (3, 12, 0.0, 38.2591),
    ],
)
def test_turn_taking_with_everybody_there_scores_what_the_sum_says(
    people: int, length: int, smoothing: float, total: float
) -> None:
    env = make_vector(1, params=everybody(people, length, smoothing))
    rewards, _ = hand_out(env, [step % people for step in range(length)])
    assert sum(rewards) == pytest.approx(total, abs=5e-5)


def test_a_wasted_doughnut_earns_nothing_and_reaches_nobody() -> None:
    env = make_vector(1, params=DoughnutParams((0.0, 1.0), 10))
    rewards, info = hand_out(env, [1, 0])
    assert rewards == [pytest.approx(math.log(1.0001) + math.log(2.0001)), 0.0]
    assert info["supply"].tolist() == [[0.0, 0.0]]
    assert info["demand"].tolist() == [[0.0, 1.0]]
    assert info["wasted"].tolist() == [True]
    assert info["group_state"].tolist() == [[[0.0], [1.0]]]
    assert info["welfare"][0] == pytest.approx(rewards[0])


def test_welfare_without_any_doughnut_is_the_smoothing_alone() -> None:
    _, info = hand_out(make_vector(1, params=DoughnutParams((0.0,) * 5)), [0])
    assert info["welfare"][0] == pytest.approx(0.0005, abs=5e-8)


def test_people_are_present_independently_and_as_often_as_they_should() -> None:
    chances = (0.0, 0.3, 0.8, 1.0)
    env = make_vector(2000, params=DoughnutParams(chances, 50))
    env.reset(seed=0)
    seen = np.concatenate(
        [env.step(np.zeros(2000, np.int64))[0].astype(float) for _ in range(50)]
    ).reshape(50, 2000, 4)
    error = math.sqrt(0.25 / seen[..., 0].size)
    np.testing.assert_allclose(seen.mean(axis=(0, 1)), chances, atol=WIDTH * error)
    assert not seen[..., 0].any()
    assert seen[..., 3].all()
    centred = seen[..., 1:3] - np.array(chances[1:3])
    assert abs((centred[..., 0] * centred[..., 1]).mean()) < WIDTH * error
    assert abs((centred[1:] * centred[:-1]).mean(axis=(0, 1))).max() < WIDTH * error


def test_what_is_observed_is_who_is_served() -> None:
    env = make_vector(500)
    observation, _ = env.reset(seed=4)
    rng = np.random.default_rng(0)
    counts = np.zeros((500, 5))
    for _ in range(99):
        action = rng.integers(5, size=500)
        there = observation[np.arange(500), action] == 1
        expected_demand = observation
        observation, reward, _, _, info = env.step(action)
        counts[np.arange(500), action] += there
        np.testing.assert_array_equal(info["supply"].sum(axis=1), there)
        np.testing.assert_array_equal(info["demand"], expected_demand)
        np.testing.assert_array_equal(info["wasted"], ~there)
        np.testing.assert_array_equal(info["group_state"][..., 0], counts)
        welfare = np.log(counts + 1.0001).sum(axis=1)
        np.testing.assert_allclose(info["welfare"], welfare, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(reward, welfare * there, rtol=1e-12, atol=1e-13)


# Episode boundaries ------------------------------------------------------------------------------


def test_an_episode_is_truncated_at_its_length_and_the_next_one_starts_at_nothing() -> None:
    env = make_vector(4, preset="tabular")
    env.reset(seed=0)
    for episode in range(3):
        supply = np.zeros((4, 3))
        for step in range(12):
            observation, _, terminated, truncated, info = env.step(np.full(4, episode))
            supply += info["supply"]
            assert not terminated.any()
            assert truncated.tolist() == [step == 11] * 4
            assert ("final_obs" in info) == (step == 11)
        np.testing.assert_array_equal(info["final_info"]["group_state"][..., 0], supply)
        assert not info["group_state"].any()
        welfare = np.log(supply + 1.0001).sum(axis=1)
        np.testing.assert_allclose(info["welfare"], welfare, rtol=1e-12)
        assert observation.shape == info["final_obs"].shape


def test_the_first_people_of_an_episode_are_drawn_apart_from_the_last_of_the_one_before() -> None:
    env = make_vector(1000, preset="tabular", episode_length=1)
    env.reset(seed=0)
    observation, _, _, _, info = env.step(np.zeros(1000, np.int64))
    same = (observation == info["final_obs"]).mean()
    assert same == pytest.approx(0.8**2 + 0.2**2, abs=WIDTH * math.sqrt(0.25 / 3000))


def test_without_autoreset_some_copies_can_be_restarted() -> None:
    params = DoughnutParams((1.0, 1.0), episode_length=2)
    env = DoughnutVectorEnv(2, params, AutoresetMode.DISABLED)
    env.reset(seed=0)
    for _ in range(2):
        env.step(np.array([0, 1]))
    with pytest.raises(UsageError, match="call reset"):
        env.step(np.array([0, 1]))
    _, info = env.reset(options={"reset_mask": np.array([True, False])})
    assert info["group_state"][..., 0].tolist() == [[0.0, 0.0], [0.0, 2.0]]


# Reference scores --------------------------------------------------------------------------------

# Scores, standard deviations and doughnuts taken as the sheet of reference values prints them.
REFERENCES = {
    "deep": {
        "anybody": (791.144, 56.9, 80.0),
        "somebody there": (1082.9, 10.8, 99.97),
        "the same": (278.2, None, 80.0),
        "priority": (647.3, None, 99.97),
        "strict rotation": (806.1, None, 80.0),
        "rotation": (1099.41, 3.9, 99.97),
        "least served": (1103.345, 2.7, 99.968),
    },
    "tabular": {
        "anybody": (25.480, 5.9, 9.60),
        "somebody there": (35.58, None, 11.90),
        "priority": (28.59, None, 11.90),
        "strict rotation": (26.91, None, 9.60),
        "rotation": (37.319, None, 11.90),
        "least served": (37.635, None, 11.904),
    },
}


def policy(name: str, people: int) -> Any:
    return {
        "anybody": AnybodyAtRandom(people, seed=1),
        "somebody there": SomebodyThereAtRandom(people, seed=1),
        "the same": AlwaysTheSame(people),
        "priority": FixedPriority(range(people)),
        "strict rotation": Rotation(people, skip_absent=False),
        "rotation": Rotation(people),
        "least served": LeastServedThere(people),
    }[name]


@pytest.mark.parametrize(
    ("preset", "name"), [(preset, name) for preset in REFERENCES for name in REFERENCES[preset]]
)
def test_reference_policies_score_as_published(preset: str, name: str) -> None:
    copies = 4000 if preset == "deep" else 20_000
    env = make_vector(copies, preset=preset)
    score, deviation, taken = REFERENCES[preset][name]
    played = play_episodes(acting(policy(name, env.num_groups)), env, seed=7)
    error = played.reward.std() / math.sqrt(copies)
    # The exact scores are compared in the tests of the solvers, to the last printed digit.
    assert played.reward.mean() == pytest.approx(score, abs=WIDTH * error + 0.1)
    allocated = played.supply.sum(axis=1)
    assert allocated.mean() == pytest.approx(
        taken, abs=WIDTH * allocated.std() / math.sqrt(copies) + 0.005
    )
    if deviation is not None:
        assert played.reward.std() == pytest.approx(deviation, rel=0.1)


# The face that is written out --------------------------------------------------------------------


def test_the_model_has_the_states_it_should() -> None:
    model = tabular()
    assert model.states.shape == (8 * math.comb(15, 3), 6)
    assert model.fields == ("present_0", "present_1", "present_2", "count_0", "count_1", "count_2")
    assert model.horizon == 12
    assert len(np.unique(model.states, axis=0)) == len(model.states)
    assert model.transition.nnz == 3640 * 3 * 8
    np.testing.assert_allclose(model.transition.sum(axis=1), 1.0, rtol=1e-12)
    assert model.initial_distribution.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("chances", [(0.8, 0.8, 0.8), (0.2, 0.5, 1.0), (0.6,)])
def test_the_environment_moves_as_the_model_says(chances: tuple[float, ...]) -> None:
    params = DoughnutParams(chances, episode_length=6)
    model = tabular(params=params)
    people = len(chances)
    number = {tuple(row): index for index, row in enumerate(model.states.tolist())}
    env = DoughnutVectorEnv(3000, params, AutoresetMode.DISABLED)
    observation, info = env.reset(seed=2)
    rng = np.random.default_rng(0)

    def numbers() -> Any:
        rows = np.concatenate([observation, info["group_state"][..., 0]], axis=1).astype(int)
        return np.array([number[tuple(row)] for row in rows.tolist()])

    start = np.bincount(numbers(), minlength=len(model.states)) / 3000
    assert np.abs(start - model.initial_distribution).max() < WIDTH * math.sqrt(0.25 / 3000)
    for _ in range(6):
        state, action = numbers(), rng.integers(people, size=3000)
        observation, reward, _, _, info = env.step(action)
        np.testing.assert_allclose(reward, model.reward[state, action], atol=1e-12)
        row = state * people + action
        assert (model.transition[row, numbers()] > 0).all()
        # Following the model from the states seen gives the distribution of the next ones.
        expected = np.asarray(model.transition[row].mean(axis=0)).reshape(-1)
        seen = np.bincount(numbers(), minlength=len(model.states)) / 3000
        assert np.abs(seen - expected).max() < WIDTH * math.sqrt(0.25 / 3000)


def test_a_problem_too_large_to_write_out_is_refused() -> None:
    with pytest.raises(UsageError, match="the doughnut problem written out takes at least"):
        tabular("deep")


# What is given -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"presence_probability": ()}, "presence_probability has 0 entries"),
        ({"presence_probability": (0.5, 1.5)}, r"presence_probability\[1\]=1.5.*\[0, 1\]"),
        ({"episode_length": 0}, r"episode_length=0.*1\.\.1000000"),
        ({"smoothing": -1.0}, "smoothing=-1.0"),
    ],
)
def test_bad_parameters_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DoughnutParams(**fields)


def test_presets_are_the_papers_problems() -> None:
    assert DoughnutParams.deep() == DoughnutParams((0.8,) * 5, 100, 1e-4)
    assert DoughnutParams.tabular() == DoughnutParams((0.8,) * 3, 12, 1e-4)
    assert make_vector(1, preset="tabular", episode_length=7).params.episode_length == 7
    with pytest.raises(UsageError, match="did you mean 'tabular'"):
        make_vector(1, preset="tabula")


@pytest.mark.parametrize("actions", [[5, 0], [-1, 0], [0.0, 1.0], [0]])
def test_bad_actions_are_refused(actions: list[Any]) -> None:
    env = make_vector(2)
    env.reset(seed=0)
    with pytest.raises(UsageError):
        env.step(np.array(actions))


def test_any_number_of_people_can_play() -> None:
    env = make_vector(3, params=DoughnutParams((0.5,) * 40, 10))
    observation, info = env.reset(seed=0)
    assert observation.shape == (3, 40)
    assert info["group_state"].shape == (3, 40, 1)


# Faces -------------------------------------------------------------------------------------------


def rollout(env: DoughnutVectorEnv, seed: int) -> list[Any]:
    rng = np.random.default_rng(9)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(30):
        observation, reward, _, _, info = env.step(rng.integers(3, size=env.num_envs))
        seen += [observation, reward, info["supply"], info["group_state"]]
    return seen


def test_the_seed_decides_the_trajectory() -> None:
    first, again, other = (rollout(make_vector(6, preset="tabular"), seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_the_scalar_face_is_the_batch_of_one() -> None:
    batch, scalar = make_vector(1, preset="tabular"), make_scalar(preset="tabular")
    observation, _ = batch.reset(seed=3)
    np.testing.assert_array_equal(scalar.reset(seed=3)[0], observation[0])
    for step in range(11):
        many, one = batch.step(np.array([step % 3])), scalar.step(step % 3)
        np.testing.assert_array_equal(one[0], many[0][0])
        assert one[1] == many[1][0]
        assert one[4].keys() == many[4].keys()
        assert all(np.array_equal(one[4][key], many[4][key][0]) for key in one[4])


@pytest.mark.parametrize("preset", DoughnutParams.PRESETS)
def test_the_usual_checkers_have_nothing_to_say(preset: str) -> None:
    env = gymnasium.make("longfair/Doughnut-v0", preset=preset).unwrapped
    check_env(env, skip_render_check=True)
    check_env_sb3(env)
    batch = gymnasium.make_vec("longfair/Doughnut-v0", num_envs=3, preset=preset)
    assert batch.observation_space.contains(batch.reset(seed=0)[0])
