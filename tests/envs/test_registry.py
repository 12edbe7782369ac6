"""What holds for every registered environment and every preset of it.

An environment is covered from the moment its name is in `longfair.envs.NAMES`: nothing here names
one. What is particular to an environment is tested in its own file.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import importlib
import inspect
import random
import re
import tracemalloc
import warnings
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from longfair.envs import NAMES, environment_id
from longfair.envs.making import module_name
from longfair.envs.sb3 import BatchVecEnv
from longfair.envs.vector import FairVectorEnv
from longfair.errors import UsageError

COPIES = 5
LENGTH = 6
"""Steps per episode in these tests: short, so that many episode boundaries are crossed."""
SECTIONS = (
    "Action space",
    "Observation space",
    "Rewards",
    "Starting state",
    "Episode end",
    "Information",
    "Arguments",
    "Vectorised use",
    "Version history",
)
BOUNDARY_KEYS = {"final_obs", "_final_obs", "final_info", "_final_info"}
BASE_KEYS = {"supply", "demand", "group_state"}


def module_of(name: str) -> ModuleType:
    return importlib.import_module(module_name(name))


def params_class(name: str) -> Any:
    return getattr(module_of(name), f"{name}Params")


CASES = [(name, preset) for name in NAMES for preset in params_class(name).PRESETS]
every_preset = pytest.mark.parametrize(
    ("name", "preset"), CASES, ids=[f"{name}-{preset}" for name, preset in CASES]
)
every_environment = pytest.mark.parametrize("name", NAMES)


def make_batch(name: str, preset: str, copies: int = COPIES, **options: Any) -> FairVectorEnv:
    options = {"episode_length": LENGTH} | options
    env = gymnasium.make_vec(environment_id(name), num_envs=copies, preset=preset, **options)
    assert isinstance(env.unwrapped, FairVectorEnv)
    return env.unwrapped


def make_manual(name: str, preset: str, copies: int = COPIES) -> FairVectorEnv:
    """Make a batch that the caller resets."""
    env = make_batch(name, preset, copies)
    return type(env).make(copies, params=env.params, autoreset_mode=AutoresetMode.DISABLED)  # type: ignore[attr-defined]  # environments have it, the base has not


def drawn_actions(space: gymnasium.Space[Any], steps: int, seed: int = 0) -> list[Any]:
    space = copy.deepcopy(space)
    space.seed(seed)
    return [space.sample() for _ in range(steps)]


def trajectory(env: Any, seed: int | None, actions: list[Any]) -> list[Any]:
    """Return everything that a reset and the steps return, flattened to a list of arrays."""
    observation, info = env.reset(seed=seed)
    seen = [observation, *flattened(info)]
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        seen += [observation, reward, terminated, truncated, *flattened(info)]
    return seen


def flattened(info: dict[str, Any]) -> list[Any]:
    arrays: list[Any] = []
    for key in sorted(info):
        arrays += flattened(info[key]) if isinstance(info[key], dict) else [info[key]]
    return arrays


def equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def assert_one_line(error: pytest.ExceptionInfo[UsageError], *parts: str) -> None:
    message = str(error.value)
    assert message
    assert "\n" not in message
    for part in parts:
        assert part in message


# Making ------------------------------------------------------------------------------------------


@every_preset
def test_both_faces_are_made_by_id(name: str, preset: str) -> None:
    batch = gymnasium.make_vec(environment_id(name), num_envs=3, preset=preset)
    scalar = gymnasium.make(environment_id(name), preset=preset)
    assert batch.num_envs == 3
    assert batch.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert batch.single_observation_space == scalar.observation_space
    assert batch.single_action_space == scalar.action_space
    observation, _ = batch.reset(seed=1)
    assert observation.shape == (3, *scalar.reset(seed=1)[0].shape)


@every_preset
def test_the_preset_and_its_parameters_are_the_same_thing(name: str, preset: str) -> None:
    params = getattr(params_class(name), preset)()
    by_name = gymnasium.make_vec(environment_id(name), num_envs=2, preset=preset)
    by_params = gymnasium.make_vec(environment_id(name), num_envs=2, params=params)
    assert by_name.unwrapped.params == by_params.unwrapped.params == params  # type: ignore[attr-defined]  # environments have it, VectorEnv has not
    assert by_name.unwrapped.episode_length == params.episode_length  # type: ignore[attr-defined]  # likewise
    actions = drawn_actions(by_name.action_space, 4)
    assert equal(trajectory(by_name, 8, actions), trajectory(by_params, 8, actions))


@every_environment
def test_parameters_are_frozen_and_their_presets_documented(name: str) -> None:
    record = params_class(name)
    docstring = inspect.getdoc(type(make_batch(name, record.PRESETS[0]))) or ""
    with pytest.raises(dataclasses.FrozenInstanceError):
        record().episode_length = 3
    for preset in record.PRESETS:
        assert inspect.getdoc(getattr(record, preset))
        assert f'`"{preset}"`' in docstring
    assert hash(record()) == hash(record())


@every_environment
def test_the_docstring_has_all_sections_in_order(name: str) -> None:
    docstring = inspect.getdoc(type(make_batch(name, params_class(name).PRESETS[0]))) or ""
    assert tuple(re.findall(r"^## (.*)$", docstring, flags=re.MULTILINE)) == SECTIONS


# Checkers of others ------------------------------------------------------------------------------


@every_preset
def test_the_scalar_face_passes_the_checkers(name: str, preset: str) -> None:
    env = gymnasium.make(environment_id(name), preset=preset).unwrapped
    with warnings.catch_warnings():
        # Some observations have no upper bound, and some actions are not in [-1, 1]: both are
        # meant, and both checkers advise against them.
        warnings.simplefilter("ignore")
        gymnasium_check_env(env, skip_render_check=True)
        sb3_check_env(env)


# Seeds -------------------------------------------------------------------------------------------


@every_preset
def test_the_seed_decides_the_trajectory(name: str, preset: str) -> None:
    env = make_batch(name, preset)
    actions = drawn_actions(env.action_space, 2 * LENGTH + 1)
    first = trajectory(env, 7, actions)
    assert equal(first, trajectory(make_batch(name, preset), 7, actions))
    assert equal(first, trajectory(env, 7, actions)), "a used batch remembers something"
    assert not equal(first, trajectory(env, 8, actions))
    assert not equal(first, trajectory(env, None, actions))


@every_preset
def test_only_the_batch_generator_is_used(
    name: str, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The global generators of NumPy and Python must not be asked for anything."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("global random state")

    for function in ("random", "random_sample", "rand", "randint", "choice", "poisson", "binomial"):
        monkeypatch.setattr(np.random, function, refuse)
    monkeypatch.setattr(random, "random", refuse)
    # A fresh generator without a seed would be just as wrong after a seeded reset.
    env = make_batch(name, preset)
    env.reset(seed=7)
    monkeypatch.setattr(np.random, "default_rng", refuse)
    for action in drawn_actions(env.action_space, 2 * LENGTH):
        env.step(action)


# What a step returns -----------------------------------------------------------------------------


@every_preset
def test_observations_rewards_and_info_have_the_promised_form(name: str, preset: str) -> None:
    env = make_batch(name, preset)
    groups = env.num_groups
    observation, info = env.reset(seed=3)
    assert observation in env.observation_space
    assert "group_state" in info
    sizes = info["group_state"].shape[2]
    for action in drawn_actions(env.action_space, 4 * LENGTH):
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert reward.shape == (COPIES,)
        assert reward.dtype == np.float64
        assert np.isfinite(reward).all()
        for flags in (terminated, truncated):
            assert flags.shape == (COPIES,)
            assert flags.dtype == np.bool_
        assert info["supply"].shape == info["demand"].shape == (COPIES, groups)
        assert info["group_state"].shape == (COPIES, groups, sizes)
        assert (info["supply"] >= 0).all()
        assert (info["demand"] >= 0).all()
        for array in flattened(info):
            assert len(array) == COPIES
            assert np.isfinite(array).all()
        if "final_obs" in info:
            assert info["final_obs"] in env.observation_space


@every_preset
def test_every_info_key_is_documented_and_every_documented_key_is_there(
    name: str, preset: str
) -> None:
    env = make_batch(name, preset)
    docstring = inspect.getdoc(type(env)) or ""
    table = docstring.partition("## Information")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE))
    env.reset(seed=3)
    info = env.step(drawn_actions(env.action_space, 1)[0])[4]
    assert documented == set(info)


@every_preset
def test_what_was_returned_is_never_changed_later(name: str, preset: str) -> None:
    env = make_batch(name, preset)
    env.reset(seed=3)
    actions = drawn_actions(env.action_space, 2 * LENGTH)
    given = copy.deepcopy(actions)
    kept, copies = [], []
    for action in actions:
        returned = env.step(action)
        kept.append([*returned[:4], *flattened(returned[4])])
        copies.append(copy.deepcopy(kept[-1]))
    assert all(map(equal, kept, copies))
    assert equal(actions, given)


# Episode boundaries ------------------------------------------------------------------------------


@every_preset
def test_episodes_end_on_time_and_restart_in_the_same_step(name: str, preset: str) -> None:
    env = make_batch(name, preset)
    env.reset(seed=4)
    elapsed = np.zeros(COPIES, dtype=int)
    for action in drawn_actions(env.action_space, 5 * LENGTH):
        observation, _, terminated, truncated, info = env.step(action)
        elapsed += 1
        ended = terminated | truncated
        assert not (terminated & truncated).any()
        assert np.array_equal(truncated, (elapsed == LENGTH) & ~terminated)
        assert (set(info) >= BOUNDARY_KEYS) == ended.any()
        assert set(info) >= BASE_KEYS
        if ended.any():
            assert np.array_equal(info["_final_obs"], ended)
            assert np.array_equal(info["_final_info"], ended)
            assert np.array_equal(info["final_info"]["_group_state"], ended)
            # Copies that go on have nothing final: their rows are the ones returned anyway.
            assert np.array_equal(info["final_obs"][~ended], observation[~ended])
        elapsed[ended] = 0


@every_preset
def test_the_scalar_face_and_a_batch_of_one_are_the_same_environment(
    name: str, preset: str
) -> None:
    scalar = gymnasium.make(environment_id(name), preset=preset, episode_length=LENGTH)
    batch = make_batch(name, preset, copies=1)
    observation, info = scalar.reset(seed=5)
    observations, infos = batch.reset(seed=5)
    assert equal([observation, *flattened(info)], _first([observations, *flattened(infos)]))
    boundaries = 0
    for action in drawn_actions(batch.action_space, 4 * LENGTH + 1):
        observation, reward, terminated, truncated, info = scalar.step(action[0])
        observations, rewards, terminations, truncations, infos = batch.step(action)
        assert (reward, terminated, truncated) == (rewards[0], terminations[0], truncations[0])
        assert np.array_equal(info["supply"], infos["supply"][0])
        assert np.array_equal(info["demand"], infos["demand"][0])
        if terminated or truncated:
            boundaries += 1
            assert np.array_equal(observation, infos["final_obs"][0])
            final_state = infos["final_info"]["group_state"][0]
            assert np.array_equal(info["group_state"], final_state)
            observation, info = scalar.reset()
            assert np.array_equal(info["group_state"], infos["group_state"][0])
        else:
            assert equal(flattened(info), _first(flattened(infos)))
        assert np.array_equal(observation, observations[0])
    assert boundaries >= 4


def _first(arrays: list[Any]) -> list[Any]:
    return [array[0] for array in arrays]


@every_preset
def test_without_autoreset_the_caller_resets_what_has_ended(name: str, preset: str) -> None:
    env = make_manual(name, preset)
    actions = drawn_actions(env.action_space, 3 * LENGTH)
    with pytest.raises(UsageError) as error:
        env.step(actions[0])
    assert_one_line(error, "reset()")
    env.reset(seed=6)
    ended = np.zeros(COPIES, dtype=bool)
    for action in actions[:LENGTH]:
        observation, _, terminated, truncated, info = env.step(action)
        assert not BOUNDARY_KEYS & set(info)
        ended = terminated | truncated
        if ended.any():
            break
    assert ended.any()
    with pytest.raises(UsageError) as error:
        env.step(actions[0])
    assert_one_line(error, "reset()")
    after, _ = env.reset(options={"reset_mask": ended})
    assert np.array_equal(after[~ended], observation[~ended])
    env.step(actions[-1])


@every_preset
def test_a_reset_mask_leaves_the_other_copies_alone(name: str, preset: str) -> None:
    env = make_manual(name, preset)
    observation, _ = env.reset(seed=6)
    for action in drawn_actions(env.action_space, LENGTH // 2):
        observation, _, _, _, info = env.step(action)
    mask = np.arange(COPIES) % 2 == 0
    after, reset_info = env.reset(options={"reset_mask": mask})
    assert np.array_equal(after[~mask], observation[~mask])
    for key, value in reset_info.items():
        assert np.array_equal(value[~mask], info[key][~mask]), key
    truncated = np.zeros(COPIES, dtype=bool)
    for action in drawn_actions(env.action_space, LENGTH - LENGTH // 2):
        _, _, terminated, truncated, _ = env.step(action)
        assert not (terminated | truncated)[mask].any()
    assert (terminated | truncated)[~mask].all(), "their clocks went on"
    for bad in (np.ones(COPIES), np.ones(COPIES + 1, dtype=bool)):
        with pytest.raises(UsageError) as error:
            env.reset(options={"reset_mask": bad})
        assert_one_line(error, "reset_mask", str(COPIES))


@every_preset
def test_the_sb3_adapter_agrees_with_the_batch(name: str, preset: str) -> None:
    batch, adapted = make_batch(name, preset), BatchVecEnv(make_batch(name, preset))
    adapted.seed(9)
    observation, _ = batch.reset(seed=9)
    assert np.array_equal(adapted.reset(), observation)
    boundaries = 0
    for action in drawn_actions(batch.action_space, 3 * LENGTH):
        observation, reward, terminated, truncated, info = batch.step(action)
        seen, rewards, dones, infos = adapted.step(action)
        assert np.array_equal(seen, observation)
        assert np.array_equal(rewards, reward.astype(np.float32))
        assert np.array_equal(dones, terminated | truncated)
        assert len(infos) == COPIES
        for index, entry in enumerate(infos):
            assert np.array_equal(entry["supply"], info["supply"][index])
            assert np.array_equal(entry["group_state"], info["group_state"][index])
            assert ("terminal_observation" in entry) == dones[index]
            if dones[index]:
                boundaries += 1
                assert np.array_equal(entry["terminal_observation"], info["final_obs"][index])
                final_state = info["final_info"]["group_state"][index]
                assert np.array_equal(entry["terminal_info"]["group_state"], final_state)
                assert entry["TimeLimit.truncated"] == truncated[index]
    assert boundaries >= 3 * COPIES


# Errors ------------------------------------------------------------------------------------------


@every_environment
def test_bad_arguments_are_one_line_usage_errors(name: str) -> None:
    preset = params_class(name).PRESETS[0]
    with pytest.raises(UsageError) as error:
        make_batch(name, f"{preset}x")
    assert_one_line(error, f"{preset}x", f"did you mean '{preset}'")
    with pytest.raises(UsageError) as error:
        gymnasium.make(environment_id(name), preset=f"{preset}x")
    assert_one_line(error, f"{preset}x")
    for length in (0, -3, 2.5, True, 10**6 + 1, 10**30):
        with pytest.raises(UsageError) as error:
            make_batch(name, preset, episode_length=length)
        assert_one_line(error, "episode_length", repr(length))
    with pytest.raises(UsageError) as error:
        make_batch(name, preset, episode_lenght=3)
    assert_one_line(error, "'episode_lenght'", "did you mean 'episode_length'")
    with pytest.raises(UsageError) as error:
        make_batch(name, "nope", params=getattr(params_class(name), preset)())
    assert_one_line(error, "preset='nope'", "give preset or params, not both")
    with pytest.raises(UsageError) as error:
        type(make_batch(name, preset))(0)  # type: ignore[call-arg]  # as in make_manual
    assert_one_line(error, "num_envs", "0")


@every_environment
@pytest.mark.parametrize("bad", [3, {"episode_length": 3}, ["a\nb"] * 50, "no such thing", None])
def test_arguments_of_the_wrong_kind_are_one_line_usage_errors(name: str, bad: Any) -> None:
    def batch(**arguments: Any) -> Any:
        return gymnasium.make_vec(environment_id(name), num_envs=2, **arguments)

    def scalar(**arguments: Any) -> Any:
        return gymnasium.make(environment_id(name), **arguments)

    presets = params_class(name).PRESETS
    for make in (batch, scalar):
        with pytest.raises(UsageError) as error:
            make(preset=bad)
        assert_one_line(error, "preset", repr(bad)[:3], presets[0])
        if bad is not None:
            with pytest.raises(UsageError) as error:
                make(params=bad)
            assert_one_line(error, f"params={repr(bad)[:3]}", f"{name}Params", presets[0])
        with pytest.raises(UsageError) as error:
            make(params=presets[-1])
        assert_one_line(error, f"params={presets[-1]!r}", f"or preset={presets[-1]!r}")


@every_environment
def test_what_was_made_can_be_made_again_from_its_spec(name: str) -> None:
    preset = params_class(name).PRESETS[-1]
    batch = gymnasium.make_vec(environment_id(name), num_envs=3, preset=preset)
    again = gymnasium.make_vec(batch.spec)  # type: ignore[arg-type]  # it has one, because it was made by id
    assert again.num_envs == 3
    assert again.unwrapped.params == batch.unwrapped.params  # type: ignore[attr-defined]  # environments have it, VectorEnv has not


@every_environment
def test_parameters_out_of_range_are_named(name: str) -> None:
    record = params_class(name)
    for preset in record.PRESETS:
        params = getattr(record, preset)()
        for field in dataclasses.fields(params):
            bad = _bad_value(getattr(params, field.name))
            if bad is not None:
                with pytest.raises(UsageError) as error:
                    dataclasses.replace(params, **{field.name: bad})
                assert_one_line(error, field.name)


def _bad_value(value: Any) -> Any:
    """Return a value that no field of this kind may have, or None if there is none for sure."""
    if isinstance(value, (int, float)):
        return float("nan")
    if isinstance(value, str):
        return "no such thing"
    if isinstance(value, tuple) and value and isinstance(value[0], (int, float)):
        return (float("nan"), *value[1:])
    return None


@every_preset
def test_bad_actions_are_one_line_usage_errors(name: str, preset: str) -> None:
    env = make_batch(name, preset)
    env.reset(seed=2)
    good = drawn_actions(env.action_space, 1)[0]
    for bad, complaint in _bad_actions(env.single_action_space, good):
        with pytest.raises(UsageError) as error:
            env.step(bad)
        assert_one_line(error, complaint)
    # A refused action has not been half applied: the next good one is the first step.
    fresh = make_batch(name, preset)
    fresh.reset(seed=2)
    step, fresh_step = env.step(good), fresh.step(good)
    assert equal([*step[:4], *flattened(step[4])], [*fresh_step[:4], *flattened(fresh_step[4])])


@every_environment
def test_actions_of_different_lengths_are_refused_in_one_line(name: str) -> None:
    ragged = [[0.5, 0.5], [0.5]]
    env = gymnasium.make_vec(environment_id(name), num_envs=2)
    env.reset(seed=2)
    with pytest.raises(UsageError) as error:
        env.step(ragged)
    assert_one_line(error, f"actions={ragged}: give", "of shape (2")
    scalar = gymnasium.make(environment_id(name)).unwrapped
    scalar.reset(seed=2)
    with pytest.raises(UsageError) as error:
        scalar.step(ragged)
    assert_one_line(error, f"action={ragged}: give one of", str(scalar.action_space)[:4])


def _bad_actions(space: gymnasium.Space[Any], good: Any) -> list[tuple[Any, str]]:
    """Return actions of a wrong kind or out of range, each with what the error must mention."""
    wrong = [good[:-1], good[0], np.concatenate([good, good]), good.astype(str)]
    outside = [np.full_like(good, -1), np.full_like(good, 99)]
    if isinstance(space, Discrete):
        wrong.append(good + 0.5)
        outside.append(np.where(np.arange(len(good)) == 1, space.n, good))
    else:
        assert isinstance(space, Box)
        last = np.arange(good.size).reshape(good.shape) == good.size - 1
        outside = [
            np.where(last, value, good)
            for value in (np.nan, np.inf, space.high.flat[-1] + 1, space.low.flat[-1] - 1)
        ]
    return [(bad, f"shape {bad.shape}") for bad in wrong] + [(bad, "allowed") for bad in outside]


# Memory ------------------------------------------------------------------------------------------


@every_environment
def test_a_million_steps_do_not_pile_up_memory(name: str) -> None:
    """One kept pointer per call would be 20 KB; there are 125 episode ends in every copy."""
    copies, calls = 400, 2500
    env = make_batch(name, params_class(name).PRESETS[0], copies, episode_length=20)
    env.reset(seed=1)
    actions = drawn_actions(env.action_space, 50)

    def in_use_after(number: int) -> int:
        for call in range(number):
            env.step(actions[call % len(actions)])
        gc.collect()  # also lets go of what Python keeps to use again, up to 2000 tuples of a size
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = in_use_after(200)
        after = in_use_after(calls)
    finally:
        tracemalloc.stop()
    assert after - before < 8 * calls


@every_preset
def test_1024_copies_fit_into_200_mebibytes(name: str, preset: str) -> None:
    """Everything that making and stepping allocates, at its highest."""
    tracemalloc.start()
    try:
        env = make_batch(name, preset, 1024, episode_length=LENGTH)
        env.reset(seed=1)
        for action in drawn_actions(env.action_space, 2 * LENGTH):
            env.step(action)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200 * 2**20
