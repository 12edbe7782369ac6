"""The results beyond FairQCM as tidy tables: what every fix adds, and what its absence costs.

Reading results in general is the matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import pandas as pd

from longfair.agents.fairqcm.presets import Recipe
from longfair.papers.fairqcm.beyond import (
    ALL_FIXES,
    COMPLETE,
    published,
    rungs,
    searches,
    without,
)
from longfair.runs.evidence import REFERENCE
from longfair.runs.tidy import Quantities, change, differences, of_arm, references

OPTIMAL = "oracle"
"""The reference that nothing surpasses: least served on doughnuts, the exact optimum in lending."""


def arms(problem: str) -> list[tuple[str, str]]:
    """Return method and variant of everything learned: ladder, all fixes but one, searches."""
    return [
        *rungs(problem),
        *((name, "without") for name in without(problem)),
        *((name, "search") for name in searches(problem)),
    ]


def lost(results: pd.DataFrame, problem: str, metric: str) -> pd.DataFrame:
    """Say by how much every learned arm stays below the optimal policy, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    problem
        `"doughnuts"` or `"lending"`.
    metric
        A final metric.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `value`, `low`, `high`, `seeds`; arms without results are left
        out.
    """
    best = of_arm(results, metric, OPTIMAL, REFERENCE)
    rows = []
    for method, variant in arms(problem):
        found = change(best, of_arm(results, metric, method, variant), f"{method} {variant}")
        if found is not None:
            low, high = found.interval or (found.value, found.value)
            rows.append((method, variant, found.value, low, high, found.seeds))
    return pd.DataFrame(rows, columns=["method", "variant", "value", "low", "high", "seeds"])


def bars(results: pd.DataFrame, metric: str) -> pd.Series[float]:
    """Return what policies without training reach in a final metric, by method."""
    return references(results, metric).set_index("method")["value"]


def contributions(results: pd.DataFrame, problem: str, quantities: Quantities) -> pd.DataFrame:
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
        Index: method and variant. For `ladder`, the rung less the one below; for `without`, all
        fixes but this one, less all fixes; for `search`, the linear rule less all fixes. `coded`
        is compared with `published`, beside which it stands. Differences are paired by seed; arms
        without results are left out.
    """
    whole = (COMPLETE[problem], "ladder")
    pairs = {upper: (upper, lower) for lower, upper in pairwise(rungs(problem))}
    pairs["coded", "ladder"] = (("coded", "ladder"), ("published", "ladder"))
    others = [arm for arm in arms(problem) if arm not in rungs(problem)]
    pairs |= {arm: (arm, whole) for arm in others}
    return differences(results, pairs, quantities)


def recipe_table(problem: str) -> pd.DataFrame:
    """Return the settings that differ between FairQCM as published and all fixes."""
    start, best = published(problem), ALL_FIXES[problem]
    rows = {
        field.name: (getattr(start, field.name), getattr(best, field.name))
        for field in fields(Recipe)
    }
    changed = {name: pair for name, pair in rows.items() if pair[0] != pair[1]}
    columns = ["as published", "all fixes"]
    return pd.DataFrame.from_dict(changed, orient="index", columns=columns).rename_axis("setting")
