"""Hold an environment of your own against what every environment of the library promises.

``check_environment(ClinicVectorEnv)`` says nothing where all is well, and names in one line what is
not. Agents, metrics and the runner rely on these promises and do not check them again. The
library's own environments are tested by the same functions.

What only its author knows stays to be tested: values that follow from the mathematics, what is
conserved, an example worked by hand.
"""

from __future__ import annotations

import copy
import importlib.util
import random
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from longfair.envs.scalar import ScalarFace
from longfair.envs.vector import FairVectorEnv
from longfair.errors import UsageError
from longfair.settings import shortened

COPIES = 5
LENGTH = 6
"""Steps of an episode: few, so that many of its ends are crossed."""
AT_THE_END = frozenset({"final_obs", "_final_obs", "final_info", "_final_info"})
"""What `info` has besides when an episode ends."""
ALWAYS = frozenset({"supply", "demand", "group_state"})
"""What `info` has after every step."""


class BrokenPromiseError(AssertionError):
    """An environment does not keep what every environment promises."""


@dataclass(frozen=True)
class Case:
    """An environment in one of its presets."""

    environment: type[FairVectorEnv]
    preset: str

    def batch(self, copies: int = COPIES, **options: Any) -> FairVectorEnv:
        """Make a batch with short episodes."""
        return self.environment.make(copies, self.preset, episode_length=LENGTH, **options)

    def manual(self) -> FairVectorEnv:
        """Make a batch that the caller resets."""
        return self.batch(autoreset_mode=AutoresetMode.DISABLED)

    def scalar(self) -> ScalarFace:
        """Make the scalar face with short episodes."""
        return self.environment.make_scalar(self.preset, episode_length=LENGTH)


def check_environment(environment: type[FairVectorEnv], *presets: str) -> None:
    """Check a batch environment and its scalar face.

    Parameters
    ----------
    environment
        The class of the batch.
    *presets
        Presets in which it is checked; all of its record when none is given.

    Raises
    ------
    BrokenPromiseError
        If it breaks promises, with all of them in one line. An error of another kind that came up
        meanwhile is its cause.
    UsageError
        If no such class is given.
    """
    if not (isinstance(environment, type) and issubclass(environment, FairVectorEnv)):
        raise UsageError(
            f"environment={shortened(environment)}: give a class made from FairVectorEnv"
        )
    broken: list[str] = []
    cause: Exception | None = None
    for preset in presets or environment.params_class.PRESETS:
        for name, check in CHECKS.items():
            try:
                check(Case(environment, preset))
            except BrokenPromiseError as error:
                broken.append(f"{preset}, {name}: {error}")
            except Exception as error:
                broken.append(f"{preset}, {name}: {_ended_in(error)}")
                cause = cause or error
    if broken:
        raise BrokenPromiseError(f"{environment.__name__}: {'; '.join(broken)}") from cause


# What is compared --------------------------------------------------------------------------------


def drawn_actions(space: gymnasium.Space[Any], steps: int) -> list[Any]:
    """Draw so many actions, the same every time."""
    space = copy.deepcopy(space)
    space.seed(0)
    return [space.sample() for _ in range(steps)]


def trajectory(env: Any, seed: int | None, actions: list[Any]) -> list[Any]:
    """Return everything that a reset and the steps return, as a list of arrays."""
    observation, info = env.reset(seed=seed)
    seen = [observation, *flattened(info)]
    for action in actions:
        *returned, info = env.step(action)
        seen += [*returned, *flattened(info)]
    return seen


def flattened(info: dict[str, Any]) -> list[Any]:
    """Return the arrays of an `info`, in the order of their keys."""
    arrays: list[Any] = []
    for key in sorted(info):
        arrays += flattened(info[key]) if isinstance(info[key], dict) else [info[key]]
    return arrays


def same(one: list[Any], other: list[Any]) -> bool:
    """Say whether two lists hold equal arrays."""
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def _require(kept: object, otherwise: str) -> None:
    if not kept:
        raise BrokenPromiseError(otherwise)


