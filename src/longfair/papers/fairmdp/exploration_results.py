"""Regret and fairness of the learners as tables and figures, beside the bound of Theorem 5.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.fair_mdp.explore_then_commit import (
    estimate_strangers,
    explore,
    regret_bound,
    required_exploration,
    transition_error,
    value_error,
)
from longfair.agents.finite.problem import occupancy
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem
from longfair.figures import Figure, LineStyle, Words, learning_curves
from longfair.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers.fairmdp.exploration import COIN, VARIANTS, Bank, Exploring, learned, world
from longfair.papers.fairmdp.loans import loan_episode
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.untrained import params
from longfair.runs.statistics import estimate
from longfair.runs.tidy import curve, final, middles, middles_in_words, of_arm, written
from longfair.wording import power_of_ten

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

LOOK = Look(
    styles={
        "explore-commit": LineStyle(NAMES["explore-commit"], BLUE, "o"),
        "explore-commit-margin": LineStyle(
            NAMES["explore-commit-margin"], GREEN, "s", (0, (5, 1.5))
        ),
        "explore-commit-own-law": LineStyle(
            NAMES["explore-commit-own-law"], VERMILION, "^", (0, (3, 1, 1, 1))
        ),
        "explore-commit-race-blind": LineStyle(
            NAMES["explore-commit-race-blind"], PURPLE, "D", ":"
        ),
        "explore-commit-030": LineStyle(NAMES["explore-commit-030"], SKY, "v"),
        "explore-commit-300": LineStyle(NAMES["explore-commit-300"], ORANGE, "P"),
        "coin": LineStyle(NAMES["coin"], GREY, "x", ":"),
    },
    variants={"discounted": "discounted"},
    axes={"regret": "expected regret"},
)
"""How banks that explore appear."""

IN_FIGURE = ("explore-commit", "explore-commit-margin", "explore-commit-own-law", "coin")
"""Learners whose regret is drawn."""

LENGTHS: Mapping[int, str] = {
    30: "explore-commit-030",
    100: "explore-commit",
    300: "explore-commit-300",
}
"""Episodes of exploration to learner."""

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


def bound(problem: LoanMDPParams, exploring: int = 100, episodes: int = 1000) -> Bound:
    """Compute the bound of Theorem 5.1 for the loan problem.

    Parameters
    ----------
    problem
        The problem.
    exploring, episodes
        Episodes of exploration, and of all.
    """
    fair = loan_episode(problem).problem("dp", "discounted")
    tossed = np.tile([1.0 - COIN, COIN], (fair.states, 1))
    steps = problem.episode_length
    least = float(occupancy(fair, tossed).min()) / steps
    largest = float(np.abs(LoanProblem.of(LoanModel(problem)).applicants[0].profit).max())
    largest = max(1.0, largest)  # individual rewards are 0 or 1
    error = transition_error(fair.states, 2, exploring, least, RISK)
    off = value_error(fair.states, steps, largest, error)
    counted = np.arange(episodes + 1, dtype=np.float64)
    return Bound(
        fair.states,
        least,
        required_exploration(fair.states, 2, least, RISK),
        error,
        off,
        2.0 * steps * largest,
        regret_bound(counted, exploring, steps, largest, off),
    )


def bound_table(runs: Runs) -> pd.DataFrame:
    """Lay out what Theorem 5.1 says about the loan problem as published, beside the regret there.

    Parameters
    ----------
    runs
        Runs of the experiment.
    """
    found = bound(params(world("as_published")))
    measured = runs.number("regret", "explore-commit", "as_published", 0)
    episodes = len(found.regret) - 1
    lines = {
        "situations": f"{found.states:,}",
        "smallest share": power_of_ten(found.least),
        "episodes of exploration the theorem asks for": power_of_ten(found.required),
        "error of a probability after 100 episodes": power_of_ten(found.transition_error),
        "error of a value": power_of_ten(found.value_error),
        f"bound on the regret of {episodes:,} episodes": power_of_ten(found.regret[-1]),
        "largest regret there can be": f"{found.trivial * episodes:,.0f}",
        "regret of the banks that explore 100 and commit": measured,
    }
    return pd.Series(lines, name="loan problem").to_frame()


# Live ---------------------------------------------------------------------------------------------


def explored(run_numbers: Sequence[int], episodes: int, chance: float = COIN) -> pd.DataFrame:
    """Let banks explore, and return the beliefs about strangers that they estimate.

    Parameters
    ----------
    run_numbers
        One bank each; profiles use small ones.
    episodes
        Episodes of exploration.
    chance
        Chance of a loan meanwhile.

    Returns
    -------
    pandas.DataFrame
        Index: the truth, then the banks. Columns: alpha and beta of either group.
    """
    true = LoanMDPParams.fico()
    rows = {"truth": np.array(true.prior).ravel()}
    for number in run_numbers:
        env = gymnasium.make_vec("longfair/LoanMDP-v0", num_envs=episodes)
        loans = explore(env, chance, number, np.random.default_rng(number))
        found = estimate_strangers(loans, true.denial_drift, len(true.prior))
        rows[f"bank {number}"] = found.ravel()
    columns = [
        f"{group}, {name}" for group in ("minority", "majority") for name in ("alpha", "beta")
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def committed_banks(run_numbers: Sequence[int]) -> pd.DataFrame:
    """Let banks explore and commit, discounted; return what their policies are truly worth."""
    rows, setting = {}, learned("discounted", Bank(), Exploring())
    for number in run_numbers:
        table = train_and_evaluate(setting, number)
        last = table[(table["phase"] == "final") & (table["group"] < 0)]
        values = last.set_index("metric")["value"]
        rows[f"bank {number}"] = {
            "reward": values["reward"],
            "best fair reward": values["reward_best"],
            "gap (tolerance 0.1)": values["gap_largest"],
        }
    return pd.DataFrame.from_dict(rows, orient="index")


# Stored results -----------------------------------------------------------------------------------


def regret_figure(runs: Runs, variant: str, highest: float) -> Figure | None:
    """Draw regret against episodes; None without runs.

    Parameters
    ----------
    runs
        Runs of the experiment.
    variant
        Which variant.
    highest
        Lines leave the picture here: that of the coin goes on to ten times the height.
    """
    rows = curve(runs.results, "regret", variant)
    rows = rows[rows["method"].isin(IN_FIGURE)].drop(columns="variant")
    if rows.empty:
        return None
    by = ["method", "step"]
    lines = middles(rows, by)
    return learning_curves(
        lines[lines["value"] <= highest],
        quantity=runs.look.axes["regret"],
        band=middles_in_words(rows.assign(variant=variant), by, runs.look.names),
        runs=rows,
        thin_lines=False,
        styles=runs.look.styles,
        across="episodes",
    )


def always_fair(runs: Runs, method: str, variant: str) -> str:
    """Say in how many runs every episode was fair, as in "9 of 10 banks"."""
    fair = of_arm(runs.results, "fair", method, variant)
    return f"{int(fair.sum())} of {len(fair)} banks" if len(fair) else NOT_STORED


def largest_gap(runs: Runs, method: str, variant: str) -> float:
    """Return the largest gap of all runs of an arm; not a number without runs."""
    return float(of_arm(runs.results, "gap_largest", method, variant).max())


def by_exploration(runs: Runs, tolerance: float = 0.1) -> pd.DataFrame | Words:
    """Lay out regret, and how far the gap is from the tolerance, by episodes of exploration.

    Parameters
    ----------
    runs
        Runs of the experiment.
    tolerance
        What the banks plan for.

    Returns
    -------
    pandas.DataFrame or Words
        Index variant and episodes of exploration; means over runs.
    """
    if runs.results.empty:
        return runs.missing
    rows = {}
    for variant in VARIANTS:
        for episodes, method in LENGTHS.items():
            gaps = of_arm(runs.results, "gap_largest", method, variant)
            rows[variant, episodes] = {
                "regret": round(runs.mean("regret", method, variant), 1),
                "distance of gap from tolerance": round(float((gaps - tolerance).abs().mean()), 4),
            }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["variant", "episodes"])
    return runs.labelled(table)


def ends(runs: Runs, variant: str) -> pd.DataFrame | Words:
    """Lay out what learners end with, as `summary`, or say which command makes the runs."""
    return summary(runs.results, variant) if len(runs.results) else runs.missing


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
            "regret of an episode, committed over exploring": written(
                estimate(values["slope_ratio"], name=f"{name} s")
            ),
            "largest gap": f"{gap.min():.3f} to {gap.max():.3f}",
            "always fair": f"{int(values['fair'].sum())} of {len(values)}",
        }
    return pd.DataFrame.from_dict(lines, orient="index")
