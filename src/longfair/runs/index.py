"""An index of a store: what each file says, so that it need not be opened to find out.

The index is a SQLite file beside the results. It is only a memory: it may be deleted at any time,
is never committed, and a file whose size or times on disk are not the remembered ones is read and
checked again. Where it cannot be written (a read-only store) it is kept in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longfair.runs.files import (
    ENDING,
    DamagedResultError,
    bytes_of,
    damaged,
    examined,
    printable,
    unreadable,
)
from longfair.runs.machine import class_of

FILE = ".index.sqlite"
_VERSION = 3
_TABLES = """
create table files (
    path text primary key, stamp text, file text, key text, problem text, processor text,
    source text
) without rowid;
create index by_key on files (key);
create table provenances (path text primary key, words text) without rowid;
create table answers (question text primary key, answer text) without rowid;
"""
_COLUMNS = "path, stamp, file, key, problem, processor, source"


class Entry(NamedTuple):
    """What one file says of itself, in the order of the columns of the table ``files``."""

    path: str
    """Relative to the store, with slashes."""
    size_and_times: str
    """Of the file on this disk; see `stamp_of`."""
    bytes_digest: str
    """SHA-256 of the whole file; empty if it cannot be opened."""
    key: str = ""
    """Digest of the run's key; empty if the file is damaged."""
    problem: str = ""
    """Why the file cannot be trusted; empty if it can."""
    processor: str = ""
    """Class of the processor it was computed on; empty if the file is damaged."""
    code_digest: str = ""
    """Digest of the code it was computed with; empty if the file is damaged."""


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
        stamp = stamp_of(path)
        if stamp is None:
            return None
        name = path.relative_to(self.root).as_posix()
        row = self._one(f"select {_COLUMNS} from files where path = ?", name)
        if row is not None and row[1] == stamp:
            return Entry(*row)
        entry, words = _read(path, name, stamp)
        self.enter({entry: words})
        return entry

    def entries(self, folder: str = "", *, anew: bool = False) -> Iterator[Entry]:
        """Return what all files of the store, or of a folder in it, say.

        Parameters
        ----------
        folder
            Path relative to the store; everything when empty.
        anew
            Open every file, whatever its size and times say. One that still has the very bytes
            that were checked before is not checked again.

        Yields
        ------
        Entry
            Sorted by path.
        """
        known = self._known(folder)
        fresh: dict[Entry, str] = {}
        found = []
        for path in result_files(self.root, folder):
            spelled = self._below(path)
            name, stamp = printable(spelled), stamp_of(path) or "none"
            if name != spelled:
                problem = str(damaged(self.root / name, "its name is not in UTF-8"))
                found.append(Entry(name, stamp, "", problem=problem))
                continue
            entry = known.pop(name, None)
            if (
                entry is None
                or entry.size_and_times != stamp
                or (anew and not _same_bytes(path, entry))
            ):
                entry, words = _read(Path(path.path), name, stamp)
                fresh[entry] = words
            found.append(entry)
        self.enter(fresh)
        self.forget(known)
        return iter(found)

    def _below(self, path: os.DirEntry[str]) -> str:
        """Return a path relative to the store, which may be the present folder."""
        return path.path.removeprefix(f"{self.root}{os.sep}").replace(os.sep, "/")

    def forget(self, names: Iterable[str]) -> None:
        """Forget what files say, so that they are read when they are asked for next."""
        rows = [(name,) for name in names]
        for table in ("files", "provenances"):
            self._many(f"delete from {table} where path = ?", rows)

    def enter(self, fresh: Mapping[Entry, str]) -> None:
        """Enter what files say, and their provenances as JSON."""
        places = ", ".join("?" * len(Entry._fields))
        self._many(f"insert or replace into files values ({places})", list(fresh))
        words = [(entry.path, words) for entry, words in fresh.items()]
        self._many("insert or replace into provenances values (?, ?)", words)

    def counts_by_commit(self) -> Counter[tuple[str | None, bool]]:
        """Count the results by the commit they name, and by whether its tree had changes."""
        fields = "json_extract(words, '$.commit'), json_extract(words, '$.dirty')"
        try:
            rows = self._open().execute(f"select {fields} from provenances").fetchall()
        except sqlite3.Error:  # words that Python's JSON allows and SQLite's does not, as NaN
            known = (json.loads(words) for (words,) in self._all("select words from provenances"))
            rows = [(one.get("commit"), one.get("dirty")) for one in known]
        return Counter((None if name is None else str(name), bool(dirty)) for name, dirty in rows)

    def provenance(self, entry: Entry) -> dict[str, Any]:
        """Return how a result came to be, if its file can be trusted."""
        row = self._one("select words from provenances where path = ?", entry.path)
        return dict(json.loads(row[0])) if row else {}

    def catch_up(self) -> None:
        """Look into the folders in which files came, went or were replaced since the last time.

        A file that was written over in place does not change its folder; whoever asks for it by
        its path or key is told of that.
        """
        for folder in _folders(self.root):
            name = self._below(folder)
            question, stamp = f"folder {printable(name)}", stamp_of(folder)
            if self.answer(question) != stamp:
                self.entries(name)
                self.remember({question: stamp})

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

    def remembered(self, question: str, compute: Callable[[], Any]) -> Any:
        """Return the answer to a question, worked out and remembered where it is not known."""
        known = self.answer(question)
        if known is None:
            known = compute()
            self.remember({question: known})
        return known

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # The database -------------------------------------------------------------------------------

    def _known(self, folder: str) -> dict[str, Entry]:
        folder = printable(folder)
        rows = self._all(
            f"select {_COLUMNS} from files where path >= ? and path < ?",
            f"{folder}/" if folder else "",
            f"{folder}/\U0010ffff" if folder else "\U0010ffff",
        )
        return {row[0]: Entry(*row) for row in rows}

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
            try:
                with self._start_over() as connection:
                    connection.executemany(query, rows)
            except sqlite3.Error:  # a full disk, say: files are what counts, so do without
                self.close()
                self._connection = _connected(":memory:")
                with self._connection as connection:
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
    level = _within(start, 3 - (len(Path(folder).parts) if folder else 0))
    return sorted((e for e in level if e.name.endswith(ENDING)), key=lambda entry: entry.path)


