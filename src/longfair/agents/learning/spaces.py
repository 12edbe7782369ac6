"""The spaces that an agent was made for: kept with it, and held against those it is loaded for."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from longfair.agents.learning import saving
from longfair.errors import UsageError
from longfair.settings import Give, checked

_NO_ENVIRONMENT = "the agent was loaded without an environment: give load an env to learn"


class OnlySpaces(NamedTuple):
    """What an agent knows of its environment when it was loaded without one."""

    single_observation_space: spaces.Space[Any]
    single_action_space: spaces.Space[Any]
    num_envs: int = 1

    @property
    def metadata(self) -> dict[str, Any]:
        """Refuse: only what learns asks for it."""
        raise UsageError(_NO_ENVIRONMENT)


Batch = Annotated[
    VectorEnv[Any, Any, Any], Give("a batch environment, as gymnasium.make_vec returns it")
]
"""What agents learn in."""
Learned = Annotated[VectorEnv[Any, Any, Any] | OnlySpaces, *Batch.__metadata__]
"""The same, or what is known of it when nothing more is to be learned."""


def generator_of(env: Any) -> np.random.Generator:
    """Return the generator that drives an environment.

    Raises
    ------
    UsageError
        If there is no environment, only its spaces.
    """
    if isinstance(env, OnlySpaces):
        raise UsageError(_NO_ENVIRONMENT)
    generator: np.random.Generator = env.unwrapped.np_random
    return generator


def require_restarts(env: Any) -> None:
    """Raise `UsageError` unless copies whose episode ended restart in the same step."""
    if env.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
        raise UsageError("the environment must restart copies at once: AutoresetMode.SAME_STEP")


def spaces_of(env: Any) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    """Return the spaces of one copy's observations and actions."""
    return env.single_observation_space, env.single_action_space


def spaces_to_json(env: Any) -> list[Any]:
    """Return the spaces of one copy as plain data."""
    return list(map(saving.space_to_json, spaces_of(env)))


def fitting(env: Any, saved: list[Any]) -> Any:
    """Return the environment that a saved agent is loaded for.

    Parameters
    ----------
    env
        The environment, or None for an agent that will only act.
    saved
        What `spaces_to_json` returned when it was saved.

    Raises
    ------
    UsageError
        If it is no batch environment, or has other spaces.
    """
    observed, actions = map(saving.space_from_json, saved)
    if env is None:
        return OnlySpaces(observed, actions)
    env = checked("env", env, Batch)
    if spaces_of(env) != (observed, actions):
        raise UsageError(
            f"it was trained on {observed} and {actions}, the environment has "
            f"{env.single_observation_space} and {env.single_action_space}"
        )
    return env
