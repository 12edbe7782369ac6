"""What ELBERT's evaluation reports of some episodes, as rows of a result table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from longfair.agents.evaluation import EpisodeTotals
from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers.elbert.notion_wrappers import NOTIONS, own_columns
from longfair.papers.protocol import Evaluation, Played
from longfair.runs.experiment import protocol

ALL_GROUPS = -1

OfEpisodes = Callable[[EpisodeTotals, str, int], pd.DataFrame]
"""Makes rows of a result table of some episodes, the phase, and the training steps."""


@protocol("rates")
def rates(evaluation: Evaluation) -> pd.DataFrame:
    """Report curve and end with `measured`."""
    return _reported(evaluation, measured)


@protocol("rates-and-extremes")
def rates_and_extremes(evaluation: Evaluation) -> pd.DataFrame:
    """Report curve and end with `measured_with_extremes`."""
    return _reported(evaluation, measured_with_extremes)


@protocol("rates-by-notion")
def rates_by_notion(evaluation: Evaluation) -> pd.DataFrame:
    """Report curve and end with `measured_by_notion`."""
    return _reported(evaluation, measured_by_notion)


def _reported(evaluation: Evaluation, measure: OfEpisodes) -> pd.DataFrame:
    """Report curve and end, and means per step of what was counted."""
    phases = {"curve": evaluation.curve(), "final": evaluation.final()}
    return pd.concat(
        [
            frame
            for phase, played in phases.items()
            if played is not None
            for frame in _of_phase(played, phase, measure)
        ],
        ignore_index=True,
    )


def _of_phase(played: Played, phase: str, measure: OfEpisodes) -> list[pd.DataFrame]:
    frames = []
    for step, totals in played.of_each():
        part = EpisodeTotals(*(totals.pop(name) for name in EpisodeTotals._fields))
        counted = [(key, float(n.sum() / part.steps.sum())) for key, n in totals.items()]
        frames += [measure(part, phase, step), _rows(counted, phase, step)]
    return frames


def measured(totals: EpisodeTotals, phase: str, step: int) -> pd.DataFrame:
    """Return reward, bias, rates, supply and demand of an evaluation.

    Parameters
    ----------
    totals
        Sums over E episodes.
    phase
        `"curve"` or `"final"`.
    step
        Training steps behind the policy.

    Notes
    -----
    As in the authors' evaluation, `rate` and `bias` pool the episodes and add one per episode to
    the denominator; `bias_exact` leaves that out, and `episode_bias` is the mean of the episodes'
    own biases, which also counts what chance does to single episodes.
    """
    supply, demand = totals.supply.sum(axis=0), totals.demand.sum(axis=0)
    steps = totals.steps.sum()
    rates = benefit_rate(supply, demand + len(totals.steps))
    by_episode = benefit_rate(totals.supply, np.maximum(totals.demand, 1.0))
    per_group = {"rate": rates, "supply": supply / steps, "demand": demand / steps}
    overall = {
        "reward": totals.reward.sum() / steps,
        "bias": bias(rates),
        "bias_exact": bias(benefit_rate(supply, np.maximum(demand, 1.0))),
        "episode_bias": bias(by_episode).mean(),
    }
    rows = [(name, ALL_GROUPS, float(value)) for name, value in overall.items()]
    rows += [
        (name, group, float(value))
        for name, values in per_group.items()
        for group, value in enumerate(values)
    ]
    frame = pd.DataFrame(rows, columns=["metric", "group", "value"])
    frame.insert(0, "step", np.int64(step))
    frame.insert(0, "phase", phase)
    return frame.astype({"group": np.int32})


def measured_with_extremes(totals: EpisodeTotals, phase: str, step: int) -> pd.DataFrame:
    """Return what `measured` does, and supply and demand of the best and the worst served group.

    Parameters
    ----------
    totals, phase, step
        As in `measured`.

    Notes
    -----
    As in the authors' Figure 9 the advantaged group is the one with the highest rate in this very
    evaluation, the disadvantaged one that with the lowest. So they can change during training.
    """
    frame = measured(totals, phase, step)
    rates, supply, demand = (
        frame.loc[frame["metric"] == name, "value"].to_numpy()
        for name in ("rate", "supply", "demand")
    )
    extremes = {"advantaged": rates.argmax(), "disadvantaged": rates.argmin()}
    rows = [
        (f"{name}_{quantity}", float(values[group]))
        for name, group in extremes.items()
        for quantity, values in (("supply", supply), ("demand", demand))
    ]
    return pd.concat([frame, _rows(rows, phase, step)], ignore_index=True)


def measured_by_notion(totals: EpisodeTotals, phase: str, step: int) -> pd.DataFrame:
    """Return the reward, and rates and biases of every notion, as rows of a result table.

    The metrics of a notion are those of `measured` with its name in front, such as
    `acceptance_bias`.
    """
    frames = []
    for notion in NOTIONS:
        columns = own_columns(notion)
        part = totals._replace(supply=totals.supply[:, columns], demand=totals.demand[:, columns])
        frame = measured(part, phase, step)
        shared = frame["metric"] == "reward"
        named = frame["metric"].where(shared, f"{notion.replace('-', '_')}_" + frame["metric"])
        frames.append(frame.assign(metric=named)[~shared | (notion == NOTIONS[0])])
    return pd.concat(frames, ignore_index=True)


def _rows(values: list[tuple[str, float]], phase: str, step: int) -> pd.DataFrame:
    """Return rows of a result table for metrics of all groups together."""
    frame = pd.DataFrame(values, columns=["metric", "value"]).astype({"value": np.float64})
    frame.insert(1, "group", np.int32(ALL_GROUPS))
    frame.insert(0, "step", np.int64(step))
    frame.insert(0, "phase", phase)
    return frame
