"""What FairQCM's evaluation reports of episodes, as rows of a result table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv

from longfair.arrays import FloatArray
from longfair.papers import protocol as shared
from longfair.papers.protocol import Act, Evaluation
from longfair.runs.experiment import protocol

BIN = 10
"""Evaluation episodes that one point of a learning curve averages, as in the authors' plots."""

LAST = 100
"""Evaluation episodes at the end of training that a final value averages."""

THRESHOLDS = (900, 1000)
"""Doughnut returns of which the first episodes that reach them are looked up."""


@protocol("shares")
def shares(evaluation: Evaluation) -> pd.DataFrame:
    """Report an episode for every training episode, and further ones of the last policy."""
    curve = evaluation.curve()
    assert curve is not None
    return measured(series(curve.totals), series(evaluation.final().totals))


def play(act: Act, env: VectorEnv[Any, Any, Any], seed: int) -> dict[str, FloatArray]:
    """Play exactly one episode in every copy of a problem and return its `series`."""
    counted = ("welfare", "missed_margin") if "LoanPool" in str(env.unwrapped) else ("welfare",)
    return series(shared.play(act, env, counted, seed))


def series(totals: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the scores of N episodes.

    Parameters
    ----------
    totals
        As in `longfair.papers.protocol.Played`, with `welfare` counted, and in lending
        `missed_margin`.

    Returns
    -------
    dict of str to numpy.ndarray
        For every episode, shape (N,): `return`, the sum of rewards; `welfare`, the sum over steps
        of the welfare of the counts, whatever was wasted or fined; `allocated`, how many doughnuts
        or loans reached somebody; `invalid`, how many went to people who were not there or had not
        asked; in lending `margin_met`, 1 or 0, and `profit`, if `earned` was counted; and `steps`.
    """
    granted = totals["supply"].sum(axis=1)
    found = {
        "return": totals["reward"],
        "welfare": totals["welfare"],
        "allocated": granted,
        "invalid": totals["steps"] - granted,
    }
    if "missed_margin" in totals:
        found["margin_met"] = 1.0 - totals["missed_margin"]
    if "earned" in totals:
        found["profit"] = totals["earned"]
    return {**found, "steps": totals["steps"]}


def measured(curve: dict[str, FloatArray], last: dict[str, FloatArray]) -> pd.DataFrame:
    """Arrange the scores of a run as a result table.

    Parameters
    ----------
    curve
        The `series` of for the greedy episode after every training episode.
    last
        The same for further episodes of the last policy.

    Returns
    -------
    pandas.DataFrame
        Phase `curve`: a row per `BIN` episodes and series. Phase `final`: every series
        averaged over the `LAST` last episodes; `return_all` and `welfare_all`, averaged over all;
        `allocated_first_100`; `episodes_to_900` and `episodes_to_1000` on doughnuts: the end of the
        first bin of the curve that reaches the return, and one more than the number of episodes
        if none does; `last_policy_return`, over fresh episodes of the last policy alone.
    """
    series = {name: values for name, values in curve.items() if name != "steps"}
    length = int(curve["steps"][0])
    episodes = len(curve["return"])
    bins = {name: values.reshape(-1, BIN).mean(axis=1) for name, values in series.items()}
    ends = np.arange(BIN, episodes + 1, BIN)
    frames = [
        pd.DataFrame({"phase": "curve", "step": ends * length, "metric": name, "value": values})
        for name, values in bins.items()
    ]
    final = {name: float(values[-LAST:].mean()) for name, values in series.items()}
    final |= {f"{name}_all": float(series[name].mean()) for name in ("return", "welfare")}
    final["allocated_first_100"] = float(series["allocated"][:LAST].mean())
    if "margin_met" not in series:
        for threshold in THRESHOLDS:
            reached = np.flatnonzero(bins["return"] >= threshold)
            first = ends[reached[0]] if len(reached) else episodes + 1
            final[f"episodes_to_{threshold}"] = float(first)
    final["last_policy_return"] = float(last["return"].mean())
    frames.append(
        pd.DataFrame(
            {
                "phase": "final",
                "step": episodes * length,
                "metric": list(final),
                "value": list(final.values()),
            }
        )
    )
    table = pd.concat(frames, ignore_index=True)
    table.insert(3, "group", np.int32(-1))
    return table.astype({"step": np.int64, "value": np.float64})
