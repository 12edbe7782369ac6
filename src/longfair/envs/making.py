"""The entry points of all environments: check what was given, then make the environment.

Gymnasium hands the arguments of `make` and `make_vec` over as they are. Here they are held against
what the environment takes, so that a slip is reported in one line and not from deep inside.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from longfair.envs.vector import FairVectorEnv
from longfair.errors import UsageError, near_misses
from longfair.settings import shortened


class UnknownArgumentError(UsageError, TypeError):
    """An argument that the environment does not take.

    It is a `TypeError` as well, because that is what Stable-Baselines3 looks for when it asks
    whether an environment can be drawn.
    """


def make_scalar(environment: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    """Make the scalar face of an environment; `gymnasium.make` calls this.

    Parameters
    ----------
    environment
        Name without prefix and version, such as `Lending`. The registry supplies it.
    **arguments
        What `make_scalar` of the environment's class takes: `preset` or `params`,
        `episode_length`. `render_mode` may be None: nothing can be drawn.

    Raises
    ------
    UsageError
        If an argument is unknown, or a preset or a record of parameters is of the wrong kind.
    """
    kind = environment_class(environment)
    return kind.make_scalar(**_checked(environment, kind, arguments, batch=False))


def make_vector(environment: str, **arguments: Any) -> VectorEnv[Any, Any, Any]:
    """Make a batch of an environment; `gymnasium.make_vec` calls this.

    Parameters
    ----------
    environment
        Name without prefix and version, such as `Lending`. The registry supplies it.
    **arguments
        What `make` of the environment's class takes: `num_envs`, `autoreset_mode` and those of
        `make_scalar`.

    Raises
    ------
    UsageError
        As for `make_scalar`.
    """
    kind = environment_class(environment)
    return kind.make(**_checked(environment, kind, arguments, batch=True))


def module_name(environment: str) -> str:
    """Return `longfair.envs.loan_pool` for `LoanPool`, `longfair.envs.loan_mdp` for `LoanMDP`."""
    return "longfair.envs." + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", environment).lower()


def environment_class(environment: str) -> type[FairVectorEnv]:
    """Return the class of a batch, by the name of the environment, such as `LoanPool`."""
    module = importlib.import_module(module_name(environment))
    kind: type[FairVectorEnv] = getattr(module, f"{environment}VectorEnv")
    return kind


def _checked(
    environment: str, kind: type[FairVectorEnv], arguments: dict[str, Any], *, batch: bool
) -> dict[str, Any]:
    """Return the arguments, once they are seen to be right."""
    given = dict(arguments)
    if given.get("render_mode") is None:
        given.pop("render_mode", None)
    allowed = list(inspect.signature(kind.chosen_params).parameters)
    if batch:
        allowed += ["num_envs", "autoreset_mode"]
    for argument, value in given.items():
        if argument == "render_mode":
            raise UnknownArgumentError(
                f"{environment}: render_mode={shortened(value)}: nothing can be drawn, leave it "
                "away or give None"
            )
        if argument not in allowed:
            raise UnknownArgumentError(
                f"{environment} takes no argument {argument!r}: {near_misses(argument, allowed)}"
            )
    record = kind.params_class
    if given.get("params") is not None:
        _require_params(environment, record, given["params"])
    elif not isinstance(given.get("preset"), str | None):
        raise UsageError(
            f"{environment}: preset={shortened(given['preset'])}: "
            f"give one of {', '.join(record.PRESETS)}"
        )
    return given


def _require_params(environment: str, record: type[Any], params: Any) -> None:
    if isinstance(params, record):
        return
    is_preset = isinstance(params, str) and params in record.PRESETS
    instead = (
        f"preset={params!r}" if is_preset else f"preset=... with one of {', '.join(record.PRESETS)}"
    )
    raise UsageError(
        f"{environment}: params={shortened(params)}: give a {record.__name__}, or {instead}"
    )
