"""Names of a package that are imported when somebody asks for them, and not before."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def names_from(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, so that what is heavy to import waits until it is used.

    Parameters
    ----------
    package
        The package's ``__name__``.
    places
        The module that defines each name.

    Returns
    -------
    callable
        From a name to the object; raises `AttributeError` for a name that has no place.
    """

    def imported(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(places[name]), name)

    return imported
