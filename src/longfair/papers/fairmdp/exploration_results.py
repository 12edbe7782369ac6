"""Regret and fairness of the learners as tables for reading, beside the bound of Theorem 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.fair_mdp.explore_then_commit import (
    regret_bound,
    required_exploration,
    transition_error,
    value_error,
)
from longfair.agents.finite.problem import occupancy
from longfair.envs.loan_mdp import LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem
from longfair.papers.fairmdp.exploration import COIN, Setting
from longfair.papers.fairmdp.loans import loan_episode
from longfair.runs.statistics import estimate
from longfair.runs.tidy import final, written

NAMES: Mapping[str, str] = {
    "explore-commit": "explore 100, commit",
    "explore-commit-margin": "the same, with a margin",
    "explore-commit-own-law": "the same, first law estimated",
    "explore-commit-race-blind": "the same, no constraint",
    "explore-commit-030": "explore 30, commit",
    "explore-commit-300": "explore 300, commit",
    "coin": "a coin for ever",
}
"""Learners as a reader knows them."""

RISK = 0.05
"""Delta of the bound."""


class Bound(NamedTuple):
    """What Theorem 5.1 says about the loan problem."""

    states: int
    """Situations of all groups."""
    least: float
    """Smallest share of an episode of exploration that a situation and action takes."""
    required: float
    """Episodes of exploration after which the theorem says anything."""
    transition_error: float
    """After the episodes of exploration that were spent."""
    value_error: float
    """What follows for the value of a policy."""
    trivial: float
    """Largest regret of an episode that rewards allow at all."""
    regret: NDArray[np.float64]
    """(N + 1,): bound on the regret after n episodes."""


def bound(setting: Setting, exploring: int = 100, episodes: int = 1000) -> Bound:
    """Compute the bound of Theorem 5.1 for the loan problem.

    Parameters
    ----------
    setting
        The problem.
    exploring, episodes
        Episodes of exploration, and of all.
    """
    episode = loan_episode(setting.params)
    problem = episode.problem("dp", "discounted")
    tossed = np.tile([1.0 - COIN, COIN], (problem.states, 1))
    steps = setting.episode_length
    least = float(occupancy(problem, tossed).min()) / steps
    largest = float(np.abs(LoanProblem.of(LoanModel(setting.params)).applicants[0].profit).max())
    largest = max(1.0, largest)  # individual rewards are 0 or 1
    error = transition_error(problem.states, 2, exploring, least, RISK)
    off = value_error(problem.states, steps, largest, error)
    counted = np.arange(episodes + 1, dtype=np.float64)
    return Bound(
        problem.states,
        least,
        required_exploration(problem.states, 2, least, RISK),
        error,
        off,
        2.0 * steps * largest,
        regret_bound(counted, exploring, steps, largest, off),
    )


def summary(results: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Lay out what the learners of a variant end with.

    Parameters
    ----------
    results
        As from `tidy.stored`.
    variant
        Which variant.

    Returns
    -------
    pandas.DataFrame
        Index learner: regret in all and while exploring, regret of a committed episode over one of
        exploration, largest gap, runs in which every episode was fair.
    """
    rows = final(results[results["variant"] == variant])
    rows = rows[rows["group"] < 0]
    lines = {}
    for method, of_method in rows.groupby("method", sort=False):
        values = of_method.pivot(index="seed", columns="metric", values="value")
        name, gap = f"{method} {variant}", values["gap_largest"]
        lines[NAMES[str(method)]] = {
            "regret": written(estimate(values["regret"], name=f"{name} regret"), 1),
            "while exploring": f"{values['regret_exploring'].mean():.1f}",
            "later slope over first": written(estimate(values["slope_ratio"], name=f"{name} s")),
            "largest gap": f"{gap.min():.3f} to {gap.max():.3f}",
            "always fair": f"{int(values['fair'].sum())} of {len(values)}",
        }
    return pd.DataFrame.from_dict(lines, orient="index")


def estimates(results: pd.DataFrame) -> pd.DataFrame:
    """Lay out the estimated beliefs about strangers: columns `seed`, `group`, `alpha`, `beta`.

    Parameters
    ----------
    results
        As from `tidy.stored`.
    """
    chosen = results[
        (results["method"] == "explore-commit")
        & (results["variant"] == "as_published")
        & results["metric"].isin(["alpha", "beta"])
    ]
    table = chosen.pivot(index=["seed", "group"], columns="metric", values="value")
    return table.rename_axis(columns=None).reset_index()
