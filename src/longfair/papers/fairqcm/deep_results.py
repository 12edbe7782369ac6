"""The deep results of FairQCM: how they appear, tables, and numbers in sentences.

The experiments are those of `longfair.papers.fairqcm.deep`. Reading results in general is the
matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd

from longfair.agents.fairqcm.presets import RUNS_OF_A_SCRIPT, Exploration, Learning, Switches
from longfair.figures import LineStyle, Words
from longfair.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers.fairqcm.deep import (
    CHANGES,
    REFERENCE_POLICIES,
    UPDATES_PER_EPISODE,
    DeepLearning,
    changed_from,
    config_of,
    episode_length,
    reference,
)
from longfair.papers.fairqcm.memories import MEMORIES
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Setting
from longfair.runs.evidence import REFERENCE
from longfair.runs.experiment import Experiment
from longfair.runs.store import Store
from longfair.runs.tidy import (
    ARM,
    ArmName,
    Quantities,
    change,
    curve,
    curve_references,
    difference,
    final,
    of_arm,
    sign,
    written,
)

LEARNED = ("fairqcm", "full", "min", "reset", "rnn")
"""The paper's deep agents. In lending there is no `"reset"`."""

_STYLES = {
    "fairqcm": LineStyle("FairQCM", BLUE, "o"),
    "full": LineStyle("Full", VERMILION, "s"),
    "min": LineStyle("Min", PURPLE, "^", (0, (5, 1.5))),
    "reset": LineStyle("Reset", ORANGE, "D", (0, (3, 1, 1, 1))),
    "rnn": LineStyle("RNN", GREEN, "v", (0, (6, 1, 1, 1, 1, 1))),
}

DOUGHNUTS_LOOK = Look(
    styles={
        **_STYLES,
        "oracle": LineStyle("Oracle", BLACK, "*", ":"),
        "rotation": LineStyle("taking turns", SKY, "P", ":"),
        "random-present": LineStyle("random, present", GREY, "+", ":"),
        "random": LineStyle("Random", GREY, "x", ":"),
    },
    variants={**CHANGES, **MEMORIES},
    axes={
        "return": "return of a greedy episode",
        "allocated": "doughnuts taken per episode",
        "welfare": "welfare summed over an episode",
    },
    every={"book": 5},
)
"""How the runs on doughnuts appear."""

LENDING_LOOK = Look(
    styles={
        **{method: style for method, style in _STYLES.items() if method != "reset"},
        "false": LineStyle("FairQCM, false rewards", VERMILION, "D", "--"),
        "oracle": LineStyle("optimum", BLACK, "*", ":"),
        "alternating": LineStyle("alternating", SKY, "P", ":"),
        "random-present": LineStyle("random applicant", GREY, "+", ":"),
        "random": LineStyle("Random", GREY, "x", ":"),
    },
    variants=CHANGES,
    axes={
        "return": "return of a greedy episode",
        "welfare": "fairness score of an episode",
        "margin_met": "share of episodes that meet the margin",
        "invalid": "invalid grants per episode",
    },
    every={"book": 5},
)
"""How the runs in lending appear."""

RERUN_LEVELS = (900, 1000)
"""Doughnut returns whose first episode is known of an independent rerun."""

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


def single_runs(runs: Runs, metric: str, *variants: str) -> pd.DataFrame | Words:
    """Lay a summary out as one row per arm and one column per run.

    Parameters
    ----------
    runs
        Stored runs.
    metric
        A summary of whole runs.
    *variants
        Variants to keep.

    Returns
    -------
    pandas.DataFrame or Words
        Index `method`, `variant`; columns `run 1` (seed 0) and so on. Rounded to whole numbers, as
        text; empty text where a run is missing.
    """
    rows = final(runs.results)
    rows = rows[(rows["metric"] == metric) & rows["variant"].isin(list(variants))]
    if rows.empty:
        return runs.missing
    table = rows.pivot(index=ARM, columns="seed", values="value")
    table.columns = pd.Index(
        [f"run {int(seed) + 1}" for seed in rows["seed"].sort_values().unique()]
    )
    return runs.labelled(table.map(lambda value: "" if pd.isna(value) else f"{value:.0f}"))


