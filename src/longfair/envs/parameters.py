"""Presets of the parameter records of all environments."""

from __future__ import annotations

from typing import Any

from longfair.errors import UsageError, near_misses
from longfair.settings import shortened


def named_preset(record: type[Any], name: str) -> Any:
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
    if not isinstance(name, str):
        raise UsageError(f"preset={shortened(name)}: give one of {', '.join(record.PRESETS)}")
    if name not in record.PRESETS:
        raise UsageError(
            f"{record.__name__} has no preset {shortened(name)}: "
            f"{near_misses(name, record.PRESETS)}"
        )
    return getattr(record, name)()
