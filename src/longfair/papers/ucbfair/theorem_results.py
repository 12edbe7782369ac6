"""What the page shows of L-UCBFair in the small linear problem, where Theorem 3.3 holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from longfair.figures import Figure
from longfair.figures.learning_curves import learning_curves
from longfair.figures.style import group_style
from longfair.papers.ucbfair.results import runs_in_words
from longfair.papers.ucbfair.theorem import example, literally, run
from longfair.runs import tidy

SIGNALS = {"regret": "regret", "distortion": "missing fairness"}
"""What an episode loses, in words."""


def linear_runs(
    episodes: int, bonuses: Mapping[str, float | None], seeds: Collection[int]
) -> pd.DataFrame:
    """Let L-UCBFair learn in the small linear problem, with the theorem's numbers but for a bonus.

    Parameters
    ----------
    episodes
        Episodes of a run.
    bonuses
        Name to the bonus; None is the theorem's.
    seeds
        Seeds of the runs.

    Returns
    -------
    pandas.DataFrame
        Columns `method` (the name), `variant` (empty), `seed`, `step` (episodes so far), `regret`
        and `distortion` of the episode, and its `price`.
    """
    problem = example()
    literal, _ = literally(problem, episodes)
    parts = []
    for name, bonus in bonuses.items():
        for seed in seeds:
            lost = run(problem, replace(literal, bonus=bonus), seed)._asdict()
            steps = np.arange(1, episodes + 1)
            parts.append(pd.DataFrame({"seed": seed, "step": steps, **lost}).assign(method=name))
    return pd.concat(parts, ignore_index=True).assign(variant="")


def linear_figure(lost: pd.DataFrame, signal: str, averaged: int) -> Figure:
    """Draw what an episode loses, every run and their mean with its interval.

    Parameters
    ----------
    lost
        As from `linear_runs`.
    signal
        A key of `SIGNALS`.
    averaged
        Episodes that are averaged, one after the other; they divide those of a run.
    """
    blocks = lost.assign(step=lost["step"] + (-lost["step"]) % averaged)
    by = [*tidy.ARM, "seed", "step"]
    rows = blocks.groupby(by, sort=False)[signal].mean().rename("value").reset_index()
    names = list(dict.fromkeys(rows["method"]))
    return learning_curves(
        tidy.middles(rows, [*tidy.ARM, "step"]),
        quantity=f"{SIGNALS[signal]} per episode",
        band=tidy.middles_in_words(rows, [*tidy.ARM, "step"], {name: name for name in names}),
        runs=rows,
        styles={name: group_style(index, name) for index, name in enumerate(names)},
        across="episodes",
    )


def beside_bound(lost: pd.DataFrame, after: Sequence[int]) -> pd.DataFrame:
    """Lay out regret and distortion so far beside the theorem's bounds.

    Parameters
    ----------
    lost
        As from `linear_runs`.
    after
        Numbers of episodes at which one looks.

    Returns
    -------
    pandas.DataFrame
        Index episodes; columns regret and missing fairness, and below each the bound and the runs,
        mean with interval: the sum so far, as a share of all reward, or fairness, there could have
        been. More fairness than is wanted counts as none that is missing.
    """
    problem, wide = example(), {}
    _, limits = literally(problem, int(lost["step"].max()))
    there_is = problem.horizon * np.array(after)
    for (signal, name), bound in zip(SIGNALS.items(), limits.T, strict=True):
        wide[name, "the bound"] = [f"{one:.1f}" for one in bound[np.array(after) - 1] / there_is]
        for arm, own in lost.groupby("method", sort=False):
            sums = own.pivot_table(index="step", columns="seed", values=signal).cumsum()
            if signal == "distortion":
                sums = sums.clip(lower=0.0)
            shares = sums.loc[list(after)].div(there_is, axis=0)
            wide[name, str(arm)] = [runs_in_words(row) for row in shares.to_numpy()]
    return pd.DataFrame(wide, index=pd.Index(after, name="episodes"))


def both_ends(lost: pd.DataFrame, episodes: int) -> pd.DataFrame:
    """Compare what an episode loses at both ends of a run, mean over runs with its interval.

    Parameters
    ----------
    lost
        As from `linear_runs`.
    episodes
        Episodes at the start and at the end that are averaged.

    Returns
    -------
    pandas.DataFrame
        Index the names; columns regret and missing fairness at both ends, as in "missing fairness,
        last 100", below 0 where there is more than the best fair policy has, and the highest
        `price` at the end.
    """
    last = int(lost["step"].max())
    ends = {"first": (0, episodes), "last": (last - episodes, last)}
    rows: dict[str, dict[str, str]] = {}
    for arm, own in lost.groupby("method", sort=False):
        row = rows.setdefault(str(arm), {})
        for signal, name in SIGNALS.items():
            for where, (start, stop) in ends.items():
                part = own[(own["step"] > start) & (own["step"] <= stop)]
                means = part.groupby("seed")[signal].mean().to_numpy()
                row[f"{name}, {where} {episodes}"] = runs_in_words(means, 2)
        row["price"] = f"{own.loc[own['step'] == last, 'price'].max():.2f}"
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("bonus")
