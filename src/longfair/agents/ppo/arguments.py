"""What `FairPPO` makes of its arguments: environments, refused settings, length of a rollout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import gymnasium
import numpy as np
from gymnasium import Env, spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from longfair.agents import register
from longfair.agents.learning.schedules import value_of
from longfair.agents.learning.seeding import LegacySeed
from longfair.errors import UsageError
from longfair.settings import (
    Count,
    Give,
    Length,
    NonNegative,
    Only,
    Positive,
    Probability,
    Range,
    checked,
)

_ENVIRONMENT = (
    "a Gymnasium id, what gymnasium.make or gymnasium.make_vec returns for an environment of "
    "longfair, or a vector environment of Stable-Baselines3"
)

Environment = Annotated[
    str | Env[Any, Any] | VectorEnv[Any, Any, Any] | VecEnv,
    Give(_ENVIRONMENT),
]
"""What can be trained in."""

Opened = Annotated[VecEnv, Give(_ENVIRONMENT)]
"""What becomes of it."""

Rate = Positive | Callable[[float], float]
"""A number, or a schedule of the remaining progress."""

Layers = Annotated[tuple[Count, ...], Length(1)]
"""Sizes of hidden layers."""

_NO_SDE = "exploration that depends on the state is not implemented"
_OWN_BUFFER = "the buffer keeps the fairness signals"


class Inherited(TypedDict, total=False):
    """Arguments of Stable-Baselines3's PPO that `FairPPO` hands on, and those it refuses."""

    batch_size: Annotated[int, Range(2)]
    n_epochs: Count
    gamma: Probability
    gae_lambda: Probability
    clip_range: Rate
    ent_coef: NonNegative
    vf_coef: NonNegative
    max_grad_norm: Positive
    target_kl: Positive | None
    stats_window_size: Count
    tensorboard_log: str | None
    verbose: Annotated[int, Range(0, 2)]
    seed: LegacySeed | None
    _init_setup_model: bool
    clip_range_vf: Annotated[None, Only(None, "the critics' loss is not clipped")]
    normalize_advantage: Annotated[
        bool, Only(True, "the strategy decides how advantages are standardised")
    ]
    policy_kwargs: Annotated[
        None, Only(None, "give net_arch=, or a subclass of FairActorCriticPolicy")
    ]
    use_sde: Annotated[bool, Only(False, _NO_SDE)]
    sde_sample_freq: Annotated[int, Only(-1, _NO_SDE)]
    rollout_buffer_class: Annotated[None, Only(None, _OWN_BUFFER)]
    rollout_buffer_kwargs: Annotated[None, Only(None, _OWN_BUFFER)]
    device: Annotated[str, Only("cpu", "the update is compiled for the processor")]


LIMIT = "max_episode_steps"
"""What Gymnasium calls the limit of an episode."""

DEFAULT_BATCH = 64
"""Samples of a minibatch, as in Stable-Baselines3."""

DEFAULT_STEPS = 2048
"""Steps of a rollout where the environment does not say how long an episode is."""


def require_rates(**rates: Rate | None) -> None:
    """Refuse schedules whose first value is no number to learn with.

    Raises
    ------
    UsageError
        With the name of the first.
    """
    for name, rate in rates.items():
        if callable(rate):
            value_of(name, rate, 1.0)


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
    env = checked("env", env, Environment | None)
    if env is None or isinstance(env, VecEnv):
        return env
    if isinstance(env, str):
        env = _opened(env)
    if isinstance(env, Env):
        single = env
        return DummyVecEnv([lambda: Monitor(single)])
    adapt = getattr(env.unwrapped, "for_stable_baselines3", None)
    if adapt is None:
        raise UsageError(
            f"env={env}: only batches of longfair are opened here: give what gymnasium.make "
            "returns, or a vector environment of Stable-Baselines3"
        )
    return adapt(env)


def require_environment(env: VecEnv | None, set_up: bool) -> None:
    """Refuse to make networks where no environment tells their sizes.

    Raises
    ------
    UsageError
        If networks are to be made and there is no environment, or its observations are not flat.
    """
    if set_up:
        checked("env", env, Opened)
    space = None if env is None else env.observation_space
    if space is not None and not (isinstance(space, spaces.Box) and len(space.shape) == 1):
        raise UsageError(
            f"observations are {space}: give a Box of one axis, such as "
            "gymnasium.wrappers.FlattenObservation makes"
        )


def _opened(name: str) -> Env[Any, Any]:
    try:
        return gymnasium.make(name)
    except gymnasium.error.Error as error:
        raise UsageError(f"env={name!r}: {' '.join(str(error).split())}") from None


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
    if whole_episodes and length is not None and n_steps % length:
        raise UsageError(
            f"n_steps={n_steps} cuts episodes of {length} steps: give a multiple of {length}, "
            "leave n_steps away, or say whole_episodes=False"
        )
    return n_steps


def episode_steps(env: VecEnv) -> NDArray[np.int64] | None:
    """Return the steps of the episodes that go on in the first copies (M,); None if not told."""
    steps = register.attribute(env, "episode_steps", None)
    return None if steps is None else np.array(steps, np.int64)


def require_single_steps(
    env: VecEnv, before: NDArray[np.int64] | None, dones: NDArray[np.bool_]
) -> None:
    """Refuse wrappers that take several steps in one: all but one would lose supply and demand.

    Parameters
    ----------
    env
        After one step.
    before
        What `episode_steps` was before it.
    dones
        (N,): whose episode ended with it.

    Raises
    ------
    UsageError
        If it was not one step of the environment below all wrappers.
    """
    after = episode_steps(env)
    if before is None or after is None:
        return
    taken = (after - before)[~dones[: len(after)]]
    if (taken != 1).any():
        raise UsageError(
            f"a step takes {taken[taken != 1][0]} steps of the environment below its wrappers, and "
            "supply and demand are told of one: leave away the wrapper that skips or repeats steps"
        )


def require_minibatches(samples: int, batch_size: int) -> None:
    """Refuse minibatches whose last one has a single sample, which has no deviation to scale by.

    Raises
    ------
    UsageError
        If one sample of a rollout is left over.
    """
    if samples % batch_size == 1:
        raise UsageError(
            f"batch_size={batch_size} leaves 1 of the {samples} samples of a rollout over, and "
            "advantages cannot be standardised over one: give a batch_size that leaves 0, or 2 or "
            "more"
        )


def _episode_length(env: VecEnv) -> int | None:
    """Return the steps of an episode, which a limit of Gymnasium's may cut shorter."""
    spec = register.attribute(env, "spec", None)
    lengths = [register.attribute(env, "episode_length", None), getattr(spec, LIMIT, None)]
    return min((int(length) for length in lengths if length is not None), default=None)
