"""Every environment as others find it: only their own calls, nothing of this library but the id.

An environment is covered from the moment its name is in `longfair.envs.NAMES`.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import gymnasium.wrappers as scalar_wrappers
import gymnasium.wrappers.vector as vector_wrappers
import numpy as np
import pytest
import stable_baselines3
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from quantecon.markov import ddp
from stable_baselines3.common.env_util import make_vec_env

from longfair.envs import NAMES, environment_id

COPIES = 3
LENGTH = 5
MODES = (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED)
every_environment = pytest.mark.parametrize("name", NAMES)
every_mode = pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])


@pytest.fixture(autouse=True)
def without_advice() -> Any:
    """Others warn that spaces have no upper bound, which is meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def make(name: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(environment_id(name), **{"episode_length": LENGTH} | arguments)


def make_vec(name: str, copies: int = COPIES, **arguments: Any) -> VectorEnv[Any, Any, Any]:
    arguments = {"episode_length": LENGTH} | arguments
    return gymnasium.make_vec(environment_id(name), num_envs=copies, **arguments)


def drawn_actions(env: Any, steps: int) -> list[Any]:
    space = copy.deepcopy(env.action_space)
    space.seed(0)
    return [space.sample() for _ in range(steps)]


def flat(value: Any) -> list[Any]:
    """Return all arrays and numbers in what an environment gives back, in a fixed order."""
    if isinstance(value, dict):
        return [entry for key in sorted(value) for entry in [key, *flat(value[key])]]
    if isinstance(value, (tuple, list)):
        return [entry for part in value for entry in flat(part)]
    return [np.asarray(value)]


def same(one: Any, other: Any) -> bool:
    first, second = flat(one), flat(other)
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def played(env: Any, actions: list[Any], manual: bool = False) -> list[Any]:
    """Play on from where an environment stands; without autoreset, reset what has ended."""
    seen = []
    for action in actions:
        step = env.step(action)
        seen.append(step)
        ended = np.asarray(step[2]) | np.asarray(step[3])
        if manual and ended.any():
            options = {"reset_mask": ended} if ended.ndim else None
            seen.append(env.reset(options=options))
    return copy.deepcopy(seen)


# Stable-Baselines3 -------------------------------------------------------------------------------


def test_torch_keeps_to_one_thread_beside_other_packages() -> None:
    """With more, small networks wait for threads that have no core, several times as long."""
    look = "torch.get_num_threads()"
    program = f"import torch; {look}; import quantecon; print({look})"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "1"


@every_environment
def test_stable_baselines_opens_the_id(name: str) -> None:
    model = stable_baselines3.PPO(
        "MlpPolicy", environment_id(name), n_steps=8, batch_size=8, n_epochs=1, seed=0
    )
    model.learn(16)
    env = make_vec_env(environment_id(name), n_envs=2, seed=0)
    assert stable_baselines3.PPO("MlpPolicy", env, n_steps=4, batch_size=8).learn(8)


@every_environment
def test_nothing_can_be_drawn_and_it_says_so(name: str) -> None:
    assert make(name, render_mode=None).render_mode is None
    assert make_vec(name, render_mode=None).render_mode is None
    for maker in (make, make_vec):
        # Stable-Baselines3 looks for the one kind of error, users of this library for the other.
        for kind in (TypeError, ValueError):
            with pytest.raises(kind, match="nothing can be drawn") as error:
                maker(name, render_mode="rgb_array")
            assert "\n" not in str(error.value)


# Wrappers of Gymnasium ---------------------------------------------------------------------------


def scalar_cases(env: gymnasium.Env[Any, Any]) -> dict[str, Callable[[Any], Any]]:
    """Every wrapper that asks for no picture, no package of its own and no fixed set of choices."""
    w = scalar_wrappers
    shape = env.observation_space.shape
    assert shape is not None
    cases: dict[str, Callable[[Any], Any]] = {
        "DelayObservation": lambda e: w.DelayObservation(e, 2),
        "DtypeObservation": lambda e: w.DtypeObservation(e, np.float64),
        "FlattenObservation": w.FlattenObservation,
        "FrameStackObservation": lambda e: w.FrameStackObservation(e, 3),
        "TransformObservation": lambda e: w.TransformObservation(e, lambda x: x, None),
        "NormalizeObservation": w.NormalizeObservation,
        "ReshapeObservation": lambda e: w.ReshapeObservation(e, (1, *shape)),
        "TimeAwareObservation": lambda e: w.TimeAwareObservation(w.TimeLimit(e, LENGTH)),
        "StickyAction": lambda e: w.StickyAction(e, 0.3),
        "RepeatAction": lambda e: w.RepeatAction(e, 2),
        "TransformAction": lambda e: w.TransformAction(e, lambda a: a, e.action_space),
        "ClipReward": lambda e: w.ClipReward(e, -1, 1),
        "TransformReward": lambda e: w.TransformReward(e, lambda r: 2 * r),
        "NormalizeReward": w.NormalizeReward,
        "TimeLimit": lambda e: w.TimeLimit(e, 3),
        "Autoreset": w.Autoreset,
        "PassiveEnvChecker": w.PassiveEnvChecker,
        "OrderEnforcing": w.OrderEnforcing,
        "RecordEpisodeStatistics": w.RecordEpisodeStatistics,
    }
    if isinstance(env.action_space, Box):
        cases["ClipAction"] = w.ClipAction
        cases["RescaleAction"] = lambda e: w.RescaleAction(e, -1.0, 1.0)
    return cases


@every_environment
def test_scalar_wrappers_fit(name: str) -> None:
    for label, wrap in scalar_cases(make(name)).items():
        env = wrap(make(name))
        env.reset(seed=1)
        for action in drawn_actions(env, 3 * LENGTH):
            _, _, terminated, truncated, _ = env.step(action)
            if (terminated or truncated) and label != "Autoreset":
                env.reset()


def vector_cases(env: VectorEnv[Any, Any, Any]) -> dict[str, Callable[[Any], Any]]:
    w = vector_wrappers
    shape = env.single_observation_space.shape
    assert shape is not None
    same_step = env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    cases: dict[str, Callable[[Any], Any]] = {
        "TransformAction": lambda e: w.TransformAction(e, lambda a: a),
        "ClipReward": lambda e: w.ClipReward(e, -1, 1),
        "TransformReward": lambda e: w.TransformReward(e, lambda r: 2 * r),
        "NormalizeReward": w.NormalizeReward,
        "RecordEpisodeStatistics": w.RecordEpisodeStatistics,
    }
    if not same_step:  # Gymnasium's own condition
        cases |= {
            "DtypeObservation": lambda e: w.DtypeObservation(e, np.float64),
            "FlattenObservation": w.FlattenObservation,
            "ReshapeObservation": lambda e: w.ReshapeObservation(e, (1, *shape)),
            "TransformObservation": lambda e: w.TransformObservation(e, lambda x: x),
            "VectorizeTransformObservation": lambda e: w.VectorizeTransformObservation(
                e, scalar_wrappers.FlattenObservation
            ),
        }
    if env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP:  # likewise
        cases["NormalizeObservation"] = w.NormalizeObservation
    if isinstance(env.single_action_space, Box):
        cases["ClipAction"] = w.ClipAction
        cases["RescaleAction"] = lambda e: w.RescaleAction(e, -1.0, 1.0)
    return cases


@every_mode
@every_environment
def test_vector_wrappers_fit(name: str, mode: AutoresetMode) -> None:
    for wrap in vector_cases(make_vec(name, autoreset_mode=mode)).values():
        env = wrap(make_vec(name, autoreset_mode=mode))
        env.reset(seed=1)
        for action in drawn_actions(env, 3 * LENGTH):
            _, _, terminated, truncated, _ = env.step(action)
            ended = np.asarray(terminated) | np.asarray(truncated)
            if mode == AutoresetMode.DISABLED and ended.any():
                env.reset(options={"reset_mask": ended})


# Ways to restart ---------------------------------------------------------------------------------


@every_mode
@every_environment
def test_the_way_to_restart_can_be_asked_for(name: str, mode: AutoresetMode) -> None:
    env = make_vec(name, autoreset_mode=mode)
    assert env.metadata["autoreset_mode"] is mode
    assert make_vec(name).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ValueError, match="autoreset_mode='sometimes': give AutoresetMode"):
        make_vec(name, autoreset_mode="sometimes")


