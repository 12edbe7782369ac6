r"""The step of constrained policy optimisation (Achiam et al. 2017, Section 6).

Near the present policy the reward is linear with gradient g, the cost of an episode exceeds its
limit by c and is linear with gradient b, and the divergence is quadratic with the Fisher matrix H.
The step solves

.. math:: \max_x\ g^\top x \quad \text{such that} \quad c + b^\top x \le 0, \quad
          \tfrac12 x^\top H x \le \delta .

With :math:`q = g^\top H^{-1} g`, :math:`r = g^\top H^{-1} b` and :math:`s = b^\top H^{-1} b` the
linear bound is :math:`|c| / \sqrt s` away, and the trust region reaches :math:`\sqrt{2\delta}` far.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from longfair.arrays import FloatArray

Product = Callable[[FloatArray], FloatArray]
"""Multiplies a vector (P,) by the matrix H (P, P)."""

Case = Literal["free", "bound", "recovery"]
CASES: tuple[Case, ...] = get_args(Case)
"""The limit is kept all over the trust region; in a part of it; or nowhere in it."""

_RESIDUAL = 1e-6
"""Relative residual at which the conjugate gradient ends."""

_SMALLEST = 1e-12
"""Below this s the cost has no gradient; times q, the least that is left of q beside the cost."""


class Step(NamedTuple):
    """A step, how it came about, and what the local model expects of it."""

    vector: FloatArray
    """(P,): what to add to the parameters."""
    case: Case
    gain: float
    """Change of the reward."""
    cost: float
    """Change of the cost."""


class Moved(NamedTuple):
    """Where a step leads, by the samples."""

    gain: float
    """Change of the reward."""
    cost: float
    """Change of the cost."""
    divergence: float
    """Mean divergence from where it began."""


def trust_region_step(
    gradient: FloatArray,
    cost_gradient: FloatArray,
    excess: float,
    product: Product,
    radius: float,
    iterations: int,
) -> Step:
    """Return the best step for the reward that keeps the constraint and stays near.

    Where no near policy keeps the constraint, the step lowers the cost as much as possible.

    Parameters
    ----------
    gradient, cost_gradient
        g and b, (P,) each.
    excess
        c: cost less its limit.
    product
        Multiplies by H, which is positive definite.
    radius
        The trust region's delta.
    iterations
        Iterations of the conjugate gradient.
    """
    to_reward = solved(product, gradient, iterations)
    to_cost = solved(product, cost_gradient, iterations)
    q, r, s = (
        float(one @ other)
        for one, other in (
            (gradient, to_reward),
            (gradient, to_cost),
            (cost_gradient, to_cost),
        )
    )
    within_reach = s > _SMALLEST and excess**2 / s < 2.0 * radius
    vector, case = np.zeros_like(gradient), CASES[0]
    if excess > 0.0 and s > _SMALLEST and not within_reach:
        vector, case = -math.sqrt(2.0 * radius / s) * to_cost, CASES[2]
    elif within_reach and q > 0.0:
        of_region, of_cost = multipliers(q, r, s, excess, radius)
        vector, case = (to_reward - of_cost * to_cost) / of_region, CASES[1]
    elif q > 0.0:
        vector = math.sqrt(2.0 * radius / q) * to_reward
    return Step(vector, case, float(gradient @ vector), float(cost_gradient @ vector))


def solved(product: Product, right: FloatArray, iterations: int) -> FloatArray:
    """Solve H x = right (P,) by some iterations of the conjugate gradient.

    It ends where the products, which are of single precision, have nothing more to say.
    """
    size = len(right)
    matrix = LinearOperator((size, size), matvec=product, dtype=np.float64)
    solution: FloatArray = cg(matrix, right, rtol=_RESIDUAL, maxiter=iterations)[0]
    return solution


def multipliers(q: float, r: float, s: float, excess: float, radius: float) -> tuple[float, float]:
    r"""Return the multipliers of the trust region and of the constraint, in closed form.

    For a multiplier :math:`\lambda` of the region that of the constraint is
    :math:`\nu = \max(0, (\lambda c + r) / s)`, so the dual has two branches:

    .. math::

        D(\lambda) = \begin{cases}
            \dfrac{q - r^2/s}{2\lambda} + \dfrac{\lambda}{2} (2\delta - c^2/s) - \dfrac{rc}{s}
                & \text{where } \lambda c + r > 0, \text{ the constraint being active,} \\
            \dfrac{q}{2\lambda} + \lambda\delta & \text{elsewhere.}
        \end{cases}

    Each is lowest at one point, or at the nearest end of its interval (Achiam et al., Appendix
    10.2). The lower of the two wins.

    Parameters
    ----------
    q, r, s, excess, radius
        As above, with ``excess**2 / s < 2 * radius``.
    """
    first, second = max(q - r**2 / s, _SMALLEST * q), 2.0 * radius - excess**2 / s
    active, inactive = _intervals(r, excess)
    candidates = []
    if active[0] < active[1]:
        found = _within(math.sqrt(first / second), active)
        value = first / (2.0 * found) + 0.5 * found * second - r * excess / s
        candidates.append((value, found))
    if inactive[0] < inactive[1]:
        found = _within(math.sqrt(q / (2.0 * radius)), inactive)
        candidates.append((q / (2.0 * found) + found * radius, found))
    _, of_region = min(candidates)
    return of_region, max(0.0, (of_region * excess + r) / s)


def _intervals(r: float, excess: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return where, for a multiplier above 0, the constraint is active, and where it is not."""
    everywhere, nowhere = (0.0, math.inf), (0.0, 0.0)
    if excess == 0.0:
        return (everywhere, nowhere) if r > 0.0 else (nowhere, everywhere)
    border = max(-r / excess, 0.0)
    below, above = (0.0, border), (border, math.inf)
    return (above, below) if excess > 0.0 else (below, above)


def _within(value: float, interval: tuple[float, float]) -> float:
    return min(max(value, interval[0]), interval[1])


ACCEPTED_SHARE = 0.1
"""Share of the predicted gain that the line search wants as coded."""


def accepted(
    step: Step, length: float, at: Callable[[float], Moved], excess: float, radius: float
) -> bool:
    """Say whether the samples bear out a length of a step.

    Parameters
    ----------
    step
        The whole step.
    length
        By what it is multiplied.
    at
        Tells where a length leads.
    excess
        Cost less its limit before the step. While it is positive the cost may not rise, and the
        reward may fall.
    radius
        Divergence allowed.
    """
    moved = at(length)
    return (
        moved.divergence <= radius
        and moved.cost <= max(-excess, 0.0)
        and (excess > 0.0 or moved.gain >= 0.0)
    )


def accepted_as_coded(
    step: Step, length: float, at: Callable[[float], Moved], excess: float, radius: float
) -> bool:
    """Say the same as F-PPO's code does: of the length squared, and by the cost's linear model."""
    moved = at(length**2)
    return (
        moved.divergence <= radius
        and length**2 * step.cost <= max(-excess, 0.0)
        and (step.case == "recovery" or moved.gain >= ACCEPTED_SHARE * length * step.gain)
    )


def backtracked(accepted: Callable[[float], bool], shrinking: float, trials: int) -> float:
    """Return the first length of a step that is accepted, or 0.

    Parameters
    ----------
    accepted
        Whether a length will do.
    shrinking
        What the length, at first 1, is multiplied by after a refusal.
    trials
        Lengths tried.
    """
    lengths = (shrinking**trial for trial in range(trials))
    return next((length for length in lengths if accepted(length)), 0.0)
