"""The manifest of a store: one line per file, committed, so that git shows every change.

The line of a result holds its path, the digest of its file, the digest of the run's key, and the
class of the processor it was computed on. The runner adds a line for every result it writes; `tidy`
sorts them and leaves the last of each path. A table that no run writes has a line, too; it has no
key and no processor.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from filelock import FileLock

from longfair.errors import UsageError
from longfair.runs.files import bytes_of, text_of
from longfair.runs.index import Entry
from longfair.runs.writing import put

if TYPE_CHECKING:
    from longfair.runs.store import Store

FILE = "MANIFEST"
TABLES = ("benchmarks", "exact")
"""Folders of the tables that no run writes: JSON files that scripts compute for the book."""

_DIGITS = 16
"""Digits of a key that are written; the file holds all of them."""


class Line(NamedTuple):
    """What the manifest says of one file."""

    file: str
    """SHA-256 of the whole file, in hexadecimal."""
    key: str = "-"
    """First digits of the digest of the run's key; a dash for a table."""
    processor: str = "-"
    """Class of the processor; a dash for a table."""


def line_of(entry: Entry) -> Line:
    """Return the line that a result makes."""
    return Line(entry.bytes_digest, entry.key[:_DIGITS], entry.processor.replace(" ", "_"))


def tables(root: Path) -> dict[str, Line]:
    """Return the lines that the tables of a store make, by path relative to it."""
    paths = (path for folder in TABLES for path in (root / folder).glob("*.json"))
    return {
        path.relative_to(root).as_posix(): Line(hashlib.sha256(bytes_of(path)).hexdigest())
        for path in sorted(paths)
    }


def write_table(path: Path, content: Any) -> None:
    """Write a table, and enter it into the manifest of its store.

    Parameters
    ----------
    path
        The JSON file. It is entered where it stands in one of the folders `TABLES` of a store.
    content
        Plain values that JSON can hold.
    """
    path = path.absolute()
    put(path, f"{json.dumps(content, indent=1)}\n".encode())
    folder, root = path.parent.name, path.parents[1]
    if folder in TABLES:
        name = f"{folder}/{path.name}"
        add(root, name, tables(root)[name])
        tidy(root)


def read(root: Path) -> dict[str, Line]:
    """Read the manifest of a store.

    Returns
    -------
    dict of str to Line
        By path relative to the store; empty if there is none.

    Raises
    ------
    UsageError
        If a line is malformed, or the file is no text.
    """
    return dict(_lines(root))


def repeated(root: Path) -> list[str]:
    """Return the paths with more than one line in the manifest, sorted; the last line counts."""
    counts = Counter(name for name, _ in _lines(root))
    return sorted(name for name, count in counts.items() if count > 1)


def _lines(root: Path) -> Iterator[tuple[str, Line]]:
    try:
        text = text_of(root / FILE)
    except FileNotFoundError:
        return
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split(" ")
        if len(parts) != 4:
            raise UsageError(
                f"{root / FILE}, line {number}: {line!r} is not 'path file key processor': "
                "restore it from git, or delete it and 'longfair verify --write' makes it again"
            )
        yield parts[0], Line(*parts[1:])


def differing(store: Store, parts: Collection[str]) -> list[str]:
    """Name the files of parts of a store that are not those of the manifest.

    What the index knows of unchanged files is believed, so that this is quick;
    `longfair.runs.verify.problems` opens every file.

    Parameters
    ----------
    store
        The store.
    parts
        Ids of experiments, and paths of tables relative to the store.

    Returns
    -------
    list of str
        Paths relative to the store, sorted: of files that are missing, too many, or others.
    """
    listed, held = read(store.root), tables(store.root)
    for part in parts:
        held |= {entry.path: line_of(entry) for entry in store.entries(part)}
    return sorted(
        name
        for name in listed.keys() | held.keys()
        if "/".join(name.split("/")[:2]) in parts and listed.get(name) != held.get(name)
    )


def add(root: Path, name: str, line: Line) -> None:
    """Append a line; what an earlier line of the same path says no longer counts.

    Raises
    ------
    OSError
        If it cannot be written; no part of it is left behind.
    """
    path = root / FILE
    with locked(root):
        before = path.stat().st_size if path.exists() else 0
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{name} {' '.join(line)}\n")
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(path, before)
            raise


def locked(root: Path) -> FileLock:
    """Return a lock that keeps others from adding lines while the manifest is written anew."""
    return FileLock(root / ".locks" / f"{FILE}.lock")


def write(root: Path, lines: Mapping[str, Line]) -> None:
    """Replace the manifest, one line per path, sorted; hold `locked` while the lines are found."""
    text = "".join(f"{name} {' '.join(lines[name])}\n" for name in sorted(lines))
    put(root / FILE, text.encode())


def tidy(root: Path) -> None:
    """Sort the manifest and leave one line per path, those of files that still exist."""
    with locked(root):
        lines = read(root)
        folders = {os.path.dirname(name) for name in lines}
        listed = {folder: _listed(root / folder) for folder in folders}
        kept = {
            name: line
            for name, line in lines.items()
            if os.path.basename(name) in listed[os.path.dirname(name)]
        }
        if kept or lines:
            write(root, kept)


def _listed(folder: Path) -> frozenset[str]:
    """Return the names that stand in a folder; none if there is no such folder."""
    try:
        return frozenset(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
