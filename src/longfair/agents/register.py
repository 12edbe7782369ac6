"""The register of agents: who can decide, what each needs, where it can act, how it is drawn.

An agent registers itself by a decorator, in the file that defines it::

    @register(label="MAX-MIN-PPO", style=Style("#117733", "h"), loaded_by=FAIR_PPO)
    @dataclass(frozen=True)
    class MaxMinPPO(Strategy):
        name = "max-min-ppo"
        revision = 1

Nothing else lists agents: saving, figures, the command line and grids ask here. Of the library
itself every module with such a decorator is found; a package outside this one names its modules in
the entry-point group ``longfair.agents``::

    [project.entry-points."longfair.agents"]
    my_package = "my_package.agents"
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeVar

from gymnasium import spaces

from longfair.errors import UsageError, near_misses
from longfair.outside import AGENTS, load
from longfair.settings import OneOf, validate

FAIR_PPO = "longfair.agents.ppo.fair_ppo:FairPPO"
"""What learns with a strategy of the PPO family, and loads what it has saved."""

LAST = 1000
"""Place of agents that do not say where they stand."""

KINDS = ("discrete", "continuous")
"""Kinds of action spaces."""

ANY = ("supply", "demand")
"""What all environments of the library tell in every step's `info`."""


@dataclass(frozen=True)
class Style:
    """How an agent is drawn wherever it appears, in Matplotlib's terms."""

    colour: str
    marker: str
    line: Any = "-"

    def __post_init__(self) -> None:
        """Raise `UsageError` for values of another kind."""
        validate(self)


@dataclass(frozen=True)
class Entry:
    """An agent of the register.

    Parameters
    ----------
    agent
        The class: a strategy of the PPO family, or a learner.
    name
        As in settings, results and on the command line.
    label
        As papers write it.
    style
        How it is drawn; None if it takes a style of the page's.
    loaded_by
        ``"module:class"`` whose ``load`` reads it; empty if it cannot be saved.
    needs
        Info arrays of the environment that it reads.
    actions
        The `KINDS` of actions that it can choose.
    environments
        Ids of the environments that it knows the rules of; None: any.
    rates_within_episode
        Whether it compares the groups' rates within an episode, which must then serve all groups.
    place
        Where it stands in lists: agents come in the order of their places, then of their names.
    """

    agent: type[Any]
    name: str
    label: str
    style: Style | None = None
    loaded_by: str = ""
    needs: tuple[str, ...] = ANY
    actions: tuple[Annotated[str, OneOf(*KINDS)], ...] = KINDS
    environments: tuple[str, ...] | None = None
    rates_within_episode: bool = False
    place: int = LAST

    def __post_init__(self) -> None:
        """Raise `UsageError` for values of another kind."""
        validate(self)

    @property
    def revision(self) -> int:
        """Declared revision of its numbers."""
        return int(self.agent.revision)

    def why_not(self, env: Any) -> str:
        """Say why it cannot act in an environment; empty if it can.

        Parameters
        ----------
        env
            A single environment, a batch, or a vector environment of Stable-Baselines3, possibly
            wrapped.
        """
        spec = attribute(env, "spec", None)
        identity = str(env) if spec is None else spec.id
        if self.environments is not None and identity not in self.environments:
            return f"it knows the rules of {', '.join(self.environments)} only"
        space = getattr(env, "single_action_space", env.action_space)
        discrete, continuous = KINDS
        kind = discrete if isinstance(space, spaces.Discrete) else continuous
        if kind not in self.actions:
            return f"its actions are {' or '.join(self.actions)}, those of {identity} {kind}"
        if self.rates_within_episode and not attribute(env, "rates_within_episode", True):
            return (
                f"it compares the groups' rates within an episode, and an episode of {identity} "
                "does not serve all groups"
            )
        return ""


Agent = TypeVar("Agent", bound=type[Any])

_ENTRIES: dict[str, Entry] = {}
_REGISTERS = re.compile(r"^@(\w+\.)*register\(", re.MULTILINE)


def register(label: str, **details: Any) -> Callable[[Agent], Agent]:
    """Enter a class into the register, under its own `name`.

    Parameters
    ----------
    label, **details
        As for `Entry`.

    Returns
    -------
    callable
        Decorator of the class, which must declare `name` and an integer `revision`.

    Raises
    ------
    UsageError
        If another class has the name, the class declares no name or no revision of its own, or
        what is told of it is unknown or of another kind.
    """
    known_details = {field.name for field in fields(Entry)} - {"agent", "name", "label"}
    for detail in set(details) - known_details:
        raise UsageError(
            f"an agent has no {detail!r} in the register: {near_misses(detail, known_details)}"
        )

    def entered(agent: Agent) -> Agent:
        entry = Entry(agent, getattr(agent, "name", None), label, **details)  # type: ignore[arg-type]  # what has no name is refused
        other = _ENTRIES.get(entry.name)
        if other is not None and _defined_in(other.agent) != _defined_in(agent):
            raise UsageError(
                f"agent {entry.name!r} of {_defined_in(agent)} exists already in "
                f"{_defined_in(other.agent)}: rename it"
            )
        if type(vars(agent).get("revision")) is not int or entry.revision < 1:
            raise UsageError(
                f"agent {entry.name!r} declares no revision: give the class an integer of at "
                "least 1, raised when its numbers are meant to change"
            )
        _ENTRIES[entry.name] = entry
        return agent

    return entered


def agents() -> Mapping[str, Entry]:
    """Return all agents by name, in their order: the library's, and those of other packages.

    Raises
    ------
    UsageError
        If a module that an entry point names cannot be imported; the message names its package.
    """
    _import_all()
    ordered = sorted(_ENTRIES.values(), key=attrgetter("place", "name"))
    return {entry.name: entry for entry in ordered}


def known(name: str) -> Entry | None:
    """Return an agent if its module has been imported; nothing is imported for it."""
    return _ENTRIES.get(name)


def find(name: str) -> Entry:
    """Return an agent.

    Raises
    ------
    UsageError
        If there is none of this name; with the names that are near.
    """
    everything = agents()
    if name not in everything:
        raise UsageError(
            f"unknown agent {name!r}: {near_misses(name, everything)}; one of another package is "
            f"known by an entry point in {AGENTS!r}, or when its module is imported"
        )
    return everything[name]


@lru_cache(maxsize=1)
def _import_all() -> None:
    for module in _own_modules():
        importlib.import_module(module)
    for point in entry_points(group=AGENTS):
        load(point)


def _own_modules() -> list[str]:
    """Return the modules of `longfair.agents` in which a class is registered, read as text.

    Importing all modules to find them would import what no agent needs.
    """
    folder = Path(__file__).parent
    parts = (
        path.relative_to(folder).with_suffix("").parts
        for path in sorted(folder.rglob("*.py"))
        if _REGISTERS.search(path.read_text(encoding="utf-8"))
    )
    return [".".join([__package__, *names]).removesuffix(".__init__") for names in parts]


def _defined_in(agent: type[Any]) -> str:
    return f"{agent.__module__}.{agent.__qualname__}"


def attribute(env: Any, name: str, default: Any) -> Any:
    """Read an attribute of an environment, a batch, or a vector environment, below wrappers too."""
    try:
        if hasattr(env, "env_is_wrapped"):  # Stable-Baselines3
            return env.get_attr(name)[0]
        return getattr(env, "get_wrapper_attr", env.__getattribute__)(name)
    except (AttributeError, IndexError):
        return getattr(getattr(env, "unwrapped", env), name, default)
