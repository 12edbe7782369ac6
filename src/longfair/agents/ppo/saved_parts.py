"""How strategies and classes of policies are written down in a saved agent."""

from __future__ import annotations

import dataclasses
from typing import Any

from longfair.agents.ppo import a_ppo, demand_regularised, elbert_po, equalised_odds, r_ppo
from longfair.agents.ppo.strategy import Strategy
from longfair.errors import UsageError, near_misses

OWN = (a_ppo, demand_regularised, elbert_po, equalised_odds, r_ppo)
"""Modules of the library that define strategies; importing them makes the strategies known."""


def strategies() -> dict[str, type[Strategy]]:
    """Return all strategies by name: those of the library, and every other that was defined."""
    found: dict[str, type[Strategy]] = {}
    waiting: list[type[Strategy]] = [Strategy]
    while waiting:
        strategy = waiting.pop()
        waiting += strategy.__subclasses__()
        found.setdefault(strategy.name, strategy)
    return found


def strategy_to_json(strategy: Strategy) -> dict[str, Any]:
    """Return name and fields of a strategy."""
    return {"name": strategy.name, **dataclasses.asdict(strategy)}


def strategy_from_json(content: dict[str, Any]) -> Strategy:
    """Return the strategy that `strategy_to_json` described."""
    fields = dict(content)
    name = fields.pop("name")
    known = strategies()
    if name not in known:
        raise UsageError(
            f"unknown strategy {name!r}: {near_misses(name, known)}; import the module that "
            "defines it before loading"
        )
    return known[name](**fields)


def policy_of(name: str) -> type[Any]:
    """Return the class of policies of a name, of the library or of whoever defined another."""
    from longfair.agents.ppo.policy import FairActorCriticPolicy
    from longfair.agents.ppo.separate_clipping import SeparatelyClippedPolicy

    kinds: list[type[Any]] = [FairActorCriticPolicy, SeparatelyClippedPolicy]
    known = {kind.__name__: kind for kind in kinds + FairActorCriticPolicy.__subclasses__()}
    if name not in known:
        raise UsageError(f"unknown policy {name!r}: {near_misses(name, known)}")
    return known[name]
