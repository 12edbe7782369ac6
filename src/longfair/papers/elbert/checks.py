"""Exact statements of the ELBERT paper, checked by computing them.

Nothing here is random or trained: a statement holds or it does not. The package gives
them the names that the claims use.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from longfair.metrics.aggregation import (
    Trajectory,
    signed_gap_sum,
    squared_gap_sum,
    two_trajectories,
)
from longfair.metrics.benefit import bias, long_term_benefit_rate, soft_bias
from longfair.runs.claims import CheckResult

CROWD = 100
"""Size of the large crowds in the paper's example."""

ROUNDING = 1e-12
"""How far a floating-point result may be from the exact one."""

SHARPNESS = (0.1, 1.0, 20.0, 100.0)
GROUPS = (2, 3, 5, 8)
DRAWS = 2000


def temporal_discrimination() -> CheckResult:
    """Section 2.3: what three notions say of the two trajectories, in exact fractions.

    The signed sum is 0 for A and 99/100 for B, the squared sum 0 and 10001/10000, and the bias of
    the long-term benefit rates 99/101 for both.  The library's floating-point functions must give
    the same numbers.

    Returns
    -------
    CheckResult
        Computed: signed_a, signed_b, squared_a, squared_b, elbert_a, elbert_b.
    """
    wanted = {
        "A": (Fraction(0), Fraction(0), Fraction(99, 101)),
        "B": (Fraction(99, 100), Fraction(10001, 10000), Fraction(99, 101)),
    }
    passed, computed = True, {}
    for trajectory in two_trajectories(CROWD):
        exact = exact_notions(trajectory)
        floating = _floating_notions(trajectory)
        close = all(
            abs(number - value) <= ROUNDING for number, value in zip(floating, exact, strict=True)
        )
        passed = passed and close and exact == wanted[trajectory.name]
        for notion, value in zip(("signed", "squared", "elbert"), exact, strict=True):
            computed[f"{notion}_{trajectory.name.lower()}"] = float(value)
    detail = (
        "Trajectories A and B: signed sum {signed_a:g} and {signed_b:g}, squared sum "
        "{squared_a:g} and {squared_b:g}, ELBERT bias {elbert_a:.4f} and {elbert_b:.4f}, "
        "in exact fractions and by the library."
    )
    return CheckResult(passed, computed, detail.format(**computed), instances=len(wanted))


def exact_notions(trajectory: Trajectory) -> tuple[Fraction, Fraction, Fraction]:
    """Signed sum, squared sum and ELBERT bias of a trajectory of two groups, as fractions.

    Parameters
    ----------
    trajectory
        Whole numbers of people.

    Returns
    -------
    tuple of Fraction
        Signed sum of the steps' gaps, sum of their squares, bias of the long-term rates.
    """
    gaps = [
        Fraction(supply[0], demand[0]) - Fraction(supply[1], demand[1])
        for supply, demand in zip(trajectory.supply, trajectory.demand, strict=True)
    ]
    first, second = (
        Fraction(
            sum(step[group] for step in trajectory.supply),
            sum(step[group] for step in trajectory.demand),
        )
        for group in (0, 1)
    )
    return sum(gaps, Fraction(0)), sum((gap**2 for gap in gaps), Fraction(0)), abs(first - second)


