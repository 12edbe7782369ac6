"""Results of the searches as tables and figures, beside the exact optima. Nothing here decides.

Reading results in general is the matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from longfair.envs.loan_mdp.exact import evaluate
from longfair.figures import Figure, Folded, LineStyle, Words, drawing, folded, learning_curves
from longfair.figures.style import BLACK, BLUE, ORANGE, PURPLE, VERMILION
from longfair.papers.fairmdp.cross_entropy import (
    FIGURE1,
    INGREDIENTS,
    SWEEP,
    setting_of,
)
from longfair.papers.fairmdp.exact_results import best_points
from longfair.papers.fairmdp.loans import loan_problem
from longfair.papers.fairmdp.measured import quantities
from longfair.papers.fairmdp.notions import Notion, Rates
from longfair.papers.live import live_runs
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.papers.setting import Setting
from longfair.runs.experiment import Experiment
from longfair.runs.statistics import estimate
from longfair.runs.tidy import ARM, final, interval_in_words, middles, of_arm, written

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

RATES_OF: Mapping[str, Rates] = {"as_coded": "as_coded", "as_published": "discounted"}
"""Which exact optima stand beside a variant."""

TOLERANCE = 0.1
"""Largest gap of Figure 1."""

QUANTITIES: Mapping[str, str] = {
    "reward": "reward",
    "gap_dp": "parity gap",
    "gap_eo": "opportunity gap",
}
"""What Figure 1 shows, as a reader knows it."""

NEVER_LENDS = 0.01
"""Searches that end with less profit than this have collapsed: they hardly lend at all."""

HALF_OF_PRINTED = 0.2
"""Profit that the rules of claims ask of a search: half of what the printed reward leaves."""

TOLERANCES: Mapping[float, tuple[Experiment, str]] = {
    0.025: (SWEEP, "-0025"),
    0.05: (SWEEP, "-0050"),
    0.1: (FIGURE1, ""),
    0.2: (SWEEP, "-0200"),
}
"""Where the searches for a tolerance are: experiment, and what is added to the method's name."""

EXPERIMENTS = (FIGURE1, SWEEP, INGREDIENTS)

_OPTIMISTIC = LineStyle("optimistic", ORANGE, "D", (0, (3, 1, 1, 1)))
_ALGORITHM = LineStyle("Algorithm 2", BLUE, "o")

LOOK = Look(
    styles={
        "race-blind": LineStyle("race-blind", VERMILION, "s"),
        "optimistic-dp": _OPTIMISTIC,
        "optimistic-eo": _OPTIMISTIC,
        "conservative": LineStyle("conservative", PURPLE, "^"),
        "cce-dp": _ALGORITHM,
        "cce-eo": _ALGORITHM,
        "best": LineStyle("best within 0.1", BLACK, "*"),
        "best-free": LineStyle("best without constraint", BLACK, "X"),
        "tolerance": LineStyle("the tolerance", BLACK, "*", ":"),
        "frontier": LineStyle("best within the tolerance", BLACK, "*", ":"),
    },
    variants={**NAMES, "one_change": "one change", "with_offset": "with the code's constant"},
    axes={
        "profit": "profit of an episode",
        "gap_dp": "gap in lending rates",
        "gap_dp_discounted": "gap in discounted lending rates",
        "gap_eo": "gap in lending rates of the qualified",
        "gap_eo_discounted": "gap in discounted lending rates of the qualified",
    },
)
"""How searches appear."""

# Tables -----------------------------------------------------------------------------------------


def constant_lenders(chances: Sequence[float]) -> pd.DataFrame:
    """Evaluate lenders exactly that lend with one chance whatever happens, one row per chance."""
    problem, column = loan_problem(), np.array(chances)[:, None]
    lending = [np.repeat(column, len(group.beliefs), axis=1) for group in problem.applicants]
    table = pd.DataFrame(quantities(evaluate(problem, lending)), index=list(chances))
    return table.rename_axis("chance of a loan")


