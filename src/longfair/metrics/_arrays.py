"""Reading the arrays a caller gives, with a one-line message when they cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import checked


def finite(values: ArrayLike, name: str) -> FloatArray:
    """Return `values` as floats; refuse what is not numeric, not finite, or masked."""
    if np.ma.is_masked(values):
        raise UsageError(f"{name} has masked values: leave them out, or fill them")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be an array of numbers: {error}") from None
    if not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise UsageError(f"{name} must be finite; {bad} of its {array.size} values are not")
    return array


def non_negative(values: ArrayLike, name: str) -> FloatArray:
    """Return `values` as finite floats; refuse negative ones."""
    array = finite(values, name)
    if array.size and array.min() < 0.0:
        raise UsageError(f"{name} must not be negative; its smallest value is {array.min():g}")
    return array


def same_shape(first: NDArray[Any], second: NDArray[Any], names: str) -> None:
    """Refuse two arrays whose shapes differ."""
    if first.shape != second.shape:
        raise UsageError(
            f"{names} must have the same shape; given {first.shape} and {second.shape}"
        )


def with_groups(values: ArrayLike, name: str) -> FloatArray:
    """Return `values` as finite floats with at least one group on the last axis."""
    array = finite(values, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise UsageError(f"{name} needs one value per group on its last axis; given {array.shape}")
    return array


def axes_of(axis: int | tuple[int, ...], dimensions: int) -> tuple[int, ...]:
    """Return `axis` as a tuple of non-negative axis numbers; refuse unknown or repeated ones."""
    axis = checked("axis", axis, int | tuple[int, ...])
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if not axes or any(not -dimensions <= entry < dimensions for entry in axes):
        allowed = f"{-dimensions} to {dimensions - 1}" if dimensions else "none"
        raise UsageError(f"axis {axis} does not fit an array of {dimensions} axes; use {allowed}")
    numbers = tuple(entry % dimensions for entry in axes)
    if len(set(numbers)) != len(numbers):
        raise UsageError(f"axis {axis} names the same axis twice; name each axis once")
    return numbers