def changes(runs: Runs, quantities: Quantities) -> pd.DataFrame | Words:
    """Say what single changes do to the methods, paired by seed.

    Parameters
    ----------
    runs
        Stored runs.
    quantities
        What to compare.

    Returns
    -------
    pandas.DataFrame or Words
        Index `method`, `variant` of the changed arms, in order of appearance: the difference from
        the method as published, or as coded where that was changed, with interval, per quantity.
    """
    pairs = {
        arm: (arm, (arm[0], changed_from(arm[1]))) for arm in runs.learned if arm[1] in CHANGES
    }
    return runs.differences(pairs, quantities)


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
    lines: dict[ArmName, dict[str, str]] = {}
    top = _parts(results, (best, REFERENCE))
    for method, variant in results[ARM].drop_duplicates().itertuples(index=False, name=None):
        for name, values in _parts(results, (method, variant)).items():
            found = change(top[name], values, f"{method} {variant} lost {name}")
            if found is not None and (method, variant) != (best, REFERENCE):
                lines.setdefault((method, variant), {})[name] = written(found, digits)
    index = pd.MultiIndex.from_tuples(list(lines), names=ARM)
    return pd.DataFrame(list(lines.values()), index=index)


def loss_table(
    runs: Runs, exceptions: str, welfare: str, digits: int = 1, total: str = "in all"
) -> Any:
    """Lay `losses` out against the Oracle or the optimum, or say which command makes the runs.

    Parameters
    ----------
    runs
        Stored runs.
    exceptions, welfare
        Titles of the two parts.
    digits
        Digits to write.
    total
        Title of their sum.
    """
    if runs.results.empty:
        return runs.missing
    titles = {"in all": total, "exceptions": exceptions, "welfare": welfare}
    return runs.labelled(losses(runs.results, "oracle", digits).rename(columns=titles))


def _parts(results: pd.DataFrame, arm: ArmName) -> dict[str, pd.Series[float]]:
    """Return the returns of an arm's runs and the two parts that they are the sum of."""
    received, welfare = (of_arm(results, metric, *arm) for metric in ("return", "welfare"))
    return {"in all": received, "exceptions": received - welfare, "welfare": welfare}


# Sentences --------------------------------------------------------------------------------------

_IN_WORDS = {1: "a clear gain", -1: "a clear loss", 0: "no clear difference"}


def in_words(runs: Runs, metric: str, first: ArmName, second: ArmName, digits: int = 0) -> str:
    """Say what taking the first arm in place of the second gives, paired by seed.

    Clear is what has an interval on one side of zero.
    """
    found = difference(runs.results, metric, first, second)
    if found is None:
        return NOT_STORED
    return f"{_IN_WORDS[sign(found)]}, {written(found, digits, signed=True)}"


def effects(runs: Runs, metric: str, pairs: Mapping[str, tuple[ArmName, ArmName]]) -> list[str]:
    """Say what changes give: a sentence for each that is clear, and of what no difference is.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        A final metric of all groups together.
    pairs
        Under the name of a change, an arm and the one that is taken from it, as for `in_words`.
    """
    told, unclear = [], []
    for what, (first, second) in pairs.items():
        found = difference(runs.results, metric, first, second)
        if found is not None and sign(found) == 0:
            unclear.append(what)
        else:
            told.append(f"{what}: {in_words(runs, metric, first, second)}.")
    return [*told, *([f"No clear difference: {'; '.join(unclear)}."] if unclear else [])]


def bar(runs: Runs, metric: str, policy: str) -> float:
    """Return what a policy without training reaches in the episodes of all runs' curves."""
    found = curve_references(runs.results, metric).set_index("method")["value"]
    return float(found.get(policy, np.nan))


def above(runs: Runs, metric: str, mark: float) -> str:
    """Say how many learned arms have a mean above a mark, as in "3 of 18"."""
    means = [runs.mean(metric, *arm) for arm in runs.learned]
    return f"{sum(mean > mark for mean in means)} of {len(means)}"


def runs_above(runs: Runs, metric: str, mark: float) -> str:
    """Say how many runs of all learned arms end above a mark, as in "3 of 180"."""
    ends = pd.concat([of_arm(runs.results, metric, *arm) for arm in runs.learned])
    return f"{int((ends > mark).sum())} of {ends.size}"


def best(runs: Runs, metric: str) -> str:
    """Name the learned arm with the largest mean, and its mean."""
    means = {arm: runs.mean(metric, *arm) for arm in runs.learned}
    if not means:
        return NOT_STORED
    method, variant = max(means, key=lambda arm: means[arm])
    names = runs.look.names
    return f"{names[method]} {names[variant]} with {means[method, variant]:.0f}"


# Beside an independent rerun --------------------------------------------------------------------


