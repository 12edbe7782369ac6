"""One result: a Parquet file that holds the numbers, where they came from, and digests of both.

A file is written in one step, so one that exists is complete. Reading checks everything: a number,
a row or a word of the provenance that was changed after writing is found, and named in one line.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longfair.errors import FaultError, UsageError
from longfair.runs.keys import key_in
from longfair.runs.tables import SCHEMA
from longfair.runs.writing import put
from longfair.settings import shortened

ENDING = ".parquet"

_PROVENANCE = b"longfair"
_DIGESTS = b"longfair.digests"
_TEXT, _WHOLE, _NUMBER = (str,), (int,), (int, float)
_FORM: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("experiment", "profile", "method", "variant", "key"), _TEXT),
    **dict.fromkeys(("config", "revisions", "versions"), (dict,)),
    "seed": _WHOLE,
}
"""What every provenance has, and of which types."""

_FORM_IF_THERE: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("processor", "features", "system", "python", "source"), _TEXT),
    **dict.fromkeys(("finished", "longfair", "same_as"), _TEXT),
    **dict.fromkeys(("kernels", "carried"), (dict,)),
    **dict.fromkeys(("cores", "steps"), _WHOLE),
    **dict.fromkeys(("core_seconds", "wall_seconds", "compile_seconds"), _NUMBER),
    "steps_per_second": (*_NUMBER, type(None)),
    "commit": (*_TEXT, type(None)),
    "dirty": (bool, type(None)),
}
"""What a provenance may have, too."""

_FORM_WITHIN = {"revisions": _WHOLE, "versions": _TEXT, "kernels": _TEXT}
"""Types of what some of its mappings hold."""


class DamagedResultError(FaultError):
    """A stored file that cannot be trusted; the message is one line with the reason."""


def write(path: Path, table: pa.Table, provenance: Mapping[str, Any]) -> None:
    """Write a result in one step.

    Parameters
    ----------
    path
        The file; its folder is made.
    table
        Columns of `longfair.runs.tables.SCHEMA`.
    provenance
        Plain values that JSON can hold; at least those that make the key, and the identity.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    words = json.dumps(dict(provenance), sort_keys=True, allow_nan=False).encode("utf-8")
    digests = {"content": content_digest(table), "provenance": hashlib.sha256(words).hexdigest()}
    metadata = {_PROVENANCE: words, _DIGESTS: json.dumps(digests).encode("utf-8")}
    told, buffer = table.replace_schema_metadata(metadata), io.BytesIO()
    pq.write_table(told, buffer, compression="zstd", write_page_checksum=True)
    put(path, buffer.getbuffer())


def read_table(path: Path, sound: str) -> pa.Table:
    """Read the numbers of a result, as `read` does, and check only what was not checked before.

    Parameters
    ----------
    path
        The file.
    sound
        SHA-256 of the bytes that `examined` found nothing wrong with. Other bytes are examined.
    """
    content = _content(path)
    if hashlib.sha256(content).hexdigest() != sound:
        return examined(path, content)[0]
    return _parsed(path, content).replace_schema_metadata(None)


