"""What `FairPPO` makes of its arguments: environments, refused settings, length of a rollout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import gymnasium
from gymnasium.vector import VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from longfair.errors import UsageError
from longfair.settings import (
    Count,
    Length,
    NonNegative,
    Positive,
    Probability,
    Range,
    checked,
)

REFUSED: dict[str, tuple[Any, str]] = {
    "clip_range_vf": (None, "the critics' loss is not clipped"),
    "normalize_advantage": (True, "the strategy decides how advantages are standardised"),
    "policy_kwargs": (None, "give net_arch=, or a subclass of FairActorCriticPolicy"),
    "use_sde": (False, "exploration that depends on the state is not implemented"),
    "sde_sample_freq": (-1, "exploration that depends on the state is not implemented"),
    "rollout_buffer_class": (None, "the buffer keeps the fairness signals"),
    "rollout_buffer_kwargs": (None, "the buffer keeps the fairness signals"),
    "device": ("cpu", "the update is compiled for the processor"),
}
"""Arguments of Stable-Baselines3's PPO that have one value here, and why."""

RANGES: dict[str, Any] = {
    "batch_size": Count,
    "n_epochs": Count,
    "gamma": Probability,
    "gae_lambda": Probability,
    "ent_coef": NonNegative,
    "vf_coef": NonNegative,
    "max_grad_norm": Positive,
    "target_kl": Positive | None,
    "clip_range": Positive,
    "learning_rate": Positive,
    "seed": Annotated[int, Range(0, 2**32 - 1)] | None,
    "net_arch": Annotated[tuple[Count, ...], Length(1)],
    "whole_episodes": bool,
    "bootstrap_truncated": bool,
}
"""What the others may be; a schedule may stand for a number."""

DEFAULT_STEPS = 2048
"""Steps of a rollout where the environment does not say how long an episode is."""


def require_honoured(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that would be ignored, or that have no meaning.

    Raises
    ------
    UsageError
        In one line: what was given, what is allowed, why.
    """
    for name, value in arguments.items():
        if name in REFUSED and value != REFUSED[name][0]:
            only, why = REFUSED[name]
            raise UsageError(f"{name}={value!r}: only {only!r} is possible here, {why}")
        if name in RANGES and not callable(value):
            checked(name, value, RANGES[name])


def vectorised(env: Any) -> Any:
    """Return an environment as Stable-Baselines3 wants it.

    Parameters
    ----------
    env
        A Gymnasium id, a single environment, a batch, a vector environment of
        Stable-Baselines3, or None.

    Raises
    ------
    UsageError
        If it is none of these.
    """
    if env is None or isinstance(env, VecEnv):
        return env
    if isinstance(env, str):
        env = gymnasium.make(env)
    if isinstance(env, gymnasium.Env):
        single = env
        return DummyVecEnv([lambda: Monitor(single)])
    adapt = getattr(getattr(env, "unwrapped", None), "for_stable_baselines3", None)
    if isinstance(env, VectorEnv) and adapt is not None:
        return adapt(env)
    raise UsageError(
        f"env={env!r}: give a Gymnasium id, what gymnasium.make or gymnasium.make_vec returns for "
        "an environment of longfair, or a vector environment of Stable-Baselines3"
    )


def rollout_steps(env: VecEnv | None, n_steps: int | None, whole_episodes: bool) -> int:
    """Return the steps of a rollout, which must not cut episodes that it starts afresh.

    Totals per episode are read off the rollout. A rollout that cuts episodes and then starts new
    ones never sees an episode's end, and counts parts of episodes as whole ones.

    Raises
    ------
    UsageError
        If it would cut episodes.
    """
    length = None if env is None else _episode_length(env)
    if n_steps is None:
        return length or DEFAULT_STEPS
    checked("n_steps", n_steps, Count)
    if whole_episodes and length is not None and n_steps % length:
        raise UsageError(
            f"n_steps={n_steps} cuts episodes of {length} steps: give a multiple of {length}, "
            "leave n_steps away, or say whole_episodes=False"
        )
    return n_steps


def _episode_length(env: VecEnv) -> int | None:
    try:
        return int(env.get_attr("episode_length")[0])
    except (AttributeError, TypeError):
        return None