def beside_rerun(runs: Runs) -> pd.DataFrame | Words:
    """Hold doughnut returns as coded against those of an independent rerun.

    Returns
    -------
    pandas.DataFrame or Words
        One row per method: means over all episodes and over the last hundred, deviations over
        runs, and the difference of the latter means with its standard error.
    """
    rows = {}
    for method, (over_all, last, deviation) in RERUN.items():
        if runs.has((method, "as_coded")):
            ours = of_arm(runs.results, "return", method, "as_coded")
            spread = ours.std(ddof=0)
            rows[runs.look.names[method]] = {
                "all, rerun": over_all,
                "all, ours": runs.mean("return_all", method, "as_coded"),
                "last hundred, rerun": last,
                "last hundred, ours": ours.mean(),
                "deviation, rerun": deviation,
                "deviation, ours": spread,
                "difference": ours.mean() - last,
                # Deviations are those of the runs at hand, so one run less is in the denominator.
                "its error": np.hypot(deviation / np.sqrt(10 - 1), spread / np.sqrt(len(ours) - 1)),
            }
    return pd.DataFrame(rows).T.round(1) if rows else runs.missing


def episodes_to_levels(runs: Runs) -> pd.DataFrame | Words:
    """Say after how many episodes returns of `RERUN_LEVELS` are reached, in two ways.

    Returns
    -------
    pandas.DataFrame or Words
        Index: method and variant. Per level: the mean over runs of the episode that each reaches
        it in, the episode of the mean curve, and the rerun's mean over runs.
    """
    rows: dict[ArmName, dict[str, str]] = {}
    for variant in ("as_coded", "as_published"):
        episodes = mean_curve_reaches(runs.results, variant, RERUN_LEVELS).div(
            episode_length("doughnuts")
        )
        for method in [name for name in LEARNED if runs.has((name, variant))]:
            row = rows[method, variant] = {}
            for place, level in enumerate(RERUN_LEVELS):
                single = runs.mean(f"episodes_to_{level}", method, variant)
                row[f"{level}, single runs"] = _episode(single)
                row[f"{level}, mean curve"] = _episode(episodes[level].to_dict()[method])
                if variant == "as_coded":
                    row[f"{level}, rerun"] = _episode(RERUN_EPISODES[method][place])
    if not rows:
        return runs.missing
    index = pd.MultiIndex.from_tuples(list(rows), names=ARM)
    return runs.labelled(pd.DataFrame(list(rows.values()), index=index).fillna(""))


def first_to_reach(runs: Runs, variant: str, level: int) -> str:
    """Name the methods whose mean curve reaches a return first, and in which episode."""
    if not (runs.results["variant"] == variant).any():
        return NOT_STORED
    steps = mean_curve_reaches(runs.results, variant, [level])[level].dropna()
    names = [runs.look.names[str(method)] for method in steps.index[steps == steps.min()]]
    episodes = steps.min() / episode_length("doughnuts")
    return f"{' and '.join(names)} after {episodes:.0f} episodes" if names else "nobody"


