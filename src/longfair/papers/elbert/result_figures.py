"""Figures of ELBERT's experiments, one function for each kind; None where there are no runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from longfair.figures import Figure, LineStyle, learning_curves, line_chart
from longfair.papers.elbert.world_results import curve_of
from longfair.papers.seed_figures import reward_against_bias, training_curves
from longfair.runs import tidy

QUANTITIES: Mapping[str, str] = {"reward": "reward per step", "bias": "bias"}
"""What is on the axis of a metric."""

FIGURE_9: Mapping[str, str] = {
    "advantaged_supply": "supply, advantaged",
    "disadvantaged_supply": "supply, disadvantaged",
    "advantaged_demand": "demand, advantaged",
    "disadvantaged_demand": "demand, disadvantaged",
}
"""Lines of the paper's Figure 9, by metric."""


def curves(
    results: pd.DataFrame,
    metric: str,
    variant: str,
    beside: Sequence[str] = (),
    styles: Mapping[str, LineStyle] | None = None,
    *,
    thin_lines: bool = True,
) -> Figure | None:
    """Draw reward or bias of a variant during training.

    Parameters
    ----------
    results
        As from `tidy.stored`.
    metric
        `"reward"` or `"bias"`.
    variant
        Variant to draw.
    beside
        Policies without training that are drawn as horizontal lines.
    styles
        Styles of methods the library does not know.
    thin_lines
        Whether single runs are drawn, too.

    Returns
    -------
    Figure or None
        None if there are no runs.
    """
    return training_curves(
        tidy.curve(results, metric, variant),
        QUANTITIES[metric],
        references=tidy.references(results, metric, beside),
        styles=styles,
        thin_lines=thin_lines,
    )


def live_curves(
    live: pd.DataFrame, metric: str, styles: Mapping[str, LineStyle] | None = None
) -> Figure:
    """Draw reward or bias of the one run per method that a reader has just made.

    Parameters
    ----------
    live
        Results of the variant `"live"`, and of policies without training to draw as lines.
    metric
        `"reward"` or `"bias"`.
    styles
        Styles of methods the library does not know.

    Returns
    -------
    Figure
        Without bands.
    """
    references = tidy.references(live, metric)
    return learning_curves(
        tidy.over_seeds(tidy.curve(live, metric, "live"), [*tidy.ARM, "step"]),
        quantity=QUANTITIES[metric],
        band="one run each, so no band",
        references=None if references.empty else references,
        styles=styles,
    )


def scatter(
    results: pd.DataFrame,
    variants: Sequence[str],
    beside: Sequence[str],
    styles: Mapping[str, LineStyle] | None = None,
) -> Figure | None:
    """Draw reward against bias of the last policies of some variants.

    Parameters
    ----------
    results
        As from `tidy.stored`.
    variants
        Variants to draw.
    beside
        Policies without training that are drawn as points with names.
    styles
        Styles of methods the library does not know.

    Returns
    -------
    Figure or None
        None if there are no runs.
    """
    rewards, biases = (tidy.references(results, metric, beside) for metric in ("reward", "bias"))
    return reward_against_bias(
        results[results["variant"].isin(list(variants))],
        references=rewards.rename(columns={"value": "reward"}).assign(bias=biases["value"]),
        styles=styles,
    )


def supply_and_demand(results: pd.DataFrame, variant: str = "as_coded") -> Figure | None:
    """Draw supply and demand of the best and the worst served group while ELBERT-PO learns.

    Parameters
    ----------
    results
        As from `tidy.stored`.
    variant
        Variant to draw.

    Returns
    -------
    Figure or None
        The paper's Figure 9, mean over seeds; None if there are no runs.
    """
    moved = curve_of(results[results["method"] == "elbert-po"], list(FIGURE_9), variant)
    if moved.empty:
        return None
    return line_chart(moved.rename(columns=FIGURE_9), across="training steps", up="per step")
