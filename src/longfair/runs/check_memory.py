"""What executable checks found, so that a check is run again only if its own code changed.

Some checks compute for a minute. What one found follows from the code that it reaches, so it is
remembered with the digest of that code: in the index of the store, and for those who have just
cloned the repository, or keep a store of their own, in a committed file, `FILE`. Every entry of
the file has a digest of its own, so a number that was changed by hand is found. ``longfair rerun
CLAIM`` computes a check again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from longfair.errors import UsageError
from longfair.runs import manifest
from longfair.runs.claims import Check, CheckResult
from longfair.runs.keys import sha256
from longfair.runs.sources import library_stamp, source_digest
from longfair.runs.store import Store, repository_root

FILE = "exact/checks.json"
_SHAPE = [part.name for part in fields(CheckResult)]


def codes_of(checks: Mapping[str, Check], store: Store) -> dict[str, str]:
    """Return the digest of the code that every check reaches, remembered while no file changes."""
    return {name: _code(name, check, store) for name, check in checks.items()}


def _code(name: str, check: Check, store: Store) -> str:
    if not check.__module__.startswith("longfair."):
        return source_digest(check)
    question = f"code of check {name} {library_stamp()}"
    return str(store.index.remembered(question, lambda: source_digest(check)))


def remembered(name: str, check: Check, code: str, store: Store) -> Check:
    """Return a check that is run only if nobody remembers what it found.

    Parameters
    ----------
    name, check
        The check.
    code
        Digest of the code that it reaches.
    store
        Whose index and file are asked, and then the file of the repository.
    """

    def found() -> dict[str, Any]:
        for root in filter(None, (store.root, repository_root())):
            entry = _entries(root).get(name, {})
            if entry.get("code") == code:
                return dict(entry["found"])
        return asdict(check())

    question = sha256(f"check {name} {code} {_SHAPE}")
    return lambda: CheckResult(**store.index.remembered(question, found))


def write(checks: Mapping[str, Check], store: Store) -> int:
    """Run the checks that nobody remembers, and write what all of them found into the file.

    The file is entered into the manifest of the store.

    Returns
    -------
    int
        Number of checks.
    """
    entries = {}
    for name, code in sorted(codes_of(checks, store).items()):
        found = asdict(remembered(name, checks[name], code, store)())
        entries[name] = {"code": code, "found": found, "digest": _digest(name, code, found)}
    manifest.write_table(store.root / FILE, entries)
    return len(entries)


def problem(store: Store) -> str:
    """Say of the file what is wrong with it, in one line; empty if nothing is."""
    try:
        _entries(store.root)
    except UsageError as error:
        return str(error)
    return ""


def _entries(root: Path) -> dict[str, Any]:
    """Read the file of a store.

    Raises
    ------
    UsageError
        If an entry is not what was written.
    """
    path = root / FILE
    try:
        entries = dict(json.loads(path.read_text(encoding="utf-8")))
        for name, entry in entries.items():
            if entry["digest"] != _digest(name, entry["code"], entry["found"]):
                raise ValueError(name)
    except FileNotFoundError:
        return {}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path} is not what was written ({error}): restore it from git, or delete it, and "
            "scripts/write_checks.py makes it again"
        ) from error
    return {
        name: entry for name, entry in entries.items() if sorted(entry["found"]) == sorted(_SHAPE)
    }


def _digest(name: str, code: str, found: Mapping[str, Any]) -> str:
    return sha256(json.dumps([name, code, found], sort_keys=True))
