"""What `predict` of learners and rules takes: one observation per copy, all numbers finite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longfair.errors import UsageError
from longfair.settings import shortened


def observations(
    given: Any, shape: tuple[int, ...] | None = None, single: bool = False
) -> NDArray[Any]:
    """Return what was given as an array of one observation per copy.

    Parameters
    ----------
    given
        (N, ...), at least one.
    shape
        Shape of one observation, where it is known. Else it has an axis or more.
    single
        Whether one observation without the axis of copies will do.

    Raises
    ------
    UsageError
        If it is of another shape, or holds what is no finite number.
    """
    try:
        seen = np.asarray(given)
    except ValueError:  # rows of different lengths
        seen = np.asarray(None)
    if seen.dtype.kind not in "biuf":
        raise UsageError(f"observation={shortened(given)}: give numbers, a row for every copy")
    if not (single and seen.shape == shape):
        _require_shape(seen, shape)
    finite = np.isfinite(seen)
    if np.count_nonzero(finite) < seen.size:  # half the time of `all` on small arrays
        raise UsageError(f"observation holds {seen[~finite][0]}: give finite numbers")
    return seen


def _require_shape(seen: NDArray[Any], shape: tuple[int, ...] | None) -> None:
    fits = seen.ndim > 1 if shape is None else seen.ndim > 0 and seen.shape[1:] == shape
    if not fits or not len(seen):
        one = "..." if shape is None else ", ".join(map(str, shape))
        raise UsageError(
            f"observation has shape {seen.shape}: give (N, {one}), one of each of N copies"
        )
