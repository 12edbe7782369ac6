"""Checks shared by the parameter records of all environments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from longfair.errors import UsageError, near_misses

_SUM_TOLERANCE = 1e-9


def require_integer(field: str, value: Any, *, low: int) -> None:
    """Raise `UsageError` unless `value` is an integer of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise UsageError(f"{field}={value!r}: give an integer of at least {low}")


def require_number(
    field: str, value: Any, *, low: float = -math.inf, high: float = math.inf
) -> None:
    """Raise `UsageError` unless `value` is a finite number in [`low`, `high`]."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= high:
        raise UsageError(f"{field}={value!r}: give a finite number in [{low:g}, {high:g}]")


def require_probabilities(field: str, values: Sequence[float], *, size: int) -> None:
    """Raise `UsageError` unless `values` are `size` numbers in [0, 1]."""
    if len(values) != size:
        raise UsageError(f"{field} has {len(values)} entries: give {size}")
    for position, value in enumerate(values):
        require_number(f"{field}[{position}]", value, low=0.0, high=1.0)


def require_distribution(field: str, values: Sequence[float], *, size: int) -> None:
    """Raise `UsageError` unless `values` are `size` probabilities that sum to one."""
    require_probabilities(field, values, size=size)
    if abs(sum(values) - 1.0) > _SUM_TOLERANCE:
        raise UsageError(f"{field} sums to {sum(values):g}: give probabilities that sum to 1")


def preset(record: type[Any], name: str) -> Any:
    """Return the named preset of a parameter record.

    Parameters
    ----------
    record
        A parameter dataclass whose `PRESETS` lists the names of its preset class methods.
    name
        The preset asked for.

    Raises
    ------
    UsageError
        When the record has no such preset.
    """
    if name not in record.PRESETS:
        raise UsageError(
            f"{record.__name__} has no preset {name!r}: {near_misses(name, record.PRESETS)}"
        )
    return getattr(record, name)()
