"""Results of ELBERT's attention and infectious experiments, and of its ablations, as tidy tables.

What does not depend on the experiment is shared with `longfair.papers.elbert.lending_results`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from longfair.papers.elbert.lending_results import final, over_seeds, written
from longfair.papers.elbert.measures import ALL_GROUPS
from longfair.runs.experiment import Experiment, plan
from longfair.runs.statistics import estimate
from longfair.runs.store import Store, no_results

_ARM = ["method", "variant"]

POSTER: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "infectious-harder": {
        "reward": {"g-ppo": 0.176, "r-ppo": 0.147, "a-ppo": 0.165, "elbert-po": 0.177},
        "bias": {"g-ppo": 1.26, "r-ppo": 0.05, "a-ppo": 0.33, "elbert-po": 0.05},
    },
    "attention-harder": {
        "reward": {"g-ppo": -2.394, "r-ppo": -2.524, "a-ppo": -2.556, "elbert-po": -2.303},
        "bias": {"g-ppo": 0.312, "r-ppo": 0.177, "a-ppo": 0.142, "elbert-po": 0.037},
    },
}
"""What the authors' poster shows at 5,000,000 steps, read off its scatter plots."""

READING_ERROR: Mapping[str, Mapping[str, float]] = {
    "infectious-harder": {"reward": 0.001, "bias": 0.01},
    "attention-harder": {"reward": 0.005, "bias": 0.002},
}
"""Half widths of the reading errors of `POSTER`."""

FIGURE_5: Mapping[int, tuple[float, float]] = {
    50: (-2.49, 0.276),
    200: (-2.36, 0.227),
    1000: (-2.22, 0.138),
    5000: (-2.20, 0.080),
    20_000: (-2.30, 0.037),
}
"""Reward and bias at the end by alpha, read off the poster; errors of 0.04 and 0.006."""


def stored(store: Store, experiment: Experiment, profile: str) -> pd.DataFrame:
    """Load the results of an experiment under a profile; no rows when there are none.

    Parameters
    ----------
    store
        Where the results are.
    experiment
        Which results.
    profile
        Name of the profile.

    Returns
    -------
    pandas.DataFrame
        As from `Store.load`, methods in the order of the experiment.
    """
    if experiment.id not in store.experiments() or profile not in experiment.arms:
        return no_results()
    return in_order(store.load(experiment=experiment.id, profile=profile), experiment)


def in_order(table: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Bring methods into the order of the experiment; the store's order is alphabetical."""
    order = {method: place for place, method in enumerate(experiment.methods("book"))}
    return table.sort_values(
        "method", key=lambda column: column.map(order), kind="stable", ignore_index=True
    )


def gaps(store: Store, experiment: Experiment, profile: str) -> pd.DataFrame:
    """Say which runs of a profile are not stored, or no longer what the present code would give.

    Parameters
    ----------
    store
        Where the results are.
    experiment
        Which runs.
    profile
        Name of the profile.

    Returns
    -------
    pandas.DataFrame
        One row per arm with a gap: `method`, `variant` and the number of its runs in each status.
    """
    states = store.states(plan(experiment, profile))
    counts = states.groupby([*_ARM, "status"], sort=False).size().unstack(fill_value=0)
    unfinished = counts.drop(columns="fresh", errors="ignore")
    return counts[unfinished.sum(axis=1) > 0].rename_axis(columns=None).reset_index()


def beside_poster(
    results: pd.DataFrame, experiment: Experiment, variant: str = "as_coded"
) -> pd.DataFrame:
    """Hold the last policies of a variant against the numbers on the authors' poster.

    Parameters
    ----------
    results
        As from `stored`.
    experiment
        Which part of the poster.
    variant
        Variant to compare; the poster shows what the authors' code did.

    Returns
    -------
    pandas.DataFrame
        One row per method and metric: `method`, `metric`, our `value`, `low`, `high`, the number on
        the `poster`, and whether it `agrees`: whether it lies within our interval, widened by the
        reading error.
    """
    read, error = POSTER[experiment.name], READING_ERROR[experiment.name]
    rows = final(results)
    chosen = (rows["variant"] == variant) & rows["metric"].isin(list(read))
    ours = over_seeds(rows[chosen & (rows["group"] == ALL_GROUPS)], [*_ARM, "metric"])
    ours = ours[ours["method"].isin(list(read["reward"]))].drop(columns=["variant", "seeds"])
    pairs = list(zip(ours["metric"].astype(str), ours["method"].astype(str), strict=True))
    ours["poster"] = [read[metric][method] for metric, method in pairs]
    width = np.array([error[metric] for metric, _ in pairs])
    ours["agrees"] = (ours["low"] - width <= ours["poster"]) & (
        ours["poster"] <= ours["high"] + width
    )
    return ours.reset_index(drop=True)


def summary(results: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    """Lay out some quantities of the last policies for reading.

    Parameters
    ----------
    results
        As from `stored`.
    metrics
        Metric of all groups together to title of its column.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`; per metric the mean with its 95 % interval; number of seeds.
    """
    rows = final(results)
    rows = rows[rows["group"] == ALL_GROUPS]
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for (method, variant), of_arm in rows.groupby(_ARM, sort=False):
        line: dict[str, Any] = {}
        for metric, title in metrics.items():
            values = of_arm.loc[of_arm["metric"] == metric, "value"]
            line[title] = written(estimate(values, name=f"{method} {variant} {metric}"))
        lines[str(method), str(variant)] = line | {"seeds": of_arm["seed"].nunique()}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(_ARM)


def wasted_share(results: pd.DataFrame) -> pd.DataFrame:
    """Return which share of the vaccines given was wasted, by run.

    Parameters
    ----------
    results
        As from `stored`, of an infectious disease experiment.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `value`; policies that give no vaccine are left out.
    """
    rows = final(results)
    key = [*_ARM, "seed"]
    given = rows[rows["metric"] == "supply"].groupby(key, sort=False)["value"].sum()
    wasted = rows[rows["metric"] == "wasted"].set_index(key)["value"]
    share = wasted.reindex(given.index) / given.where(given > 0)
    return share.dropna().rename("value").reset_index()


def curve_of(results: pd.DataFrame, metrics: Sequence[str], variant: str) -> pd.DataFrame:
    """Estimate metrics of all groups together over training, as for Figure 9.

    Parameters
    ----------
    results
        As from `stored`.
    metrics
        Metrics of all groups together, such as `advantaged_supply`.
    variant
        Variant to keep.

    Returns
    -------
    pandas.DataFrame
        Index `step`, one column per metric: mean over seeds.
    """
    chosen = results[
        (results["phase"] == "curve")
        & results["metric"].isin(list(metrics))
        & (results["variant"] == variant)
    ]
    means = chosen.groupby(["step", "metric"])["value"].mean().unstack()
    return means.reindex(columns=list(metrics))


def cost(provenance: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Summarise what runs cost.

    Parameters
    ----------
    provenance
        As from `Store.provenance`.
    experiment
        Whose runs.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`: number of runs, training steps of one, median core seconds of
        one, core hours of all.
    """
    groups = in_order(provenance, experiment).groupby(_ARM, sort=False)
    return pd.DataFrame(
        {
            "runs": groups.size(),
            "training steps": groups["steps"].median().astype(int),
            "core seconds per run": groups["core_seconds"].median().round(1),
            "core hours in all": (groups["core_seconds"].sum() / 3600).round(2),
        }
    )
