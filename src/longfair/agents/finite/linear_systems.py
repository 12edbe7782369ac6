"""Linear systems of policies: small ones by factorisation, large ones by iteration."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from longfair.arrays import FloatArray
from longfair.errors import UsageError

LARGEST_FACTORISED = 5000
"""Systems with more unknowns are iterated: their factors could fill the memory."""

ENDLESS = (
    "episodes of this problem need not end: give it a horizon with unrolled(steps), or a discount "
    "with discounted(factor), and ask what that returns"
)
"""What is said where sums over all steps have no finite value."""

_CERTAIN = 1e-12
"""How far chances that sum to one may miss it by rounding."""

_SETTLED = 1e-14
"""Relative change after which an iteration has settled."""

_LONGEST = 100_000
"""Iterations after which a system is given up."""


def require_end(moved: csr_array) -> None:
    """Refuse a policy under which episodes may go on for ever: its sums have no finite value.

    Parameters
    ----------
    moved
        Shape (S, S): chance to go from every state to every other, discounted.

    Raises
    ------
    UsageError
        Saying what gives such a problem an end.
    """
    ends = moved.sum(axis=1) < 1.0 - _CERTAIN
    while not ends.all():
        before = ends
        ends = before | (moved @ before > 0.0)
        if (ends == before).all():
            raise UsageError(ENDLESS)


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
