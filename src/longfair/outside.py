"""Packages outside this one that add papers and agents, and what is said when one is broken.

Such a package names its modules in entry points; see `longfair.papers.registry` and
`longfair.agents.register`.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from longfair.errors import UsageError

PAPERS = "longfair.papers"
"""Entry-point group in which other packages name their papers."""
AGENTS = "longfair.agents"
"""Entry-point group in which they name their modules with agents."""


def load(point: EntryPoint) -> ModuleType:
    """Import the module that an entry point names.

    Raises
    ------
    UsageError
        If it cannot be imported, whatever it raises; the message names the package.
    """
    try:
        return importlib.import_module(point.module)
    except (Exception, SystemExit) as error:  # whatever a stranger's module does
        raise broken(point, f"importing it raised {type(error).__name__}: {error}") from error


def blamed(error: BaseException) -> UsageError | None:
    """Say which package's code an error came through, after its module was imported.

    Parameters
    ----------
    error
        What was raised.

    Returns
    -------
    UsageError or None
        As `broken` makes it; None if no code of another package took part.
    """
    frames = [
        (frame.f_globals.get("__name__", ""), f"{frame.f_code.co_filename}, line {line}")
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    for point in (*entry_points(group=PAPERS), *entry_points(group=AGENTS)):
        package = point.module.partition(".")[0]
        places = [place for module, place in frames if module.partition(".")[0] == package]
        if isinstance(error, SyntaxError) and _is_of(package, error.filename):
            places.append(f"{error.filename}, line {error.lineno}")
        if places and package != "longfair":
            what = f"{type(error).__name__}: {error}"
            return broken(point, f"its code ({places[-1]}) raised {what}")
    return None


def _is_of(package: str, file: str | None) -> bool:
    """Say whether a file stands in the folder of a package that has been imported."""
    folders = getattr(sys.modules.get(package), "__path__", ())
    return file is not None and any(Path(file).is_relative_to(folder) for folder in folders)


def broken(point: EntryPoint, why: str) -> UsageError:
    """Return an error that says which package is broken, why, and what to do.

    Parameters
    ----------
    point
        Entry point of the package.
    why
        What is wrong with the module.
    """
    whose = f"of {point.dist.name} {point.dist.version}" if point.dist else "of an unknown package"
    name = point.dist.name if point.dist else "it"
    return UsageError(
        f"the entry point {point.name!r} ({point.group}) {whose} names {point.value}: {why}; "
        f"repair {name} or uninstall it"
    )
