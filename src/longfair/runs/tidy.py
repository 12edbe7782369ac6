"""Stored results as tidy tables and estimates over seeds, for any experiment.

The functions read the table of `longfair.runs.store.Store.load`. What only one paper needs is
beside its experiments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import quantile_test

from longfair.runs.evidence import REFERENCE
from longfair.runs.experiment import Experiment, plan
from longfair.runs.statistics import (
    Estimate,
    estimate,
    paired_difference,
    two_kinds,
    within_ends,
)
from longfair.runs.store import Store, no_results
from longfair.runs.tables import ALL_GROUPS
from longfair.wording import unsigned_zero, with_interval

ARM = ["method", "variant"]
"""Columns that name an arm."""

POSSIBLE = {
    **dict.fromkeys(("bias", "bias_exact", "invalid"), (0.0, np.inf)),
    **dict.fromkeys(("wasted", "margin_met"), (0.0, 1.0)),
}
"""Values that a metric can have. An interval is cut to them, which leaves out no possible truth."""

FEWEST = 3
"""Seeds that an interval is drawn of. That of two is many times as wide as they are apart."""

UNITS_APART = 20
"""Units of the last digit that is written, up to which runs of two kinds are alike to a reader."""

ArmName = tuple[str, str]
"""Method and variant."""

Quantities = Mapping[str, tuple[str, int]]
"""Metric to column title and number of digits."""

Write = Callable[["pd.Series[float]", int], str]
"""Writes one value per run with a number of digits."""

# What is stored ---------------------------------------------------------------------------------


def stored(store: Store, profile: str, *experiments: Experiment) -> pd.DataFrame:
    """Load the results of experiments under a profile; no rows when there are none.

    Parameters
    ----------
    store
        Where the results are.
    profile
        Name of the profile.
    *experiments
        What to load.

    Returns
    -------
    pandas.DataFrame
        As from `Store.load`, methods in the order of their experiment.
    """
    known = store.experiments()
    tables = [
        in_order(store.load(experiment=one.id, profile=profile), one.methods(profile))
        for one in experiments
        if one.id in known and profile in one.arms
    ]
    tables = [table for table in tables if len(table)]
    return pd.concat(tables, ignore_index=True) if tables else no_results()


def gaps(store: Store, profile: str, *experiments: Experiment) -> pd.DataFrame:
    """Say which runs of a profile are not stored, or no longer what the present code would give.

    Parameters
    ----------
    store, profile, *experiments
        As for `stored`.

    Returns
    -------
    pandas.DataFrame
        Index `experiment`, `method`, `variant`: the number of runs in each status, for every arm
        with a gap. No rows when every run is stored and fresh.
    """
    states = store.states(run for one in experiments for run in plan(one, profile))
    groups = states.groupby(["experiment", *ARM, "status"], sort=False)
    counts = groups.size().unstack(fill_value=0).rename_axis(columns=None)
    return counts[counts.drop(columns="fresh", errors="ignore").sum(axis=1) > 0]


def nothing_to_show(profile: str, *experiments: Experiment) -> str:
    """Say that runs of experiments are not stored, and which command makes them."""
    names = " ".join(experiment.id for experiment in experiments)
    return f"These runs are not stored yet: `longfair run {names} --profile {profile}` makes them."


def in_order(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Bring methods into an order; the store's own is alphabetical."""
    order = {method: place for place, method in enumerate(methods)}
    return table.sort_values(
        "method", key=lambda column: column.map(order), kind="stable", ignore_index=True
    )


def arms_of(table: pd.DataFrame) -> list[ArmName]:
    """List the arms of a table, in the order in which they first come.

    A table has hundreds of thousands of rows, and reading its text cell by cell takes seconds.
    """
    return list(table[ARM].drop_duplicates().itertuples(index=False, name=None))


