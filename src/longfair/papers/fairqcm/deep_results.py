"""The deep results of FairQCM as tidy tables.

The functions read the table of `longfair.runs.store.Store.load` and give estimates over seeds. The
experiments are those of `longfair.papers.fairqcm.deep`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from longfair.agents.fairqcm.presets import Learning, Switches
from longfair.papers.fairqcm.deep import CHANGES, config_of
from longfair.runs.experiment import Experiment, plan
from longfair.runs.statistics import Estimate, estimate, paired_difference
from longfair.runs.store import Store, no_results
from longfair.runs.verdicts import REFERENCE

_ARM = ["method", "variant"]

Arm = tuple[str, str]
"""Method and variant."""

RERUN: Mapping[str, tuple[float, float, float]] = {
    "fairqcm": (958.7, 1032.4, 26.8),
    "reset": (935.0, 1034.4, 29.1),
    "full": (916.6, 1000.7, 99.1),
    "rnn": (898.5, 952.5, 23.7),
    "min": (738.5, 762.3, 40.4),
}
"""Doughnut returns of the authors' scripts in an independent rerun, by method.

Mean over all episodes; mean over the last 100; standard deviation of the latter over ten runs.
Computed from the episode logs that Nagy et al. (2025) keep in their repository.
"""

RERUN_RUNS: Mapping[str, tuple[float, float, float]] = {
    "fairqcm": (986, 1001, 1068),
    "full": (750, 949, 1073),
}
"""Doughnut returns over the last 100 episodes in the same rerun: the first run, which alone starts
out by exploring, then the lowest and the highest of the nine others."""

RERUN_EPISODES: Mapping[str, tuple[float | None, float | None]] = {
    "fairqcm": (151, 309),
    "reset": (232, 484),
    "full": (209, 622),
    "rnn": (229, 669),
    "min": (None, None),
}
"""Episodes after which ten doughnut episodes of the same rerun have a mean return of 900 and 1000,
averaged over its runs; None if they never have."""

RERUN_LENDING: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "first version": {
        "fairqcm": (-143, 43, -101),
        "min": (-160, 175, -64),
        "full": (-326, 204, -208),
        "rnn": (-438, 228, -340),
    },
    "second version": {
        "fairqcm": (-81, 54, -30),
        "min": (-159, 121, -74),
        "full": (-391, 110, -326),
    },
}
"""Lending returns over the last 100 episodes in two versions of the same rerun, by method.

