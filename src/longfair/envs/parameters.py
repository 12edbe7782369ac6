"""Parameter records of all environments: named presets, and what makers stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from longfair.errors import UsageError, near_misses
from longfair.settings import EpisodeLength, checked, shortened, validated


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


@validated
def chosen_params(
    record: type[Any],
    preset: str | None,
    params: Any,
    episode_length: EpisodeLength | None,
    *,
    default: str | None = None,
) -> Any:
    """Return the parameters that the arguments of `make` and `make_vec` stand for.

    Parameters
    ----------
    record
        The parameter dataclass.
    preset
        Name of a preset; `default` when neither this nor `params` is given.
    params
        A record of parameters instead of a preset.
    episode_length
        Replaces that of the preset or the record.
    default
        Name of a preset; the first of the record if None.

    Raises
    ------
    UsageError
        When both a preset and a record are given, or the preset is unknown.
    """
    if preset is not None and params is not None:
        raise UsageError(
            f"preset={shortened(preset)} beside params={shortened(params)}: give preset or params, "
            "not both"
        )
    if checked("params", params, record | None) is None:
        params = named_preset(record, preset or default or record.PRESETS[0])
    return params if episode_length is None else replace(params, episode_length=episode_length)
