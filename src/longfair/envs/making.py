"""The entry points of all environments: check what was given, then make the environment.

Gymnasium hands the arguments of `make` and `make_vec` over as they are. Here they are held against
what the environment takes, so that a slip is reported in one line and not from deep inside.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from longfair.errors import UsageError, near_misses


def make_scalar(environment: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    """Make the scalar face of an environment; `gymnasium.make` calls this.

    Parameters
    ----------
    environment
        Name without prefix and version, such as `Lending`. The registry supplies it.
    **arguments
        What the environment's own `make_scalar` takes: `preset` or `params`, `episode_length`.

    Raises
    ------
    UsageError
        If an argument is unknown, or a preset or a record of parameters is of the wrong kind.
    """
    env: gymnasium.Env[Any, Any] = _checked_maker(environment, "make_scalar", arguments)()
    return env


def make_vector(environment: str, **arguments: Any) -> VectorEnv[Any, Any, Any]:
    """Make a batch of an environment; `gymnasium.make_vec` calls this.

    Parameters
    ----------
    environment
        Name without prefix and version, such as `Lending`. The registry supplies it.
    **arguments
        What the environment's own `make_vector` takes: `num_envs` and those of `make_scalar`.

    Raises
    ------
    UsageError
        As for `make_scalar`.
    """
    env: VectorEnv[Any, Any, Any] = _checked_maker(environment, "make_vector", arguments)()
    return env


def module_name(environment: str) -> str:
    """Return `longfair.envs.loan_pool` for `LoanPool`, `longfair.envs.loan_mdp` for `LoanMDP`."""
    return "longfair.envs." + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", environment).lower()


def _checked_maker(environment: str, maker: str, arguments: dict[str, Any]) -> Callable[[], Any]:
    """Return a call of the environment's own maker, once its arguments are seen to be right."""
    module = importlib.import_module(module_name(environment))
    record = getattr(module, f"{environment}Params")
    make = getattr(module, maker)
    allowed = inspect.signature(make).parameters
    for argument in arguments:
        if argument not in allowed:
            raise UsageError(
                f"{environment} takes no argument {argument!r}: {near_misses(argument, allowed)}"
            )
    if arguments.get("params") is not None:
        _require_params(environment, record, arguments["params"])
    elif "preset" in arguments and not isinstance(arguments["preset"], str):
        raise UsageError(
            f"{environment}: preset={_short(arguments['preset'])}: "
            f"give one of {', '.join(record.PRESETS)}"
        )
    return lambda: make(**arguments)


def _require_params(environment: str, record: type[Any], params: Any) -> None:
    if isinstance(params, record):
        return
    is_preset = isinstance(params, str) and params in record.PRESETS
    instead = (
        f"preset={params!r}" if is_preset else f"preset=... with one of {', '.join(record.PRESETS)}"
    )
    raise UsageError(
        f"{environment}: params={_short(params)}: give a {record.__name__}, or {instead}"
    )


def _short(value: Any) -> str:
    """Write a value on one line, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
