"""How L-UCBFair's runs appear on pages, and the phase portraits of policies."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from longfair.envs.population import DISPARITIES
from longfair.errors import UsageError
from longfair.figures import LineStyle
from longfair.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers.page import Look, Runs
from longfair.papers.setting import Setting, Untrained
from longfair.papers.ucbfair.flow import flow
from longfair.papers.untrained import params
from longfair.runs.evidence import REFERENCE

POPULATION = Look(
    styles={
        "l-ucbfair-learned": LineStyle("L-UCBFair, learned features", PURPLE, "<"),
        "td3": LineStyle("TD3", GREY, "X", "--"),
        "myopic": LineStyle("Myopic", VERMILION, "s", ":"),
        "myopic-gd": LineStyle("Myopic, by descent", VERMILION, "D", ":"),
        "myopic-fair": LineStyle("Myopic-Fair", ORANGE, "s", ":"),
        "myopic-fair-gd": LineStyle("Myopic-Fair, by descent", ORANGE, "D", ":"),
        "myopic-fair-61": LineStyle("Myopic-Fair, 61 knots", ORANGE, "h", ":"),
        "maxmin": LineStyle("Maxmin", BLUE, "s", ":"),
        "maxmin-gd": LineStyle("Maxmin, by descent", BLUE, "D", ":"),
        "maxmin-fair": LineStyle("Maxmin-Fair", SKY, "s", ":"),
        "maxmin-fair-gd": LineStyle("Maxmin-Fair, by descent", SKY, "D", ":"),
        "constant": LineStyle("one threshold for all", GREEN, "*", ":"),
        "optimum": LineStyle("exact optimum", BLACK, "P", "-"),
    },
    axes={
        "at_loss": "loss of a step",
        "at_disparity": "squared gap in acceptance",
        "training_loss": "mean loss of an episode",
        "training_disparity": "mean disparity of an episode",
        "loss": "mean loss",
        "disparity_dp": "mean squared gap in acceptance",
    },
    across=("loss", "disparity_dp"),
)
"""How runs in the population appear."""


def portraits(
    runs: Runs, methods: Mapping[str, str], shade: str = "loss", size: int = 40
) -> pd.DataFrame:
    """Follow policies without training for one step from every state of a grid.

    Parameters
    ----------
    runs
        Runs of the experiment that the policies belong to.
    methods
        Method to the title of its panel.
    shade
        ``"loss"`` of the step, or one of `DISPARITIES`.
    size
        States along a rate.

    Returns
    -------
    pandas.DataFrame
        Columns as `longfair.figures.phase_portrait` takes them.
    """
    if shade not in ("loss", *DISPARITIES):
        raise UsageError(f"shade={shade!r}: give 'loss' or one of {', '.join(DISPARITIES)}")
    parts = []
    for method, title in methods.items():
        setting = _setting(runs, method)
        policy = setting.method.make(setting.world, 0)
        moved = flow(policy, params(setting.world), size, draws=1)
        parts.append(moved.assign(panel=title, shade=moved[shade]))
    columns = ["panel", "rate_0", "rate_1", "change_0", "change_1", "shade"]
    return pd.concat(parts, ignore_index=True)[columns]


def _setting(runs: Runs, method: str) -> Setting:
    """Return the settings of a policy without training."""
    arms = runs.experiment.arms[runs.profile]
    settings = {arm.method: arm.config for arm in arms if isinstance(arm.config.method, Untrained)}
    if method not in settings:
        raise UsageError(f"method {method!r} is none without training: {', '.join(settings)} are")
    found: Setting = settings[method]
    return found


def along_episodes(runs: Runs, metric: str, *methods: str) -> pd.DataFrame:
    """Select what policies without training bring at every step, mean over the 16 starts.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        A metric of `longfair.papers.ucbfair.measures` that begins with ``at_``.
    *methods
        The policies.

    Returns
    -------
    pandas.DataFrame
        Index step, a column per policy under its label. No rows without results.
    """
    return _wide(runs, metric, methods).rename_axis("step")


def from_starts(runs: Runs, *methods: str) -> pd.DataFrame:
    """Sum up how the mean loss of policies without training differs between the 16 starts.

    Parameters
    ----------
    runs
        Runs of an experiment.
    *methods
        The policies.

    Returns
    -------
    pandas.DataFrame
        Columns `name`, `series`, `value` (mean over the starts), `low` and `high` (from the best
        and the worst start), as `longfair.figures.dot_intervals` takes them. No rows without
        results.
    """
    losses = _wide(runs, "from_loss", methods)
    ends = losses.agg(["mean", "min", "max"]).T.set_axis(["value", "low", "high"], axis=1)
    return ends.rename_axis("name").reset_index().assign(series="16 starts")


def _wide(runs: Runs, metric: str, methods: tuple[str, ...]) -> pd.DataFrame:
    """Return a curve of every policy: its runs are the same, so their mean is each of them."""
    rows = runs.results
    chosen = rows[(rows["metric"] == metric) & (rows["variant"] == REFERENCE)]
    wide = chosen.pivot_table(index="step", columns="method", values="value")
    kept = [method for method in methods if method in wide]
    return wide[kept].rename(columns=runs.look.names).rename_axis(columns=None)
