"""What holds for every registered environment and every preset of it.

An environment is covered from the moment its name is in `longfair.envs.NAMES`: nothing here names
one. What is particular to an environment is tested in its own file.
"""

from __future__ import annotations

import dataclasses
import gc
import inspect
import re
import tracemalloc
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode

from longfair.envs import NAMES, environment_id
from longfair.envs.making import environment_class
from longfair.envs.vector import FairVectorEnv
from longfair.errors import UsageError
from longfair.testing import CHECKS, COPIES, LENGTH, Case, drawn_actions, same, trajectory

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


def params_class(name: str) -> Any:
    return environment_class(name).params_class


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
    assert same(trajectory(by_name, 8, actions), trajectory(by_params, 8, actions))


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


# What everybody may hold an environment against --------------------------------------------------


@pytest.mark.parametrize("promise", CHECKS)
@every_preset
def test_every_promise_is_kept(name: str, preset: str, promise: str) -> None:
    CHECKS[promise](Case(environment_class(name), preset))


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
@pytest.mark.parametrize("bad", [3, {"episode_length": 3}, ["a\nb"] * 50, "no such thing"])
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
        with pytest.raises(UsageError) as error:
            make(params=bad)
        assert_one_line(error, f"params={repr(bad)[:3]}", f"{name}Params", presets[0])
        with pytest.raises(UsageError) as error:
            make(params=presets[-1])
        assert_one_line(error, f"params={presets[-1]!r}", f"or preset={presets[-1]!r}")


@every_environment
def test_none_is_the_first_preset(name: str) -> None:
    first = getattr(params_class(name), params_class(name).PRESETS[0])()
    scalar: Any = gymnasium.make(environment_id(name), preset=None)
    assert scalar.unwrapped.params == first
    batch: Any = gymnasium.make_vec(environment_id(name), num_envs=2, preset=None, params=first)
    assert batch.unwrapped.params == first


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
