"""The key of a run: what must be unchanged for a stored result to be used again.

A result is the product of its settings, its seed, the code, and the packages that do the
arithmetic. The code enters by declaration: every part that decides numbers (an environment, an
agent, a strategy, the work function itself) carries an integer ``revision``, raised by hand when
its numbers are meant to change. That nothing else changed them is not declared but proven, by
``longfair verify``. So a reworded message leaves every result fresh, and a slip that changes
numbers is found.
"""

from __future__ import annotations

import enum
import hashlib
import importlib.metadata
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, lru_cache
from typing import Any, Protocol

from longfair.errors import UsageError
from longfair.runs.experiment import Arm, Run

PACKAGES_THAT_DECIDE = (
    "numpy", "scipy", "pandas", "torch", "numba", "llvmlite", "gymnasium", "stable-baselines3",
    "POT", "networkx",
)  # fmt: skip
"""Distributions whose version can change a number in a result."""


_KEPT = "_key_parts"


class Answers(Protocol):
    """Remembers answers, plain values, to questions."""

    def answer(self, question: str) -> Any:
        """Return what was remembered; None if nothing was."""

    def remember(self, answers: Mapping[str, Any]) -> None:
        """Remember answers by question."""


@dataclass(frozen=True)
class Key:
    """The parts of a run's key, and their digest.

    Parameters
    ----------
    config
        Canonical JSON of the settings.
    seed
        Seed of the run.
    revisions
        Declared revision of every part that the run uses, by name.
    versions
        Version of each package that decides numbers; ``"absent"`` if it is not installed.
    """

    config: str
    seed: int
    revisions: Mapping[str, int]
    versions: Mapping[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 over all parts, in hexadecimal."""
        revisions, versions = (_written(*part.items()) for part in (self.revisions, self.versions))
        return sha256(f"[{_quoted(self.config)},{self.seed},{revisions},{versions}]")

    def differences(self, stored: Mapping[str, Any]) -> list[str]:
        """Say in which parts a stored result differs from this key.

        Parameters
        ----------
        stored
            Provenance of the stored result.

        Returns
        -------
        list of str
            One clause per part; empty when the stored result is fresh.
        """
        then = key_in(stored)
        clauses = []
        if then.config != self.config:
            clauses.append("other settings")
        if then.seed != self.seed:
            clauses.append("other seed")
        clauses += _changed("revision of ", then.revisions, self.revisions)
        clauses += _changed("", then.versions, self.versions)
        return clauses


def run_key(run: Run) -> Key:
    """Compute the key of a run from its settings, seed, revisions and installed versions.

    Parameters
    ----------
    run
        The run.

    Returns
    -------
    Key
        Its key. Runs with the same key give the same bits on one class of processor; across
        classes they agree within a tolerance, see `longfair.runs.verify`.
    """
    config, revisions = _of_arm(run.arm)
    return Key(config, run.seed, revisions, package_versions())


def key_in(provenance: Mapping[str, Any]) -> Key:
    """Return the key that the parts stored in a provenance make."""
    config = _compact(provenance["config"])
    return Key(config, provenance["seed"], provenance["revisions"], provenance["versions"])


@lru_cache(maxsize=1)
def package_versions() -> Mapping[str, str]:
    """Versions of the packages that decide numbers, without local labels such as ``+cpu``.

    Returns
    -------
    mapping of str to str
        Distribution name to version, or to ``"absent"``.
    """
    return {name: version(name) for name in PACKAGES_THAT_DECIDE}


def _of_arm(arm: Arm) -> tuple[str, Mapping[str, int]]:
    """Return settings as JSON, and revisions; kept on the arm, which many seeds share."""
    kept = arm.__dict__.get(_KEPT)
    if kept is None:
        kept = canonical_json(arm.config), revisions_of(arm)
        arm.__dict__[_KEPT] = kept
    return kept


def recall_revisions(arms: Iterable[Arm], answers: Answers, code: str) -> None:
    """Spare arms the import of their parts, which only says what it said the last time.

    Arms with a part outside ``longfair`` are asked every time: the stamp says nothing of its code.

    Parameters
    ----------
    arms
        Arms whose keys will be asked for.
    answers
        Remembers answers to questions, see `longfair.runs.index.Index`.
    code
        Stamp of the installed code; other code is asked anew.
    """
    found: dict[str, Any] = {}
    for arm in arms:
        if _KEPT in arm.__dict__ or not arm.work.__module__.startswith("longfair."):
            continue
        config = canonical_json(arm.config)
        question = sha256(f"revisions {code} {_work_name(arm.work)} {config}")
        own = _is_of_longfair(arm, config)
        known = answers.answer(question) if own else None
        if known is None:
            known = revisions_of(arm)
            if own:
                found[question] = known
        arm.__dict__[_KEPT] = config, known
    answers.remember(found)


def _is_of_longfair(arm: Arm, config: str) -> bool:
    """Say whether settings, and the functions that they name as JSON, are of this package."""
    modules = [part.__module__ for part in classes_of(arm.config)]
    modules += _NAMED_FUNCTION.findall(config)
    return all(module.startswith("longfair.") for module in modules)


_NAMED_FUNCTION = re.compile(r'"([A-Za-z_][\w.]*):\w+"')
"""A module in settings as JSON, as ``"module:function"`` names it."""


def revisions_of(arm: Arm) -> dict[str, int]:
    """Collect the declared revision of every part that an arm uses.

    Parameters
    ----------
    arm
        The arm. Parts are its work; every dataclass in its settings that declares an integer
        ``revision``; and what the method ``parts`` of a dataclass in its settings returns.

    Returns
    -------
    dict of str to int
        By name: the part's ``name`` if it declares one, else that of its class or function.

    Raises
    ------
    UsageError
        If a part that must declare a revision has none, or two parts of one name differ.
    """
    found = {_work_name(arm.work): _revision(arm.work, default=1)}
    for part in parts_of(arm):
        name, revision = _name(part), _revision(part)
        if found.setdefault(name, revision) != revision:
            raise UsageError(
                f"{arm.name} uses two parts named {name!r}, with revisions {found[name]} and "
                f"{revision}: give them different names"
            )
    return found


def parts_of(arm: Arm) -> list[Any]:
    """Return the parts of an arm's settings that declare a revision, each once."""
    parts: list[Any] = []
    for value in _dataclasses_in(arm.config):
        if isinstance(getattr(value, "revision", None), int):
            parts.append(type(value))
        parts += value.parts() if hasattr(value, "parts") else ()
    return list(dict.fromkeys(parts))


def classes_of(value: Any) -> list[type]:
    """Dataclasses that occur in settings, each once, in order of appearance."""
    return list(dict.fromkeys(type(part) for part in _dataclasses_in(value)))


def canonical_json(value: Any) -> str:
    """Write settings as JSON in one fixed way.

    Parameters
    ----------
    value
        Dataclass, mapping with text keys, list, tuple, enumeration member, text, number, truth
        value or None, nested as needed.

    Returns
    -------
    str
        JSON with sorted keys. A dataclass carries the name of its class under ``"class"``.

    Raises
    ------
    UsageError
        If a value has another type; the message names the field.
    """
    return _compact(_plain(value, "config"))


def sha256(text: str) -> str:
    """Digest of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


_compact = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""Writes plain values as JSON in one fixed way."""


@cache
def _quoted(config: str) -> str:
    """Write settings as a text in JSON; many seeds share them."""
    return _compact(config)


@cache
def _written(*items: tuple[str, Any]) -> str:
    """Write a mapping as JSON; many runs share it."""
    return _compact(dict(items))


def _changed(what: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"{what}{name} {then.get(name, 'none')} then, {now.get(name, 'none')} now"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]


def _work_name(work: Any) -> str:
    return getattr(work, "name", None) or f"{work.__module__}.{work.__qualname__}"


def _name(part: Any) -> str:
    name = getattr(part, "name", None)
    return name if isinstance(name, str) else str(part.__name__)


def _revision(part: Any, default: int | None = None) -> int:
    revision = getattr(part, "revision", default)
    if type(revision) is not int or revision < 1:
        raise UsageError(
            f"{getattr(part, '__qualname__', part)} has revision {revision!r}: declare an integer "
            "of at least 1, raised when its numbers are meant to change"
        )
    return revision


def _plain(value: Any, where: str) -> Any:
    """Reduce settings to what JSON can hold, or name the field that cannot be reduced."""
    if type(value) in (bool, int, str):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, where)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        named = {
            field.name: _plain(getattr(value, field.name), f"{where}.{field.name}")
            for field in fields(value)
        }
        return {"class": type(value).__name__, **named}
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(part, f"{where}[{name!r}]") for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{where}[{index}]") for index, part in enumerate(value)]
    raise UsageError(
        f"{where} is a {type(value).__name__}: settings hold only numbers, text, truth values, "
        "None, tuples, lists, mappings with text keys, enumerations and dataclasses of these"
    )


def _dataclasses_in(value: Any) -> Iterator[Any]:
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from _dataclasses_in(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _dataclasses_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _dataclasses_in(part)


def version(distribution: str) -> str:
    """Return the version of an installed distribution, without a local part, or ``"absent"``."""
    try:
        return importlib.metadata.version(distribution).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return "absent"