def read(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Read a result and check everything that can be checked.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    table : pyarrow.Table
        Columns of `longfair.runs.tables.SCHEMA`.
    provenance : dict
        The provenance.

    Raises
    ------
    DamagedResultError
        If the file cannot be read, has another schema or no digests, belongs to another run than
        its name says, or its numbers or its provenance are not those that were written.
    """
    return examined(path, _content(path))


def examined(path: Path, content: bytes) -> tuple[pa.Table, dict[str, Any]]:
    """Check what a file holds, as `read` does.

    Parameters
    ----------
    path
        The file, whose name says which run it belongs to.
    content
        Its bytes.
    """
    table = _parsed(path, content)
    if not table.schema.equals(SCHEMA, check_metadata=False):
        raise damaged(path, _other_columns(table.schema))
    provenance, content_then = _checked_metadata(table.schema.metadata or {}, path)
    if content_digest(table) != content_then:
        raise damaged(path, "its numbers are not those that were written: somebody changed them")
    if not np.isfinite(table.column("value").to_numpy()).all():
        raise damaged(path, "it holds a value that is not finite")
    return table.replace_schema_metadata(None), provenance


def _other_columns(schema: pa.Schema) -> str:
    """Say what columns are instead of those of a result."""
    if schema.names != SCHEMA.names:
        return f"its columns are {', '.join(schema.names)}"
    for given, wanted in zip(schema, SCHEMA, strict=True):
        if not given.equals(wanted):
            return f"its column {wanted.name} is {_kind(given)}, where a result has {_kind(wanted)}"
    raise AssertionError("the columns are those of a result")


def _kind(field: pa.Field) -> str:
    return f"{field.type}{' or null' if field.nullable else ''}"


def bytes_of(path: Path) -> bytes:
    """Read a regular file, and nothing else: a pipe would be waited for without end.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return path.read_bytes()


def _content(path: Path) -> bytes:
    try:
        return bytes_of(path)
    except OSError as error:
        raise unreadable(path, error) from error


def _parsed(path: Path, content: bytes) -> pa.Table:
    source = pa.BufferReader(content)
    try:
        with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file:
            return file.read(use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def content_digest(table: pa.Table) -> str:
    """Digest of the rows of a table in their order, whatever the encoding of the columns.

    Parameters
    ----------
    table
        Columns of `longfair.runs.tables.SCHEMA`.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    digest = hashlib.sha256()
    for name in ("phase", "metric"):
        words = table.column(name).combine_chunks().dictionary_encode()
        digest.update(json.dumps(words.dictionary.to_pylist()).encode("utf-8"))
        digest.update(np.ascontiguousarray(words.indices.to_numpy()).tobytes())
    for name in ("step", "group", "value"):
        digest.update(np.ascontiguousarray(table.column(name).to_numpy()).tobytes())
    return digest.hexdigest()


def _checked_metadata(metadata: Mapping[bytes, bytes], path: Path) -> tuple[dict[str, Any], str]:
    """Return the provenance, and the digest that the content had when it was written."""
    try:
        words, digests = metadata[_PROVENANCE], json.loads(metadata[_DIGESTS])
        content, expected = str(digests["content"]), str(digests["provenance"])
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, "it has no provenance with digests") from error
    if hashlib.sha256(words).hexdigest() != expected:
        raise damaged(path, "its provenance is not what was written: somebody changed it")
    try:
        provenance = json.loads(words)
    except ValueError as error:
        raise damaged(path, "its provenance is no JSON") from error
    _require_form(provenance, path)
    named = "{experiment}/{profile}/{method}.{variant}.{seed:03d}".format(**provenance) + ENDING
    if not path.absolute().as_posix().endswith(f"/{named}"):
        raise damaged(path, f"it holds the result of {named}")
    if key_in(provenance).digest != provenance["key"]:
        raise damaged(path, "its key does not follow from its settings, seed and versions")
    return provenance, content


def _require_form(provenance: Any, path: Path) -> None:
    if not isinstance(provenance, dict):
        raise damaged(path, "its provenance is not a mapping")
    there = {name: form for name, form in _FORM_IF_THERE.items() if name in provenance}
    for name, types in (_FORM | there).items():
        value: Any = provenance.get(name)
        within = _FORM_WITHIN.get(name)
        if not _is_of(value, types) or (
            within and not all(_is_of(one, within) for one in value.values())
        ):
            raise damaged(path, f"its provenance has {name}={shortened(value)}")


def _is_of(value: Any, types: tuple[type, ...]) -> bool:
    """Say whether a value has one of the types, a truth value being no number, and is finite."""
    return type(value) in types and not (isinstance(value, float) and not math.isfinite(value))


def printable(name: str) -> str:
    """Return a file's name as it can be printed and stored: bytes that are no UTF-8 escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def text_of(path: Path) -> str:
    """Read a text that is committed with the results.

    Raises
    ------
    UsageError
        If it is not in UTF-8.
    """
    try:
        return bytes_of(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text in UTF-8: restore it from git") from error


def damaged(path: Path, reason: str) -> DamagedResultError:
    """Return the error for a file that cannot be trusted."""
    return DamagedResultError(
        f"damaged result {printable(str(path))}: {reason}; 'longfair run' of its experiment and "
        "profile sets it aside and computes it again"
    )


def unreadable(path: Path, error: BaseException) -> DamagedResultError:
    """Return the error for a file that cannot be opened or is no Parquet file."""
    lines = str(error).splitlines()
    return damaged(
        path, f"it cannot be read, {lines[0].rstrip('. ') if lines else type(error).__name__}"
    )