@every_environment
def test_with_next_step_the_step_after_the_end_begins_anew(name: str) -> None:
    env = make_vec(name, autoreset_mode=AutoresetMode.NEXT_STEP)
    first = env.reset(seed=2)[1]["group_state"]
    spread = np.zeros((COPIES, env.unwrapped.num_groups))  # type: ignore[attr-defined]  # declared
    elapsed, restarts = np.zeros(COPIES, dtype=int), 0
    ended = np.zeros(COPIES, dtype=bool)
    for action in drawn_actions(env, 6 * LENGTH):
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert "final_obs" not in info
        elapsed = np.where(ended, 0, elapsed + 1)
        assert not (terminated | truncated)[ended].any()
        for array in (reward, info["supply"], info["demand"]):
            assert not array[ended].any()
        if ended.any():
            restarts += 1
            assert info["group_state"][ended].shape == first[ended].shape
        np.testing.assert_array_equal(truncated, elapsed == LENGTH)
        spread += info["demand"]
        ended = terminated | truncated
    assert restarts >= 4
    assert spread.any()


@every_environment
def test_next_step_needs_a_reset_first(name: str) -> None:
    env = make_vec(name, autoreset_mode=AutoresetMode.NEXT_STEP)
    with pytest.raises(ValueError, match=r"reset\(\)"):
        env.step(drawn_actions(env, 1)[0])


