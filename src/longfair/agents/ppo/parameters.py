"""Taking over parameters from another model: all that is given is looked at before any is set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longfair.errors import UsageError, near_misses
from longfair.settings import shortened

Nested = dict[str, dict[str, NDArray[Any]]]
"""Arrays by the object they belong to, and by their name."""


def fitting(own: Nested, given: Mapping[str, Any], exact_match: bool) -> Nested:
    """Return given parameters as arrays of the shapes and types of a model's own.

    Parameters
    ----------
    own
        The model's parameters.
    given
        What shall replace them: of every object a mapping of names to tensors, arrays or numbers.
    exact_match
        Whether nothing may be missing.

    Raises
    ------
    UsageError
        If something is missing that may not be, or does not belong to the model, or has another
        shape, or is not finite.
    """
    _require_names("parameters", own, given, exact_match)
    found: Nested = {}
    for place, entries in given.items():
        where = f"parameters[{place!r}]"
        if not isinstance(entries, Mapping):
            raise UsageError(f"{where}={shortened(entries)}: give a mapping of names to arrays")
        _require_names(where, own[place], entries, exact_match)
        found[place] = {
            name: _alike(f"{where}[{name!r}]", own[place][name], value)
            for name, value in entries.items()
        }
    return found


def _require_names(
    what: str, own: Mapping[str, Any], given: Mapping[str, Any], exact_match: bool
) -> None:
    for name in given:
        if name not in own:
            raise UsageError(f"{what} has no {name!r}: {near_misses(str(name), own)}")
    missing = sorted(own.keys() - given.keys())
    if exact_match and missing:
        raise UsageError(
            f"{what} lacks {missing[0]!r}: give all that get_parameters returns, or "
            "exact_match=False"
        )


def finite(value: Any) -> NDArray[Any] | None:
    """Return a value as an array; None where it is not one of finite numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # ragged lists, tensors that need a gradient
        return None
    kind = array.dtype.kind
    return array if kind in "biu" or (kind == "f" and np.isfinite(array).all()) else None


def _alike(name: str, own: NDArray[Any], value: Any) -> NDArray[Any]:
    array = finite(value)
    if array is None:
        raise UsageError(f"{name}={shortened(value)}: give finite numbers")
    if array.shape != own.shape:
        raise UsageError(
            f"{name} has shape {array.shape}, that of this model {own.shape}: both need the same "
            "net_arch, strategy and environment"
        )
    return array.astype(own.dtype)