def cost(
    provenance: pd.DataFrame,
    methods: Sequence[str],
    in_all: Literal["minutes", "hours"] = "minutes",
) -> pd.DataFrame:
    """Summarise what runs cost.

    Parameters
    ----------
    provenance
        As from `Store.provenance`.
    methods
        Methods in the order wanted.
    in_all
        Unit of the last column.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`: number of runs, training steps of one ("none" where nothing is
        trained), median core seconds of one, core minutes or hours of all.
    """
    groups = in_order(provenance, methods).groupby(ARM, sort=False)
    seconds = groups["core_seconds"]
    unit, digits = {"minutes": (60, 1), "hours": (3600, 2)}[in_all]
    steps = groups["steps"].median().astype(int).astype(object)
    untrained = steps.index.get_level_values("variant") == REFERENCE
    return pd.DataFrame(
        {
            "runs": groups.size(),
            "training steps": steps.mask(untrained, "none"),
            "core seconds, median run": seconds.median().round(1),
            f"core {in_all} in all": (seconds.sum() / unit).round(digits),
        }
    )


# Selecting --------------------------------------------------------------------------------------


def curve(results: pd.DataFrame, metric: str, variant: str, every: int = 1) -> pd.DataFrame:
    """Select what was measured during training.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A metric of all groups together.
    variant
        Variant to keep.
    every
        Average so many neighbouring points of the curve; a last incomplete set is left out.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `step` (the last of the points averaged), `value`.
    """
    chosen = results[(results["phase"] == "curve") & (results["variant"] == variant)]
    by = [*ARM, "seed"]
    rows = _overall(chosen, metric)[[*by, "step", "value"]].reset_index(drop=True)
    block = rows.groupby(by, sort=False).cumcount() // every
    blocks = rows.groupby([*by, block], sort=False)
    merged = blocks.agg(step=("step", "last"), value=("value", "mean"), size=("value", "size"))
    complete = merged[merged["size"] == every].reset_index()
    return complete[[*by, "step", "value"]]


def final(results: pd.DataFrame) -> pd.DataFrame:
    """Select what was measured of whole runs or of the last policies.

    Parameters
    ----------
    results
        As from `Store.load`.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `metric`, `group`, `value`.
    """
    chosen = results[results["phase"] == "final"]
    return chosen[[*ARM, "seed", "metric", "group", "value"]].reset_index(drop=True)


def of_arm(results: pd.DataFrame, metric: str, method: str, variant: str) -> pd.Series[float]:
    """Return a final metric of all groups together of one arm's runs, indexed by seed."""
    rows = _overall(final(results), metric)
    chosen = (rows["method"] == method) & (rows["variant"] == variant)
    return rows[chosen].set_index("seed")["value"]


def references(
    results: pd.DataFrame, metric: str, policies: Sequence[str] | None = None
) -> pd.DataFrame:
    """Average over seeds what policies reach at the end that need no training.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A final metric of all groups together.
    policies
        Ids of the policies, in the order wanted; those without results are left out. By default
        all, in order of appearance.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `value`.
    """
    means = _mean_of_references(final(results[results["variant"] == REFERENCE]), metric)
    if policies is not None:
        means = means.reindex(list(policies)).dropna().rename_axis("method")
    return means.reset_index()