def _folders(root: Path) -> list[os.DirEntry[str]]:
    """List the folders in which results stand."""
    return [entry for entry in _within(root, 2) if entry.is_dir()]


def _within(start: Path, depth: int) -> list[os.DirEntry[str]]:
    """List what stands so many folders deep, but for what is hidden."""
    level = [entry for entry in _scan(start) if not entry.name.startswith(".")]
    for _ in range(depth):
        level = [
            inner
            for entry in level
            if entry.is_dir()
            for inner in _scan(entry.path)
            if not inner.name.startswith(".")
        ]
    return level


def _scan(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(path: Path, name: str, stamp: str) -> tuple[Entry, str]:
    """Return what a file says, and its provenance as JSON."""
    digest = ""
    try:
        content = bytes_of(path)
        digest = hashlib.sha256(content).hexdigest()
        _, provenance = examined(path, content)
    except OSError as error:
        return Entry(name, stamp, digest, problem=str(unreadable(path, error))), "{}"
    except DamagedResultError as error:
        return Entry(name, stamp, digest, problem=str(error)), "{}"
    processor = class_of(provenance) if "processor" in provenance else "unknown"
    source = str(provenance.get("source", ""))
    entry = Entry(name, stamp, digest, provenance["key"], "", processor, source)
    return entry, json.dumps(provenance)


def _same_bytes(file: os.DirEntry[str], entry: Entry) -> bool:
    try:
        content = bytes_of(Path(file.path))
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == entry.bytes_digest


def stamp_of(file: Path | os.DirEntry[str]) -> str | None:
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
                "drop table if exists files; drop table if exists provenances; "
                "drop table if exists answers;" + _TABLES
            )
            connection.execute(f"pragma user_version = {_VERSION}")
    return connection
