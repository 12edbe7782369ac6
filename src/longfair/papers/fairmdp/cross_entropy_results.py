"""Results of the searches as tables for reading, beside the exact optima. Nothing here decides.

Reading results in general is the matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from longfair.papers.fairmdp.cross_entropy import FIGURE1, INGREDIENTS, SWEEP
from longfair.runs.experiment import Experiment
from longfair.runs.statistics import estimate
from longfair.runs.tidy import ARM, final, of_arm, written

NAMES: Mapping[str, str] = {
    "race-blind": "race-blind",
    "optimistic-dp": "optimistic, parity",
    "optimistic-eo": "optimistic, opportunity",
    "conservative": "conservative",
    "cce-dp": "Algorithm 2, parity",
    "cce-eo": "Algorithm 2, opportunity",
    "cce-dp-0025": "Algorithm 2, tolerance 0.025",
    "optimistic-dp-0025": "optimistic, tolerance 0.025",
    "cce-dp-0050": "Algorithm 2, tolerance 0.05",
    "optimistic-dp-0050": "optimistic, tolerance 0.05",
    "cce-dp-0200": "Algorithm 2, tolerance 0.2",
    "optimistic-dp-0200": "optimistic, tolerance 0.2",
    "cce-dp-linear-weights": "linear weights, with the constant",
    "cce-dp-linear-profit": "linear weights, of the profit",
    "cce-dp-discounted-gap": "discounted gap",
    "cce-dp-tightened": "tightened tolerance",
    "cce-dp-sampled": "sampled episodes",
    "cce-dp-exponential-weights": "as published, but exponential weights",
}
"""Methods as a reader knows them."""

PRINTED: Mapping[tuple[str, str], float] = {
    ("race-blind", "reward"): 10.43,
    ("race-blind", "gap_dp"): 0.42,
    ("race-blind", "gap_eo"): 0.37,
    ("optimistic-dp", "reward"): 10.41,
    ("optimistic-dp", "gap_dp"): 0.14,
    ("optimistic-eo", "reward"): 10.43,
    ("optimistic-eo", "gap_eo"): 0.11,
    ("conservative", "reward"): 10.00,
    ("conservative", "gap_dp"): 0.0,
    ("conservative", "gap_eo"): 0.0,
    ("cce-dp", "reward"): 10.40,
    ("cce-dp", "gap_dp"): 0.10,
    ("cce-eo", "reward"): 10.43,
    ("cce-eo", "gap_eo"): 0.10,
}
"""What the paper prints under Figure 1, by method and quantity."""

GAP_OF: Mapping[str, str] = {"as_coded": "", "as_published": "_discounted"}
"""How a variant's gap ends: as coded loans are not discounted."""

NEVER_LENDS = 0.01
"""Searches that end with less profit than this have collapsed: they hardly lend at all."""

TOLERANCES: Mapping[float, tuple[Experiment, str]] = {
    0.025: (SWEEP, "-0025"),
    0.05: (SWEEP, "-0050"),
    0.1: (FIGURE1, ""),
    0.2: (SWEEP, "-0200"),
}
"""Where the searches for a tolerance are: experiment, and what is added to the method's name."""

EXPERIMENTS = (FIGURE1, SWEEP, INGREDIENTS)