def soft_bias_bounds() -> CheckResult:
    r"""Proposition 3.3: :math:`b \le b^{soft} \le b + 2\log(M)/\beta`, on many rates.

    The excess of the soft over the exact bias is computed a second time in a form that keeps its
    smallest values: the left inequality is strict for two or more groups, but the excess is soon
    too small to be seen beside the bias.  The right inequality must be an equality where all rates
    are equal, and strict elsewhere.

    Returns
    -------
    CheckResult
        Computed: smallest_excess (of the soft over the exact bias), largest_share (of the allowed
        excess, over unequal rates), share_at_equal_rates, largest_rounding_error.
    """
    generator = np.random.default_rng(33)
    excesses, shares, equal_shares, errors = [], [], [], []
    for groups in GROUPS:
        rates = generator.uniform(0.0, 2.0, size=(DRAWS, groups))
        equal = np.repeat(generator.uniform(0.0, 2.0, size=(DRAWS, 1)), groups, axis=1)
        for beta in SHARPNESS:
            allowed = 2.0 * math.log(groups) / beta
            excess = _excess(rates, beta)
            excesses.append(excess.min())
            shares.append(excess.max() / allowed)
            equal_shares.append(_excess(equal, beta) / allowed)
            errors.append(np.abs(soft_bias(rates, beta) - bias(rates) - excess).max())
    deviation = float(np.abs(np.array(equal_shares) - 1.0).max())
    computed = {
        "smallest_excess": float(min(excesses)),
        "largest_share": float(max(shares)),
        "share_at_equal_rates": float(np.mean(equal_shares)),
        "largest_rounding_error": float(max(errors)),
    }
    passed = (
        computed["smallest_excess"] > 0.0
        and computed["largest_share"] < 1.0
        and deviation <= ROUNDING
        and computed["largest_rounding_error"] <= 100 * ROUNDING
    )
    number = len(GROUPS) * len(SHARPNESS) * DRAWS
    detail = (
        f"On {number} random rate vectors of {GROUPS[0]} to {GROUPS[-1]} groups the soft bias is "
        "above the exact bias, by at most "
        f"{computed['largest_share']:.6f} of the allowed 2 log(M)/beta; at equal rates it uses "
        "all of it."
    )
    return CheckResult(passed, computed, detail, instances=number)


def _excess(rates: np.ndarray, beta: float) -> np.ndarray:
    """Soft minus exact bias without cancellation: the largest term of each sum is taken out."""
    ordered = np.sort(rates, axis=-1)
    below = np.exp(beta * (ordered[:, :-1] - ordered[:, -1:])).sum(axis=-1)
    above = np.exp(-beta * (ordered[:, 1:] - ordered[:, :1])).sum(axis=-1)
    excess: np.ndarray = (np.log1p(below) + np.log1p(above)) / beta
    return excess


def horizon_one() -> CheckResult:
    """Section 2.2: with a horizon of one step the long-term rate is the static rate.

    Exact for every discount.  It does not hold for the evaluation formula of the published code,
    which adds one to the demand of each episode; the check computes by how much.

    Returns
    -------
    CheckResult
        Computed: largest_difference (zero), largest_difference_with_offset.
    """
    generator = np.random.default_rng(26)
    demand = generator.integers(1, 50, size=(DRAWS, 1, 3))  # (cases, one step, groups)
    supply = generator.integers(0, demand + 1)
    static = supply[:, 0] / demand[:, 0]
    differences = [
        np.abs(long_term_benefit_rate(supply, demand, axis=1, discount=discount) - static).max()
        for discount in (1.0, 0.99, 0.5)
    ]
    shifted = long_term_benefit_rate(supply, demand, axis=1, offset=1.0) - static
    computed = {
        "largest_difference": float(max(differences)),
        "largest_difference_with_offset": float(np.abs(shifted).max()),
    }
    detail = (
        f"On {DRAWS} random one-step cases of three groups the long-term rate is exactly "
        "supply / demand; with the code's +1 in the denominator it differs by up to "
        f"{computed['largest_difference_with_offset']:.2f}."
    )
    return CheckResult(computed["largest_difference"] == 0.0, computed, detail, instances=DRAWS)


def _floating_notions(trajectory: Trajectory) -> tuple[float, float, float]:
    supply, demand = trajectory.supply, trajectory.demand
    return (
        float(signed_gap_sum(supply, demand)),
        float(squared_gap_sum(supply, demand)),
        float(bias(long_term_benefit_rate(supply, demand, axis=0))),
    )
