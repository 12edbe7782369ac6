"""Let a long run go on where it was stopped.

A checkpoint is one file of named arrays and a piece of JSON. It belongs to one key: a run whose
settings, revisions or versions have changed does not find it. It also tells how long the run has
taken so far, so that a result names the cost of all its parts. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longfair.runs.stopwatch import Seconds, Stopwatch
from longfair.runs.writing import put

SECONDS_BETWEEN = 120.0
"""A run that is stopped loses about this much, and the rollout it was in."""

_SETTINGS = "settings"


@dataclass
class Checkpoint:
    """Where one run keeps what it needs to go on.

    Parameters
    ----------
    path
        The file; its folder is made when it is first needed.
    key
        Digest of the run's key.
    seconds
        Seconds between two writings, see `due`.
    watch
        What measures the run. Reading adds the time of the parts that the run goes on from.
    """

    path: Path
    key: str
    seconds: float = SECONDS_BETWEEN
    watch: Stopwatch = field(default_factory=Stopwatch, repr=False)
    _last: float = field(default_factory=time.monotonic, repr=False)

    def due(self) -> bool:
        """Say whether the last writing, or the start, is long enough ago."""
        return time.monotonic() - self._last >= self.seconds

    def write(self, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
        """Replace the checkpoint, in one step.

        A checkpoint that cannot be written (a full disk) costs time later, never the run now.

        Parameters
        ----------
        arrays
            Arrays of numbers or truth values, by name.
        settings
            Plain values that JSON can hold.
        """
        content = json.dumps(
            {"key": self.key, "settings": dict(settings), "taken": self.watch.seconds()}
        )
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{f"_{k}": v for k, v in arrays.items()},
                 **{_SETTINGS: np.array(content)})  # fmt: skip
        with contextlib.suppress(OSError):
            put(self.path, buffer.getbuffer())
        self._last = time.monotonic()

    def read(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """Return arrays and settings as written.

        Returns
        -------
        tuple or None
            None if there is no checkpoint, it belongs to another key, or it is damaged: the run
            then starts from the beginning.
        """
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                content = json.loads(str(archive[_SETTINGS]))
                arrays = {name[1:]: archive[name] for name in archive.files if name != _SETTINGS}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        if content.get("key") != self.key:
            return None
        self.watch.earlier = Seconds(*content.get("taken", ()))  # older ones do not tell
        return arrays, content["settings"]

    def remove(self) -> None:
        """Delete the file, if there is one: the run has its result."""
        with contextlib.suppress(OSError):
            self.path.unlink()
