"""The results beyond FairQCM as tidy tables: what every fix adds, and what its absence costs.

Reading results in general is the matter of `longfair.papers.fairqcm.deep_results`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pandas as pd

from longfair.papers.fairqcm.beyond import COMPLETE, ladder, without
from longfair.papers.fairqcm.deep_results import change, final, of_arm, over_seeds, written
from longfair.runs.verdicts import REFERENCE


def rungs(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Estimate a final metric for every learned arm.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A final metric.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `value`, `low`, `high`, `seeds`.
    """
    rows = final(results)
    learned = rows[(rows["variant"] != REFERENCE) & (rows["metric"] == metric)]
    return over_seeds(learned, ["method", "variant"])


def bars(results: pd.DataFrame, metric: str) -> pd.Series[float]:
    """Return what policies without training reach in a final metric, by method."""
    rows = final(results)
    chosen = rows[(rows["variant"] == REFERENCE) & (rows["metric"] == metric)]
    return chosen.groupby("method", sort=False)["value"].mean()


def contributions(
    results: pd.DataFrame, problem: str, quantities: Mapping[str, tuple[str, int]]
) -> pd.DataFrame:
    """Say what every fix does to the ladder's rung before, and what its absence does to the whole.

    Parameters
    ----------
    results
        As from `Store.load`.
    problem
        `"doughnuts"` or `"lending"`.
    quantities
        Final metric to column title and number of digits.

    Returns
    -------
    pandas.DataFrame
        Index: the fix, and `"added"` (rung less the rung below) or `"left out"` (all fixes but
        this one, less all fixes). Differences are paired by seed; arms without results are left
        out.
    """
    names = list(ladder(problem))
    pairs = {
        (upper, "added"): ((upper, "ladder"), (lower, "ladder")) for lower, upper in pairwise(names)
    }
    whole = (COMPLETE[problem], "ladder")
    pairs |= {(name, "left out"): ((name, "without"), whole) for name in without(problem)}
    lines = {
        fix: _differences(results, first, second, quantities)
        for fix, (first, second) in pairs.items()
    }
    found = {fix: line for fix, line in lines.items() if line}
    return pd.DataFrame.from_dict(found, orient="index").rename_axis(["fix", "how"])


def _differences(
    results: pd.DataFrame,
    first: tuple[str, str],
    second: tuple[str, str],
    quantities: Mapping[str, tuple[str, int]],
) -> dict[str, str]:
    """Write by how much the first arm is above the second, by column title."""
    line = {}
    for metric, (title, digits) in quantities.items():
        name = " ".join((*first, *second, metric))
        found = change(of_arm(results, metric, *first), of_arm(results, metric, *second), name)
        if found is not None:
            line[title] = written(found, digits, signed=True)
    return line


def descriptions(problem: str) -> pd.DataFrame:
    """Return what every rung adds, in order."""
    rows = {name: description for name, (_, description) in ladder(problem).items()}
    return pd.DataFrame({"what it adds": rows}).rename_axis("rung")
