"""Figures of stored results, with intervals over seeds, for the notebooks of any paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

import longfair.papers.styles  # noqa: F401  # introduces the agents to figures
from longfair.figures import Figure, LineStyle, learning_curves, trade_off
from longfair.runs import tidy

Styles = Mapping[str, LineStyle] | None
"""Styles of methods the library does not know."""


FEWEST = 3
"""Seeds that an interval is drawn of. That of two is many times as wide as they are apart."""


def interval_in_words(rows: pd.DataFrame, median: bool = False) -> str:
    """Say what a band or a cross is, as in "mean and 95 % interval, 10 seeds"."""
    seeds, told = rows.groupby(tidy.ARM)["seed"].nunique(), tidy.seeds_in_words(rows)
    if median:
        return f"median, no interval, {told}"
    if (seeds == FEWEST - 1).all():
        return f"mean, no interval, {told}"
    return f"mean and 95 % interval, {told}{', none of two' * bool((seeds == FEWEST - 1).any())}"


def middles(rows: pd.DataFrame, by: Sequence[str], median: bool) -> pd.DataFrame:
    """Return means over seeds, as `tidy.over_seeds`, or medians; of few seeds without intervals."""
    if not median:
        found = tidy.over_seeds(rows, by)
        few = found["seeds"] < FEWEST
        return found.assign(
            **{end: found[end].mask(few, found["value"]) for end in ("low", "high")}
        )
    groups = rows.groupby(list(by), sort=False, observed=True)["value"]
    middle = groups.quantile(0.5, interpolation="lower").reset_index()
    return middle.assign(low=middle["value"], high=middle["value"])


def training_curves(
    runs: pd.DataFrame,
    quantity: str,
    *,
    references: pd.DataFrame | None = None,
    styles: Styles = None,
    thin_lines: bool = True,
    logarithmic_beyond: float | None = None,
    median: bool = False,
    across: str | None = None,
) -> Figure | None:
    """Draw a quantity during training, mean and interval over seeds.

    Parameters
    ----------
    runs
        Columns method, variant, seed, step, value, as from `tidy.curve`.
    quantity
        What it is, with its unit, in lower case.
    references
        Columns method, value: horizontal lines; none if it has no rows.
    styles
        Styles of methods the library does not know.
    thin_lines
        Whether single runs are drawn, too.
    logarithmic_beyond
        A number beyond which the vertical axis is logarithmic.
    median
        Medians without intervals, where no run ends near the mean.
    across
        What is on the horizontal axis, if not training steps.

    Returns
    -------
    Figure or None
        None if there are no runs.
    """
    if runs.empty:
        return None
    return learning_curves(
        middles(runs, [*tidy.ARM, "step"], median),
        runs=runs if thin_lines else None,
        quantity=quantity,
        band=interval_in_words(runs, median),
        references=None if references is None or references.empty else references,
        styles=styles,
        across=across,
        logarithmic_beyond=logarithmic_beyond,
    )


def reward_against_bias(
    results: pd.DataFrame,
    *,
    reward: str = "reward",
    bias: str = "bias",
    references: pd.DataFrame | None = None,
    reward_label: str = "reward per step",
    bias_label: str = "bias",
    styles: Styles = None,
    logarithmic_beyond: float | None = None,
    median: bool = False,
) -> Figure | None:
    """Draw reward against bias of the last policies, mean and interval over single runs.

    Parameters
    ----------
    results
        As from `Store.load`, of the arms to draw.
    reward, bias
        Metrics of all groups together to take for the two.
    references
        Columns method, reward, bias: points that carry their names; none if it has no rows.
    reward_label, bias_label
        Axis labels.
    styles
        Styles of methods the library does not know.
    logarithmic_beyond
        A reward beyond which its axis is logarithmic.
    median
        Medians without intervals, where no run ends near the mean.

    Returns
    -------
    Figure or None
        None if there are no results.
    """
    if results.empty:
        return None
    single = tidy.trade_off_runs(results, reward, bias)
    summary = tidy.trade_off_summary(results, reward, bias)
    if median:
        both = single.melt([*tidy.ARM, "seed"], ["reward", "bias"], "metric")
        summary = _wide_middles(middles(both, [*tidy.ARM, "metric"], median))
    return trade_off(
        summary,
        seeds=single,
        interval=interval_in_words(results, median),
        references=None if references is None or references.empty else references,
        reward_label=reward_label,
        bias_label=bias_label,
        styles=styles,
        logarithmic_beyond=logarithmic_beyond,
    )


def _wide_middles(found: pd.DataFrame) -> pd.DataFrame:
    """Bring medians of reward and bias into the columns that `figures.trade_off` reads."""
    wide = found.pivot(index=tidy.ARM, columns="metric", values="value").loc[tidy.arms_of(found)]
    ends = [wide.add_suffix(end) for end in ("", "_low", "_high")]
    return pd.concat(ends, axis=1).reset_index()
