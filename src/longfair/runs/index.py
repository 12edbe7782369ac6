"""An index of a store: what each file says, so that it need not be opened to find out.

The index is a SQLite file beside the results. It is only a memory: it may be deleted at any time,
is never committed, and a file whose size or times on disk are not the remembered ones is read and
checked again. Where it cannot be written (a read-only store) it is kept in memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longfair.runs.files import ENDING, DamagedResultError, read

FILE = ".index.sqlite"
_VERSION = 1
_TABLES = """
create table files (
    path text primary key, stamp text, key text, problem text, provenance text
) without rowid;
create index by_key on files (key);
create table answers (question text primary key, answer text) without rowid;
"""


class Entry(NamedTuple):
    """What one file says of itself."""

    path: str
    """Relative to the store, with slashes."""
    key: str
    """Digest of the run's key; empty if the file is damaged."""
    problem: str
    """Why the file cannot be trusted; empty if it can."""
    words: str
    """The provenance as JSON; empty if the file is damaged."""
    stamp: str = ""
    """Size and times of the file."""

    @property
    def provenance(self) -> dict[str, Any]:
        """How the result came to be."""
        return dict(json.loads(self.words))


class Index:
    """The index of one store.

    Parameters
    ----------
    root
        Folder of the store.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._connection: sqlite3.Connection | None = None

    def entry(self, path: Path) -> Entry | None:
        """Return what a file says, reading it only if it changed; None if there is no file."""
        stamp = _stamp(path)
        if stamp is None:
            return None
        name = path.relative_to(self.root).as_posix()
        row = self._one("select stamp, key, problem, provenance from files where path = ?", name)
        if row is not None and row[0] == stamp:
            return Entry(name, row[1], row[2], row[3], stamp)
        entry = _read(path, name, stamp)
        self._write([entry])
        return entry

    def entries(self, folder: str = "") -> Iterator[Entry]:
        """Return what all files of the store, or of a folder in it, say.

        Parameters
        ----------
        folder
            Path relative to the store; everything when empty.

        Yields
        ------
        Entry
            Sorted by path.
        """
        known = self._known(folder)
        fresh: list[Entry] = []
        found = []
        for path in result_files(self.root, folder):
            name = path.path[len(str(self.root)) + 1 :].replace(os.sep, "/")
            stamp = _stamp(path) or "none"
            row = known.pop(name, None)
            if row is None or row[0] != stamp:
                entry = _read(Path(path.path), name, stamp)
                fresh.append(entry)
            else:
                entry = Entry(name, row[1], row[2], row[3], stamp)
            found.append(entry)
        self._write(fresh)
        self._forget(known)
        return iter(found)

    def with_key(self, key: str) -> list[Entry]:
        """Return the files that say they hold this key, sorted by path."""
        rows = self._all("select path from files where key = ? order by path", key)
        entries = (self.entry(self.root / row[0]) for row in rows)
        return [entry for entry in entries if entry is not None and entry.key == key]

    def answer(self, question: str) -> Any:
        """Return what was remembered as the answer to a question; None if nothing was."""
        row = self._one("select answer from answers where question = ?", question)
        return None if row is None else json.loads(row[0])

    def remember(self, answers: Mapping[str, Any]) -> None:
        """Remember answers, plain values that JSON can hold, to questions."""
        rows = [(question, json.dumps(answer)) for question, answer in answers.items()]
        self._many("insert or replace into answers values (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # The database -------------------------------------------------------------------------------

    def _known(self, folder: str) -> dict[str, tuple[str, ...]]:
        rows = self._all(
            "select path, stamp, key, problem, provenance from files where path >= ? and path < ?",
            f"{folder}/" if folder else "",
            f"{folder}/\U0010ffff" if folder else "\U0010ffff",
        )
        return {row[0]: row[1:] for row in rows}

    def _write(self, fresh: list[Entry]) -> None:
        rows = [(e.path, e.stamp, e.key, e.problem, e.words) for e in fresh]
        self._many("insert or replace into files values (?, ?, ?, ?, ?)", rows)

    def _forget(self, names: Mapping[str, Any]) -> None:
        self._many("delete from files where path = ?", [(name,) for name in names])

    def _one(self, query: str, *values: str) -> tuple[Any, ...] | None:
        rows = self._all(query, *values)
        return rows[0] if rows else None

    def _all(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            return self._open().execute(query, values).fetchall()
        except sqlite3.Error:
            return self._start_over().execute(query, values).fetchall()

    def _many(self, query: str, rows: list[tuple[Any, ...]]) -> None:
        if not rows:
            return
        try:
            with self._open() as connection:
                connection.executemany(query, rows)
        except sqlite3.Error:
            with self._start_over() as connection:
                connection.executemany(query, rows)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = _connected(str(self.root / FILE))
            except sqlite3.Error:
                return self._start_over()
        return self._connection

    def _start_over(self) -> sqlite3.Connection:
        """Give up an index that cannot be used: a new one in its place, or else in memory."""
        self.close()
        try:
            with contextlib.suppress(FileNotFoundError):
                (self.root / FILE).unlink()
            self._connection = _connected(str(self.root / FILE))
        except (OSError, sqlite3.Error):
            self._connection = _connected(":memory:")
        return self._connection


def result_files(root: Path, folder: str = "") -> list[os.DirEntry[str]]:
    """List what stands where results stand: three folders deep, with a result's ending.

    Parameters
    ----------
    root
        Folder of the store.
    folder
        Path relative to it; everything when empty.

    Returns
    -------
    list of os.DirEntry
        Sorted by path; folders and broken links with such a name included.
    """
    start = root / folder if folder else root
    level = [entry for entry in _scan(start) if not entry.name.startswith(".")]
    for _ in range(3 - (len(Path(folder).parts) if folder else 0)):
        level = [
            inner
            for entry in level
            if entry.is_dir()
            for inner in _scan(entry.path)
            if not inner.name.startswith(".")
        ]
    return sorted((e for e in level if e.name.endswith(ENDING)), key=lambda entry: entry.path)


def _scan(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(path: Path, name: str, stamp: str) -> Entry:
    try:
        _, provenance = read(path)
    except DamagedResultError as error:
        return Entry(name, "", str(error), "", stamp)
    return Entry(name, provenance["key"], "", json.dumps(provenance), stamp)


def _stamp(file: Path | os.DirEntry[str]) -> str | None:
    """Return size and times of a file; None if there is none, or its link leads nowhere."""
    try:
        status = file.stat()
    except OSError:
        return None
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _connected(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=30.0, check_same_thread=False)
    connection.execute("pragma synchronous = off")
    if connection.execute("pragma user_version").fetchone()[0] != _VERSION:
        with connection:
            connection.executescript(
                "drop table if exists files; drop table if exists answers;" + _TABLES
            )
            connection.execute(f"pragma user_version = {_VERSION}")
    return connection