def first_runs(runs: Runs) -> pd.DataFrame | Words:
    """Hold the first run, which alone explores much as coded, against the others of one script.

    Returns
    -------
    pandas.DataFrame or Words
        Returns over the last hundred episodes, also of the independent rerun: of the first run,
        the lowest and the highest of the others, and whether the first is the worst.
    """
    names, rows = runs.look.names, {}
    for method, numbers in RERUN_RUNS.items():
        rows[f"{names[method]}, rerun"] = numbers
        for variant in ("as_coded", "as_published"):
            ours = of_arm(runs.results, "return", method, variant)
            ours = ours[ours.index < RUNS_OF_A_SCRIPT]
            if len(ours) > 1 and 0 in ours.index:
                others = ours.drop(0)
                line = (float(ours[0]), float(others.min()), float(others.max()))
                rows[f"{names[method]}, {names[variant]}"] = line
    columns = ["first run", "lowest of the others", "highest of the others"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    worst = table["first run"] < table["lowest of the others"]
    return table.round(0).astype(int).assign(**{"the first is the worst": worst})


def lending_beside_rerun(runs: Runs) -> pd.DataFrame | Words:
    """Hold lending returns over the last hundred episodes against both versions of the rerun.

    Returns
    -------
    pandas.DataFrame or Words
        Index: method, and whose runs. Mean, deviation and median over runs.
    """
    names, rows = runs.look.names, {}
    for method in ("fairqcm", "min", "full", "rnn"):
        for version, known in RERUN_LENDING.items():
            if method in known:
                rows[names[method], f"rerun, {version}"] = known[method]
        for variant in ("as_coded", "as_published", "false_update", "min_memory"):
            ours = of_arm(runs.results, "return", method, variant)
            if len(ours):
                line = (ours.mean(), ours.std(ddof=0), ours.median())
                rows[names[method], f"ours, {names[variant]}"] = line
    if runs.results.empty:
        return runs.missing
    index = pd.MultiIndex.from_tuples(list(rows), names=["method", "runs"])
    table = pd.DataFrame(list(rows.values()), index, ["mean", "deviation", "median"])
    return table.round().astype(int)


def _episode(number: float | None) -> str:
    """Write an episode; None or not a number is one that never came."""
    return "never" if number is None or pd.isna(number) else f"{number:.0f}"


# What it costs ----------------------------------------------------------------------------------


def recurrent_cost(runs: Runs) -> Words:
    """Say how much longer a gradient step of the published recurrent network takes than Full's."""
    arms = [("rnn", "as_published"), ("full", "as_published")]
    if not runs.has(*arms):
        return runs.missing
    seconds = runs.provenance().groupby(ARM)["core_seconds"].median()
    wide, full = (float(seconds[arm]) for arm in arms)
    per_step = full / episode_length(runs.experiment.name)
    ratio = wide / UPDATES_PER_EPISODE / per_step
    return Words(
        f"The published recurrent network learns {UPDATES_PER_EPISODE} times per episode instead "
        "of at every step. The paper does not say how often it learns. A gradient step of a "
        f"network that wide on whole episodes takes about {ratio:.0f} times as long as one of "
        "Full, evaluation and all, so it cannot learn at every step."
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


def budget_in_words(table: pd.DataFrame, hours: float) -> Words:
    """Hold what experiments cost on two cores against what a paper may take.

    Parameters
    ----------
    table
        As from `cost_of_experiments`.
    hours
        What a paper may take on two cores.
    """
    spent, own = (
        f"{total:.1f} hours on two cores, {'within' if total < hours else 'more than'}"
        for total in (
            table[column].sum() / 60 / 2 for column in ("core minutes", "of the paper's methods")
        )
    )
    return Words(
        f"All {table['runs'].sum()} stored runs take {spent} the {hours:g} hours that this book "
        f"allows a paper. The paper's own methods, as coded and as published, take {own} them. "
        "Times are as measured, on a machine that had other work to do, too."
    )


# Small studies ----------------------------------------------------------------------------------


def untrained_table(problem: str, titles: Mapping[str, str], run: int = 1000) -> pd.DataFrame:
    """Play 2000 episodes with every policy that needs no training.

    Parameters
    ----------
    problem
        `"doughnuts"` or `"lending"`.
    titles
        Metric to column title.
    run
        Number of the run.

    Returns
    -------
    pandas.DataFrame
        Index: the policies' ids; means over the episodes.
    """
    rows = {}
    for name in REFERENCE_POLICIES[problem]:
        table = train_and_evaluate(reference(problem, name, 2000), run)
        rows[name] = table[table["phase"] == "curve"].groupby("metric")["value"].mean()
    return pd.DataFrame(rows).T[list(titles)].rename(columns=dict(titles)).rename_axis(columns=None)


def shorter(problem: str, method: str, episodes: int, **changes: Any) -> Setting:
    """Return the settings of a published method that learns for some episodes only.

    Parameters
    ----------
    problem, method
        As for `longfair.papers.fairqcm.deep.config_of`.
    episodes
        Training episodes.
    **changes
        Settings of learning to change, such as a faster fall of the exploration.
    """
    config = config_of(problem, method, "as_published")
    learning = replace(config.learning.settings, **changes)
    return replace(config, learning=DeepLearning(learning, episodes))


def with_switches(config: Setting, **changes: bool) -> Setting:
    """Return the same settings with other switches between paper and code."""
    switches = replace(config.method.switches, **changes)
    return replace(config, method=replace(config.method, switches=switches))


def exploration_rates(episodes: int, every: int) -> pd.DataFrame:
    """Follow the share of random actions in the authors' scripts, whose runs share one schedule.

    Parameters
    ----------
    episodes
        Training episodes of a run.
    every
        Episodes between two rows.

    Returns
    -------
    pandas.DataFrame
        Index: training episodes; columns `run 1`, `run 2`, `runs 3 to 10`.
    """
    start, rates = Exploration(), {}
    for run, name in enumerate(("run 1", "run 2", "runs 3 to 10")):
        rate, series = start.after_runs(run, episodes).start, []
        for _ in range(episodes + 1):
            series.append(rate)
            rate = start.after_episode(rate)
        rates[name] = series[::every]
    return pd.DataFrame(rates, index=np.arange(0, episodes + 1, every))


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
    settings = {method: config_of(problem, method, variant).learning.settings for method in methods}
    return pd.DataFrame(
        {
            method: {field.name: getattr(chosen, field.name) for field in fields(Learning)}
            for method, chosen in settings.items()
        }
    ).rename_axis("setting")