@every_environment
def test_every_key_of_a_step_describes_it_whatever_the_way_to_restart(name: str) -> None:
    """Up to and including the step that ends an episode, all ways tell the same."""
    batches = [make_vec(name, autoreset_mode=mode) for mode in MODES]
    for env in batches:
        env.reset(seed=3)
    for action in drawn_actions(batches[0], LENGTH):
        steps = [env.step(action) for env in batches]
        (_, *told, info), *others = steps
        moment = info.get("final_info", {})
        for _, *other_told, other_info in others:
            assert same(told, other_told)
            for key, value in other_info.items():
                if key in moment:
                    ended = moment[f"_{key}"]
                    assert same(moment[key][ended], value[ended]), key
                else:
                    assert same(info[key], value), key
        if told[1].any():
            return  # a copy has ended early; from here on the ways differ
    assert "group_state" in moment


# Seeds and options -------------------------------------------------------------------------------


@every_environment
def test_a_list_of_seeds_makes_the_batch_reproducible(name: str) -> None:
    env = make_vec(name)
    actions = drawn_actions(env, 2 * LENGTH)

    def trajectory(seed: Any) -> list[Any]:
        return [env.reset(seed=seed), *played(env, actions)]

    first = trajectory([3, 1, 2])
    assert same(first, trajectory([3, 1, 2]))
    assert same(first, trajectory([np.int64(3), 1, 2]))
    assert not same(first, trajectory([3, 2, 1]))
    assert not same(trajectory([None] * COPIES), trajectory([None] * COPIES))
    single = make_vec(name, copies=1)
    assert same(single.reset(seed=[5]), single.reset(seed=5))
    for bad in ([1, 2], [1, 2, 3, 4], [1, None, 2], [1, -1, 2], [1, 2.5, 2]):
        with pytest.raises(ValueError, match="seed") as error:
            env.reset(seed=bad)  # type: ignore[arg-type]  # that is the mistake
        assert "\n" not in str(error.value)


@every_environment
@pytest.mark.parametrize("face", [make, make_vec])
def test_bad_seeds_and_options_are_refused_in_one_line(name: str, face: Any) -> None:
    env = face(name)
    for bad in (-1, "x", 1.5, True, {}):
        with pytest.raises(ValueError, match=r"seed=.*: give an integer of at least 0") as error:
            env.reset(seed=bad)
        assert "\n" not in str(error.value)
    for options in ({"bogus": 1}, {"reset_mask": np.ones(1, bool), "bogus": 1}, "x"):
        with pytest.raises(ValueError, match=r"option.*(bogus|mapping)") as error:
            env.reset(options=options)
        assert "\n" not in str(error.value)
    assert same(env.reset(seed=4, options={}), env.reset(seed=np.int64(4)))


