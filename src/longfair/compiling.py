"""Compile loops where Numba is installed; run the same loops as plain Python where it is not.

What is compiled is kept beside its file, and compiled anew only once that file changes. So compiled
functions take no constant and no function from other files; a test holds that.

Environments and metrics work without Numba, only slower. Stored runs are always compiled: the
agents that make them need Numba, and its version is part of a run's key.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILED = importlib.util.find_spec("numba") is not None
"""Whether loops are compiled."""


def njit(**options: Any) -> Callable[[Function], Function]:
    """Decorate a function that Numba compiles at its first call, where Numba is installed.

    Parameters
    ----------
    **options
        As `numba.njit` takes them.

    Returns
    -------
    callable
        The decorator. Without Numba it leaves the function as it is.
    """
    if not COMPILED:
        return lambda function: function
    import numba

    decorator: Callable[[Function], Function] = numba.njit(**options)
    return decorator
