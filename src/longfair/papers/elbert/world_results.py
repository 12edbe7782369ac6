"""Results of ELBERT's attention and infectious experiments, and of its ablations, as tidy tables.

Reading results in general is the matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter1d

from longfair.arrays import FloatArray
from longfair.figures import Figure, LineStyle, Words, curve_panels, group_style
from longfair.figures.style import BLACK, GREEN, GREY, SKY
from longfair.papers.elbert.measures import ALL_GROUPS
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.papers.styles import METHODS
from longfair.runs import tidy
from longfair.runs.experiment import Experiment
from longfair.runs.statistics import Estimate, estimate, share
from longfair.runs.tidy import ARM, ArmName, curve, final, in_order, of_arm
from longfair.runs.verdicts import Verdict

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

POSTER_START: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "reward": {"g-ppo": (-3.9, -3.08, -2.86), "elbert-po": (-4.9, -3.93, -3.27)},
    "bias": {"g-ppo": (0.31, 0.255, 0.244), "elbert-po": (0.22, 0.10, 0.067)},
}
"""The poster's curves of harder attention at the steps `START`; errors of 0.03 and 0.004."""

START = (0, 500_000, 1_000_000)
"""Steps at which the poster's curves were read."""

SMOOTHING = 145_000
"""Standard deviation, in steps, of the Gaussian that the poster's curves are smoothed with."""

LAST = 12
"""Evaluations that carry nine tenths of the weight in the last point of the poster's curves."""

FIGURE_5: Mapping[int, tuple[float, float]] = {
    50: (-2.49, 0.276),
    200: (-2.36, 0.227),
    1000: (-2.22, 0.138),
    5000: (-2.20, 0.080),
    20_000: (-2.30, 0.037),
}
"""Reward and bias at the end by alpha, read off the poster; errors of 0.04 and 0.006."""


DISCOUNTED = LineStyle("ELBERT-PO, discounted totals", SKY, "H", "--")
"""Style of ELBERT-PO with discounted totals, an ablation that neither text nor code has."""

ATTENTION = Look(
    styles={
        "elbert-po-discounted": DISCOUNTED,
        "equal": LineStyle("equal", GREY, "x", ":"),
        "gaussian": LineStyle("at random", GREY, "+", ":"),
        "proportional": LineStyle("oracle", SKY, "P", ":"),
        "constant-reward": LineStyle("constant for reward", BLACK, "v", ":"),
        "constant-optimum": LineStyle("constant for both", BLACK, "^", ":"),
        "static-reward": LineStyle("weights for reward", GREEN, "<", ":"),
        "static-optimum": LineStyle("weights for the objective", GREEN, "*", ":"),
    },
    beside=("constant-reward", "proportional", "static-optimum"),
)
"""How runs in attention allocation appear."""

ATTENTION_HARDER = replace(
    ATTENTION,
    styles={
        **ATTENTION.styles,
        "static-optimum": replace(ATTENTION.styles["static-optimum"], label="weights for both"),
    },
    logarithmic_beyond={"reward": -3.0},
    median=True,
)
"""The same where a run that loses a site falls far below all others.

There the objective minds the bias, so its best weights serve both; in the original environment it
hardly does.
"""

INFECTIOUS = Look(
    styles={
        "elbert-po-discounted": DISCOUNTED,
        "nobody": LineStyle("nobody", GREY, "x", ":"),
        "uniform": LineStyle("at random", GREY, "+", ":"),
        "highest-degree": LineStyle("most ties first", BLACK, "v", ":"),
        "most-exposed": LineStyle("most exposed first", SKY, "P", ":"),
        "static-reward": LineStyle("lottery for reward", BLACK, "<", ":"),
        "static-optimum": LineStyle("lottery for both", GREEN, "*", ":"),
        "static-optimum-text": LineStyle("lottery for both, by the text", GREEN, "d", ":"),
        "vaccinate-then-waste": LineStyle("protect, then waste", BLACK, "X", ":"),
        "vaccinate-then-waste-text": LineStyle("the same, by the text", BLACK, "D", ":"),
    },
    beside=("highest-degree", "most-exposed", "static-optimum"),
)
"""How runs in the infectious disease environment appear."""

