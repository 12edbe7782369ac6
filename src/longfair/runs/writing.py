"""Write a file in one step: whoever reads it finds the old one or the new one, whole."""

from __future__ import annotations

import os
from pathlib import Path


def put(path: Path, content: bytes | memoryview) -> None:
    """Write a file next to its place, then move it there.

    Parameters
    ----------
    path
        The file; its folder is made.
    content
        All of it.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
