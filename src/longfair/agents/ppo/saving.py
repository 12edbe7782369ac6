"""Save a trained agent as plain arrays and text, and read it back without running any code.

Stable-Baselines3 pickles parts of a model, and reading a pickle can run anything. Here a model is
a NumPy archive: one array per parameter, and one piece of JSON with the settings.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from longfair.agents.learning.saving import read, space_from_json, space_to_json, write
from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.errors import UsageError, near_misses

__all__ = [
    "read",
    "space_from_json",
    "space_to_json",
    "strategy_from_json",
    "strategy_to_json",
    "write",
]

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Strategy, RPPO, APPO, ElbertPO)
}
"""Strategies by the name under which they are saved."""


def strategy_to_json(strategy: Strategy) -> dict[str, Any]:
    """Return name and fields of a strategy."""
    return {"name": strategy.name, **dataclasses.asdict(strategy)}


def strategy_from_json(content: dict[str, Any]) -> Strategy:
    """Return the strategy that `strategy_to_json` described."""
    fields = dict(content)
    name = fields.pop("name")
    if name not in STRATEGIES:
        raise UsageError(f"unknown strategy {name!r}: {near_misses(name, STRATEGIES)}")
    return STRATEGIES[name](**fields)