def live(run: int, iterations: int, methods: Sequence[str]) -> pd.DataFrame:
    """Search as coded while the reader waits.

    Parameters
    ----------
    run
        Number of the run; profiles use small ones.
    iterations
        After how many to stop.
    methods
        Methods of Figure 1.

    Returns
    -------
    pandas.DataFrame
        As from `longfair.papers.live.live_runs`; steps are iterations.
    """

    def short(method: str) -> Setting:
        setting = setting_of(method, "as_coded", "book", TOLERANCE)
        few = replace(setting.learning.settings, iterations=iterations)
        return replace(setting, learning=replace(setting.learning, settings=few))

    return live_runs({method: short(method) for method in methods}, run)


def kept(
    runs: Runs,
    method: str,
    variant: str,
    notion: Notion = "dp",
    tolerance: float = TOLERANCE,
    *,
    returned: bool = False,
) -> str:
    """Say how many searches keep their tolerance, as in "9 of 10 searches".

    Parameters
    ----------
    runs
        The searches.
    method, variant
        Which of them.
    notion, tolerance
        What is to be kept.
    returned
        By the policy that a search returns, which is a sample; if not, by its elites on average.
    """
    gaps = of_arm(runs.results, _gap(notion, variant, "_returned" * returned), method, variant)
    if gaps.empty:
        return NOT_STORED
    return f"{int((gaps <= tolerance + 1e-7).sum())} of {len(gaps)} searches"


def _gap(notion: str, variant: str, of_whom: str = "") -> str:
    return f"gap_{notion}{GAP_OF[variant]}{of_whom}"


def largest_disagreement(runs: Runs, variant: str) -> float:
    """Return how far the gaps of elites, all samples and the last sample of one search differ.

    Parameters
    ----------
    runs
        Runs of Figure 1.
    variant
        `"as_coded"` or `"as_published"`.

    Returns
    -------
    float
        The largest difference of a gap in `PRINTED`; not a number without results.
    """
    apart = []
    for method, metric in PRINTED:
        if metric.startswith("gap_"):
            notion = metric.removeprefix("gap_")
            gaps = [
                of_arm(runs.results, _gap(notion, variant, whom), method, variant)
                for whom in ("", "_population", "_returned")
            ]
            if len(gaps[0]):
                table = pd.concat(gaps, axis=1)
                apart.append(float((table.max(axis=1) - table.min(axis=1)).max()))
    return max(apart, default=float("nan"))


def passing(runs: Runs, method: str) -> str:
    """Say how many returned policies as published pass the check, as in "9 of 10 searches"."""
    passes = of_arm(runs.results, "returned_passes", method, "as_published")
    return NOT_STORED if passes.empty else f"{int(passes.sum())} of {len(passes)} searches"


def range_of_gaps(sweep: Runs, method: str, variant: str) -> str:
    """Write between which parity gaps the searches of a variant end."""
    gaps = of_arm(sweep.results, _gap("dp", variant), method, variant)
    return NOT_STORED if gaps.empty else f"{gaps.min():.3f} to {gaps.max():.3f}"


def median_gap_as_coded(sweep: Runs, method: str) -> str:
    """Write the median parity gap, by the code's measure, of searches as published."""
    gaps = of_arm(sweep.results, "gap_dp", method, "as_published")
    return NOT_STORED if gaps.empty else f"{gaps.median():.3f}"


def seeming_cost(runs: Runs, variant: str) -> float:
    """Return which share of the profit parity costs when medians of searches are compared."""
    free, fair = (
        float(of_arm(runs.results, "profit", method, variant).median())
        for method in ("race-blind", "cce-dp")
    )
    return 1.0 - fair / free


