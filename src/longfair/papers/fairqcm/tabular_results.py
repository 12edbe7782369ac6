"""The tabular results of FairQCM as tidy tables, exact scores beside them, and two small studies.

Reading results in general is the matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import gymnasium
import numpy as np
import pandas as pd

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.agents.fairqcm.q_learning import TabularQLearning
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut import exact as exact_doughnut
from longfair.papers.fairqcm.tabular import SMOOTHING, ExactValues
from longfair.runs.tidy import ARM, ArmName, Quantities, differences, over_seeds

# Stored results ---------------------------------------------------------------------------------


def curve_table(
    results: pd.DataFrame, episodes: Sequence[int], variants: Sequence[str], metric: str = "return"
) -> pd.DataFrame:
    """Lay learning curves out at a few moments.

    Parameters
    ----------
    results
        As from `Store.load`.
    episodes
        Training episodes at which points of the curve end.
    variants
        Variants to keep.
    metric
        A metric of the curve.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`; one column per moment with mean and interval.
    """
    steps = {count * DoughnutParams.tabular().episode_length: count for count in episodes}
    rows = results[
        (results["phase"] == "curve")
        & (results["metric"] == metric)
        & results["variant"].isin(list(variants))
        & results["step"].isin(list(steps))
    ]
    found = over_seeds(rows, [*ARM, "step"])
    found["text"] = [
        f"{row.value:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in found.itertuples()
    ]
    table = found.pivot(index=ARM, columns="step", values="text")
    order = pd.MultiIndex.from_frame(found[ARM].drop_duplicates())
    return table.loc[order].rename(columns=lambda step: f"{steps[step]:,} episodes")


def changes(
    results: pd.DataFrame,
    pairs: Mapping[ArmName, ArmName],
    quantities: Quantities,
) -> pd.DataFrame:
    """Say by how much one arm differs from another, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    pairs
        Changed arm to the arm it was made from.
    quantities
        Final metric to column title and number of digits.

    Returns
    -------
    pandas.DataFrame
        Index: method and variant of the changed arm. Column `compared with`, then the difference
        with its interval per quantity; pairs without results are left out.
    """
    compared = {changed: (changed, base) for changed, base in pairs.items()}
    table = differences(results, compared, quantities)
    table.insert(0, "compared with", [" ".join(pairs[changed]) for changed in table.index])
    return table


def distance_curves(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Average a distance over seeds, per number of training episodes and arm, as powers of ten.

    Parameters
    ----------
    results
        Results of the experiment `fairqcm/convergence`, as from `Store.load`.
    metric
        `"relative_distance"` or `"mean_distance"`.

    Returns
    -------
    pandas.DataFrame
        Index: training episodes; one column per arm, a pair of method and variant.
    """
    rows = results[(results["phase"] == "curve") & (results["metric"] == metric)]
    means = rows.groupby(["step", *ARM], sort=False)["value"].mean().unstack(ARM)
    means.index = means.index // 4  # doughnuts of an episode
    return means.map(np.log10).rename_axis("training episodes")


# Exact scores -----------------------------------------------------------------------------------


def exact_scores() -> pd.DataFrame:
    """Compute what policies that learn nothing are expected to score in the paper's problem.

    Returns
    -------
    pandas.DataFrame
        Index `method`, best first; columns `return` and `allocated`.
    """
    params = DoughnutParams.tabular()
    presence, length = params.presence_probability, params.episode_length
    controllers = {
        "rotation": exact_doughnut.rotation_skipping_absent,
        "random-present": exact_doughnut.somebody_there_at_random,
        "fixed-priority": exact_doughnut.fixed_priority,
        "strict-rotation": exact_doughnut.strict_rotation,
        "random": exact_doughnut.anybody_at_random,
    }
    scores = {
        "oracle": exact_doughnut.least_served_score(
            len(presence), presence[0], length, params.smoothing
        )
    } | {
        name: exact_doughnut.controller_score(controller(presence), length, params.smoothing)
        for name, controller in controllers.items()
    }
    table = pd.DataFrame(
        {name: {"return": s.reward, "allocated": s.allocated} for name, s in scores.items()}
    )
    return table.T.rename_axis("method").sort_values("return", ascending=False)


def optimum(discount: float = 1.0) -> float:
    """Return the best expected return of the paper's problem, by dynamic programming."""
    exact = ExactValues(DoughnutParams.tabular(), discount)
    return exact.value_of(exact.solution.action_values)


# Small studies ----------------------------------------------------------------------------------


def learner(settings: QLearningSettings, smoothing: float, seed: int) -> TabularQLearning:
    """Make an agent for the paper's three people and twelve doughnuts."""
    params = replace(DoughnutParams.tabular(), smoothing=smoothing)
    return TabularQLearning(
        gymnasium.make_vec("longfair/Doughnut-v0", params=params), settings, seed
    )


def first_choice(settings: QLearningSettings, episodes: Sequence[int], seed: int) -> pd.DataFrame:
    """Follow what an agent thinks of wasting its first doughnut.

    At the start of an episode persons 1 and 2 are there and person 0 is not.

    Parameters
    ----------
    settings
        The agent's.
    episodes
        Training episodes after which its table is read, in rising order.
    seed
        Seed of training.

    Returns
    -------
    pandas.DataFrame
        Index: training episodes; columns `waste` (the value of offering the doughnut to person 0),
        `serve` (the better of the others), and `gap`, the second less the first.
    """
    agent = learner(settings, SMOOTHING["as_published"], seed)
    length = agent.problem.length
    lines = {}
    for count in episodes:
        agent.learn(count * length - agent.num_timesteps)
        waste, *serve = agent.values[0, 0b110, 0]
        lines[count] = {"waste": waste, "serve": max(serve), "gap": max(serve) - waste}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("training episodes")


def exact_first_choice(discount: float) -> pd.Series[float]:
    """Return the exact values that `first_choice` estimates, with optimal play afterwards."""
    exact = ExactValues(DoughnutParams.tabular(), discount)
    start = np.array([0, 1, 1, 0, 0, 0])  # who is there, and what everybody has had
    (row,) = np.flatnonzero((exact.model.states == start).all(axis=1))
    waste, *serve = exact.solution.action_values[0, row]
    return pd.Series({"waste": waste, "serve": max(serve), "gap": max(serve) - waste})
