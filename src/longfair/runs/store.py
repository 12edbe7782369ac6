"""Remember results: one Parquet file per run, with the run's provenance inside the file.

A file is written next to its final place and then moved there in one step, so a file that
exists is complete. A file that cannot be read back is never deleted: it is set aside under a
name ending in ``.damaged``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import longfair
from longfair.errors import UsageError, near_misses
from longfair.runs.digest import run_key
from longfair.runs.experiment import Run, split_id
from longfair.runs.tables import SCHEMA, checked

ENVIRONMENT_VARIABLE = "LONGFAIR_STORE"
Status = Literal["fresh", "stale", "missing", "damaged"]

_METADATA_KEY = b"longfair"
_FILE_NAME = re.compile(r"(?P<method>[^.]+)\.(?P<variant>[^.]+)\.(?P<seed>\d{3,})\.parquet")
_IDENTITY = ("experiment", "profile", "method", "variant", "seed")
_LOADED = ("paper", *_IDENTITY)


class DamagedResultError(UsageError):
    """A stored file that cannot be trusted; the message is one line with the reason."""


@dataclass(frozen=True)
class State:
    """What the store knows about a run.

    Parameters
    ----------
    status
        ``fresh``: stored, and its key is the key the run has now. ``stale``: stored, but the
        settings, the code or a version has changed since. ``missing``: not stored.
        ``damaged``: stored, but the file cannot be trusted.
    reason
        Why it is stale or damaged; empty otherwise.
    """

    status: Status
    reason: str = ""


@dataclass(frozen=True)
class _Entry:
    """One file of the store, as its path describes it."""

    path: Path
    experiment: str
    profile: str
    method: str
    variant: str
    seed: int


class Store:
    """A folder of results.

    Parameters
    ----------
    root
        Folder of the store. By default the folder named by the environment variable
        ``LONGFAIR_STORE``, else ``results`` of the repository that contains the working
        directory or the installed package, else ``results`` in the working directory.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self.root = Path(root) if root is not None else default_root()

    def path(self, run: Run) -> Path:
        """File of a run, whether or not it exists."""
        return self.root / f"{run.name}.parquet"

    def lock_path(self, run: Run) -> Path:
        """Lock file of a run."""
        return self.root / ".locks" / f"{run.name.replace('/', '.')}.lock"

    def failure_path(self, run: Run) -> Path:
        """File that holds the traceback of a run that failed."""
        return self.root / ".failures" / f"{run.name.replace('/', '.')}.txt"

    def require_writable(self) -> None:
        """Refuse a store that cannot be written to, before anything is computed.

        Raises
        ------
        UsageError
            If the folder cannot be created or a file cannot be written into it.
        """
        probe = self.root / f".writable.{os.getpid()}"
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise UsageError(
                f"cannot write to the store {self.root} ({error.strerror or error}): choose "
                f"another folder with --store or {ENVIRONMENT_VARIABLE}, or change its permissions"
            ) from error

    def write(self, run: Run, table: pd.DataFrame, provenance: Mapping[str, Any]) -> Path:
        """Store the result of a run, in one step.

        Parameters
        ----------
        run
            The run.
        table
            Its result table, see `longfair.runs.tables`.
        provenance
            What is known about how it came to be; plain values that JSON can hold.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        UsageError
            If the table is malformed or holds a value that is not finite. Nothing is written.
        """
        path = self.path(run)
        identity = {
            "experiment": run.experiment,
            "profile": run.profile,
            "method": run.arm.method,
            "variant": run.arm.variant,
            "seed": run.seed,
        }
        content = pa.Table.from_pandas(checked(table, run.name), SCHEMA, preserve_index=False)
        metadata = json.dumps({**provenance, **identity}, sort_keys=True, allow_nan=False)
        content = content.replace_schema_metadata({_METADATA_KEY: metadata.encode("utf-8")})
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.tmp")
        with unfinished.open("wb") as file:
            pq.write_table(content, file, compression="zstd", write_page_checksum=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        return path

    def state(self, run: Run) -> State:
        """Say whether a run is stored, and whether its result is still the one it would give.

        Parameters
        ----------
        run
            The run.

        Returns
        -------
        State
            Status and reason.
        """
        path = self.path(run)
        if not path.is_file():
            return State("missing")
        try:
            provenance = read(path)[1]
        except DamagedResultError as error:
            return State("damaged", str(error))
        key = run_key(run)
        if provenance.get("key") == key.digest:
            return State("fresh")
        return State("stale", "; ".join(key.differences(provenance)) or "other key")

    def twin(self, run: Run) -> tuple[pd.DataFrame, dict[str, Any]] | None:
        """Find the result of the very same run in another experiment of the same paper.

        Experiments overlap: the usual value of a setting that is varied is a method of the main
        comparison. The same key means the same settings, seed, code and versions.

        Parameters
        ----------
        run
            The run.

        Returns
        -------
        tuple or None
            Result table and provenance, with the name of the other run as ``same_as``; None if
            there is no such result.
        """
        key = run_key(run).digest
        paper = split_id(run.experiment)[0]
        for entry in self._entries(f"{paper}/*"):
            if entry.seed != run.seed or entry.experiment == run.experiment:
                continue
            with contextlib.suppress(DamagedResultError):
                if _key_in(entry.path) == key:
                    table, provenance = read(entry.path)
                    name = entry.path.relative_to(self.root).with_suffix("").as_posix()
                    return table, {"same_as": name, **provenance}
        return None

    def status(self, run: Run) -> Status:
        """Status of a run without the reason: fresh, stale, missing or damaged."""
        return self.state(run).status

    def set_aside(self, run: Run) -> Path:
        """Move the file of a run to a name ending in ``.damaged``, never over another file.

        Parameters
        ----------
        run
            The run.

        Returns
        -------
        pathlib.Path
            Where the file is now.
        """
        path = self.path(run)
        number = 1
        target = path.with_name(f"{path.name}.damaged")
        while target.exists():
            number += 1
            target = path.with_name(f"{path.name}.damaged.{number}")
        os.replace(path, target)
        return target

    def experiments(self) -> list[str]:
        """Ids of the experiments that have at least one file, sorted."""
        return sorted({entry.experiment for entry in self._entries()})

    def load(
        self,
        *,
        experiment: str,
        profile: str | None = None,
        methods: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
        seeds: Iterable[int] | None = None,
    ) -> pd.DataFrame:
        """Load the results of an experiment.

        Stale results are loaded like fresh ones; `state` and `states` tell them apart.

        Parameters
        ----------
        experiment
            Id, ``"<paper>/<name>"``.
        profile, methods, variants, seeds
            Keep only these; all when not given.

        Returns
        -------
        pandas.DataFrame
            Columns ``paper``, ``experiment``, ``profile``, ``method``, ``variant``, ``seed``,
            ``phase``, ``step``, ``metric``, ``group``, ``value``. Sorted by file name, then in
            the order the run gave. No rows when nothing is stored.

        Raises
        ------
        UsageError
            If the experiment has no result at all, or a file is damaged.
        """
        tables = []
        for entry in self._select(experiment, profile, methods, variants, seeds):
            table, _ = read(entry.path)
            for position, name in enumerate(_LOADED):
                value = split_id(experiment)[0] if name == "paper" else getattr(entry, name)
                table.insert(position, name, value)
            tables.append(table)
        return pd.concat(tables, ignore_index=True) if tables else no_results()

    def provenance(
        self,
        *,
        experiment: str,
        profile: str | None = None,
        methods: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
        seeds: Iterable[int] | None = None,
    ) -> pd.DataFrame:
        """Load how the results of an experiment came to be, one row per run.

        Parameters
        ----------
        experiment, profile, methods, variants, seeds
            As for `load`.

        Returns
        -------
        pandas.DataFrame
            Columns ``experiment``, ``profile``, ``method``, ``variant``, ``seed`` and then the
            entries of the provenance: ``key``, ``config``, ``source``, ``versions``,
            ``wall_seconds``, ``core_seconds``, ``steps``, ``steps_per_second``, ``processor``,
            ``cores``, ``system``, ``python``, ``libraries``, ``commit``, ``dirty``,
            ``finished``, ``longfair``, ``same_as``: the run of another experiment that this one was
            taken over from, see `twin`.

        Raises
        ------
        UsageError
            As for `load`.
        """
        selected = self._select(experiment, profile, methods, variants, seeds)
        rows = [read(entry.path)[1] for entry in selected]
        table = pd.DataFrame(rows)
        if "same_as" not in table.columns:
            table["same_as"] = None
        first = [name for name in _IDENTITY if name in table.columns]
        return table[[*first, *(name for name in table.columns if name not in first)]]

    def states(self, runs: Iterable[Run]) -> pd.DataFrame:
        """Say for many runs what `state` says for one.

        Parameters
        ----------
        runs
            The runs, for instance from `longfair.runs.experiment.plan`.

        Returns
        -------
        pandas.DataFrame
            Columns ``experiment``, ``profile``, ``method``, ``variant``, ``seed``, ``status``,
            ``reason``.
        """
        rows = []
        for run in runs:
            state = self.state(run)
            identity = (run.experiment, run.profile, run.arm.method, run.arm.variant, run.seed)
            rows.append((*identity, state.status, state.reason))
        return pd.DataFrame(rows, columns=[*_IDENTITY, "status", "reason"])

    def damaged(self) -> list[str]:
        """One line per file of the store that cannot be trusted."""
        lines = []
        for entry in self._entries():
            try:
                read(entry.path)
            except DamagedResultError as error:
                lines.append(str(error))
        return lines

    def _select(
        self,
        experiment: str,
        profile: str | None,
        methods: Sequence[str] | None,
        variants: Sequence[str] | None,
        seeds: Iterable[int] | None,
    ) -> list[_Entry]:
        split_id(experiment)
        kept_seeds = None if seeds is None else set(seeds)
        entries = [
            entry
            for entry in self._entries(experiment)
            if (profile is None or entry.profile == profile)
            and (methods is None or entry.method in methods)
            and (variants is None or entry.variant in variants)
            and (kept_seeds is None or entry.seed in kept_seeds)
        ]
        if not entries and experiment not in (stored := self.experiments()):
            raise UsageError(
                f"the store {self.root} has no result of experiment {experiment!r}: "
                f"{near_misses(experiment, stored)}; 'longfair run' computes results"
            )
        return entries

    def _entries(self, experiment: str = "*/*") -> Iterator[_Entry]:
        for path in sorted(self.root.glob(f"{experiment}/*/*.parquet")):
            match = _FILE_NAME.fullmatch(path.name)
            if match is None or path.name.startswith("."):
                continue
            paper, name, profile = path.relative_to(self.root).parts[:3]
            yield _Entry(
                path=path,
                experiment=f"{paper}/{name}",
                profile=profile,
                method=match["method"],
                variant=match["variant"],
                seed=int(match["seed"]),
            )


def read(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read one file of a store and check everything that can be checked.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    table : pandas.DataFrame
        The result table.
    provenance : dict
        The provenance.

    Raises
    ------
    DamagedResultError
        If the file cannot be read, has another schema, lacks provenance, belongs to another
        run than its name says, or holds a value that is not finite.
    """
    try:
        content = pq.read_table(
            path, page_checksum_verification=True, partitioning=None, memory_map=False
        )
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, f"it cannot be read, {_first_line(error)}") from error
    if not content.schema.equals(SCHEMA, check_metadata=False):
        raise _damaged(path, f"its columns are {', '.join(content.schema.names)}")
    provenance = _provenance_in(content, path)
    if not np.isfinite(content.column("value").to_numpy()).all():
        raise _damaged(path, "it holds a value that is not finite")
    return content.replace_schema_metadata(None).to_pandas(), provenance


def default_root() -> Path:
    """Folder of the store when none is given, see `Store`."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named)
    for start in (Path.cwd(), Path(longfair.__file__).resolve().parent):
        for directory in (start, *start.parents):
            if _is_our_repository(directory):
                return directory / "results"
    return Path("results")


def _is_our_repository(directory: Path) -> bool:
    file = directory / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return False
    return bool(project.get("name") == "longfair")


def _key_in(path: Path) -> str:
    """Read the key of a stored result, and nothing else of the file."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        return str(json.loads(metadata[_METADATA_KEY])["key"])
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise _damaged(path, f"its key cannot be read, {_first_line(error)}") from error


def _provenance_in(content: pa.Table, path: Path) -> dict[str, Any]:
    try:
        provenance = json.loads((content.schema.metadata or {})[_METADATA_KEY])
    except (KeyError, ValueError) as error:
        raise _damaged(path, "it has no provenance") from error
    named = "{experiment}/{profile}/{method}.{variant}.{seed:03d}.parquet"
    try:
        belongs = path.absolute().as_posix().endswith(f"/{named.format(**provenance)}")
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, "its provenance is incomplete") from error
    if not belongs:
        raise _damaged(path, f"it holds the result of {named.format(**provenance)}")
    return dict(provenance)


def _damaged(path: Path, reason: str) -> DamagedResultError:
    return DamagedResultError(
        f"damaged result {path}: {reason}; 'longfair run' of its experiment and profile sets it "
        "aside and computes it again"
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0].rstrip(". ") if lines else type(error).__name__


def no_results() -> pd.DataFrame:
    """Return a table like that of `Store.load`, without rows."""
    identity = {name: pd.Series(dtype="int64" if name == "seed" else "str") for name in _LOADED}
    return pd.DataFrame({**identity, **SCHEMA.empty_table().to_pandas()})
