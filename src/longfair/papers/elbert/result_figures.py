"""Figures of ELBERT's experiments, one function for each kind; None where there are no runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import pandas as pd

from longfair.figures import METHODS, Figure, LineStyle, curve_panels, learning_curves, show
from longfair.figures.style import VARIANT_NAMES, group_style
from longfair.papers.elbert.world_results import extremes
from longfair.papers.seed_figures import interval_in_words, reward_against_bias, training_curves
from longfair.runs import tidy
from longfair.runs.experiment import Experiment

QUANTITIES: Mapping[str, str] = {"reward": "reward per step", "bias": "bias"}
"""What is on the axis of a metric."""

FIGURE_9: Mapping[str, LineStyle] = {
    f"{rank}_{quantity}": group_style(index, f"{quantity}, {rank}")
    for index, (quantity, rank) in enumerate(
        product(("supply", "demand"), ("advantaged", "disadvantaged"))
    )
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
    logarithmic_beyond: float | None = None,
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
    logarithmic_beyond
        A number beyond which the vertical axis is logarithmic.

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
        logarithmic_beyond=logarithmic_beyond,
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
    logarithmic_beyond: float | None = None,
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
    logarithmic_beyond
        A reward beyond which its axis is logarithmic.

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
        logarithmic_beyond=logarithmic_beyond,
    )


def supply_and_demand(
    results: pd.DataFrame, variant: str = "as_coded", logarithmic_beyond: float | None = None
) -> Figure | None:
    """Draw supply and demand of the best and the worst served group during training.

    Parameters
    ----------
    results
        As from `tidy.stored`, with rate, supply and demand of every group.
    variant
        Variant to draw.
    logarithmic_beyond
        A number beyond which the vertical axis is logarithmic.

    Returns
    -------
    Figure or None
        The paper's Figure 9, one panel per method, mean and interval over seeds; None if there are
        no runs.
    """
    learned = results[results["variant"] == variant]
    if learned.empty:
        return None
    moved = extremes(learned)
    lines = [tidy.curve(moved, metric, variant).assign(line=metric) for metric in FIGURE_9]
    runs = tidy.in_order(pd.concat(lines), list(learned["method"].unique()))
    labels = runs["method"].map(lambda method: METHODS[method].label)
    panels = runs.assign(panel=labels, method=runs["line"])
    return curve_panels(
        tidy.over_seeds(panels, ["panel", *tidy.ARM, "step"]),
        quantity="supply or demand per step",
        band=interval_in_words(runs),
        styles=FIGURE_9,
        logarithmic_beyond=logarithmic_beyond,
    )


@dataclass(frozen=True)
class WorldPage:
    """What the pages on problems with a harder and an original environment show of both.

    Parameters
    ----------
    experiments
        Name of the environment, such as `"harder"`, to its experiment.
    results
        Name of the environment to its results, as from `tidy.stored`.
    profile
        Profile of the results.
    styles
        Styles of the policies without training.
    beside
        Those of them that are drawn beside learning curves.
    logarithmic_beyond
        Name of the environment to a reward beyond which its axis is logarithmic.
    """

    experiments: Mapping[str, Experiment]
    results: Mapping[str, pd.DataFrame]
    profile: str
    styles: Mapping[str, LineStyle]
    beside: Sequence[str]
    logarithmic_beyond: Mapping[str, float] = field(default_factory=dict)

    def show_curves(self, name: str, metric: str, variant: str) -> None:
        """Show reward or bias of a variant during training, or say how to make the runs."""
        self._show(
            curves(
                self.results[name],
                metric,
                variant,
                self.beside,
                self.styles,
                logarithmic_beyond=self.logarithmic_beyond.get(name)
                if metric == "reward"
                else None,
            ),
            f"{QUANTITIES[metric].capitalize()} during training",
            "Horizontal lines: policies without training.",
            name,
            metric,
            variant,
        )

    def show_scatter(self, name: str, variant: str) -> None:
        """Show reward against bias of the last policies, or say how to make the runs."""
        self._show(
            scatter(
                self.results[name],
                [variant],
                list(self.styles),
                self.styles,
                self.logarithmic_beyond.get(name),
            ),
            "Reward against bias of the last policies",
            "The best corner is the upper left. Policies without training carry their names.",
            name,
            "trade_off",
            variant,
        )

    def _show(
        self, figure: Figure | None, what: str, note: str, name: str, file: str, variant: str
    ) -> None:
        experiment = self.experiments[name]
        show(
            figure,
            f"{what}, {name} environment, {VARIANT_NAMES[variant]}. {note}",
            name=f"{experiment.name.replace('-', '_')}_{file}_{variant}",
            otherwise=tidy.nothing_to_show(self.profile, experiment),
        )
