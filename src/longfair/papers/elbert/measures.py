"""What ELBERT's evaluation reports of some episodes, as rows of a result table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from longfair.agents.evaluation import EpisodeTotals
from longfair.metrics.benefit import benefit_rate, bias

ALL_GROUPS = -1


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
