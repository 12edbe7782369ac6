"""Where the vectors of an optimiser lie in memory.

A step of Adam reads and writes four long vectors side by side. It takes three times as long where
they do not start at a cache line, or where all of them start at the same place of a memory page,
so that they compete for the same lines of the cache. Numbers do not depend on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PAGE = 1024
"""Numbers of single precision in a page of memory."""

_QUARTER = _PAGE // 4


def rows_apart(rows: int, size: int, first_quarter: int = 0) -> NDArray[np.float32]:
    """Return zeros (rows, size) whose rows start in one quarter of a memory page after the other.

    Parameters
    ----------
    rows
        Number of rows.
    size
        Numbers of a row.
    first_quarter
        Where in a page the first row starts: at its beginning (0) to its last quarter (3).
    """
    stride = -(-size // _PAGE) * _PAGE + _QUARTER
    memory = np.zeros(2 * _PAGE + rows * stride, np.float32)
    start = -(memory.ctypes.data // memory.itemsize) % _PAGE + first_quarter * _QUARTER
    return memory[start : start + rows * stride].reshape(rows, stride)[:, :size]