Mean, standard deviation and median over ten runs. The first version keeps the authors' environment
and updates, but copies the target network less often, computes in half precision and evaluates the
recurrent network with a stale state. The second starts and schedules the networks differently, and
has no recurrent one. In both FairQCM remembers what Min does.
"""

# Reading results --------------------------------------------------------------------------------


def stored(store: Store, experiment: Experiment, profile: str) -> pd.DataFrame:
    """Load the results of an experiment under a profile; no rows when there are none.

    Parameters
    ----------
    store
        Where the results are.
    experiment
        One of `longfair.papers.fairqcm.deep`.
    profile
        Name of the profile.

    Returns
    -------
    pandas.DataFrame
        As from `Store.load`, methods in the order of the experiment.
    """
    if experiment.id not in store.experiments():
        return no_results()
    results = store.load(experiment=experiment.id, profile=profile)
    return in_order(results, experiment.methods(profile))


def gaps(store: Store, experiments: Sequence[Experiment], profile: str) -> pd.DataFrame:
    """Say which runs of a profile are not stored, or no longer what the present code would give.

    Parameters
    ----------
    store
        Where the results are.
    experiments
        Experiments to look at.
    profile
        Name of the profile.

    Returns
    -------
    pandas.DataFrame
        One row per arm with a gap: `experiment`, `method`, `variant` and the number of its runs in
        each status. No rows when every run is stored and fresh.
    """
    states = pd.concat(
        [
            store.states(plan(experiment, profile)).assign(experiment=experiment.id)
            for experiment in experiments
        ],
        ignore_index=True,
    )
    groups = states.groupby(["experiment", *_ARM, "status"], sort=False)
    counts = groups.size().unstack(fill_value=0)
    unfinished = counts.drop(columns="fresh", errors="ignore")
    return counts[unfinished.sum(axis=1) > 0].rename_axis(columns=None).reset_index()


def curve(results: pd.DataFrame, metric: str, variant: str, every: int = 1) -> pd.DataFrame:
    """Select one series of the greedy episodes during training.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        `"return"`, `"welfare"`, `"allocated"`, `"invalid"` or, in lending, `"margin_met"`.
    variant
        Variant to keep.
    every
        Average so many neighbouring points of the curve; a last incomplete set is left out.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `step` (the last of the points averaged), `value`.
    """
    chosen = results[
        (results["phase"] == "curve")
        & (results["metric"] == metric)
        & (results["variant"] == variant)
    ]
    rows = chosen[[*_ARM, "seed", "step", "value"]].reset_index(drop=True)
    by = [*_ARM, "seed"]
    block = rows.groupby(by, sort=False).cumcount() // every
    blocks = rows.groupby([*by, block], sort=False)
    merged = blocks.agg(step=("step", "last"), value=("value", "mean"), size=("value", "size"))
    complete = merged[merged["size"] == every].reset_index()
    return complete[[*by, "step", "value"]]


def mean_curve_reaches(
    results: pd.DataFrame, variant: str, thresholds: Sequence[float]
) -> pd.DataFrame:
    """Say when the mean curve over runs first reaches a return.

    A single run that jumps up and down reaches it earlier, by luck.

    Parameters
    ----------
    results
        As from `Store.load`.
    variant
        Variant to keep.
    thresholds
        Returns.

    Returns
    -------
    pandas.DataFrame
        Index `method`; for each threshold the training step, missing if it is never reached.
    """
    means = curve(results, "return", variant).groupby(["step", "method"], sort=False)["value"]
    curves = means.mean().unstack("method")
    return pd.DataFrame(
        {level: curves.ge(level).idxmax().where(curves.ge(level).any()) for level in thresholds}
    )


def final(results: pd.DataFrame) -> pd.DataFrame:
    """Select the summaries of runs: `method`, `variant`, `seed`, `metric`, `value`."""
    chosen = results[results["phase"] == "final"]
    return chosen[[*_ARM, "seed", "metric", "value"]].reset_index(drop=True)


def over_seeds(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Estimate a mean over seeds, with its 95 % bootstrap interval, for every combination.

    Parameters
    ----------
    rows
        Column `value` and those of `by`; one row per combination and seed.
    by
        Columns that tell combinations apart. Their values name the estimate's random stream.

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


def references(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Average over all seeds and episodes what policies reach that need no training.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A series of the learning curve.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `value`, in order of appearance.
    """
    rows = results[
        (results["variant"] == REFERENCE)
        & (results["phase"] == "curve")
        & (results["metric"] == metric)
    ]
    means = rows.groupby("method", sort=False)["value"].mean()
    return means.rename_axis("method").reset_index()


