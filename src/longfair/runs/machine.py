"""Where a number came from: the machine, the interpreter, the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """Class of the machine a run was executed on.

    Parameters
    ----------
    processor
        Model name of the processor.
    cores
        Number of logical cores the process could see.
    system
        Operating system and architecture.
    python
        Version of the interpreter.
    """

    processor: str
    cores: int
    system: str
    python: str


@dataclass(frozen=True)
class Commit:
    """State of the repository the library was run from.

    Parameters
    ----------
    name
        Commit hash, or None outside a repository.
    dirty
        Whether tracked files differed from the commit, or None outside a repository.
    """

    name: str | None
    dirty: bool | None


@lru_cache(maxsize=1)
def this_machine() -> Machine:
    """Describe the machine this process runs on."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
    )


def commit_of(directory: Path) -> Commit:
    """Commit of the repository that contains a directory.

    Parameters
    ----------
    directory
        Any directory.

    Returns
    -------
    Commit
        Both fields are None if there is no repository, or no git.
    """
    name = _git(directory, "rev-parse", "HEAD")
    if name is None:
        return Commit(None, None)
    changes = _git(directory, "status", "--porcelain", "--untracked-files=no")
    return Commit(name, bool(changes))


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
