"""Where a number came from: the machine, the interpreter, the commit.

The same run gives other last digits on another class of processor, because libraries choose
their kernels by it: torch's MKL asks whether Intel made the processor, OpenBLAS and NumPy ask for
its widest vectors, and numba orders sums by the vectors its compiler prefers there. So every
result records the class, and bits are compared only within one class.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from longfair.runs.keys import version

SWITCHES = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NUMBA_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "OPENBLAS_CORETYPE",
)
"""Environment variables by which a library takes other kernels than it would choose."""

_FEATURES_OF_MODELS = {
    "AMD EPYC": "AMD avx512",
    "Intel(R) Xeon(R) Processor": "Intel avx512",
}
"""For results made before features were recorded: reruns of samples gave the bits of these."""

_NAME_OF_A_COMMIT = re.compile("[0-9a-f]{40}([0-9a-f]{24})?")

_VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}
_AVX512 = frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"})
_AVX2 = frozenset({"avx2", "fma"})


@dataclass(frozen=True)
class Machine:
    """Class of the machine a run was executed on.

    Parameters
    ----------
    processor
        Model name of the processor.
    features
        Maker and widest vectors of the processor, such as ``"AMD avx512"``; the architecture
        alone where the system does not tell.
    kernels
        What the libraries chose on it, by name: see `chosen_kernels`.
    cores
        Number of logical cores the process could see.
    system
        Operating system and architecture.
    python
        Version of the interpreter.
    """

    processor: str
    features: str
    kernels: dict[str, str]
    cores: int
    system: str
    python: str

    @property
    def processor_class(self) -> str:
        """Within one class the same run gives the same bits: see `class_of`."""
        return class_of(asdict(self))


@dataclass(frozen=True)
class Commit:
    """State of the repository the library was run from.

    Parameters
    ----------
    name
        Commit hash, or None outside a repository.
    dirty
        Whether tracked files differed from the commit, or None outside a repository. What runs and
        pages write does not count: the manifest, and executed notebooks beside their sources.
    """

    name: str | None
    dirty: bool | None


def this_machine() -> Machine:
    """Describe the machine this process runs on, with the libraries it has loaded so far."""
    facts = _processor_facts()
    return Machine(
        processor=facts.get("model name") or platform.processor() or platform.machine(),
        features=features_of(facts.get("vendor_id"), facts.get("flags", "").split()),
        kernels=chosen_kernels(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
    )


def class_of(provenance: Mapping[str, Any]) -> str:
    """Name the class of processor behind a result.

    Parameters
    ----------
    provenance
        What a result records, with the fields of `Machine`.

    Returns
    -------
    str
        The features, and every switch that was set. Results that are older than these fields
        have the features of their model, or its name if those are not known.
    """
    kernels = provenance.get("kernels") or {}
    switches = [f"{name}={kernels[name]}" for name in SWITCHES if name in kernels]
    model = provenance["processor"]
    features = provenance.get("features") or _FEATURES_OF_MODELS.get(model, model)
    return " ".join([features, *switches])


def features_of(vendor: str | None, flags: Collection[str]) -> str:
    """Say who made a processor and which vectors it has, as coarsely as bits depend on them.

    Parameters
    ----------
    vendor
        The vendor's identification, or None where the system does not tell.
    flags
        Names of the instruction sets, as Linux writes them.

    Returns
    -------
    str
        Such as ``"Intel avx512"``; the architecture where there is no vendor.
    """
    if vendor is None:
        return platform.machine()
    levels = {"avx512": _AVX512, "avx2": _AVX2}
    level = next((name for name, needs in levels.items() if needs <= set(flags)), "baseline")
    return f"{_VENDORS.get(vendor, vendor)} {level}"


def chosen_kernels() -> dict[str, str]:
    """Ask the libraries which kernels they use; torch and llvmlite only if they are loaded.

    Returns
    -------
    dict of str to str
        Versions of ``numba`` and ``llvmlite``; NumPy's widest loops (``numpy``), the core type of
        every OpenBLAS (``openblas``), torch's capability (``torch``), the processor llvmlite
        finds (``llvm``); and each of `SWITCHES` that is set.
    """
    kernels = _kernels_of_numpy() | _versions_of_the_compiler()
    if "torch" in sys.modules:
        kernels["torch"] = sys.modules["torch"].backends.cpu.get_cpu_capability()
    if "llvmlite.binding" in sys.modules:
        kernels["llvm"] = sys.modules["llvmlite.binding"].get_host_cpu_name()
    return kernels | {name: os.environ[name] for name in SWITCHES if os.environ.get(name)}


@cache
def _kernels_of_numpy() -> dict[str, str]:
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    widest = (extensions.get("found") or extensions.get("baseline") or ["none"])[-1]
    kernels = {"numpy": str(widest)}
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return kernels
    cores = {pool["architecture"] for pool in threadpool_info() if "architecture" in pool}
    return kernels | {"openblas": ", ".join(sorted(cores))}


@cache
def _versions_of_the_compiler() -> dict[str, str]:
    return {name: version(name) for name in ("llvmlite", "numba")}


def commit_of(directory: Path, *, apart_from: Sequence[str] = ()) -> Commit:
    """Commit of the repository that contains a directory.

    Parameters
    ----------
    directory
        Any directory.
    apart_from
        Files and folders, from the repository's root, whose changes do not count, beside the
        manifest of results and executed notebooks.

    Returns
    -------
    Commit
        Both fields are None if there is no repository, or no git.
    """
    name = git(directory, "rev-parse", "HEAD")
    if name is None:
        return Commit(None, None)
    written = (
        f":(top,exclude){path}" for path in ("results/MANIFEST", "notebooks/*.ipynb", *apart_from)
    )
    changes = git(directory, "status", "--porcelain", "--untracked-files=no", "--", ":/", *written)
    return Commit(name, bool(changes))


def unknown_commits(directory: Path, names: Collection[str]) -> set[str]:
    """Return which commits the repository that contains a directory does not have.

    Parameters
    ----------
    directory
        Any directory.
    names
        Full names of commits.

    Returns
    -------
    set of str
        Empty if there is no repository, or no git.
    """
    listed = sorted({name for name in names if _NAME_OF_A_COMMIT.fullmatch(name)})
    told = git(directory, "cat-file", "--batch-check", words="\n".join(listed))
    if told is None:
        return set()
    had = {line.split()[0] for line in told.splitlines() if not line.endswith(" missing")}
    return set(names) - had


@cache
def _processor_facts() -> dict[str, str]:
    """Read what Linux says of the first core; nothing elsewhere."""
    information = Path("/proc/cpuinfo")
    if not information.is_file():
        return {}
    first = information.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def git(directory: Path, *arguments: str, words: str = "") -> str | None:
    """Return what git prints about a directory; None where there is no git, or no repository.

    Parameters
    ----------
    directory
        Any directory.
    *arguments
        Of git.
    words
        What git reads from its standard input.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            input=words,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