INFECTIOUS_APART = replace(INFECTIOUS, median=True)
"""The same where a few runs end apart from the others, and none near the mean."""

FIGURE_9: Mapping[str, LineStyle] = {
    f"{rank}_{quantity}": group_style(index, f"{quantity}, {rank}")
    for index, (quantity, rank) in enumerate(
        product(("supply", "demand"), ("advantaged", "disadvantaged"))
    )
}
"""Lines of the paper's Figure 9, by metric."""

LOST = 30
"""Incidents per step at the worst served site beyond which it counts as lost.

No site of harder attention has more at the start of an episode.
"""


def beside_poster(
    results: pd.DataFrame,
    read: Mapping[str, Mapping[str, float]],
    error: Mapping[str, float],
) -> pd.DataFrame:
    """Hold the last policies, as coded, against the numbers on the authors' poster.

    Parameters
    ----------
    results
        As from `Store.load`.
    read
        What the poster shows, by metric and method.
    error
        Half width of the reading error, by metric.

    Returns
    -------
    pandas.DataFrame
        One row per method and metric: `method`, `metric`; our mean as `value`, with the ends `low`
        and `high` of its interval, and the three as they are `written`; the number on the
        `poster`, and whether it `agrees`, "yes" or "no": whether it lies within our interval,
        widened by the reading error. Where runs are of two kinds, the numbers are their median, the
        lowest and the highest, and `agrees` is "two kinds"; a single run has no interval, and it is
        "one run".
    """
    rows = final(results)
    chosen = (rows["variant"] == "as_coded") & (rows["group"] == ALL_GROUPS)
    chosen &= rows["metric"].isin(list(read)) & rows["method"].isin(list(read["reward"]))
    runs = rows[chosen].groupby(["method", "metric"], sort=False, observed=True)["value"]
    found = []
    for (method, metric), values in runs:
        number = read[str(metric)][str(method)]
        ours = _beside(values, str(metric), number, error[str(metric)])
        found.append({"method": method, "metric": metric, **ours})
    columns = ["method", "metric", "value", "low", "high", "written", "poster", "agrees"]
    return pd.DataFrame(found, columns=columns)


def _beside(
    values: pd.Series[float], metric: str, poster: float, error: float
) -> dict[str, float | str]:
    """Hold the runs of one method against one number, as `beside_poster` says."""
    found = tidy.possible(estimate(values), metric)
    low, high = found.interval or (found.value, found.value)
    agrees = "yes" if low - error <= poster <= high + error else "no"
    middle, text = found.value, tidy.written(found)
    if found.two_kinds:
        middle, low, high = tidy.middle(values), float(values.min()), float(values.max())
        text, agrees = f"{tidy.median_and_range(values)}, two kinds", "two kinds"
    elif len(values) == 1:
        agrees = "one run"
    return {
        "value": middle,
        "low": low,
        "high": high,
        "written": text,
        "poster": poster,
        "agrees": agrees,
    }