def final_table(results: pd.DataFrame, quantities: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    """Lay out summaries of whole runs for reading.

    Parameters
    ----------
    results
        As from `Store.load`.
    quantities
        Metric to column title and number of digits.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`; mean with its interval per quantity, and the number of seeds.
    """
    rows = final(results)
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for (method, variant), of_arm in rows.groupby(_ARM, sort=False):
        line: dict[str, Any] = {}
        for metric, (title, digits) in quantities.items():
            values = of_arm.loc[of_arm["metric"] == metric, "value"]
            name = f"{method} {variant} {metric}"
            line[title] = written(estimate(values, name=name), digits) if len(values) else ""
        lines[str(method), str(variant)] = line | {"seeds": of_arm["seed"].nunique()}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(_ARM)


def by_seed(results: pd.DataFrame) -> pd.DataFrame:
    """Lay the summaries out as one row per run and one column per metric."""
    rows = final(results)
    table = rows.pivot(index=[*_ARM, "seed"], columns="metric", values="value")
    return table.rename_axis(columns=None).reset_index()


def single_runs(results: pd.DataFrame, metric: str, variants: Sequence[str]) -> pd.DataFrame:
    """Lay a summary out as one row per arm and one column per run.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A summary of whole runs.
    variants
        Variants to keep.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`; columns `run 1` (seed 0) and so on. Rounded to whole numbers, as
        text; empty text where a run is missing.
    """
    rows = final(results)
    rows = rows[(rows["metric"] == metric) & rows["variant"].isin(list(variants))]
    table = rows.pivot(index=_ARM, columns="seed", values="value")
    table.columns = pd.Index(
        [f"run {int(seed) + 1}" for seed in rows["seed"].sort_values().unique()]
    )
    written_out: pd.DataFrame = table.map(lambda value: "" if pd.isna(value) else f"{value:.0f}")
    return written_out


def of_arm(results: pd.DataFrame, metric: str, method: str, variant: str) -> pd.Series[float]:
    """Return a summary of one arm's runs, indexed by seed."""
    rows = final(results)
    chosen = (rows["metric"] == metric) & (rows["method"] == method) & (rows["variant"] == variant)
    return rows[chosen].set_index("seed")["value"]


def change(first: pd.Series[float], second: pd.Series[float], name: str) -> Estimate | None:
    """Estimate by how much the first differs from the second, paired by seed.

    Parameters
    ----------
    first, second
        As from `of_arm`.
    name
        Names the estimate's random stream.

    Returns
    -------
    Estimate or None
        Mean of first less second over the seeds that both have; None if they share no seed.
    """
    shared = first.index.intersection(second.index)
    if shared.empty:
        return None
    return paired_difference(first[shared], second[shared], name=name)


def changes(results: pd.DataFrame, quantities: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    """Say what single changes do to the published methods, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    quantities
        As in `final_table`.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant` of the changed arms, in order of appearance: the difference from
        the method as published, with interval, per quantity. Empty without any changed arm.
    """
    arms = results[_ARM].drop_duplicates().itertuples(index=False, name=None)
    pairs = {arm: (arm, (arm[0], "as_published")) for arm in arms if arm[1] in CHANGES}
    return differences(results, pairs, quantities)


def differences(
    results: pd.DataFrame,
    pairs: Mapping[Any, tuple[Arm, Arm]],
    quantities: Mapping[str, tuple[str, int]],
) -> pd.DataFrame:
    """Say by how much one arm differs from another, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    pairs
        Under the label of a line, an arm and the one that is taken from it.
    quantities
        As in `final_table`.

    Returns
    -------
    pandas.DataFrame
        One row per label: the difference, with interval, per quantity. Pairs without results are
        left out. Labels that are arms make an index of `method` and `variant`.
    """
    lines: dict[Any, dict[str, str]] = {}
    for label, (first, second) in pairs.items():
        for metric, (title, digits) in quantities.items():
            found = difference(results, metric, first, second)
            if found is not None:
                lines.setdefault(label, {})[title] = written(found, digits, signed=True)
    table = pd.DataFrame.from_dict(lines, orient="index")
    return table.rename_axis(_ARM) if table.index.nlevels == len(_ARM) else table


def difference(results: pd.DataFrame, metric: str, first: Arm, second: Arm) -> Estimate | None:
    """Estimate by how much a summary of one arm differs from that of another, paired by seed."""
    pair = [of_arm(results, metric, *arm) for arm in (first, second)]
    return change(pair[0], pair[1], " ".join((*first, *second, metric)))


def sign(found: Estimate) -> int:
    """Return 1 or -1 if the interval is above or below zero, and 0 if neither can be said."""
    low, high = found.interval or (0.0, 0.0)
    return int(low > 0) - int(high < 0)


def losses(results: pd.DataFrame, best: str, digits: int = 1) -> pd.DataFrame:
    """Split what every arm loses against the best policy, in the last episodes of training.

    Parameters
    ----------
    results
        As from `Store.load`.
    best
        Method of the variant `"reference"` that nothing surpasses.
    digits
        Digits to write.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`; the difference of returns `in all`, and its two parts:
        `exceptions`, by rewards that were not the welfare (nothing for waste, fines), and
        `welfare`, by the welfare of the counts. Means paired by seed, with intervals.
    """
    lines: dict[Arm, dict[str, str]] = {}
    top = _parts(results, (best, REFERENCE))
    for method, variant in results[_ARM].drop_duplicates().itertuples(index=False, name=None):
        for name, values in _parts(results, (method, variant)).items():
            found = change(top[name], values, f"{method} {variant} lost {name}")
            if found is not None and (method, variant) != (best, REFERENCE):
                lines.setdefault((method, variant), {})[name] = written(found, digits)
    index = pd.MultiIndex.from_tuples(list(lines), names=_ARM)
    return pd.DataFrame(list(lines.values()), index=index)


def _parts(results: pd.DataFrame, arm: Arm) -> dict[str, pd.Series[float]]:
    """Return the returns of an arm's runs and the two parts that they are the sum of."""
    received, welfare = (of_arm(results, metric, *arm) for metric in ("return", "welfare"))
    return {"in all": received, "exceptions": received - welfare, "welfare": welfare}


def in_order(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Bring methods into an order; the store's own is alphabetical."""
    order = {method: place for place, method in enumerate(methods)}
    return table.sort_values(
        "method", key=lambda column: column.map(order), kind="stable", ignore_index=True
    )


def written(found: Estimate, digits: int = 1, *, signed: bool = False) -> str:
    """Write an estimate with its interval, as in "1032.4 [1020.1, 1044.9]"."""
    form = f"{'+' if signed else ''}.{digits}f"
    if found.interval is None:
        return f"{found.value:{form}}"
    low, high = found.interval
    return f"{found.value:{form}} [{low:{form}}, {high:{form}}]"


def cost(provenance: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Summarise what runs cost.

    Parameters
    ----------
    provenance
        As from `Store.provenance`.
    methods
        Methods in the order wanted.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`: number of runs, training steps of one, median core seconds of
        one, core minutes of all.
    """
    groups = in_order(provenance, methods).groupby(_ARM, sort=False)
    return pd.DataFrame(
        {
            "runs": groups.size(),
            "training steps": groups["steps"].median().astype(int),
            "core seconds per run": groups["core_seconds"].median().round(1),
            "core minutes in all": (groups["core_seconds"].sum() / 60).round(1),
        }
    )


def cost_of_experiments(
    store: Store, experiments: Sequence[Experiment], profile: str
) -> pd.DataFrame:
    """Summarise what whole experiments cost.

    Parameters
    ----------
    store
        Where the results are.
    experiments
        Experiments to look at; those without results are left out.
    profile
        Name of the profile.

    Returns
    -------
    pandas.DataFrame
        Index `experiment`: number of stored `runs`; their `core minutes`; and those of them that
        belong to the paper's own methods, as coded and as published.
    """
    lines = {}
    known = store.experiments()
    for experiment in (one for one in experiments if one.id in known):
        provenance = store.provenance(experiment=experiment.id, profile=profile)
        if len(provenance):
            minutes = provenance["core_seconds"] / 60
            own = provenance["variant"].isin(["as_coded", "as_published"])
            lines[experiment.id] = (len(provenance), minutes.sum(), minutes[own].sum())
    columns = ["runs", "core minutes", "of the paper's methods"]
    table = pd.DataFrame.from_dict(lines, orient="index", columns=columns)
    return table.rename_axis("experiment").astype({"runs": int})


# Settings ---------------------------------------------------------------------------------------


SWITCH_MEANINGS: Mapping[str, str] = {
    "always_received": "imagined memories grow by what was wasted",
    "gap_before": "imagined loan rewards look at the loans before the step",
    "exploration_carries_over": "exploration goes on from the previous run",
    "smoothing": "number added inside the logarithm of the real doughnut reward",
    "recurrent_width": "size of the recurrent state",
    "recurrent_training": "what a recurrent minibatch consists of",
    "lending_memory": "what FairQCM remembers in lending",
    "terminal_mask": "nothing is expected after the end (not stated in the paper)",
    "time_observed": "the agent sees the time (not stated in the paper)",
    "evaluated": "network that plays the greedy episodes (not stated in the paper)",
}
"""What every field of `Switches` says."""


def switch_table() -> pd.DataFrame:
    """Return the differences between paper and code, one row each."""
    coded, published = Switches.as_coded(), Switches.as_published()
    return pd.DataFrame(
        {
            "meaning": SWITCH_MEANINGS,
            "as published": {name: getattr(published, name) for name in SWITCH_MEANINGS},
            "as coded": {name: getattr(coded, name) for name in SWITCH_MEANINGS},
        }
    ).rename_axis("switch")


def learning_table(problem: str, methods: Sequence[str], variant: str) -> pd.DataFrame:
    """Return the settings of the methods of a problem, one column each."""
    settings = {method: config_of(problem, method, variant).learning for method in methods}
    return pd.DataFrame(
        {
            method: {field.name: getattr(chosen, field.name) for field in fields(Learning)}
            for method, chosen in settings.items()
        }
    ).rename_axis("setting")
