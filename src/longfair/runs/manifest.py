"""The manifest of a store: one line per result, committed, so that git shows every change.

A line holds a path, the digest of the run's key, the digest of its file, and the class of the
processor it was computed on. The runner adds a line for every result it writes; `tidy` sorts them
and leaves the last of each path.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from longfair.errors import UsageError
from longfair.runs.index import Entry

FILE = "MANIFEST"
_DIGITS = 16
"""Digits of a key that are written; the file holds all of them."""


class Line(NamedTuple):
    """What the manifest says of one result."""

    file: str
    """SHA-256 of the whole file, in hexadecimal."""
    key: str
    """First digits of the digest of the run's key."""
    processor: str
    """Class of the processor."""


def line_of(entry: Entry) -> Line:
    """Return the line that a result makes."""
    return Line(entry.file, entry.key[:_DIGITS], entry.processor.replace(" ", "_"))


def read(root: Path) -> dict[str, Line]:
    """Read the manifest of a store.

    Returns
    -------
    dict of str to Line
        By path relative to the store; empty if there is none.

    Raises
    ------
    UsageError
        If a line is malformed.
    """
    try:
        text = (root / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split(" ")
        if len(parts) != 4:
            raise UsageError(
                f"{root / FILE}, line {number}: {line!r} is not 'path file key processor': "
                "restore it from git, or delete it and 'longfair verify --write' makes it again"
            )
        found[parts[0]] = Line(*parts[1:])
    return found


def add(root: Path, name: str, line: Line) -> None:
    """Append a line; what an earlier line of the same path says no longer counts."""
    with FileLock(root / ".locks" / f"{FILE}.lock"), (root / FILE).open("a") as file:
        file.write(f"{name} {' '.join(line)}\n")


def write(root: Path, lines: Mapping[str, Line]) -> None:
    """Replace the manifest, one line per path, sorted."""
    text = "".join(f"{name} {' '.join(lines[name])}\n" for name in sorted(lines))
    unfinished = root / f".{FILE}.tmp"
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(root / FILE)


def tidy(root: Path) -> None:
    """Sort the manifest and leave one line per path, those of results that still exist."""
    with FileLock(root / ".locks" / f"{FILE}.lock"):
        lines = read(root)
        kept = {name: line for name, line in lines.items() if (root / name).exists()}
        if kept or lines:
            write(root, kept)
