"""What a bank with a memory learns, as tables for reading. Nothing here decides a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from longfair.agents.fair_mdp.memory_q_learning import MemoryQLearning
from longfair.agents.fair_mdp.model import FloatArray
from longfair.runs.statistics import estimate
from longfair.runs.tidy import final, written

NAMES: Mapping[str, str] = {
    "fairqcm": "FairQCM",
    "min": "the same memory, nothing imagined",
    "memoryless": "no memory",
}
"""Methods as a reader knows them."""

GAPS: Mapping[str, str] = {"as_coded": "gap_dp", "as_published": "gap_dp_discounted"}
"""The gap that each variant bounds."""

_RATES: Mapping[str, str] = {"as_coded": "as_coded", "as_published": "discounted"}


def levels(agent: MemoryQLearning, readings: FloatArray, *, discounted: bool) -> pd.DataFrame:
    """Lay out what a bank does at each level of its balance that it reads.

    Parameters
    ----------
    agent
        The bank.
    readings
        (K,): how often each level is read; see `MemoryQLearning.readings`.
    discounted
        Whether lending rates are discounted.

    Returns
    -------
    pandas.DataFrame
        Index balance: price of a loan to the group that is ahead, profit of an episode, majority's
        lending rate less minority's, and the share of applicants that meet this level. Levels that
        fewer than one in a thousand meet are left out.
    """
    outcome = agent.outcomes()
    rates = outcome.rates(discounted=discounted)
    table = pd.DataFrame(
        {
            "price": agent.books.prices,
            "profit": outcome.profit,
            "gap": rates[:, 1] - rates[:, 0],
            "read by": readings,
        },
        index=pd.Index(agent.books.balances, name="balance"),
    )
    return table[readings > 0.001]


def best(numbers: Mapping[str, Any], variant: str, tolerance: float = 0.1) -> pd.Series[float]:
    """Return profit, gap and price of the best policy within a tolerance.

    Parameters
    ----------
    numbers
        As from `exact_results.stored`.
    variant
        Whose gap.
    tolerance
        One of the stored ones.
    """
    rows = pd.DataFrame(numbers["optima"])
    chosen = rows[
        (rows["notion"] == "dp")
        & (rows["rates"] == _RATES[variant])
        & (rows["tolerance"] == tolerance)
    ]
    return chosen.iloc[0][["profit", "gap", "price"]].astype(float)


def summary(
    results: pd.DataFrame, variant: str, early: int, numbers: Mapping[str, Any] | None
) -> pd.DataFrame:
    """Lay out what banks have learned, early and at the end, above the best policy.

    Parameters
    ----------
    results
        Of the experiment, as from `tidy.stored`.
    variant
        Which variant.
    early
        Decisions before the early measurement.
    numbers
        As from `exact_results.stored`; None leaves the best policy out.

    Returns
    -------
    pandas.DataFrame
        Index method and decisions: profit and gap (mean with interval), the range of the gap over
        seeds, and the mean price.
    """
    rows = final(results[results["variant"] == variant])
    rows = rows[rows["group"] < 0]
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for ending, steps in (("_early", early), ("", int(results["step"].max()))):
        for method in rows["method"].unique():
            values = rows[rows["method"] == method].pivot(
                index="seed", columns="metric", values="value"
            )
            gap = values[GAPS[variant] + ending]
            name = f"{method} {variant}{ending}"
            lines[NAMES[str(method)], f"{steps:,}"] = {
                "profit": written(estimate(values["profit" + ending], name=f"{name} profit"), 4),
                "gap": written(estimate(gap, name=f"{name} gap"), 4),
                "range of the gap": f"{gap.min():.3f} to {gap.max():.3f}",
                # The balance of a bank that does not see it is nobody's price.
                "price": "" if method == "memoryless" else f"{values['price' + ending].mean():.4f}",
            }
    if numbers is not None:
        exact = best(numbers, variant)
        lines["best policy within 0.1", ""] = {
            "profit": f"{exact['profit']:.4f}",
            "gap": f"{exact['gap']:.4f}",
            "range of the gap": "",
            "price": f"{exact['price']:.4f}",
        }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["", "decisions"])
