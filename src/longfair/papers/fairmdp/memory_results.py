"""What a bank with a memory learns, as tables and figures. Nothing here decides a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from longfair.agents.fair_mdp.memory_q_learning import MemoryQLearning
from longfair.arrays import FloatArray
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.figures import Figure, LineStyle, Words, drawing
from longfair.figures.style import BLACK, GREEN, GREY, PURPLE
from longfair.papers.fairmdp.exact_results import NOTIONS, RATES, in_words, optima_table
from longfair.papers.fairmdp.memory_learner import Meeting
from longfair.papers.fairmdp.notions import Rates
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.runs.statistics import estimate
from longfair.runs.tidy import final, of_arm, written

NAMES: Mapping[str, str] = {
    "fairqcm": "FairQCM",
    "min": "the same memory, nothing imagined",
    "memoryless": "no memory",
}
"""Methods as a reader knows them."""

GAPS: Mapping[str, str] = {"as_coded": "gap_dp", "as_published": "gap_dp_discounted"}
"""The gap that each variant bounds."""

LOOK = Look(
    styles={
        "fairqcm": LineStyle(NAMES["fairqcm"], GREEN, "v"),
        "min": LineStyle(NAMES["min"], PURPLE, "D", (0, (5, 1.5))),
        "memoryless": LineStyle(NAMES["memoryless"], GREY, "x", ":"),
    },
    axes={"profit": "profit of an episode", "gap_dp_discounted": "gap in discounted lending rates"},
    median=True,
)
"""How banks with books appear. Early on single ones end far from all others."""

TOLERANCE = 0.1
"""Largest gap."""


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


def best(numbers: Mapping[str, Any], variant: str) -> pd.Series[float]:
    """Return profit, gap and price of the best policy within the tolerance.

    Parameters
    ----------
    numbers
        As from `exact_results.stored`.
    variant
        Whose gap.
    """
    rates: Rates = "as_coded" if variant == "as_coded" else "discounted"
    return pd.Series(
        {
            column: float(
                optima_table(numbers, column)[NOTIONS["dp"], RATES[rates]][in_words(TOLERANCE)]
            )
            for column in ("profit", "gap", "price")
        }
    )


def early_decisions(runs: Runs) -> int:
    """Return after how many decisions the early measurement is made."""
    learning: Meeting = runs.experiment.arms[runs.profile][0].config.learning
    return learning.early * LoanMDPParams.fico().episode_length


def kept(runs: Runs, method: str, variant: str) -> str:
    """Say how many banks keep the tolerance at the end, as in "7 of 10 banks"."""
    gaps = of_arm(runs.results, GAPS[variant], method, variant)
    if gaps.empty:
        return NOT_STORED
    return f"{int((gaps <= TOLERANCE + 1e-7).sum())} of {len(gaps)} banks"


def shortfall(
    runs: Runs, method: str, variant: str, numbers: Mapping[str, Any], *, early: bool = False
) -> float:
    """Return by how much the profit of banks is on average below that of the best policy."""
    metric = "profit_early" if early else "profit"
    return float(best(numbers, variant)["profit"] - runs.mean(metric, method, variant))


@drawing
def against_experience(runs: Runs, metric: str, numbers: Mapping[str, Any]) -> Figure | None:
    """Draw a quantity of the banks as published against the decisions that they learned from.

    A black line shows the best policy within the tolerance, which uses it up.

    Parameters
    ----------
    runs
        Runs of the experiment.
    metric
        `"profit"` or `"gap_dp_discounted"`.
    numbers
        As from `exact_results.stored`.
    """
    rows = runs.results[runs.results["variant"] == "as_published"]
    # Under no variant's name, so that lines are not drawn as those of one among several.
    shown = runs.showing(rows.assign(variant=""))
    figure = shown.curve_figure(metric, "", across="decisions learned from, logarithmic")
    if figure is None:
        return None
    level = best(numbers, "as_published")["profit" if metric == "profit" else "gap"]
    axes = figure.figure.axes[0]
    axes.set_xscale("log")
    axes.axhline(level, color=BLACK, lw=1)
    words = f" A line shows the best policy within the tolerance: {level:.3f}."
    return replace(figure, alt_text=figure.alt_text + words)


def table(runs: Runs, variant: str, numbers: Mapping[str, Any]) -> pd.DataFrame | Words:
    """Lay out what banks have learned, as `summary`, or say which command makes the runs."""
    if runs.results.empty:
        return runs.missing
    return summary(runs.results, variant, early_decisions(runs), numbers)


def summary(
    results: pd.DataFrame, variant: str, early: int, numbers: Mapping[str, Any]
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
        As from `exact_results.stored`.

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
    exact = best(numbers, variant)
    lines["best policy within 0.1", ""] = {
        "profit": f"{exact['profit']:.4f}",
        "gap": f"{exact['gap']:.4f}",
        "range of the gap": "",
        "price": f"{exact['price']:.4f}",
    }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["", "decisions"])
