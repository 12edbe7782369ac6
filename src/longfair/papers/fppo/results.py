"""How F-PPO's runs appear on pages, and what the paper's own figures show."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from longfair.figures import LineStyle, Words
from longfair.figures.style import BLACK, GREEN, GREY, PURPLE, SKY
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.papers.styles import METHODS
from longfair.runs.evidence import REFERENCE
from longfair.runs.tidy import ARM, Quantities, final, final_table, of_arm, over_seeds

Readings = Mapping[str, Mapping[str, float]]
"""Metric to method to what a figure shows."""

LEARNERS: Mapping[str, LineStyle] = {
    "ppo": LineStyle("PPO", METHODS["g-ppo"].colour, "s"),
    "a-ppo": METHODS["a-ppo"],
    "f-ppo": LineStyle("F-PPO", METHODS["elbert-po"].colour, "o"),
    "f-ppo-l": LineStyle("F-PPO-L", SKY, "H", "--"),
    "f-ppo-s": LineStyle("F-PPO-S", PURPLE, "p", ":"),
}
"""Styles of the methods that learn."""

EPISODE = "step of an evaluation episode"
"""What is on the horizontal axis of the paper's figures."""

LENDING = Look(
    styles={
        **LEARNERS,
        "f-ppo-exact": LineStyle("F-PPO, exact distance", BLACK, "X", "-."),
        "threshold-3-2": LineStyle("threshold 3 / 2", GREEN, "^", ":"),
        "static-reward": LineStyle("real thresholds for profit", GREEN, "D", ":"),
    },
    axes={
        "at_short_term_gap": "short-term gap",
        "at_long_term_gap": "long-term gap of the figure",
        "at_distance": "1-Wasserstein distance in scores",
        "at_cash": "cash",
        "training_gap": "short-term gap in training",
        "end_cash": "cash at the end",
        "end_long_term_gap": "long-term gap at the end",
        "late_short_term_gap": "short-term gap",
        "end_distance": "1-Wasserstein distance at the end",
    },
    across=("end_cash", "end_long_term_gap"),
    beside=(),
    median=True,
)
"""How runs in bank loans appear. Some end lending and some do not, so a mean would be no run."""

ATTENTION = Look(
    styles={
        **LEARNERS,
        "cpo": METHODS["cpo"],
        "equal": LineStyle("every site", GREY, "x", ":"),
        "gaussian": LineStyle("at random", GREY, "+", ":"),
        "proportional": LineStyle("oracle", SKY, "P", ":"),
        "discovery": LineStyle("recent incidents", BLACK, "v", ":"),
        "static-reward": LineStyle("weighted incidents", GREEN, "D", ":"),
        "above-target": LineStyle("incidents above a target", GREEN, "^", ":"),
    },
    axes={
        "at_short_term_gap": "short-term gap",
        "at_long_term_gap": "long-term gap of the figure",
        "at_distance": "1-Wasserstein distance",
        "at_reward": "reward per step, smoothed",
        "training_gap": "short-term gap in training",
        "late_reward": "reward per step",
        "late_long_term_gap": "long-term gap",
    },
    across=("late_reward", "late_long_term_gap"),
    beside=(),
)
"""How runs in attention allocation appear."""

EPIDEMIC = Look(
    styles={
        **LEARNERS,
        "nobody": LineStyle("nobody", GREY, "x", ":"),
        "uniform": LineStyle("at random", GREY, "+", ":"),
        "max-degree": LineStyle("Max, most neighbours", BLACK, "v", ":"),
        "max-exposed": LineStyle("Max, most infected neighbours", BLACK, "^", ":"),
        "static-reward": LineStyle("lottery for reward", GREEN, "D", ":"),
    },
    axes={
        "at_short_term_gap": "short-term gap",
        "at_long_term_gap": "long-term gap of the figure",
        "at_distance": "1-Wasserstein distance",
        "at_reward": "share of the healthy",
        "training_gap": "short-term gap in training",
        "end_reward": "share of the healthy at the end",
        "end_short_term_gap": "short-term gap at the end",
    },
    across=("end_reward", "end_short_term_gap"),
    beside=(),
)
"""How runs in epidemic control appear."""

FIGURE_1: Readings = {
    "late_short_term_gap": {"equal-opportunity": 0.02, "ppo": 0.21, "a-ppo": 0.05, "f-ppo": 0.065},
    "late_peak": {"equal-opportunity": 0.08, "ppo": 0.313, "a-ppo": 0.107, "f-ppo": 0.122},
    "end_long_term_gap": {
        "equal-opportunity": 0.265,
        "ppo": 0.159,
        "a-ppo": 0.430,
        "f-ppo": 0.116,
    },
    "end_cash": {"equal-opportunity": 11_660, "ppo": 11_745, "a-ppo": 11_808, "f-ppo": 11_630},
}
"""Bank loans, read off the plots; errors of 0.015, 0.005, 0.005 and 10."""

FIGURE_3: Readings = {
    "end_short_term_gap": {"ppo": 0.077, "a-ppo": 0.054, "f-ppo": 0.067},
    "late_long_term_gap": {"ppo": 1.43, "a-ppo": 3.97, "f-ppo": 1.26},
    "late_reward": {"ppo": 2.39, "a-ppo": 1.69, "f-ppo": 2.36},
}
"""Attention allocation, read off the plots; errors of 0.003, 0.1 and 0.05."""

