"""Learners that do not know the loan problem, as tables and figures beside the exact optima."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from longfair.figures import Figure, LineStyle, Words
from longfair.figures.style import BLACK, GREEN, SKY
from longfair.papers.fairmdp import memory_results
from longfair.papers.fairmdp.cross_entropy_results import NEVER_LENDS
from longfair.papers.fairmdp.exact_results import best_points
from longfair.papers.page import Look, Runs
from longfair.runs.tidy import final

LOOK = Look(
    styles={
        "elbert-po-discounted": LineStyle("ELBERT-PO, discounted totals", SKY, "H"),
        "elbert-po-discounted-strong": LineStyle("the same, weight x 10", SKY, "P"),
        "fairqcm": LineStyle(memory_results.NAMES["fairqcm"], GREEN, "v"),
        "best": LineStyle("best within 0.1", BLACK, "*"),
        "best-free": LineStyle("best without constraint", BLACK, "X"),
    },
    variants={"ablation": "ablation"},
    axes={"profit": "profit of an episode", "gap_dp_discounted": "gap in discounted lending rates"},
)
"""How learners appear that do not know the problem."""

QUANTITIES: Mapping[str, str] = {
    "profit": "profit",
    "gap_dp": "parity gap, as coded",
    "gap_dp_discounted": "parity gap, as published",
    "gap_eo_discounted": "opportunity gap, as published",
    "profit_mode": "profit without chance",
}
"""What the table of learners shows. Without chance: the likelier action is taken."""


def with_memory(others: Runs, memory: Runs) -> Runs:
    """Add FairQCM as published, after as much experience as the other learners have."""
    rows = memory.results
    early = rows["metric"].str.endswith("_early") & (rows["method"] == "fairqcm")
    chosen = rows[early & (rows["variant"] == "as_published")]
    chosen = chosen.assign(metric=chosen["metric"].str.removesuffix("_early"))
    return others.showing(pd.concat([others.results, chosen], ignore_index=True))


def lending(runs: Runs) -> Runs:
    """Leave out the arms of which no run lends: they all lie on each other at the origin."""
    profits = runs.last.groupby(["method", "variant"], sort=False)["profit"].max()
    arms = profits.index[profits >= NEVER_LENDS]
    named = pd.MultiIndex.from_frame(runs.results[["method", "variant"]])
    return runs.showing(runs.results[named.isin(arms)])


def scatter(others: Runs, memory: Runs, numbers: Any) -> Figure | None:
    """Draw profit against the discounted gap of learners that lend, beside the exact optima.

    Parameters
    ----------
    others, memory
        Runs of the experiments with the learners of the ELBERT paper and with FairQCM.
    numbers
        As from `exact_results.stored`.
    """
    if others.results.empty:
        return None
    runs = lending(with_memory(others, memory))
    return runs.scatter_figure(
        *dict.fromkeys(runs.results["variant"]),
        across=("profit", "gap_dp_discounted"),
        points=best_points(numbers, "dp", "discounted"),
    )


def means(others: Runs) -> pd.DataFrame | Words:
    """Lay out what the learners reach on average: index method and variant, see `QUANTITIES`."""
    if others.results.empty:
        return others.missing
    rows = final(others.results)
    chosen = rows[rows["metric"].isin(QUANTITIES) & (rows["group"] < 0)]
    table = chosen.pivot_table(
        index=["method", "variant"], columns="metric", values="value", sort=False
    )
    table = table[list(QUANTITIES)].rename(columns=QUANTITIES).rename_axis(columns=None)
    # Losses of a millionth are of no interest.
    return others.labelled(table.round(3) + 0.0)
