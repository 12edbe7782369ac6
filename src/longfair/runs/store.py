"""Remember results: one Parquet file per run, with the run's provenance inside the file.

A file is written next to its final place and then moved there in one step, so a file that
exists is complete. A file that cannot be read back is never deleted: it is set aside under a
name ending in ``.damaged``.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

import longfair
from longfair import settings
from longfair.errors import UsageError, near_misses
from longfair.runs import files, manifest
from longfair.runs.checkpoints import Checkpoint
from longfair.runs.experiment import Run, split_id
from longfair.runs.files import ENDING, DamagedResultError, printable
from longfair.runs.index import Entry, Index, result_files
from longfair.runs.keys import recall_revisions, run_key
from longfair.runs.sources import library_stamp
from longfair.runs.tables import SCHEMA, checked

if TYPE_CHECKING:
    import pandas as pd

ENVIRONMENT_VARIABLE = "LONGFAIR_STORE"
Status = Literal["fresh", "stale", "missing", "damaged", "elsewhere"]

_FILE_NAME = re.compile(
    r"(?P<method>[^.]+)\.(?P<variant>[^.]+)\.(?P<seed>\d{3}|[1-9]\d{3,})\.parquet"
)
_LIKE_A_RUN = re.compile(r"[^.]+\.[^.]+\.\d+\.parquet")
_IDENTITY = ("experiment", "profile", "method", "variant", "seed")
_LOADED = ("paper", *_IDENTITY)


@dataclass(frozen=True)
class State:
    """What the store knows about a run.

    Parameters
    ----------
    status
        ``fresh``: stored, and its key is the key the run has now. ``stale``: stored, but the
        settings, a declared revision or a version has changed since. ``missing``: not stored.
        ``damaged``: stored, but the file cannot be trusted. ``elsewhere``: not stored here, but
        under another profile with the same settings (`listing.states`).
    reason
        Why it is stale or damaged, or the other profile; empty otherwise.
    """

    status: Status
    reason: str = ""


class _Stored(NamedTuple):
    """One result of the store, and the run that its path names."""

    entry: Entry
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
        self.index = Index(self.root)

    def require_existing(self) -> None:
        """Refuse a store that does not exist, which is more often a slip than an empty store.

        Raises
        ------
        UsageError
            Naming the folder.
        """
        if not self.root.is_dir():
            raise UsageError(
                f"the store {self.root} does not exist: give an existing folder with --store or "
                f"{ENVIRONMENT_VARIABLE}; 'longfair run' makes one"
            )

    def path(self, run: Run) -> Path:
        """File of a run, whether or not it exists."""
        return self.root / f"{run.name}.parquet"

    def lock_path(self, run: Run) -> Path:
        """Lock file of a run."""
        return self.root / ".locks" / f"{run.name.replace('/', '.')}.lock"

    def checkpoint(self, run: Run) -> Checkpoint:
        """Return where a run keeps what it needs to go on after it was stopped."""
        path = self.root / ".checkpoints" / f"{run.name.replace('/', '.')}.npz"
        return Checkpoint(path, run_key(run).digest)

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
        """Store the result of a run, in one step, and enter it into the manifest.

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
        content = pa.Table.from_pandas(checked(table, run.name), SCHEMA, preserve_index=False)
        if path.is_dir() or path.is_symlink():
            self.set_aside(path)
        files.write(path, content, {**provenance, **_identity(run)})
        self.enter(run)
        return path

    def enter(self, run: Run) -> None:
        """Enter the stored result of a run into the manifest, if it can be trusted."""
        entry = self.index.entry(self.path(run))
        if entry is not None and not entry.problem:
            manifest.add(self.root, entry.path, manifest.line_of(entry))

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
        return self._state(run, self.index.entry(self.path(run)))

    def status(self, run: Run) -> Status:
        """Status of a run without the reason: fresh, stale, missing or damaged."""
        return self.state(run).status

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
        import pandas as pd

        rows = [{**_identity(run), **asdict(state)} for run, state in self.states_of(runs)]
        return pd.DataFrame(rows, columns=[*_IDENTITY, "status", "reason"])

    def states_of(self, runs: Iterable[Run]) -> Iterator[tuple[Run, State]]:
        """Yield every run with its state, looking into each folder of the store once."""
        entries: dict[str, dict[str, Entry]] = {}
        runs = list(runs)
        recall_revisions(
            {id(run.arm): run.arm for run in runs}.values(), self.index, library_stamp()
        )
        for run in runs:
            folder = f"{run.experiment}/{run.profile}"
            if folder not in entries:
                entries[folder] = {entry.path: entry for entry in self.index.entries(folder)}
            yield run, self._state(run, entries[folder].get(f"{run.name}{ENDING}"))

    def _state(self, run: Run, entry: Entry | None) -> State:
        if entry is None:
            return State("missing")
        if entry.problem:
            return State("damaged", entry.problem)
        key = run_key(run)
        if entry.key == key.digest:
            return State("fresh")
        then = self.index.provenance(entry)
        return State("stale", "; ".join(key.differences(then)) or "other key")

    def twin(self, run: Run) -> tuple[pd.DataFrame, dict[str, Any]] | None:
        """Find the result of the very same run under another name.

        Experiments overlap: the usual value of a setting that is varied is a method of the main
        comparison. Profiles overlap where the book has the authors' settings, and variants where
        they differ in nothing that a method sees. The same key means the same settings, seed,
        revisions and versions.

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
        for entry in self.index.with_key(run_key(run).digest):
            if entry.path != f"{run.name}{ENDING}":
                with contextlib.suppress(DamagedResultError):
                    table, provenance = files.read(self.root / entry.path)
                    same_as = entry.path.removesuffix(ENDING)
                    return table.to_pandas(), {"same_as": same_as, **provenance}
        return None

    def set_aside(self, path: Path) -> Path:
        """Move a file (or a folder in its place) to a name ending in ``.damaged``.

        Parameters
        ----------
        path
            What to move; never over another file.

        Returns
        -------
        pathlib.Path
            Where it is now.
        """
        number = 1
        target = path.with_name(f"{path.name}.damaged")
        while target.exists():
            number += 1
            target = path.with_name(f"{path.name}.damaged.{number}")
        os.replace(path, target)
        return target

    def strangers(self, experiment: str, profile: str) -> list[Path]:
        """Return what stands among the results of a profile and is no result of a run.

        A result has the name of its run, written as the runner writes it, and says itself which run
        it is. A copy under another name, whether it could be that of a run or not, would be counted
        twice; a folder would stand in the way.
        """
        folder = f"{experiment}/{profile}"
        problems = {entry.path: entry.problem for entry in self.index.entries(folder)}
        return [
            Path(found.path)
            for found in result_files(self.root, folder)
            if _FILE_NAME.fullmatch(found.name) is None
            or not found.is_file()
            or problems.get(f"{folder}/{printable(found.name)}")
        ]

    def experiments(self) -> list[str]:
        """Ids of the experiments that have at least one file, sorted."""
        folders = {os.path.dirname(entry.path) for entry in result_files(self.root)}
        found = (Path(folder).relative_to(self.root) for folder in folders)
        return sorted({printable("/".join(path.parts[:2])) for path in found})

    def load(
        self,
        *,
        experiment: str,
        profile: str | None = None,
        methods: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Load the results of an experiment.

        Stale results are loaded like fresh ones; `state` and `states` tell them apart.

        Parameters
        ----------
        experiment
            Id, ``"<paper>/<name>"``.
        profile, methods, variants
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
        selected = self._select(experiment, profile, methods, variants)
        if not selected:
            return no_results()
        for one in selected:
            _require_sound(one.entry)
        tables = [
            files.read_table(self.root / one.entry.path, one.entry.bytes_digest) for one in selected
        ]
        found = pa.concat_tables(tables)
        rows = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
        paper = split_id(experiment)[0]
        for position, name in enumerate(_LOADED):
            values = [paper if name == "paper" else getattr(one, name) for one in selected]
            found = found.add_column(position, name, pa.array(values).take(pa.array(rows)))
        frame: pd.DataFrame = found.to_pandas()
        return frame

    def provenance(self, *, experiment: str, profile: str | None = None) -> pd.DataFrame:
        """Load how the results of an experiment came to be, one row per run.

        Parameters
        ----------
        experiment, profile
            As for `load`.

        Returns
        -------
        pandas.DataFrame
            Columns ``experiment``, ``profile``, ``method``, ``variant``, ``seed`` and then the
            entries of the provenance: ``key``, ``config``, ``revisions``, ``versions``, ``source``,
            ``wall_seconds``, ``core_seconds``, ``steps``, ``steps_per_second``, ``processor``,
            ``cores``, ``system``, ``python``, ``features``, ``kernels``, ``commit``, ``dirty``,
            ``finished``, ``longfair``, ``same_as``: the run that this one was taken over from, see
            `twin`.

        Raises
        ------
        UsageError
            As for `load`.
        """
        import pandas as pd

        selected = self._select(experiment, profile)
        for one in selected:
            _require_sound(one.entry)
        rows = [self.index.provenance(one.entry) for one in selected]
        table = pd.DataFrame(rows)
        if "same_as" not in table.columns:
            table["same_as"] = None
        first = [name for name in _IDENTITY if name in table.columns]
        return table[[*first, *(name for name in table.columns if name not in first)]]

    def result_paths(self) -> list[Path]:
        """Return all files named like results, sorted."""
        found = (Path(entry.path) for entry in result_files(self.root))
        return [path for path in found if _LIKE_A_RUN.fullmatch(path.name)]

    def entries(self, folder: str = "", *, anew: bool = False) -> list[Entry]:
        """Say what every file named like a result holds, sorted by path.

        Parameters
        ----------
        folder, anew
            As for `longfair.runs.index.Index.entries`.
        """
        entries = self.index.entries(folder, anew=anew)
        return [entry for entry in entries if _LIKE_A_RUN.fullmatch(Path(entry.path).name)]

    def damaged(self) -> list[str]:
        """One line per file of the store that cannot be trusted."""
        return [entry.problem for entry in self.entries(anew=True) if entry.problem]

    def _select(
        self,
        experiment: str,
        profile: str | None,
        methods: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
    ) -> list[_Stored]:
        split_id(experiment)
        methods = settings.checked("methods", methods, Sequence[str] | None)
        variants = settings.checked("variants", variants, Sequence[str] | None)
        selected = [
            one
            for one in self._stored(experiment)
            if (profile is None or one.profile == profile)
            and (methods is None or one.method in methods)
            and (variants is None or one.variant in variants)
        ]
        if not selected and experiment not in (stored := self.experiments()):
            raise UsageError(
                f"the store {self.root} has no result of experiment {experiment!r}: "
                f"{near_misses(experiment, stored)}; 'longfair run' computes results"
            )
        return selected

    def _stored(self, experiment: str) -> Iterator[_Stored]:
        for entry in self.index.entries(experiment):
            paper, name, profile, file = entry.path.split("/")
            match = _FILE_NAME.fullmatch(file)
            if match is None and _LIKE_A_RUN.fullmatch(file):
                raise files.damaged(
                    self.root / entry.path, "the seed in its name is not written as the runner does"
                )
            if match is not None:
                arm = match["method"], match["variant"], int(match["seed"])
                yield _Stored(entry, f"{paper}/{name}", profile, *arm)


def _require_sound(entry: Entry) -> None:
    if entry.problem:
        raise DamagedResultError(entry.problem)


def _identity(run: Run) -> dict[str, str | int]:
    named = run.experiment, run.profile, run.arm.method, run.arm.variant, run.seed
    return dict(zip(_IDENTITY, named, strict=True))


def default_root() -> Path:
    """Folder of the store when none is given, see `Store`."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(named) if named else repository_root() or Path("results")


def repository_root() -> Path | None:
    """Folder of the store that is committed with this code; None outside its repository."""
    for start in (Path.cwd(), Path(longfair.__file__).resolve().parent):
        for directory in (start, *start.parents):
            if _is_our_repository(directory):
                return directory / "results"
    return None


def _is_our_repository(directory: Path) -> bool:
    file = directory / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return False
    return bool(project.get("name") == "longfair")


def no_results() -> pd.DataFrame:
    """Return a table like that of `Store.load`, without rows."""
    import pandas as pd

    identity = {name: pd.Series(dtype="int64" if name == "seed" else "str") for name in _LOADED}
    return pd.DataFrame({**identity, **SCHEMA.empty_table().to_pandas()})