def beside_the_paper(results: pd.DataFrame) -> pd.DataFrame:
    """Hold Figure 1 against what the paper prints.

    Parameters
    ----------
    results
        Of Figure 1, as from `tidy.stored`.

    Returns
    -------
    pandas.DataFrame
        Index method and quantity: what is printed, and for each variant the mean with its interval
        and the range over seeds. Gaps are those of the variant.
    """
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for (method, metric), printed in PRINTED.items():
        line = {"printed": f"{printed:.2f}"}
        for variant, ending in GAP_OF.items():
            name = metric if metric == "reward" else metric + ending
            values = of_arm(results, name, method, variant)
            if len(values):
                found = estimate(values, name=f"{method} {variant} {name}")
                words = variant.replace("_", " ")
                line[words] = written(found)
                line[f"{words}, range"] = f"{values.min():.3f} to {values.max():.3f}"
        lines[NAMES[method], metric] = line
    return pd.DataFrame.from_dict(lines, orient="index").fillna("")


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Lay out what the searches of every arm end with.

    Parameters
    ----------
    results
        As from `tidy.stored`.

    Returns
    -------
    pandas.DataFrame
        Index method and variant: profit (mean with interval, and interquartile mean), both gaps of
        demographic parity, searches that hardly lend, share of the last population that keeps the
        tolerance, number of seeds.
    """
    rows = final(results)
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for method, variant in rows[ARM].drop_duplicates().itertuples(index=False):
        line: dict[str, Any] = {}
        # Profits of -0.0000002 are losses of no interest.
        profit = of_arm(results, "profit", method, variant).round(5) + 0.0
        quantities = {"profit": "profit", "gap_dp": "gap", "gap_dp_discounted": "discounted gap"}
        for metric, title in quantities.items():
            values = of_arm(results, metric, method, variant).round(5) + 0.0
            line[title] = written(estimate(values, name=f"{method} {variant} {metric}"))
        line["profit, IQM"] = f"{estimate(profit, 'interquartile mean').value:.3f}"
        line["hardly lend"] = f"{int((profit < NEVER_LENDS).sum())} of {len(profit)}"
        fair = of_arm(results, "share_fair", method, variant)
        line["fair in the last population"] = f"{fair.mean():.0%}"
        lines[method, variant] = line
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(ARM)


def by_tolerance(results: pd.DataFrame) -> pd.DataFrame:
    """Lay out Figures 2a and 2b.

    Parameters
    ----------
    results
        Of `FIGURE1` and `SWEEP`, as from `tidy.stored`.

    Returns
    -------
    pandas.DataFrame
        Columns `method` (without tolerance), `variant`, `tolerance`, `seed`, `profit` and `gap`,
        the gap being that of the variant.
    """
    found = []
    for tolerance, (_, ending) in TOLERANCES.items():
        for method in ("cce-dp", "optimistic-dp"):
            for variant, of_gap in GAP_OF.items():
                profit = of_arm(results, "profit", method + ending, variant)
                gap = of_arm(results, "gap_dp" + of_gap, method + ending, variant)
                part = pd.DataFrame({"profit": profit, "gap": gap}).rename_axis("seed")
                found.append(
                    part.reset_index().assign(method=method, variant=variant, tolerance=tolerance)
                )
    columns = ["method", "variant", "tolerance", "seed", "profit", "gap"]
    return pd.concat(found, ignore_index=True)[columns]


def checked_policies(results: pd.DataFrame) -> pd.DataFrame:
    """Say what the tightened check of Theorem 4.2 makes of the policies that searches end with.

    Parameters
    ----------
    results
        As from `tidy.stored`.

    Returns
    -------
    pandas.DataFrame
        Index method, for those that have a constraint and were estimated from episodes: shares of
        the last populations that pass, that pass although they are unfair, that are fair; and of
        the returned policies that pass.
    """
    rows = final(results)
    titles = {
        "share_passing": "pass",
        "share_passing_unfair": "pass and are unfair",
        "share_fair": "are fair",
        "returned_passes": "returned policy passes",
    }
    constrained = rows["method"].str.startswith(("cce", "optimistic"))
    chosen = rows[rows["metric"].isin(titles) & (rows["variant"] == "as_published") & constrained]
    table = chosen.pivot_table(index="method", columns="metric", values="value", sort=False)
    return table.reindex(columns=list(titles)).rename(columns=titles)


def frontier(numbers: Any, notion: str, rates: str) -> pd.DataFrame:
    """Return the corners of an exact frontier of the episode: columns `gap`, `profit`.

    Parameters
    ----------
    numbers
        As from `exact_results.stored`.
    notion
        `"dp"` or `"eo"`.
    rates
        `"as_coded"` or `"discounted"`.
    """
    rows = pd.DataFrame(numbers["frontiers"])
    chosen = (rows["problem"] == "episode") & (rows["notion"] == notion) & (rows["rates"] == rates)
    return rows.loc[chosen, ["gap", "profit"]].sort_values("gap").reset_index(drop=True)


def cost_of_experiments(provenance: pd.DataFrame) -> pd.DataFrame:
    """Summarise what runs cost, by experiment.

    Parameters
    ----------
    provenance
        As from `Store.provenance`.
    """
    seconds = provenance.groupby("experiment", sort=False)["core_seconds"]
    return pd.DataFrame(
        {
            "runs": seconds.size(),
            "core seconds per run": seconds.median().round(1),
            "core minutes in all": (seconds.sum() / 60).round(1),
        }
    )