def _refusal(what: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """Return the one line with which a call is refused."""
    try:
        call(*arguments, **named)
    except UsageError as error:
        message = str(error)
    except Exception as error:
        raise BrokenPromiseError(f"{what} {_ended_in(error)}") from error
    else:
        raise BrokenPromiseError(f"{what} is not refused")
    _require(message and "\n" not in message, f"{what} is refused in more lines than one")
    return message


def _ended_in(error: Exception) -> str:
    return f"ends in {type(error).__name__}: {' '.join(str(error).split())}"


# The promises ------------------------------------------------------------------------------------


def _seed(case: Case) -> None:
    env = case.batch()
    actions = drawn_actions(env.action_space, 2 * LENGTH + 1)
    first = trajectory(env, 7, actions)
    _require(same(first, trajectory(case.batch(), 7, actions)), "another batch does otherwise")
    _require(same(first, trajectory(env, 7, actions)), "a used batch remembers something")
    _require(not same(first, trajectory(env, 8, actions)), "another seed changes nothing")
    _require(not same(first, trajectory(env, None, actions)), "without one the old one counts")


def _own_generator(case: Case) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BrokenPromiseError("draws from another generator than np_random")

    env = case.batch()
    drawing = ("random", "random_sample", "rand", "randint", "choice", "poisson", "binomial")
    with ExitStack() as stack:
        for name in drawing:
            stack.enter_context(mock.patch.object(np.random, name, refuse))
        stack.enter_context(mock.patch.object(random, "random", refuse))
        env.reset(seed=7)
        # A fresh generator without a seed would be just as wrong after a seeded reset.
        stack.enter_context(mock.patch.object(np.random, "default_rng", refuse))
        for action in drawn_actions(env.action_space, 2 * LENGTH):
            env.step(action)


def _form(case: Case) -> None:
    env = case.batch()
    observation, info = env.reset(seed=3)
    _require(observation in env.observation_space, "the first observation is not in its space")
    _require("group_state" in info, "the info of reset has no group_state")
    sizes = info["group_state"].shape[2:]
    of_groups = (COPIES, env.num_groups)
    for action in drawn_actions(env.action_space, 4 * LENGTH):
        observation, reward, terminated, truncated, info = env.step(action)
        _require(observation in env.observation_space, "an observation is not in its space")
        _require_array("the reward", reward, (COPIES,), np.float64)
        _require(np.isfinite(reward).all(), "the reward is not finite")
        _require_array("terminated", terminated, (COPIES,), np.bool_)
        _require_array("truncated", truncated, (COPIES,), np.bool_)
        _require(set(info) >= ALWAYS, f"info lacks one of {', '.join(sorted(ALWAYS))}")
        for key in ("supply", "demand"):
            _require_array(key, info[key], of_groups)
            _require((info[key] >= 0).all(), f"{key} is negative")
        _require_array("group_state", info["group_state"], (*of_groups, *sizes))
        for array in flattened(info):
            _require(len(array) == COPIES, "an array in info has not a row for every copy")
            _require(np.isfinite(array).all(), "a number in info is not finite")
        if "final_obs" in info:
            _require(info["final_obs"] in env.observation_space, "final_obs is not in its space")


def _require_array(
    name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: Any = None
) -> None:
    _require(array.shape == shape, f"{name} has shape {array.shape}, it should have {shape}")
    if dtype is not None:
        _require(array.dtype == dtype, f"{name} is {array.dtype}, it should be {dtype.__name__}")


def _fresh_arrays(case: Case) -> None:
    env = case.batch()
    env.reset(seed=3)
    actions = drawn_actions(env.action_space, 2 * LENGTH)
    given, kept, copies = copy.deepcopy(actions), [], []
    for action in actions:
        *returned, info = env.step(action)
        kept.append([*returned, *flattened(info)])
        copies.append(copy.deepcopy(kept[-1]))
    _require(all(map(same, kept, copies)), "an array is changed after it was returned")
    _require(same(actions, given), "the actions are changed")


def _ends(case: Case) -> None:
    env = case.batch()
    env.reset(seed=4)
    elapsed = np.zeros(COPIES, dtype=int)
    for action in drawn_actions(env.action_space, 5 * LENGTH):
        observation, _, terminated, truncated, info = env.step(action)
        elapsed += 1
        ended = terminated | truncated
        _require(not (terminated & truncated).any(), "an episode is terminated and truncated")
        on_time = np.array_equal(truncated, (elapsed == LENGTH) & ~terminated)
        _require(on_time, "an episode is not truncated at its length")
        _require((set(info) >= AT_THE_END) == ended.any(), "what is final comes at another time")
        if ended.any():
            marks = (info["_final_obs"], info["_final_info"], info["final_info"]["_group_state"])
            marked = all(np.array_equal(mark, ended) for mark in marks)
            _require(marked, "what is final is marked for other copies")
            # Copies that go on have nothing final: their rows are the ones returned anyway.
            others = np.array_equal(info["final_obs"][~ended], observation[~ended])
            _require(others, "final_obs changes copies that go on")
        elapsed[ended] = 0


def _faces(case: Case) -> None:
    scalar, batch = case.scalar(), case.batch(copies=1)
    observation, info = scalar.reset(seed=5)
    observations, infos = batch.reset(seed=5)
    one, other = [observation, *flattened(info)], [observations, *flattened(infos)]
    _require(same(one, _first(other)), "they begin differently")
    ends = 0
    for action in drawn_actions(batch.action_space, 4 * LENGTH + 1):
        observation, *signals, info = scalar.step(action[0])
        observations, *several, infos = batch.step(action)
        _require(signals == _first(several), "reward or end differ")
        for key in ("supply", "demand"):
            _require(np.array_equal(info[key], infos[key][0]), f"{key} differs")
        if signals[1] or signals[2]:
            ends += 1
            final = (infos["final_obs"], infos["final_info"]["group_state"])
            _require(same([observation, info["group_state"]], _first(final)), "the end differs")
            observation, info = scalar.reset()
            begun = np.array_equal(info["group_state"], infos["group_state"][0])
            _require(begun, "the next episode differs")
        else:
            _require(same(flattened(info), _first(flattened(infos))), "info differs")
        _require(np.array_equal(observation, observations[0]), "the observation differs")
    _require(ends >= 4, "episodes do not end in time")


def _first(arrays: Any) -> list[Any]:
    return [array[0] for array in arrays]


def _caller_resets(case: Case) -> None:
    env = case.manual()
    actions = drawn_actions(env.action_space, 3 * LENGTH)
    told = _refusal("a step before the first reset", env.step, actions[0])
    _require("reset()" in told, "the refusal of a step does not name reset()")
    observation, _ = env.reset(seed=6)
    ended = np.zeros(COPIES, dtype=bool)
    for action in actions[:LENGTH]:
        observation, _, terminated, truncated, info = env.step(action)
        _require(not AT_THE_END & set(info), "something is final, and nothing restarts")
        ended = terminated | truncated
        if ended.any():
            break
    _require(ended.any(), "no episode ends")
    told = _refusal("a step after the end", env.step, actions[0])
    _require("reset()" in told, "the refusal of a step does not name reset()")
    after, _ = env.reset(options={"reset_mask": ended})
    _require(np.array_equal(after[~ended], observation[~ended]), "others are reset, too")
    env.step(actions[-1])


def _mask(case: Case) -> None:
    env = case.manual()
    env.reset(seed=6)
    for action in drawn_actions(env.action_space, LENGTH // 2):
        observation, _, _, _, info = env.step(action)
    mask = np.arange(COPIES) % 2 == 0
    after, begun = env.reset(options={"reset_mask": mask})
    _require(np.array_equal(after[~mask], observation[~mask]), "others are seen differently")
    for key, value in begun.items():
        _require(np.array_equal(value[~mask], info[key][~mask]), f"{key} of others changes")
    ended = np.zeros(COPIES, dtype=bool)
    for action in drawn_actions(env.action_space, LENGTH - LENGTH // 2):
        _, _, terminated, truncated, _ = env.step(action)
        ended = terminated | truncated
        _require(not ended[mask].any(), "an episode that began anew ends early")
    _require(ended[~mask].all(), "the clocks of others are reset")
    for bad in (np.ones(COPIES), np.ones(COPIES + 1, dtype=bool)):
        told = _refusal("a bad mask", env.reset, options={"reset_mask": bad})
        clear = "reset_mask" in told and str(COPIES) in told
        _require(clear, "the refusal of a mask does not name it and the number of copies")


def _bad_actions(case: Case) -> None:
    env = case.batch()
    env.reset(seed=2)
    good = drawn_actions(env.action_space, 1)[0]
    for bad, complaint in _impossible(env.single_action_space, good):
        told = _refusal(f"actions={shortened(bad)}", env.step, bad)
        _require(complaint in told, f"the refusal of actions={shortened(bad)} is not clear")
    # A refused action has not been half applied: the next good one is the first step.
    fresh = case.batch()
    fresh.reset(seed=2)
    one, other = env.step(good), fresh.step(good)
    equal = same([*one[:4], *flattened(one[4])], [*other[:4], *flattened(other[4])])
    _require(equal, "a refused action has been applied in part")


def _impossible(space: gymnasium.Space[Any], good: Any) -> list[tuple[Any, str]]:
    """Return actions of a wrong kind or out of range, each with what the refusal mentions."""
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


def _checkers_of_others(case: Case) -> None:
    with warnings.catch_warnings():
        # They advise against observations without an upper bound, and actions beyond [-1, 1].
        warnings.simplefilter("ignore")
        try:
            check_env(case.scalar(), skip_render_check=True)
            if _HAS_STABLE_BASELINES3:
                from stable_baselines3.common.env_checker import check_env as check_for_learners

                check_for_learners(case.scalar())
        except AssertionError as error:
            raise BrokenPromiseError(" ".join(str(error).split())) from error


_HAS_STABLE_BASELINES3 = importlib.util.find_spec("stable_baselines3") is not None


def _stable_baselines3(case: Case) -> None:
    if not _HAS_STABLE_BASELINES3:
        return
    from longfair.envs.sb3 import BatchVecEnv

    batch, adapted = case.batch(), BatchVecEnv(case.batch())
    adapted.seed(9)
    observation, _ = batch.reset(seed=9)
    _require(np.array_equal(adapted.reset(), observation), "the first observation differs")
    ends = 0
    for action in drawn_actions(batch.action_space, 3 * LENGTH):
        observation, reward, terminated, truncated, info = batch.step(action)
        seen, rewards, dones, infos = adapted.step(action)
        given = [observation, reward.astype(np.float32), terminated | truncated]
        _require(same([seen, rewards, dones], given), "observation, reward or end differ")
        _require(len(infos) == COPIES, "there is not one info for every copy")
        for index, entry in enumerate(infos):
            for key in ("supply", "group_state"):
                _require(np.array_equal(entry[key], info[key][index]), f"{key} differs")
            marked = ("terminal_observation" in entry) == dones[index]
            _require(marked, "terminal_observation comes at another time")
            if dones[index]:
                ends += 1
                last = [entry["terminal_observation"], entry["terminal_info"]["group_state"]]
                final = (info["final_obs"][index], info["final_info"]["group_state"][index])
                _require(same(last, list(final)), "the end of an episode differs")
                cut = entry["TimeLimit.truncated"] == truncated[index]
                _require(cut, "TimeLimit.truncated differs")
    _require(ends >= 3 * COPIES, "episodes do not end in time")


CHECKS: dict[str, Callable[[Case], None]] = {
    "the seed decides": _seed,
    "one generator": _own_generator,
    "the promised form": _form,
    "fresh arrays": _fresh_arrays,
    "ends of episodes": _ends,
    "scalar face and batch of one": _faces,
    "resets by the caller": _caller_resets,
    "resets of some copies": _mask,
    "bad actions": _bad_actions,
    "checkers of other packages": _checkers_of_others,
    "Stable-Baselines3": _stable_baselines3,
}
"""What is promised, by the name under which a broken promise is told."""
