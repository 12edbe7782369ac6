"""Small histories of loans, and what three notions of fairness over time say of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from longfair.metrics import (
    bias,
    long_term_benefit_rate,
    signed_gap_sum,
    squared_gap_sum,
)
from longfair.metrics.aggregation import Trajectory


def as_table(pair: Iterable[Trajectory]) -> pd.DataFrame:
    """Lay out trajectories with one row per trajectory, group and day."""
    rows = [
        (trajectory.name, group, day, supply[column], demand[column])
        for trajectory in pair
        for column, group in enumerate(trajectory.groups)
        for day, (supply, demand) in enumerate(
            zip(trajectory.supply, trajectory.demand, strict=True)
        )
    ]
    return pd.DataFrame(rows, columns=["trajectory", "group", "step", "supply", "demand"])


def three_notions(supply: Any, demand: Any) -> dict[str, Any]:
    """Return what three notions report of supply and demand, both of shape (..., T, 2)."""
    return {
        "signed sum": signed_gap_sum(supply, demand),
        "squared sum": squared_gap_sum(supply, demand),
        "ELBERT bias": bias(long_term_benefit_rate(supply, demand, axis=-2)),
    }


def described(served: Any, applicants: Any) -> list[Any]:
    """Write loans and chances of a group on each day, how many in all, and the rate over all."""
    chances = [f"{loans}/{asked}" for loans, asked in zip(served, applicants, strict=True)]
    return [*chances, served.sum(), f"{served.sum() / applicants.sum():.0%}"]