def curve_references(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Average over seeds and episodes what policies reach that need no training.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A metric of the learning curve, of all groups together.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `value`, in order of appearance.
    """
    chosen = (results["variant"] == REFERENCE) & (results["phase"] == "curve")
    return _mean_of_references(results[chosen], metric).reset_index()


def _mean_of_references(rows: pd.DataFrame, metric: str) -> pd.Series[float]:
    return _overall(rows, metric).groupby("method", sort=False)["value"].mean()


def _overall(rows: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """Keep some metrics of all groups together."""
    return rows[rows["metric"].isin(metrics) & (rows["group"] == ALL_GROUPS)]


def by_seed(results: pd.DataFrame) -> pd.DataFrame:
    """Lay final values out as one row per run and one column per quantity.

    Parameters
    ----------
    results
        As from `Store.load`.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, then one per metric; metrics of single groups are
        called `rate_0`, `rate_1` and so on. All in order of appearance.
    """
    return _wide(_named(final(results)))


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Put the group into the name of a metric, as in `rate_0`."""
    suffix = np.where(rows["group"] == ALL_GROUPS, "", "_" + rows["group"].astype(str))
    return rows.assign(metric=rows["metric"] + suffix)


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """Spread metrics over columns; runs and columns keep the order of their first appearance."""
    run = [*ARM, "seed"]
    table = rows.pivot(index=run, columns="metric", values="value")
    order = pd.MultiIndex.from_frame(rows[run].drop_duplicates())
    table = table.loc[order, list(dict.fromkeys(rows["metric"]))]
    return table.rename_axis(columns=None).reset_index()


def reward_and_bias(results: pd.DataFrame, reward: str, bias: str) -> pd.DataFrame:
    """Return reward and bias of the last policy of every run, as `figures.trade_off` reads them.

    Parameters
    ----------
    results
        As from `Store.load`.
    reward, bias
        Metrics of all groups together to take for the two.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `reward`, `bias`.
    """
    table = _wide(_overall(final(results), reward, bias))
    table = table.rename(columns={reward: "reward", bias: "bias"})
    return table[[*ARM, "seed", "reward", "bias"]]


# Estimating -------------------------------------------------------------------------------------


def over_seeds(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Estimate a mean over seeds, with its 95 % interval, for every combination.

    Parameters
    ----------
    rows
        Column `value` and those of `by`; one row per combination and seed.
    by
        Columns that tell combinations apart.

    Returns
    -------
    pandas.DataFrame
        The columns of `by`, then `value`, `low`, `high`, `seeds`, combinations in order of
        appearance. A single seed has no interval: `low` and `high` are then the value itself.
    """
    found = []
    for names, part in rows.groupby(list(by), sort=False):
        mean = estimate(part["value"], name=" ".join(map(str, names)))
        low, high = mean.interval or (mean.value, mean.value)
        found.append((*names, mean.value, low, high, mean.seeds))
    return pd.DataFrame(found, columns=[*by, "value", "low", "high", "seeds"])


def middles(
    rows: pd.DataFrame,
    by: Sequence[str],
    median: bool | Collection[str] = False,
    ranked: Collection[str] = (),
) -> pd.DataFrame:
    """Return what stands for the runs of every arm in a figure: a mean or a median.

    A mean has its 95 % interval, as from `over_seeds`, but for few seeds. Where the runs of an arm
    end in two kinds, see `kinds`, the median stands in its place whatever is asked for: no run ends
    where the mean is. A median has no interval unless it is `ranked`, and not where that interval
    would reach from one kind to the other.

    Parameters
    ----------
    rows
        Results, a row each.
    by
        Columns that tell apart what is summed up.
    median
        Whether it is the median in any case, or of which methods it is.
    ranked
        Methods whose medians have an interval; see `between_runs`.
    """
    if ranked or not isinstance(median, bool):
        parts, apart = [], kinds(rows[rows["method"].isin(list(ranked))], by, ranked=True)
        for name, own in rows.groupby("method", sort=False, observed=True):
            of_it = median if isinstance(median, bool) else name in median
            found = middles(own, by, of_it)
            if of_it and name in ranked:
                groups = own.groupby(list(by), sort=False, observed=True)["value"]
                ends = np.array(groups.agg(between_runs).to_list())
                alike = ~_among(apart, found, by)
                found.loc[alike, ["low", "high"]] = ends[alike]
            parts.append(found)
        return pd.concat(parts)
    groups = rows.groupby(list(by), sort=False, observed=True)["value"]
    middle = groups.quantile(0.5, interpolation="lower").reset_index()
    middle = middle.assign(low=middle["value"], high=middle["value"])
    if median:
        return middle
    found = over_seeds(rows, by)
    few = found["seeds"] < FEWEST
    cut = {end: found[end].mask(few, found["value"]) for end in ("low", "high")}
    found, apart = found.assign(**cut), kinds(rows, by)
    if apart:
        arms = _among(apart, found, by)
        numbers = ["value", "low", "high"]
        medians = found[list(by)].merge(middle, on=list(by), how="left")
        found.loc[arms, numbers] = medians.loc[arms, numbers]
    return found


def kinds(
    rows: pd.DataFrame, by: Sequence[str], ranked: bool = False
) -> dict[tuple[str, ...], tuple[int, int]]:
    """Find the arms whose runs end in two kinds, so that no run ends where their mean is.

    Parameters
    ----------
    rows, by
        As for `middles`. Of a curve the last step decides, so that a line is one thing all along;
        of several metrics or groups of an arm, one that is in two kinds is enough.
    ranked
        Find only those whose interval by ranks reaches from one kind to the other, see
        `between_runs`. With ten runs it does not where nine of them are of one kind.

    Returns
    -------
    dict
        The arm, by the columns of `by` that are no step, metric or group, to the number of runs
        below and above the gap; see `longfair.runs.statistics.two_kinds`.
    """
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    last = rows
    if "step" in by:
        arms = rows.groupby(_arm(by), sort=False, observed=True)["step"]
        last = rows[rows["step"] == arms.transform("max")]
    for name, part in last.groupby(list(by), sort=False, observed=True):
        arm = tuple(str(one) for one, key in zip(name, by, strict=True) if key not in _OF_AN_ARM)
        values = part["value"]
        middle = two_kinds(values)
        low, high = between_runs(values) if ranked else (-math.inf, math.inf)
        if middle is not None and low < middle < high:
            found.setdefault(arm, (int((values < middle).sum()), int((values > middle).sum())))
    return found


_OF_AN_ARM = ("step", "metric", "group")
"""Columns that tell apart what is measured of the same runs."""


def _arm(by: Sequence[str]) -> list[str]:
    return [column for column in by if column not in _OF_AN_ARM]


def _among(
    arms: Collection[tuple[str, ...]], rows: pd.DataFrame, by: Sequence[str]
) -> NDArray[np.bool_]:
    """Say which rows are of arms, as `kinds` names them."""
    return np.array([tuple(map(str, arm)) in arms for arm in rows[_arm(by)].to_numpy()], dtype=bool)


def middles_in_words(
    rows: pd.DataFrame,
    by: Sequence[str],
    names: Mapping[str, str],
    median: bool | Collection[str] = False,
    ranked: Collection[str] = (),
) -> str:
    """Say what `middles` are, and of how many runs each kind is where there are two.

    Parameters
    ----------
    rows, by, median, ranked
        As for `middles`; columns method, variant and seed are there.
    names
        Labels of methods and variants.

    Returns
    -------
    str
        As in "mean and 95 % interval, 10 seeds; median without interval where runs are of two
        kinds: Min, 2 and 8 runs".
    """
    by_rank = rows["method"].isin(list(ranked))
    if median is True and not by_rank.any():
        return interval_in_words(rows, median=True)
    by_hand = ~by_rank if median is True else rows["method"].isin(list(median or ())) & ~by_rank
    apart = kinds(rows[~by_hand & ~by_rank], by) | kinds(rows[by_rank], by, ranked=True)
    alike = ~_among(apart, rows, by) & ~by_hand
    means, medians = rows[alike & ~by_rank], rows[alike & by_rank]
    told = [interval_in_words(means)] if len(means) else []
    if len(medians):
        told.append(f"median and 95 % interval by ranks, {seeds_in_words(medians)}")
    if by_hand.any():
        called = ", ".join(names[method] for method in rows["method"][by_hand].unique())
        told.append(f"{called}: median, no interval")
    if apart:
        told.append(_apart_in_words(apart, rows, by, names))
    return "; ".join(told)


def kinds_in_words(rows: pd.DataFrame, by: Sequence[str], names: Mapping[str, str]) -> str:
    """Name the arms whose runs end in two kinds, with how many runs are of each.

    Parameters
    ----------
    rows, by
        As for `kinds`.
    names
        Labels of what is in the columns of `by`, empty where it need not be named. A variant is
        named only where there are several.

    Returns
    -------
    str
        As in "median without interval where runs are of two kinds: Min, 2 and 8 runs"; empty where
        there are none.
    """
    return _apart_in_words(kinds(rows, by), rows, by, names)


def _apart_in_words(
    apart: Mapping[tuple[str, ...], tuple[int, int]],
    rows: pd.DataFrame,
    by: Sequence[str],
    names: Mapping[str, str],
) -> str:
    told = []
    for arm, (below, above) in apart.items():
        parts = zip(_arm(by), arm, strict=True)
        shown = [part for key, part in parts if key != "variant" or rows[key].nunique() > 1]
        called = ", ".join(filter(None, (names.get(part, part) for part in shown)))
        told.append(f"{called}, {below} and {above} runs")
    if not told:
        return ""
    return f"median without interval where runs are of two kinds: {'; '.join(told)}"


def between_runs(values: pd.Series[float]) -> tuple[float, float]:
    """Return an interval of the median, from one run to another.

    That the median is beyond the k-th lowest of n runs, or the k-th highest, has a chance that does
    not depend on how runs are distributed. The largest k is taken with at most 5 % for both sides:
    the second of ten runs, which is 2.1 %. Fewer than six runs have no interval.

    Parameters
    ----------
    values
        One per run.

    Returns
    -------
    tuple of float
        Both ends; the lower middle of the runs twice if there is no interval.
    """
    runs = np.sort(values.to_numpy())
    low, high = _ranks_of_ends(len(runs))
    return float(runs[low]), float(runs[high])


@lru_cache
def _ranks_of_ends(runs: int) -> tuple[int, int]:
    """Return which of so many runs in order the ends of `between_runs` are.

    They do not depend on the values, and a figure asks for every step of every curve.
    """
    found = quantile_test(np.arange(runs), q=0.0, p=0.5).confidence_interval(0.95)
    if np.isnan([found.low, found.high]).any():
        middle = (runs - 1) // 2
        return middle, middle
    return int(found.low), int(found.high)


def interval_in_words(rows: pd.DataFrame, median: bool = False) -> str:
    """Say what a band or a cross is, as in "mean and 95 % interval, 10 seeds"."""
    seeds, told = rows.groupby(ARM)["seed"].nunique(), seeds_in_words(rows)
    if median:
        return f"median, no interval, {told}"
    few = seeds < FEWEST
    if few.all():
        return f"mean, no interval, {told}"
    return f"mean and 95 % interval, {told}{', none of fewer than three' * bool(few.any())}"


def seeds_in_words(rows: pd.DataFrame) -> str:
    """Say on how many seeds the methods of a table rest, as in "10 seeds" or "3 to 10 seeds"."""
    counts = rows.groupby(ARM)["seed"].nunique()
    few, many = int(counts.min()), int(counts.max())
    if few < many:
        return f"{few} to {many} seeds"
    return f"{many} seed{'s' * (many > 1)}"


def written(found: Estimate, digits: int = 3, *, signed: bool = False) -> str:
    """Write an estimate with its interval, as in "0.150 [0.148, 0.152]".

    One that would read as zero has as many more digits as show two of its interval's width, and two
    more at most.
    """
    width = 0.0 if found.interval is None else found.interval[1] - found.interval[0]
    if width > 0 and round(found.value, digits) == 0:
        digits = max(digits, min(1 - math.floor(math.log10(width)), digits + 2))
    return _text(found.value, found.interval, f"{'+' if signed else ''}.{digits}f")


def middle(values: pd.Series[float]) -> float:
    """Return the middle run; of an even number the lower one in the middle."""
    return float(values.quantile(0.5, interpolation="lower"))


def median_and_range(values: pd.Series[float], digits: int = 3, *, signed: bool = False) -> str:
    """Write runs as in "0.19 (0.17 to 0.21)": the middle one, the lowest and the highest.

    Parameters
    ----------
    values
        One per run, at least one; the median of an even number is the lower one in the middle.
    digits
        Digits after the point.
    signed
        Write a plus before what is above zero.
    """
    form = unsigned_zero(f"{'+' if signed else ''},.{digits}f")
    low, high = f"{values.min():{form}}", f"{values.max():{form}}"
    return f"{middle(values):{form}} ({low} to {high})" if len(values) > 1 else low


def possible(found: Estimate, metric: str) -> Estimate:
    """Cut the interval of a metric's mean to the values that the metric can have."""
    return within_ends(found, *POSSIBLE[metric]) if metric in POSSIBLE else found


def _of_one_kind(
    found: Estimate, values: pd.Series[float], digits: int, *, signed: bool = False
) -> str:
    """Write a mean with its interval, unless no run ends near it and a reader would see it."""
    seen = float(np.ptp(values)) * 10**digits > UNITS_APART
    if not (found.two_kinds and seen):
        return written(found, digits, signed=signed)
    return f"{median_and_range(values, digits, signed=signed)}, two kinds"


def all_written(means: pd.DataFrame, form: str = ".3f") -> pd.Series[str]:
    """Write every row of `over_seeds`, as in "47% [44%, 49%]" for the format `.0%`."""
    numbers = means[["value", "low", "high", "seeds"]].to_numpy()
    texts = [
        _text(value, (low, high) if seeds > 1 else None, form)
        for value, low, high, seeds in numbers
    ]
    return pd.Series(texts, index=means.index, dtype=object)


def _text(value: Any, interval: tuple[Any, Any] | None, form: str) -> str:
    return with_interval(value, interval, f"{{:{unsigned_zero(form)}}}".format)


def final_table(
    results: pd.DataFrame, quantities: Quantities, write: Write | None = None
) -> pd.DataFrame:
    """Lay out final metrics for reading.

    Parameters
    ----------
    results
        As from `Store.load`.
    quantities
        What to show; metrics of single groups are called `rate_0`, `rate_1` and so on.
    write
        Writes the runs' values with so many digits; by default their mean with its interval, or,
        where they are of two kinds, their median with the lowest and the highest.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`; what is written per quantity, empty text where it was not
        measured, and the number of seeds.
    """
    lines: dict[ArmName, dict[str, Any]] = {}
    for (method, variant), part in _named(final(results)).groupby(ARM, sort=False):
        line: dict[str, Any] = {}
        for metric, (title, digits) in quantities.items():
            values = part.loc[part["metric"] == metric, "value"]
            if values.empty:
                line[title] = ""
            elif write is not None:
                line[title] = write(values, digits)
            else:
                found = estimate(values, name=f"{method} {variant} {metric}")
                line[title] = _of_one_kind(possible(found, str(metric)), values, digits)
        lines[str(method), str(variant)] = line | {"seeds": part["seed"].nunique()}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(ARM)


def side_by_side(results: Mapping[str, pd.DataFrame], quantities: Quantities) -> pd.DataFrame:
    """Hold final metrics of the same learned arms under several settings against each other.

    Parameters
    ----------
    results
        Under a heading, as from `Store.load`.
    quantities
        What to compare, all groups together.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`: the learned arms that were run under every heading. Columns:
        quantity and heading, each written as in `final_table`; at last, per quantity, whether
        `intervals meet`, yes or no, or that runs are of two kinds, which leaves no interval to
        trust. A single seed counts as an interval without width. No rows if no arm is shared.
    """
    runs: dict[tuple[str, str], dict[ArmName, pd.Series[float]]] = {}
    for heading, table in results.items():
        learned = _overall(final(table[table["variant"] != REFERENCE]), *quantities)
        for (method, variant, metric), rows in learned.groupby([*ARM, "metric"], sort=False):
            arms = runs.setdefault((heading, str(metric)), {})
            arms[str(method), str(variant)] = rows["value"]
    columns: dict[tuple[str, str], dict[ArmName, Any]] = {}
    for metric, (title, digits) in quantities.items():
        parts = [runs.get((heading, metric), {}) for heading in results]
        for arm in [arm for arm in parts[0] if all(arm in part for part in parts)]:
            found = [
                possible(estimate(part[arm], name=" ".join((*arm, metric))), metric)
                for part in parts
            ]
            for heading, part, one in zip(results, parts, found, strict=True):
                text = _of_one_kind(one, part[arm], digits)
                columns.setdefault((title, heading), {})[arm] = text
            columns.setdefault((title, "intervals meet"), {})[arm] = _meet(found)
    return pd.DataFrame(columns).rename_axis(ARM) if columns else pd.DataFrame()


def _meet(found: Sequence[Estimate]) -> str:
    if any(one.two_kinds for one in found):
        return "two kinds"
    ends = [one.interval or (one.value, one.value) for one in found]
    met = max(low for low, _ in ends) <= min(high for _, high in ends)
    return "yes" if met else "no"


# Comparing --------------------------------------------------------------------------------------


def change(first: pd.Series[float], second: pd.Series[float], name: str) -> Estimate | None:
    """Estimate by how much the first differs from the second, paired by seed.

    Parameters
    ----------
    first, second
        As from `of_arm`.
    name
        What is estimated, for messages.

    Returns
    -------
    Estimate or None
        Mean of first less second over the seeds that both have; None if they share no seed.
    """
    shared = first.index.intersection(second.index)
    if shared.empty:
        return None
    return paired_difference(first[shared], second[shared], name=name)


def difference(
    results: pd.DataFrame, metric: str, first: ArmName, second: ArmName
) -> Estimate | None:
    """Estimate by how much a final metric of one arm differs from that of another.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A final metric of all groups together.
    first, second
        The arms.

    Returns
    -------
    Estimate or None
        As from `change`.
    """
    one, other = (of_arm(results, metric, *arm) for arm in (first, second))
    return change(one, other, " ".join((*first, *second, metric)))


def differences(
    results: pd.DataFrame,
    pairs: Mapping[Any, tuple[ArmName, ArmName]],
    quantities: Quantities,
) -> pd.DataFrame:
    """Say by how much one arm differs from another, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    pairs
        Under the label of a line, an arm and the one that is taken from it.
    quantities
        What to compare.

    Returns
    -------
    pandas.DataFrame
        One row per label: per quantity the mean difference with its interval, or, where the
        differences are of two kinds, their median and range. Pairs without results are left out.
        Labels that are arms make an index of `method` and `variant`.
    """
    lines: dict[Any, dict[str, str]] = {}
    for label, (first, second) in pairs.items():
        for metric, (title, digits) in quantities.items():
            one, other = (of_arm(results, metric, *arm) for arm in (first, second))
            found = change(one, other, " ".join((*first, *second, metric)))
            if found is not None:
                apart = (one - other).dropna()
                lines.setdefault(label, {})[title] = _of_one_kind(found, apart, digits, signed=True)
    table = pd.DataFrame.from_dict(lines, orient="index")
    return table.rename_axis(ARM) if table.index.nlevels == len(ARM) else table


def sign(found: Estimate) -> int:
    """Return 1 or -1 if the interval is above or below zero, and 0 if neither can be said."""
    low, high = found.interval or (0.0, 0.0)
    return int(low > 0) - int(high < 0)