def beside_the_paper(runs: Runs, *, ranges: bool = False) -> pd.DataFrame | Words:
    """Hold Figure 1 against what the paper prints.

    Parameters
    ----------
    runs
        Runs of Figure 1.
    ranges
        Show the range over searches, which says what one search can settle.

    Returns
    -------
    pandas.DataFrame or Words
        Index method and quantity of `QUANTITIES`: what is printed, and for each variant the mean
        with its interval, or the range. Gaps are those of the variant.
    """
    if runs.results.empty:
        return runs.missing
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for (method, metric), printed in PRINTED.items():
        line = {"printed": f"{printed:.2f}"}
        for variant, ending in GAP_OF.items():
            name = metric if metric == "reward" else metric + ending
            values = of_arm(runs.results, name, method, variant)
            values = values.where(values.abs() > 1e-9, 0.0)  # rounding errors of exact zeros
            if len(values):
                found = estimate(values, name=f"{method} {variant} {name}")
                extent = f"{values.min():.3f} to {values.max():.3f}"
                line[runs.look.names[variant]] = extent if ranges else written(found)
        lines[NAMES[method], QUANTITIES[metric]] = line
    return pd.DataFrame.from_dict(lines, orient="index").fillna("")


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Lay out what the searches of every arm end with.

    Some searches hardly lend and others end far above, so a mean of both describes neither.

    Parameters
    ----------
    results
        As from `tidy.stored`.

    Returns
    -------
    pandas.DataFrame
        Index method and variant: median and range of the profit, medians of both gaps of
        demographic parity, searches that hardly lend, mean share of the last population that keeps
        the tolerance.
    """
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for method, variant in final(results)[ARM].drop_duplicates().itertuples(index=False):
        # Profits of -0.0000002 are losses of no interest.
        profit, gap, discounted, fair = (
            of_arm(results, metric, method, variant).round(5) + 0.0
            for metric in ("profit", "gap_dp", "gap_dp_discounted", "share_fair")
        )
        lines[method, variant] = {
            "profit": f"{profit.median():.3f}",
            "range": f"{profit.min():.3f} to {profit.max():.3f}",
            "gap": f"{gap.median():.3f}",
            "discounted gap": f"{discounted.median():.3f}",
            "hardly lend": f"{int((profit < NEVER_LENDS).sum())} of {len(profit)}",
            "fair in the last population": f"{fair.mean():.0%}",
        }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(ARM)


def ends(runs: Runs, *columns: str) -> pd.DataFrame | Words:
    """Lay out what searches end with, as `summary` but with names.

    Parameters
    ----------
    runs
        The searches.
    *columns
        Columns of `summary` to keep; by default all.
    """
    if runs.results.empty:
        return runs.missing
    table = runs.labelled(summary(runs.results))
    return table[list(columns)] if columns else table


def tight_searches_that_hardly_lend(sweep: Runs) -> str:
    """Count the searches of Algorithm 2 for tolerances below 0.1 that hardly lend, by variant."""
    found = []
    for variant in dict.fromkeys(sweep.results["variant"]):
        profits = pd.concat(
            of_arm(sweep.results, "profit", "cce-dp" + ending, variant)
            for tolerance, (_, ending) in TOLERANCES.items()
            if tolerance < TOLERANCE
        )
        hardly = int((profits < NEVER_LENDS).sum())
        found.append(f"{sweep.look.names[variant]}, {hardly} of {len(profits)}")
    return "; ".join(found)


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


def checked(runs: Runs) -> pd.DataFrame | Words:
    """Write `checked_policies` in per cent, with names."""
    if runs.results.empty:
        return runs.missing
    table = runs.labelled(checked_policies(runs.results)).map("{:.1%}".format)
    return table.rename_axis(columns=None)


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
            "core seconds, median run": seconds.median().round(1),
            "core minutes in all": (seconds.sum() / 60).round(1),
        }
    )


def cost_of_runs(*runs: Runs) -> Folded | Words:
    """Fold away what the runs of some experiments cost."""
    stored = [one.provenance() for one in runs if len(one.results)]
    if not stored:
        return runs[0].missing
    return folded(cost_of_experiments(pd.concat(stored)), "What the stored runs cost")


def cost_in_words(runs: Sequence[Runs], printed: Sequence[Experiment]) -> Words:
    """Say what all runs of the paper cost, and those behind its own figures.

    Parameters
    ----------
    runs
        Runs of all experiments.
    printed
        Experiments behind figures of the paper.
    """
    stored = [one.provenance() for one in runs if len(one.results)]
    if not stored:
        return runs[0].missing
    everything = pd.concat(stored)
    chosen = everything[everything["experiment"].isin([one.id for one in printed])]
    of_paper, of_all = (part["core_seconds"].sum() / 60 for part in (chosen, everything))
    return Words(
        f"The {len(chosen)} runs behind the figures of the paper took {of_paper:.0f} core minutes. "
        f"With everything that this chapter adds these are {len(everything)} runs and "
        f"{of_all:.0f} core minutes. Other work ran on the machine at the time. The exact "
        "solutions come on top, and take little beside it."
    )


# Figures ----------------------------------------------------------------------------------------


@drawing
def scatter(runs: Runs, numbers: Any, notion: Notion, variant: str) -> Figure | None:
    """Draw profit against gap of the methods of one constraint, beside the exact optima.

    The conservative baseline is left out, because it has neither profit nor gap.

    Parameters
    ----------
    runs
        Runs of Figure 1.
    numbers
        As from `exact_results.stored`.
    notion
        Whose gap.
    variant
        `"as_coded"` or `"as_published"`.
    """
    rates = RATES_OF[variant]
    corners = frontier(numbers, notion, rates)
    figure = runs.scatter_figure(
        variant,
        methods=["race-blind", f"optimistic-{notion}", f"cce-{notion}"],
        across=("profit", f"gap_{notion}{GAP_OF[variant]}"),
        points=best_points(numbers, notion, rates, TOLERANCE),
        frontier=corners.rename(columns={"gap": "bias", "profit": "reward"}),
    )
    if figure is None:
        return None
    first, last = corners.iloc[0], corners.iloc[-1]
    words = (
        f" A line shows the best profit for every gap: from {first['profit']:.3f} at a gap of "
        f"{first['gap']:.3f} to {last['profit']:.3f} at {last['gap']:.3f}."
    )
    return replace(figure, alt_text=figure.alt_text + words)


def against_tolerance(
    runs: Runs, sweep: Runs, numbers: Any, quantity: str, variant: str
) -> Figure | None:
    """Draw gap or profit of Algorithm 2 and the optimistic baseline against the tolerance.

    Lines are medians, because searches that hardly lend and those that do not are of two kinds.
    Beside the gap stands the tolerance itself, beside the profit the best one within it.

    Parameters
    ----------
    runs, sweep
        Runs of `FIGURE1` and `SWEEP`.
    numbers
        As from `exact_results.stored`.
    quantity
        `"gap"` or `"profit"`.
    variant
        `"as_coded"` or `"as_published"`.
    """
    table = by_tolerance(pd.concat([runs.results, sweep.results]))
    rows = table[table["variant"] == variant]
    if rows.empty:
        return None
    rows = rows.rename(columns={"tolerance": "step", quantity: "value"}).drop(columns="variant")
    steps = np.sort(rows["step"].unique())
    if quantity == "gap":
        bar = pd.DataFrame({"method": "tolerance", "step": steps, "value": steps})
    else:
        corners = frontier(numbers, "dp", RATES_OF[variant])
        best = np.interp(steps, corners["gap"], corners["profit"])
        bar = pd.DataFrame({"method": "frontier", "step": steps, "value": best})
    bar = bar.assign(low=bar["value"], high=bar["value"])
    metric = "profit" if quantity == "profit" else f"gap_dp{GAP_OF[variant]}"
    return learning_curves(
        pd.concat([middles(rows, ["method", "step"], median=True), bar]),
        quantity=runs.look.axes[metric],
        band=interval_in_words(rows.assign(variant=variant), median=True),
        runs=rows,
        styles=runs.look.styles,
        across="tolerance",
    )
