"""How strategies and classes of policies are written down in a saved agent."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longfair.agents import register
from longfair.agents.ppo.strategy import Arrays, Rollout, Strategy
from longfair.errors import UsageError, near_misses


def strategy_to_json(strategy: Strategy) -> dict[str, Any]:
    """Return name and fields of a strategy.

    Raises
    ------
    UsageError
        If it could not be read again, because its class is not in the register.
    """
    entry = register.known(strategy.name)
    if entry is None or entry.agent is not type(strategy):
        raise UsageError(
            f"{type(strategy).__name__} is not in the register under its name "
            f"{strategy.name!r}: decorate it with longfair.agents.register.register"
        )
    return {"name": strategy.name, **dataclasses.asdict(strategy)}


def strategy_from_json(content: dict[str, Any]) -> Strategy:
    """Return the strategy that `strategy_to_json` described."""
    fields = dict(content)
    strategy = register.find(fields.pop("name")).agent
    if not issubclass(strategy, Strategy):
        raise UsageError(f"{strategy.name!r} is no strategy of the PPO family")
    return strategy(**fields)


STATE = "strategy state "
"""How the names of a strategy's state begin among the arrays of a saved agent."""


def stored(state: Arrays) -> dict[str, NDArray[Any]]:
    """Name the arrays of a strategy's state apart from all others."""
    return {STATE + name: np.array(array) for name, array in state.items()}


def next_state(strategy: Strategy, rollout: Rollout) -> dict[str, NDArray[Any]]:
    """Return a strategy's state after a rollout: arrays like those before, which can be saved.

    Raises
    ------
    UsageError
        If names, shapes or types of the arrays are others than before.
    """
    after = {name: np.asarray(array) for name, array in strategy.next_state(rollout).items()}
    kept, given = _described(rollout.state), _described(after)
    if given != kept:
        raise UsageError(
            f"next_state of {strategy.name} returned {given or 'nothing'}, where its state was "
            f"{kept or 'nothing'}: keep names, shapes and types as in initial_state"
        )
    return after


def _described(state: Arrays) -> str:
    arrays = {name: np.asarray(array) for name, array in sorted(state.items())}
    return ", ".join(f"{name} {array.dtype}{array.shape}" for name, array in arrays.items())


def by_object(arrays: Arrays) -> dict[str, dict[str, NDArray[Any]]]:
    """Tell the arrays of a saved agent apart: of its `"policy"`, and of its `"strategy"` if any."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        place = "strategy" if name.startswith(STATE) else "policy"
        found.setdefault(place, {})[name.removeprefix(STATE)] = array
    return found


def require_meaning(strategy: Strategy, env: Any) -> None:
    """Refuse an environment in which a strategy cannot act.

    Raises
    ------
    UsageError
        With the reason.
    """
    if env is None:
        return
    entry = register.known(strategy.name)
    reason = ("" if entry is None else entry.why_not(env)) or strategy.why_not(env)
    if reason:
        raise UsageError(f"{strategy.name} cannot act here: {reason}")


def policy_of(name: str) -> type[Any]:
    """Return the class of policies of a name, of the library or of whoever defined another."""
    from longfair.agents.ppo.policy import FairActorCriticPolicy
    from longfair.agents.ppo.separate_clipping import SeparatelyClippedPolicy
    from longfair.agents.ppo.shared_trunk import SharedTrunkPolicy

    kinds: list[type[Any]] = [FairActorCriticPolicy, SeparatelyClippedPolicy, SharedTrunkPolicy]
    known = {kind.__name__: kind for kind in kinds + _descendants(FairActorCriticPolicy)}
    if name not in known:
        raise UsageError(f"unknown policy {name!r}: {near_misses(name, known)}")
    return known[name]


def _descendants(kind: type[Any]) -> list[type[Any]]:
    """Return the subclasses of a class, theirs, and so on."""
    children = kind.__subclasses__()
    return children + [other for child in children for other in _descendants(child)]
