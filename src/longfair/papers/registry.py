"""What the papers offer: their experiments, claims and checks, found by import.

A paper is a package ``longfair.papers.<id>``, or a package elsewhere that its distribution names
in the entry-point group ``longfair.papers``::

    [project.entry-points."longfair.papers"]
    mypaper = "my_package.my_paper"

It may define ``EXPERIMENTS`` (a tuple of `longfair.runs.experiment.Experiment`) and ``CHECKS`` (a
mapping of names to functions that return a `longfair.runs.claims.CheckResult`, or to text
``"module:function"``, which is imported when the check is run), and may ship a file
``claims.yaml``. Nothing else has to be registered anywhere.
"""

from __future__ import annotations

import importlib
import pkgutil
import reprlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import longfair.papers
from longfair import outside
from longfair.errors import UsageError, near_misses
from longfair.papers.setting import resolved
from longfair.runs.experiment import Experiment, require_known

if TYPE_CHECKING:
    from longfair.runs.claims import Check, CheckResult, Claim


def papers() -> tuple[str, ...]:
    """Name the papers that have a package, sorted."""
    return tuple(sorted(_modules()))


@cache
def experiments() -> dict[str, Experiment]:
    """Collect the experiments of all papers.

    Returns
    -------
    dict of str to Experiment
        By id, papers in alphabetical order, experiments in the order of their paper.

    Raises
    ------
    UsageError
        If a package of another distribution is broken, an experiment belongs to another paper than
        its package, or an id is used twice.
    """
    found: dict[str, Experiment] = {}
    for paper, package in _packages().items():
        for experiment in getattr(package, "EXPERIMENTS", ()):
            if experiment.paper != paper:
                raise UsageError(
                    f"experiment {experiment.id} is defined by paper {paper!r}: "
                    f"its id must start with '{paper}/'"
                )
            if experiment.id in found:
                raise UsageError(f"experiment {experiment.id} is defined twice: ids are unique")
            found[experiment.id] = experiment
    return found


@cache
def claims() -> tuple[Claim, ...]:
    """Collect the claims of all papers.

    Returns
    -------
    tuple of Claim
        Papers in alphabetical order, claims in the order of their paper's file.

    Raises
    ------
    UsageError
        If a file is malformed, an id is used twice, or a claim names an unknown experiment or
        check.
    """
    from longfair.runs.claims import load_claims, require_distinct

    files = [
        Path(str(package.__file__)).with_name("claims.yaml") for package in _packages().values()
    ]
    found = [claim for file in files if file.is_file() for claim in load_claims(file)]
    require_distinct(found)
    for claim in found:
        _require_known_parts(claim)
    return tuple(found)


@cache
def checks() -> dict[str, Check]:
    """Collect the executable checks of all papers.

    Returns
    -------
    dict of str to callable
        By name.

    Raises
    ------
    UsageError
        If a name is used twice.
    """
    found: dict[str, Check] = {}
    for paper, package in _packages().items():
        for name, check in getattr(package, "CHECKS", {}).items():
            if name in found:
                raise UsageError(f"check {name!r} of paper {paper!r} exists already: rename it")
            found[name] = _lazily(name, check) if isinstance(check, str) else check
    return found


def experiment(name: str) -> Experiment:
    """Return an experiment by its id.

    Raises
    ------
    UsageError
        If there is none of this id; the message names the near misses.
    """
    known = experiments()
    if name not in known:
        raise UsageError(f"unknown experiment {name!r}: {near_misses(name, known)}")
    return known[name]


def select_claims(names: list[str] | None = None, paper: str | None = None) -> list[Claim]:
    """Return claims by their ids, or those of one paper, or all.

    Parameters
    ----------
    names
        Ids; all when not given or empty.
    paper
        Id of a paper; all when not given.

    Returns
    -------
    list of Claim
        In the order of `claims`.

    Raises
    ------
    UsageError
        If an id is unknown; the message names the near misses.
    """
    known = claims()
    if paper is not None and paper not in papers():
        raise UsageError(f"unknown paper {paper!r}: {near_misses(paper, papers())}")
    ids = [claim.id for claim in known]
    for name in names or ():
        if name not in ids:
            worlds = {part for one in experiments() for part in (one, *one.split("/"))}
            hint = (
                f"'longfair list {name}' tells of its runs, and 'longfair claims' of all claims"
                if name in experiments() or name in papers()
                else "that names a world: 'longfair list' tells of its runs, 'longfair claims' of "
                "all claims"
                if name in worlds
                else near_misses(name, ids)
            )
            raise UsageError(f"unknown claim {name!r}: {hint}")
    others = [claim for claim in known if claim.id in (names or ()) and paper != claim.paper]
    if paper is not None and others:
        raise UsageError(
            f"claim {others[0].id!r} is of paper {others[0].paper!r}, not of {paper!r}: leave the "
            "paper away, or give claims of it"
        )
    return [
        claim
        for claim in known
        if (not names or claim.id in names) and (paper is None or claim.paper == paper)
    ]


def _modules() -> dict[str, EntryPoint]:
    """Return where the package of every paper is, by paper; those of the library stand first."""
    found = {
        module.name: EntryPoint(module.name, f"longfair.papers.{module.name}", outside.PAPERS)
        for module in pkgutil.iter_modules(longfair.papers.__path__)
        if module.ispkg
    }
    for entry in entry_points(group=outside.PAPERS):
        if found.setdefault(entry.name, entry).value != entry.value:
            raise UsageError(
                f"paper {entry.name!r} of {entry.value} exists already in "
                f"{found[entry.name].value}: rename the entry point"
            )
    return found


def _packages() -> dict[str, ModuleType]:
    """Import the packages of all papers, sorted by paper."""
    return {paper: _package(point) for paper, point in sorted(_modules().items())}


def _package(point: EntryPoint) -> ModuleType:
    """Import the package of a paper; one of another distribution must also be what is wanted."""
    if point.dist is None:
        return importlib.import_module(point.module)
    package = outside.load(point)
    wrong = _misdeclared(package)
    if wrong:
        raise outside.broken(point, wrong)
    return package


def _misdeclared(package: ModuleType) -> str:
    """Say what a package declares that is not what it should be; empty if all is well."""
    experiments: Any = getattr(package, "EXPERIMENTS", ())
    if not isinstance(experiments, Sequence) or isinstance(experiments, str):
        return f"EXPERIMENTS is {reprlib.repr(experiments)}, not a tuple of Experiment"
    for experiment in experiments:
        if not isinstance(experiment, Experiment):
            return f"EXPERIMENTS holds {reprlib.repr(experiment)}, which is no Experiment"
    checks: Any = getattr(package, "CHECKS", {})
    if not isinstance(checks, Mapping):
        return f"CHECKS is {reprlib.repr(checks)}, not a mapping of names to functions"
    for name, check in checks.items():
        if not isinstance(check, str) and not callable(check):
            return f"the check {name!r} is {reprlib.repr(check)}, not a function or its place"
    return ""


def _lazily(name: str, place: str) -> Check:
    """Return a check that imports its function when it is run."""

    def check() -> CheckResult:
        result: CheckResult = resolved("check", place, {})()
        return result

    check.__name__ = name
    # Whose code it runs; see `runs.sources`.
    check.__module__, _, check.__qualname__ = place.partition(":")
    return check


def _require_known_parts(claim: Claim) -> None:
    if claim.experiment is not None:
        require_known("experiment", claim.experiment, experiments(), f"claim {claim.id}")
    for name in claim.rule.checks:
        require_known("check", name, checks(), f"claim {claim.id}")