def start_beside_poster(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Hold the beginning of runs in harder attention against the poster's curves.

    Parameters
    ----------
    results
        As from `Store.load`: G-PPO, ELBERT-PO, or a form of ELBERT-PO. Only runs as coded count, as
        on the poster.
    metric
        `"reward"` or `"bias"`.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `step`; `runs`, their `median`, `lowest` and `highest` value, and the value
        of the `poster`. As there, the value at step 0 is not that of the untrained policy: the
        curve of every run is smoothed.
    """
    curves = curve(results, metric, "as_coded")
    rows = [
        (method, step, value)
        for (method, _), run in curves.groupby(["method", "seed"], sort=False, observed=True)
        for step, value in zip(START, _smoothed(run), strict=True)
    ]
    found = pd.DataFrame(rows, columns=["method", "step", "value"])
    by_step = found.groupby(["method", "step"], sort=False)["value"]
    table: pd.DataFrame = by_step.agg(["size", "median", "min", "max"])
    table.columns = pd.Index(["runs", "median", "lowest", "highest"])
    read = POSTER_START[metric]
    table["poster"] = [
        read["g-ppo" if method == "g-ppo" else "elbert-po"][START.index(step)]
        for method, step in table.index
    ]
    return table


def _smoothed(run: pd.DataFrame) -> FloatArray:
    """Return the values of one run's curve at the steps `START`, smoothed as on the poster."""
    run = run.sort_values("step")
    steps, values = run["step"].to_numpy(float), run["value"].to_numpy(float)
    smooth = gaussian_filter1d(values, SMOOTHING / np.diff(steps).mean(), mode="reflect")
    at_start: FloatArray = np.interp(START, steps, smooth)
    return at_start


def lost_sites(results: pd.DataFrame, variant: str = "as_coded") -> pd.DataFrame:
    """Count the runs in harder attention whose last policy has lost a site.

    Parameters
    ----------
    results
        As from `Store.load`.
    variant
        Variant to count.

    Returns
    -------
    pandas.DataFrame
        One row per method: `runs`; `lost`, how many of them have more than `LOST` incidents per
        step at the worst served site; their `share` with an exact 95 % interval; and the span of
        reward and bias of the runs that lost a site and of those that kept all, in words.
    """
    methods = results.loc[results["variant"] == variant, "method"].unique()
    return pd.DataFrame(
        {method: _losses(results, str(method), variant) for method in methods}
    ).T.rename_axis("method")


def lost_table(runs: Runs, variant: str = "as_coded") -> pd.DataFrame | Words:
    """Lay out `lost_sites` with the labels of the figures, or say which command makes the runs."""
    if runs.results.empty:
        return runs.missing
    return runs.labelled(lost_sites(runs.results, variant)).rename_axis(None)


def lost_in_words(results: pd.DataFrame, method: str, variant: str = "as_coded") -> str:
    """Say how many runs of a method have lost a site, as in "3 of 10 runs lose a site"."""
    own = results["variant"] == variant
    if not (own & (results["method"] == method)).any():
        return "No runs are stored that could lose a site"
    found = lost_sites(results, variant).loc[method]
    verb = "loses" if found["lost"] == 1 else "lose"
    return f"{found['lost']} of {found['runs']} runs {verb} a site"


def best_in_words(runs: Runs) -> str:
    """Say in how many runs ELBERT-PO, as coded, has both the least bias and the most reward.

    Parameters
    ----------
    runs
        Runs of several methods, which are compared seed by seed.

    Returns
    -------
    str
        As in "3 of 3 runs".
    """
    method, variant = "elbert-po", "as_coded"
    if not runs.has((method, variant)):
        return NOT_STORED
    own = runs.last[runs.last["variant"] == variant]
    reward, bias = (
        own.pivot(index="seed", columns="method", values=metric).dropna()
        for metric in ("reward", "bias")
    )
    best = (reward.idxmax(axis=1) == method) & (bias.idxmin(axis=1) == method)
    return f"{best.sum()} of {len(best)} runs"


def fairest_run(runs: Runs, method: str, variant: str) -> pd.Series[float] | None:
    """Look at the run of a method with the least bias, as `bias_exact` measures it.

    Parameters
    ----------
    runs
        Runs of an environment whose groups have rates.
    method, variant
        Whose run.

    Returns
    -------
    pandas.Series or None
        Its `bias`, its `reward`, and `best_rate`, the benefit rate of the group that is served
        best; None where nothing is stored.
    """
    if not runs.has((method, variant)):
        return None
    least = runs.last_of(method, variant).sort_values("bias_exact").iloc[0]
    rows = final(runs.results)
    own = rows[
        (rows["method"] == method) & (rows["variant"] == variant) & (rows["seed"] == least["seed"])
    ]
    rates = own.loc[(own["metric"] == "rate") & (own["group"] != ALL_GROUPS), "value"]
    found = {"bias": least["bias_exact"], "reward": least["reward"], "best_rate": rates.max()}
    return pd.Series(found, dtype=float)


def demand_by_site(runs: Runs) -> pd.DataFrame | Words:
    """Lay out the incidents per step at every site, median of the runs, before and after training.

    Parameters
    ----------
    runs
        Runs of an attention allocation experiment; those as coded are shown. Acting at random
        stands for what was before the training.
    """
    untrained, rows = "gaussian", final(runs.results)
    chosen = (rows["variant"] == "as_coded") | (rows["method"] == untrained)
    rows = rows[chosen & (rows["metric"] == "demand") & (rows["group"] != ALL_GROUPS)]
    if rows.empty:
        return runs.missing
    sites = rows.assign(site=rows["group"] + 1).groupby(["method", "site"], observed=True)["value"]
    methods = [method for method in (untrained, *METHODS) if method in set(rows["method"])]
    table: pd.DataFrame = sites.median().unstack().loc[methods].round(1)
    return runs.labelled(table).rename_axis(None)


def wasted_table(runs: Runs) -> pd.DataFrame | Words:
    """Lay out how many of a hundred vaccines given were wasted, written as in `tidy.final_table`.

    Parameters
    ----------
    runs
        Runs of an infectious disease experiment. If they appear by their medians, so does what is
        wasted, with the lowest and the highest.
    """
    share = wasted_share(runs.results) if len(runs.results) else pd.DataFrame()
    if share.empty:
        return runs.missing
    write = tidy.median_and_range if runs.look.median else None
    return runs.labelled(_written(100 * share["value"], share, "wasted, of 100 vaccines", 0, write))


def _written(
    values: pd.Series[float],
    runs: pd.DataFrame,
    title: str,
    digits: int,
    write: tidy.Write | None = None,
) -> pd.DataFrame:
    """Write one number per run of every arm, in the way of `tidy.final_table`."""
    rows = runs.assign(value=values, metric=title, group=ALL_GROUPS, phase="final")
    return tidy.final_table(rows, {title: (title, digits)}, write)[[title]]


def span_beside(ours: Runs, single: Runs, metrics: Sequence[str]) -> pd.DataFrame | Words:
    """Hold a single run as coded against the lowest and the highest of ours.

    Parameters
    ----------
    ours, single
        Runs of one experiment under two profiles.
    metrics
        What to compare.
    """
    if ours.results.empty or single.results.empty:
        return single.missing
    groups = [
        runs.last[runs.last["variant"] == "as_coded"].groupby("method", sort=False)[list(metrics)]
        for runs in (ours, single)
    ]
    parts = {
        "our lowest": groups[0].min(),
        "our highest": groups[0].max(),
        "authors' settings": groups[1].max(),
    }
    table = pd.concat(parts, axis=1).swaplevel(axis=1)[list(metrics)].dropna()
    return ours.labelled(table).round(3)


def _losses(results: pd.DataFrame, method: str, variant: str) -> dict[str, Any]:
    worst, reward, bias = (
        of_arm(results, metric, method, variant)
        for metric in ("disadvantaged_demand", "reward", "bias")
    )
    is_lost = worst > LOST
    found = share(is_lost)
    low, high = found.interval or (0.0, 1.0)
    return {
        "runs": len(worst),
        "lost": int(is_lost.sum()),
        "share": f"{found.value:.0%} [{low:.0%}, {high:.0%}]",
        "reward, lost": _span(reward[is_lost], 1),
        "reward, kept": _span(reward[~is_lost], 2),
        "bias, lost": _span(bias[is_lost], 2),
        "bias, kept": _span(bias[~is_lost], 2),
    }


def _span(values: pd.Series[float], digits: int) -> str:
    if values.empty:
        return ""
    low, high = (f"{value:.{digits}f}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def wasted_share(results: pd.DataFrame) -> pd.DataFrame:
    """Return which share of the vaccines given was wasted, by run.

    Parameters
    ----------
    results
        As from `Store.load`, of an infectious disease experiment.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `value`; policies that give no vaccine are left out.
    """
    rows = final(results)
    key = [*ARM, "seed"]
    given = rows[rows["metric"] == "supply"].groupby(key, sort=False)["value"].sum()
    wasted = rows[rows["metric"] == "wasted"].set_index(key)["value"]
    share = wasted.reindex(given.index) / given.where(given > 0)
    return share.dropna().rename("value").reset_index()


def extremes(results: pd.DataFrame) -> pd.DataFrame:
    """Return supply and demand of the best and the worst served group during training.

    Parameters
    ----------
    results
        As from `Store.load`, with rate, supply and demand of every group.

    Returns
    -------
    pandas.DataFrame
        Columns as in `results`, metrics such as `"advantaged_supply"`, of all groups together. As
        in the paper's Figure 9, which groups these are is decided anew at every step.
    """
    point = [*ARM, "seed", "phase", "step"]
    chosen = (results["phase"] == "curve") & (results["group"] != ALL_GROUPS)
    quantities = results["metric"].isin(["rate", "supply", "demand"])
    rows = results[chosen & quantities].astype({"metric": str})
    groups = rows.set_index([*point, "group", "metric"])["value"].unstack().reset_index("group")
    in_order = groups.sort_values("rate", kind="stable").groupby(point, observed=True)
    ranks = {"disadvantaged": in_order.first(), "advantaged": in_order.last()}
    found: pd.Series[float] = pd.concat(
        {
            f"{rank}_{quantity}": table[quantity]
            for rank, table in ranks.items()
            for quantity in ("supply", "demand")
        },
        names=["metric"],
    )
    return found.reset_index(name="value").assign(group=ALL_GROUPS)


def supply_and_demand(
    results: pd.DataFrame, logarithmic_beyond: float | None = None
) -> Figure | None:
    """Draw supply and demand of the best and the worst served group during training, as coded.

    Parameters
    ----------
    results
        As from `tidy.stored`, with rate, supply and demand of every group.
    logarithmic_beyond
        A number beyond which the vertical axis is logarithmic.

    Returns
    -------
    Figure or None
        The paper's Figure 9, one panel per method, medians of the runs; None if there are none.
        Where rates are close the groups change places, and a mean mixes them.
    """
    learned = results[results["variant"] == "as_coded"]
    if learned.empty:
        return None
    moved = extremes(learned)
    lines = [curve(moved, metric, "as_coded").assign(line=metric) for metric in FIGURE_9]
    rows = in_order(pd.concat(lines), list(learned["method"].unique()))
    labels = rows["method"].map(lambda method: METHODS[method].label)
    panels = rows.assign(panel=labels, method=rows["line"])
    return curve_panels(
        tidy.middles(panels, ["panel", *ARM, "step"], median=True),
        quantity="supply or demand per step",
        band=tidy.interval_in_words(rows, median=True),
        styles=FIGURE_9,
        logarithmic_beyond=logarithmic_beyond,
    )


def summed_over_groups(results: pd.DataFrame, metric: str) -> pd.Series[str]:
    """Write the sum of a metric over all groups in the last policies, as `tidy.final_table` does.

    Parameters
    ----------
    results
        As from `tidy.stored`.
    metric
        A metric of single groups, such as `"demand"`.

    Returns
    -------
    pandas.Series
        Index `method`, `variant`.
    """
    rows = final(results)
    rows = rows[(rows["metric"] == metric) & (rows["group"] != ALL_GROUPS)]
    runs = rows.groupby([*ARM, "seed"], sort=False, observed=True)["value"].sum().reset_index()
    return _written(runs["value"], runs, metric, 2)[metric]


def both_beside_poster(ours: Runs, authors: Runs) -> pd.DataFrame:
    """Hold two profiles of an experiment against the poster, one below the other.

    Parameters
    ----------
    ours, authors
        Runs under two profiles.

    Returns
    -------
    pandas.DataFrame
        Index `profile` and `method`; columns `metric`, `runs` in words, `poster` and `agrees`, as
        from `beside_poster`. No rows without runs.
    """
    name = ours.experiment.name
    tables = {}
    for runs in (ours, authors):
        if len(runs.results):
            held = beside_poster(runs.results, POSTER[name], READING_ERROR[name])
            words = held.rename(columns={"written": "runs"}).set_index("method")
            tables[runs.profile] = runs.labelled(words[["metric", "runs", "poster", "agrees"]])
    return pd.concat(tables, names=["profile"]) if tables else pd.DataFrame()


def late_in_words(
    runs: Runs,
    metric: str,
    method: str = "elbert-po",
    variant: str = "as_coded",
    *,
    span: bool = False,
) -> str:
    """Write the mean of the `LAST` evaluations during training, where the poster has its number.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric, method, variant
        Whose curve.
    span
        Whether the lowest and the highest of these evaluations follow.

    Returns
    -------
    str
        As in "0.041 (single evaluations from 0.001 to 0.132)".
    """
    found = curve(runs.results, metric, variant)
    own = found[found["method"] == method].sort_values("step")
    if own.empty:
        return NOT_STORED
    last = own.groupby("seed", observed=True).tail(LAST)["value"]
    ends = f" (single evaluations from {last.min():.3f} to {last.max():.3f})" if span else ""
    return f"{last.mean():.3f}{ends}"


def less_in_group(
    runs: Runs, metric: str, group: int, first: ArmName, second: ArmName, digits: int = 3
) -> str:
    """Write by how much two arms differ in a metric of one group, as `Runs.less` does."""
    own = runs.results[runs.results["group"] == group].assign(group=ALL_GROUPS)
    return runs.showing(own).less(metric, first, second, digits)


def how_many(runs: Runs, method: str) -> str:
    """Say how many runs of a method, as coded, there are, as in "one run" or "5 runs"."""
    count = len(runs.last_of(method, "as_coded")) if len(runs.last) else 0
    return "one run" if count == 1 else f"{count} runs"


def verdict_in_words(
    verdicts: Sequence[Verdict],
    claim: str,
    settings: str = "authors",
    measure: str = "",
) -> str:
    """Write a verdict, or the answer to a question of ours, with the number that it rests on.

    Parameters
    ----------
    verdicts
        As from `longfair.papers.page.Page.verdicts`.
    claim
        Id of the claim.
    settings
        Which verdict on it, as coded: `"authors"` or `"ours"`.
    measure
        By which measure; empty where a claim has one only.

    Returns
    -------
    str
        As in "*yes*, 0.074 [0.017, 0.132]".
    """
    wanted = (claim, settings, "as_coded", measure)
    for one in verdicts:
        if (one.claim.id, one.settings, one.variant, one.measure) == wanted:
            if one.estimate is None:
                return f"*{one.answer}*"
            low, high = one.interval or (None, None)
            number = Estimate(one.estimate, low, high, len(one.seeds), one.measured)
            return f"*{one.answer}*, {tidy.written(number)}"
    return "*not judged*"


def settings_table(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Lay out how methods are trained with the authors' settings and with ours.

    Parameters
    ----------
    experiments
        Heading to experiment; all its methods share the settings.

    Returns
    -------
    pandas.DataFrame
        Index `setting`; columns: heading and profile.
    """
    columns: dict[tuple[str, str], dict[str, Any]] = {}
    for heading, experiment in experiments.items():
        for profile in ("paper", "book"):
            arms: Any = experiment.arms[profile]
            config = next(arm.config for arm in arms if arm.method == "g-ppo")
            every = {"evaluated every": config.evaluating.every}
            columns[heading, profile] = vars(config.learning) | every
    return pd.DataFrame(columns).drop(["clipping", "discount"]).rename_axis("setting")
