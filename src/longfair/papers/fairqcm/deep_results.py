"""The deep results of FairQCM as tidy tables.

The experiments are those of `longfair.papers.fairqcm.deep`. Reading results in general is the
matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

import pandas as pd

from longfair.agents.fairqcm.presets import Learning, Switches
from longfair.papers.fairqcm.deep import CHANGES, config_of
from longfair.runs.evidence import REFERENCE
from longfair.runs.experiment import Experiment
from longfair.runs.store import Store
from longfair.runs.tidy import (
    ARM,
    ArmName,
    Quantities,
    change,
    curve,
    differences,
    final,
    of_arm,
    written,
)

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
    table = rows.pivot(index=ARM, columns="seed", values="value")
    table.columns = pd.Index(
        [f"run {int(seed) + 1}" for seed in rows["seed"].sort_values().unique()]
    )
    written_out: pd.DataFrame = table.map(lambda value: "" if pd.isna(value) else f"{value:.0f}")
    return written_out


def changes(results: pd.DataFrame, quantities: Quantities) -> pd.DataFrame:
    """Say what single changes do to the published methods, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    quantities
        What to compare.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant` of the changed arms, in order of appearance: the difference from
        the method as published, with interval, per quantity. Empty without any changed arm.
    """
    arms = results[ARM].drop_duplicates().itertuples(index=False, name=None)
    pairs = {arm: (arm, (arm[0], "as_published")) for arm in arms if arm[1] in CHANGES}
    return differences(results, pairs, quantities)


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


def _parts(results: pd.DataFrame, arm: ArmName) -> dict[str, pd.Series[float]]:
    """Return the returns of an arm's runs and the two parts that they are the sum of."""
    received, welfare = (of_arm(results, metric, *arm) for metric in ("return", "welfare"))
    return {"in all": received, "exceptions": received - welfare, "welfare": welfare}


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
    settings = {method: config_of(problem, method, variant).learning.settings for method in methods}
    return pd.DataFrame(
        {
            method: {field.name: getattr(chosen, field.name) for field in fields(Learning)}
            for method, chosen in settings.items()
        }
    ).rename_axis("setting")
