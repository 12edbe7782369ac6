"""Find out what is wrong with an installation or a store, and say what to do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import longfair
from longfair.errors import UsageError
from longfair.runs.experiment import Experiment
from longfair.runs.listing import states
from longfair.runs.machine import this_machine
from longfair.runs.store import Store
from longfair.runs.worker import THREAD_VARIABLES

LOCK_FILE = "requirements.lock"
OPTIONAL = {"distributed": "needed for 'longfair run --cluster'"}
"""Distributions that some features need, with the feature."""

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;#]+)", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Parameters
    ----------
    sound
        Whether nothing needs to be done.
    line
        What was found, and what to do if it is not sound.
    """

    sound: bool
    line: str

    @property
    def word(self) -> str:
        """The finding in a word."""
        return "ok" if self.sound else "FIX"


def examine(store: Store, experiments: Mapping[str, Experiment]) -> list[Finding]:
    """Look at everything.

    Parameters
    ----------
    store
        The store to look at.
    experiments
        Experiments by id, whose results are counted.

    Returns
    -------
    list of Finding
        In a fixed order.
    """
    return [
        _python(),
        _machine(),
        _versions(),
        _threads(),
        *_optional(),
        _writable(store),
        _damaged(store),
        *_results(store, experiments.values()),
    ]


def _python() -> Finding:
    sound = sys.version_info >= (3, 11)
    advice = "" if sound else ": install Python 3.11 or newer"
    return Finding(sound, f"python {platform.python_version()}{advice}")


def _machine() -> Finding:
    machine = this_machine()
    return Finding(True, f"machine: {machine.processor}, {machine.cores} cores, {machine.system}")


def _versions() -> Finding:
    lock = _lock()
    if lock is None:
        return Finding(True, f"versions: no {LOCK_FILE} beside the package, so none compared")
    wrong = []
    for pin in _PIN.finditer(lock.read_text(encoding="utf-8")):
        try:
            version = importlib.metadata.version(pin["name"]).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
        if version != pin["version"]:
            wrong.append(f"{pin['name']} {version} (lock: {pin['version']})")
    if wrong:
        shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        return Finding(False, f"versions differ from {lock}: {shown}; pip install -r {lock}")
    return Finding(True, f"versions agree with {lock}")


def _lock() -> Path | None:
    for directory in Path(longfair.__file__).resolve().parents:
        if (directory / "pyproject.toml").is_file():
            return directory / LOCK_FILE if (directory / LOCK_FILE).is_file() else None
    return None


def _threads() -> Finding:
    given = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    shown = ", ".join(f"{name}={value}" for name, value in given.items()) or "not set"
    return Finding(True, f"threads: {shown}; 'longfair run' gives each worker one")


def _optional() -> list[Finding]:
    findings = []
    for name, use in OPTIONAL.items():
        if importlib.util.find_spec(name) is None:
            findings.append(Finding(True, f"optional: {name} is not installed ({use})"))
        else:
            version = importlib.metadata.version(name)
            findings.append(Finding(True, f"optional: {name} {version} is installed ({use})"))
    return findings


def _writable(store: Store) -> Finding:
    try:
        store.require_writable()
    except UsageError as error:
        return Finding(False, str(error))
    return Finding(True, f"store {store.root.resolve()} can be written to")


def _damaged(store: Store) -> Finding:
    lines = store.damaged()
    if lines:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        return Finding(False, f"{lines[0]}{more}")
    return Finding(True, "no damaged result")


def _results(store: Store, experiments: Iterable[Experiment]) -> list[Finding]:
    """Count all runs, and name the experiments that have stale ones."""
    total: Counter[str] = Counter()
    stale = []
    for experiment in experiments:
        for profile in experiment.arms:
            held = list(states(store, experiment, profile))
            counts = Counter(state.status for _, state in held)
            total += counts
            if counts["stale"]:
                reason = next(state.reason for _, state in held if state.status == "stale")
                again = f"'longfair run {experiment.id} --profile {profile}' computes them again"
                line = f"{experiment.id}: {profile}: {counts['stale']} stale because of {reason}"
                stale.append(Finding(False, f"{line}: {again}"))
    shown = ", ".join(f"{count:,} {status}" for status, count in total.most_common())
    return [*stale, Finding(True, f"declared runs: {shown}; 'longfair list' says which")]
