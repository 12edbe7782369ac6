"""Save a trained agent as plain arrays and text, and read it back without running any code.

Stable-Baselines3 pickles parts of a model, and reading a pickle can run anything. Here a model is
a NumPy archive: one array per parameter, and one piece of JSON with the settings.
"""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.errors import UsageError, near_misses

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Strategy, RPPO, APPO, ElbertPO)
}
"""Strategies by the name under which they are saved."""

_SETTINGS = "settings"


def write(path: Path, parameters: dict[str, NDArray[Any]], settings: dict[str, Any]) -> None:
    """Write parameters and settings to a NumPy archive.

    Raises
    ------
    UsageError
        When the file cannot be written.
    """
    try:
        with path.open("wb") as file:
            np.savez(file, **parameters, **{_SETTINGS: np.array(json.dumps(settings))})  # type: ignore[arg-type]  # names of parameters are no keywords of savez
    except OSError as error:
        raise UsageError(f"cannot write the model to {path}: {error.strerror}") from error


def read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read parameters and settings.

    Raises
    ------
    UsageError
        When the file cannot be read or is not a saved model.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            parameters = {name: archive[name] for name in archive.files}
        return parameters, json.loads(str(parameters.pop(_SETTINGS)))
    except OSError as error:
        raise UsageError(f"cannot read a model from {path}: {error}") from error
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is not a model saved by FairPPO.save: {error}") from error


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


def space_to_json(space: spaces.Space[Any]) -> dict[str, Any]:
    """Describe a `Discrete` space or a `Box` of real numbers."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n)}
    assert isinstance(space, spaces.Box)
    return {"kind": "box", "low": space.low.tolist(), "high": space.high.tolist()}


def space_from_json(content: dict[str, Any]) -> spaces.Space[Any]:
    """Return the space that `space_to_json` described."""
    if content["kind"] == "discrete":
        return spaces.Discrete(content["n"])
    low, high = (np.array(content[bound], np.float32) for bound in ("low", "high"))
    return spaces.Box(low, high, dtype=np.float32)