# Copies, pickles, processes ----------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@every_mode
@every_environment
def test_a_copy_made_in_mid_episode_goes_on_alike(
    name: str, mode: AutoresetMode, duplicate: Callable[[Any], Any]
) -> None:
    manual = mode == AutoresetMode.DISABLED
    for env in (make_vec(name, autoreset_mode=mode), *([make(name)] if manual else [])):
        actions = drawn_actions(env, 4 * LENGTH)
        env.reset(seed=6)
        played(env, actions[: LENGTH // 2])
        # The copy is moved first, so that what it shares with the original would show.
        other = duplicate(env)
        there = played(other, actions[LENGTH // 2 :], manual)
        here = played(env, actions[LENGTH // 2 :], manual)
        assert same(here, there)
        assert same(env.reset(seed=7), other.reset(seed=7))


@every_environment
def test_gymnasium_puts_scalar_faces_together(name: str) -> None:
    sync = gymnasium.make_vec(
        environment_id(name), COPIES, vectorization_mode="sync", episode_length=LENGTH
    )
    assert isinstance(sync.unwrapped, SyncVectorEnv)
    observation, _ = sync.reset(seed=8)
    alone, _ = make(name).reset(seed=8)
    assert np.array_equal(observation[0], alone)
    played(sync, drawn_actions(sync, 2 * LENGTH + 1))


def test_gymnasium_puts_scalar_faces_into_processes() -> None:
    """All environments side by side in one go, because starting processes takes its time."""
    for name in NAMES:
        env = AsyncVectorEnv([lambda name=name: make(name)] * 2)  # type: ignore[misc]  # the name is bound now
        try:
            env.reset(seed=9)
            sync = SyncVectorEnv([lambda name=name: make(name)] * 2)  # type: ignore[misc]  # likewise
            sync.reset(seed=9)
            for action in drawn_actions(env, LENGTH + 2):
                assert same(env.step(action)[:4], sync.step(action)[:4])
        finally:
            env.close()


# A loop in the manner of CleanRL -----------------------------------------------------------------


@every_environment
def test_a_loop_that_keeps_its_own_books_gets_what_it_expects(name: str) -> None:
    """Observations, rewards and ends in arrays over steps and copies, statistics from the info."""
    envs = vector_wrappers.RecordEpisodeStatistics(make_vec(name, copies=4))
    space = envs.single_action_space
    assert isinstance(space, (Box, Discrete))
    steps = 3 * LENGTH
    shape = envs.single_observation_space.shape
    assert shape is not None
    observations = torch.zeros((steps, 4, *shape))
    rewards, dones = torch.zeros((steps, 4)), torch.zeros((steps, 4))
    next_observation, _ = envs.reset(seed=1)
    lengths = []
    for step, action in enumerate(drawn_actions(envs, steps)):
        observations[step] = torch.as_tensor(next_observation)
        next_observation, reward, terminated, truncated, info = envs.step(action)
        rewards[step] = torch.tensor(reward).view(-1)
        dones[step] = torch.tensor(np.logical_or(terminated, truncated))
        if "episode" in info:
            lengths += list(info["episode"]["l"][info["_episode"]])
    assert torch.isfinite(observations).all()
    assert dones.sum() == len(lengths)
    assert set(lengths) == {LENGTH}


# What an environment says about itself -----------------------------------------------------------


@every_environment
def test_what_is_declared_is_true_and_can_be_asked_of_both_faces(name: str) -> None:
    batch, scalar = make_vec(name), make(name)
    for attribute in ("people", "rates_within_episode", "finite", "continuous", "revision"):
        declared = getattr(batch.unwrapped, attribute)
        assert (
            declared == getattr(scalar.unwrapped, attribute) == scalar.get_wrapper_attr(attribute)
        )
        assert type(declared) is (int if attribute == "revision" else bool)
    unwrapped: Any = batch.unwrapped
    assert unwrapped.revision >= 1
    assert unwrapped.continuous == isinstance(batch.single_action_space, Box)
    assert unwrapped.finite == hasattr(unwrapped, "tabular")
    assert hasattr(scalar.unwrapped, "no_such_thing") is False


@every_environment
def test_every_episode_shows_every_group_unless_rates_are_refused(name: str) -> None:
    env = make_vec(name, copies=30, episode_length=60)
    env.reset(seed=5)
    demand = sum(env.step(action)[4]["demand"] for action in drawn_actions(env, 60))
    shown = (np.asarray(demand) > 0).all(axis=1).mean()
    assert (shown > 0.5) == env.unwrapped.rates_within_episode  # type: ignore[attr-defined]  # declared


# QuantEcon ---------------------------------------------------------------------------------------

SMALL = {"Doughnut": {"preset": "tabular"}, "LoanPool": {}, "LoanMDP": {"preset": "discretised"}}
"""Arguments that keep the problem written out in full small."""


@pytest.mark.parametrize("name", SMALL)
def test_every_tabular_face_is_a_problem_of_quantecon(name: str) -> None:
    """Same values, and actions that are worth as much."""
    unwrapped: Any = make_vec(name, **SMALL[name]).unwrapped
    model = unwrapped.tabular()
    states, actions = model.reward.shape
    pairs = np.divmod(np.arange(states * actions), actions)
    problem = ddp.DiscreteDP(model.reward.ravel(), model.transition.tocsr(), 0.9, *pairs)
    values, chosen = ddp.backward_induction(problem, model.horizon)
    expected = np.zeros(states)
    for _ in range(model.horizon):
        worth = model.reward + 0.9 * (model.transition @ expected).reshape(states, actions)
        expected = worth.max(axis=1)
    np.testing.assert_allclose(values[0], expected, rtol=1e-12, atol=1e-12)
    of_chosen = np.take_along_axis(worth, chosen[0][:, None], axis=1)[:, 0]
    np.testing.assert_allclose(of_chosen, expected, rtol=1e-12, atol=1e-12)
    assert np.abs(expected).max() > 0.1


def test_quantecon_is_shown_every_tabular_face() -> None:
    finite = {name for name in NAMES if make_vec(name).unwrapped.finite}  # type: ignore[attr-defined]  # declared
    assert finite == set(SMALL)
