"""Linear systems of policies: small ones by factorisation, large ones by iteration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from longfair.errors import UsageError

FloatArray = NDArray[np.float64]

LARGEST_FACTORISED = 5000
"""Systems with more unknowns are iterated: their factors could fill the memory."""

_SETTLED = 1e-14
"""Relative change after which an iteration has settled."""

_LONGEST = 100_000
"""Iterations after which a system is given up."""


def fixed_point(matrix: csr_array, constant: FloatArray) -> FloatArray:
    """Solve `x = constant + matrix @ x`.

    Parameters
    ----------
    matrix
        Shape (S, S), sparse; with a discount its powers vanish.
    constant
        Shape (S,).

    Raises
    ------
    UsageError
        If the powers of the matrix do not vanish fast enough to iterate.
    """
    if len(constant) <= LARGEST_FACTORISED:
        system = (eye_array(len(constant)) - matrix).tocsc()
        return np.asarray(spsolve(system, constant), dtype=np.float64)
    found: FloatArray = constant
    for _ in range(_LONGEST):
        following: FloatArray = constant + matrix @ found
        change = float(np.abs(following - found).max())
        found = following
        if change <= _SETTLED * float(np.abs(found).max()):
            return found
    raise UsageError(
        f"a problem with {len(constant):,} states did not settle within {_LONGEST:,} iterations: "
        "give a smaller discount, or at most "
        f"{LARGEST_FACTORISED:,} states, or stages if episodes end"
    )