FIGURE_4: Readings = {
    "end_short_term_gap": {"max-degree": 1.82, "ppo": 1.435, "a-ppo": 0.16, "f-ppo": 0.46},
    "end_long_term_gap": {"max-degree": 6.95, "ppo": 4.4, "a-ppo": 2.95, "f-ppo": 2.55},
    "end_reward": {"max-degree": 0.292, "ppo": 0.220, "a-ppo": 0.155, "f-ppo": 0.190},
}
"""Epidemic control, read off the plots; errors of 0.01, 0.08 and 0.004."""


def beside_figure(
    runs: Runs, read: Readings, digits: Mapping[str, int], variant: str = "as_coded"
) -> pd.DataFrame | Words:
    """Hold runs against what a figure of the paper shows.

    Parameters
    ----------
    runs
        Runs of the experiment that the figure is about.
    read
        What it shows.
    digits
        Metric to digits after the point.
    variant
        Of the methods that learn.

    Returns
    -------
    pandas.DataFrame
        Index method; for every metric what came out, see `median_and_range`, and the paper's.
    """
    if runs.results.empty:
        return runs.missing
    rows = {}
    for method in next(iter(read.values())):
        own = REFERENCE if method not in LEARNERS else variant
        cells = {}
        for metric, numbers in read.items():
            name = metric.replace("_", " ")
            values = of_arm(runs.results, metric, method, own)
            cells[name] = median_and_range(values, digits[metric])
            cells[f"{name}, paper"] = f"{numbers[method]:,.{digits[metric]}f}"
        rows[method] = cells
    return runs.labelled(pd.DataFrame.from_dict(rows, orient="index"))


def ranges(runs: Runs, quantities: Quantities) -> pd.DataFrame | Words:
    """Lay out final metrics of runs of two kinds, of which a mean would say nothing.

    Parameters
    ----------
    runs
        Runs of one experiment.
    quantities
        What to show.

    Returns
    -------
    pandas.DataFrame
        Index method and variant; per quantity see `median_and_range`, and the number of runs.
    """
    if runs.results.empty:
        return runs.missing
    table = final_table(runs.results, quantities, write=median_and_range)
    return runs.labelled(table).rename(columns={"seeds": "runs"})


def median_and_range(values: pd.Series[float], digits: int) -> str:
    """Write runs as in "0.19 (0.17 to 0.21)": the middle one, the lowest and the highest.

    Parameters
    ----------
    values
        One per run; the median of an even number is the lower one in the middle.
    digits
        Digits after the point.
    """
    if values.empty:
        return NOT_STORED
    middle = values.quantile(0.5, interpolation="lower")
    ends = (values.min(), values.max())
    low, high = (f"{end:,.{digits}f}" for end in ends)
    return f"{middle:,.{digits}f} ({low} to {high})" if len(values) > 1 else low


def both_distances(runs: Runs) -> pd.DataFrame:
    """Lay the figure's distance and the text's side by side, for policies without training.

    Parameters
    ----------
    runs
        Runs in bank loans.

    Returns
    -------
    pandas.DataFrame
        Columns `name`, `series`, `value`, `low`, `high`, as `figures.dot_intervals` takes them:
        distances at the end of an evaluation, as shares of those at its start.
    """
    rows = []
    untrained = runs.results[runs.results["variant"] == REFERENCE]
    for metric, series in DISTANCES.items():
        told = untrained[untrained["metric"] == f"at_{metric}"]
        start = told[told["step"] == 0].groupby("method", sort=False)["value"].mean()
        ends = final(untrained)
        means = over_seeds(ends[ends["metric"] == f"end_{metric}"], ["method"]).set_index("method")
        parts = means[["value", "low", "high"]].div(start, axis=0)
        rows.append(parts.reset_index(names="name").assign(series=series))
    found = pd.concat(rows, ignore_index=True)
    return found.replace({"name": runs.look.names})


DISTANCES = {"long_term_gap": "the figure's", "distance": "the text's"}
"""Metric of a distance in bank loans to what it is called."""


HARDLY_LENDING = 10_100.0
"""Cash at the end below which a bank hardly lends; it begins with 10,000."""


def hardly_lending(runs: Runs, method: str, variant: str) -> tuple[int, int]:
    """Count the runs in bank loans that end as a bank that hardly lends, and all of them.

    Parameters
    ----------
    runs
        Runs in bank loans.
    method, variant
        The arm.
    """
    cash = of_arm(runs.results, "end_cash", method, variant)
    return int((cash < HARDLY_LENDING).sum()), len(cash)


def lending_only(runs: Runs) -> Runs:
    """Leave out the runs of methods that end as a bank that hardly lends.

    Parameters
    ----------
    runs
        Runs in bank loans.
    """
    results = runs.results
    cash = final(results).query("metric == 'end_cash'").set_index([*ARM, "seed"])["value"]
    keys = pd.MultiIndex.from_frame(results[[*ARM, "seed"]])
    return runs.showing(results[(cash.reindex(keys) >= HARDLY_LENDING).to_numpy()])
