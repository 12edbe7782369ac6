"""Figures of stored results, with intervals over seeds, for the notebooks of any paper."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from longfair.figures import Figure, LineStyle, learning_curves, trade_off
from longfair.papers.styles import METHODS
from longfair.runs import tidy

Styles = Mapping[str, LineStyle] | None
"""Styles of methods the library does not know."""


def interval_in_words(rows: pd.DataFrame) -> str:
    """Say what a band or a cross is, as in "mean and 95 % interval, 10 seeds"."""
    return f"mean and 95 % interval, {tidy.seeds_in_words(rows)}"


def training_curves(
    runs: pd.DataFrame,
    quantity: str,
    *,
    references: pd.DataFrame | None = None,
    styles: Styles = None,
    thin_lines: bool = True,
    logarithmic_beyond: float | None = None,
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

    Returns
    -------
    Figure or None
        None if there are no runs.
    """
    if runs.empty:
        return None
    return learning_curves(
        tidy.over_seeds(runs, [*tidy.ARM, "step"]),
        runs=runs if thin_lines else None,
        quantity=quantity,
        band=interval_in_words(runs),
        references=None if references is None or references.empty else references,
        styles={**METHODS, **(styles or {})},
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

    Returns
    -------
    Figure or None
        None if there are no results.
    """
    if results.empty:
        return None
    return trade_off(
        tidy.trade_off_summary(results, reward, bias),
        seeds=tidy.trade_off_runs(results, reward, bias),
        interval=interval_in_words(results),
        references=None if references is None or references.empty else references,
        reward_label=reward_label,
        bias_label=bias_label,
        styles={**METHODS, **(styles or {})},
        logarithmic_beyond=logarithmic_beyond,
    )
