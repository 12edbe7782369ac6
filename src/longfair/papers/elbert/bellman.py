"""Executable check of what ELBERT says of constraints on ratios: they have no Bellman equation."""

from __future__ import annotations

from fractions import Fraction

from longfair.runs.claims import CheckResult

Step = tuple[int, int]
"""Supply and demand."""


def no_bellman_equation() -> CheckResult:
    """Show that a long-term rate from now on does not follow from this step and the rate later on.

    A Bellman equation computes a value from the present step and the value of what comes after.
    Two futures with the same rate, one crowded and one not, are joined to the same first step, and
    the rates of the whole differ. So no function of step and later rate gives the rate, while for
    supply and for demand on their own addition does.

    Returns
    -------
    CheckResult
        Computed: later_rate (of both futures), rate_small, rate_large (of first step and future).
    """
    first: Step = (1, 1)
    small, large = [(1, 2)], [(100, 200)]
    later = (rate(small), rate(large))
    whole = (rate([first, *small]), rate([first, *large]))
    additive = all(
        total([first, *future], part) == first[part] + total(future, part)
        for future in (small, large)
        for part in (0, 1)
    )
    passed = later[0] == later[1] and whole[0] != whole[1] and additive
    computed = {
        "later_rate": float(later[0]),
        "rate_small": float(whole[0]),
        "rate_large": float(whole[1]),
    }
    detail = (
        f"Two futures of rate {later[0]} after the same first step {first[0]}/{first[1]} give "
        f"rates {whole[0]} and {whole[1]}; supply and demand on their own add up."
    )
    return CheckResult(passed, computed, detail)


def total(steps: list[Step], part: int) -> int:
    """Return the sum of supplies (part 0) or of demands (part 1)."""
    return sum(step[part] for step in steps)


def rate(steps: list[Step]) -> Fraction:
    """Return total supply over total demand."""
    return Fraction(total(steps, 0), total(steps, 1))
