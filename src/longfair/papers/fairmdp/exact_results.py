"""The exact numbers as tables, curves and figures for reading. Nothing here decides a number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.fair_mdp.examples import deterministic_policies
from longfair.agents.fair_mdp.model import FloatArray
from longfair.agents.finite.lagrangian import frontier
from longfair.agents.finite.problem import FiniteProblem, PolicyValue, occupancy
from longfair.figures import Figure, LineStyle, learning_curves
from longfair.figures.style import BLACK, BLUE
from longfair.papers.fairmdp.exact import episode, episode_problem
from longfair.papers.fairmdp.loans import Rates, offset_total
from longfair.runs.store import Store

NOTIONS = {"dp": "demographic parity", "eo": "equal opportunity"}
RATES = {"as_coded": "as coded", "discounted": "as published"}

POLICY_NAMES = {
    "never-lend": "never lend",
    "lend-half": "lend with probability 1/2",
    "always-lend": "always lend",
    "break-even": "lend from the break-even chance on",
    "qualified": "lend to those now above 0.82",
    "unconstrained": "best without constraint",
    "optimistic-exact": "best under the optimistic constraint",
    "conservative-exact": "best under the conservative constraint",
    "parity-as-coded": "best under parity, as coded",
    "parity-discounted": "best under parity, as published",
}
"""Policies that need no training, as a reader knows them."""

PRINTED = {
    "race-blind": 10.43,
    "optimistic, demographic parity": 10.41,
    "Algorithm 2, demographic parity": 10.40,
    "optimistic, equal opportunity": 10.43,
    "Algorithm 2, equal opportunity": 10.43,
    "conservative": 10.00,
}
"""Rewards that the paper prints under its Figure 1."""


def stored(store: Store, name: str = "fairmdp") -> Any:
    """Return the exact numbers of the store, or None where they have not been written.

    Parameters
    ----------
    store
        Where the results are.
    name
        `"fairmdp"`: the numbers of `exact.exact_numbers`. `"fairmdp_scale"`: those of
        `scale.measurements`.
    """
    file = store.root / "exact" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def policies_table(numbers: Any) -> pd.DataFrame:
    """Lay out what policies without training are worth, in the order of `POLICY_NAMES`."""
    table = pd.DataFrame(numbers["policies"]).set_index("policy").loc[list(POLICY_NAMES)]
    return table.rename(index=POLICY_NAMES)[
        ["reward", "profit", "gap_dp", "gap_dp_discounted", "gap_eo", "gap_eo_discounted"]
    ]


def optima_table(numbers: Any, column: str = "reward") -> pd.DataFrame:
    """Lay out the best fair policies: tolerances down, notion and definition of the gap across.

    Parameters
    ----------
    numbers
        As from `stored`.
    column
        `"reward"`, `"profit"`, `"gap"` or `"price"`.
    """
    rows = pd.DataFrame(numbers["optima"])
    rows["tolerance"] = [in_words(tolerance) for tolerance in rows["tolerance"]]
    rows = rows.replace({"notion": NOTIONS, "rates": RATES})
    order = list(dict.fromkeys(rows["tolerance"]))
    table = rows.pivot(index="tolerance", columns=["notion", "rates"], values=column)
    return table.loc[order]


def in_words(tolerance: float | None) -> str:
    """Write a tolerance, or that there is none."""
    return "none" if tolerance is None or np.isnan(tolerance) else f"{tolerance:g}"


def share_lost(
    numbers: Any, problem: str, largest: float = 0.35, points: int = 141
) -> pd.DataFrame:
    """Return which share of the best profit fairness costs, for every tolerance.

    Parameters
    ----------
    numbers
        As from `stored`.
    problem
        `"episode"` or `"finite"`.
    largest, points
        Last tolerance, and number of tolerances.

    Returns
    -------
    pandas.DataFrame
        Index: tolerance. One column per notion and definition of the gap, in per cent.
    """
    rows = pd.DataFrame(numbers["frontiers"])
    rows = rows[rows["problem"] == problem]
    tolerances = np.linspace(0.0, largest, points)
    curves = {}
    for (notion, rates), corners in rows.groupby(["notion", "rates"], sort=False):
        best = corners["profit"].max()
        profit = np.interp(tolerances, corners["gap"], corners["profit"])
        name = f"{NOTIONS[str(notion)]}, {RATES[str(rates)]}"
        curves[name] = 100.0 * (1.0 - profit / best)
    return pd.DataFrame(curves, index=pd.Index(tolerances, name="tolerance"))


def corner_counts(numbers: Any) -> pd.Series[int]:
    """Count the corners of every stored frontier."""
    rows = pd.DataFrame(numbers["frontiers"]).replace({"notion": NOTIONS, "rates": RATES})
    return rows.groupby(["problem", "notion", "rates"], sort=False).size()


def with_and_without_offset() -> pd.DataFrame:
    """Lay out the printed rewards, and what is left when the constant offset is taken away."""
    offset = offset_total(episode().params)
    table = pd.DataFrame({"reward as printed": PRINTED})
    table["without the offset"] = table["reward as printed"] - offset
    best = table["without the offset"].max()
    table["share of the highest"] = table["without the offset"] / best
    return table


def lending_over_time(policy: FloatArray, rates: Rates) -> NDArray[np.float64]:
    """Return the share of each group that has a loan at every step, (H, 2).

    Parameters
    ----------
    policy
        Shape (S, 2), of the demographic-parity problem of the episode.
    rates
        Which of these problems; they have the same states.
    """
    visited = occupancy(episode_problem("dp", rates), policy)[:, 1]
    states, step = episode().states, episode().step
    share = np.array(episode().params.group_probability)
    lent = np.zeros((episode().params.episode_length, len(share)))
    np.add.at(lent, (step, states[:, 0]), visited)
    shares: NDArray[np.float64] = lent / share
    return shares


# Policies with and without coins -----------------------------------------------------------------


def worth(value: PolicyValue) -> dict[str, float]:
    """Write out what a policy is worth: reward, value of every group, gap."""
    groups = {f"value of group {z}": float(v) for z, v in enumerate(value.group_values)}
    return {"reward": value.reward, **groups, "gap": value.gap}


def deterministic_table(problem: FiniteProblem) -> pd.DataFrame:
    """List every deterministic policy of a small problem: its actions, and what it is worth."""
    rows = {str(actions): worth(value) for actions, value in deterministic_policies(problem)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("actions")


def best_by_tolerance(
    problem: FiniteProblem, tolerances: Sequence[float | None] | FloatArray
) -> pd.DataFrame:
    """Lay out the best policies of a small problem within some tolerances.

    Parameters
    ----------
    problem
        The problem.
    tolerances
        Tolerances that some policy keeps; None for no constraint.

    Returns
    -------
    pandas.DataFrame
        Index: tolerance. Columns: reward, gap, price of fairness, and the states with a coin.
    """
    rows = {}
    for tolerance in tolerances:
        found = problem.solve(tolerance)
        rows[in_words(tolerance)] = {
            "reward": found.value.reward,
            "gap": found.value.gap,
            "price of fairness": found.price,
            "states with a coin": found.randomised_states.tolist(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("tolerance")


def smallest_gaps(problem: FiniteProblem) -> tuple[float, float]:
    """Return the smallest gap of a small problem with coins, and without any."""
    without = min(value.gap for _, value in deterministic_policies(problem))
    return float(frontier(problem).gap[0]), float(without)


COINS = {
    "deterministic": LineStyle("best without coins", BLUE, "", "-"),
    "stochastic": LineStyle("best with coins", BLACK, "", (0, (5, 1.5))),
}
"""How policies without and with randomness are drawn."""


def coins_figure(problem: FiniteProblem, points: int = 600) -> Figure:
    """Draw the best reward within a tolerance, with and without randomness.

    A line begins at the first tolerance that some policy of its kind keeps.

    Parameters
    ----------
    problem
        A problem with few deterministic policies.
    points
        Number of tolerances.
    """
    gaps = frontier(problem).gap
    tolerances = np.linspace(gaps[0] + 1e-9, gaps[-1] + 0.05, points)
    compared = deterministic_and_stochastic(problem, tolerances)
    rows = compared.melt(var_name="method", ignore_index=False).dropna()
    rows = rows.rename_axis("step").reset_index()
    return learning_curves(
        rows.assign(low=rows["value"], high=rows["value"]),
        quantity="reward",
        band="exact",
        styles=COINS,
        across="tolerance",
    )


def deterministic_and_stochastic(
    problem: FiniteProblem, tolerances: Sequence[float] | FloatArray
) -> pd.DataFrame:
    """Compare the best reward with and without randomness, for small problems.

    Parameters
    ----------
    problem
        A problem with few deterministic policies.
    tolerances
        For which to compare.

    Returns
    -------
    pandas.DataFrame
        Index: tolerance. Columns `deterministic` and `stochastic`; not a number where no policy
        keeps the tolerance.
    """
    values = [value for _, value in deterministic_policies(problem)]
    gap, reward = (np.array(c) for c in zip(*[(v.gap, v.reward) for v in values], strict=True))
    best = frontier(problem)
    rows = {}
    for tolerance in tolerances:
        kept = reward[gap <= tolerance + 1e-12]
        rows[float(tolerance)] = {
            "deterministic": kept.max() if len(kept) else np.nan,
            "stochastic": best.at(tolerance) if tolerance >= best.gap[0] else np.nan,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("tolerance")


APPENDIX_G = {"profit_free": 0.69, "profit_fair": 0.68, "gap_free": 0.26}
"""What Appendix G prints: rewards without constraint and at tolerance 0.01, gap without."""


def closest_discretisations(numbers: Any, count: int = 3) -> pd.DataFrame:
    """Return the discretisations that come closest to Appendix G, the best first.

    Parameters
    ----------
    numbers
        As from `stored`.
    count
        How many.

    Returns
    -------
    pandas.DataFrame
        Settings, the three numbers, and `largest error` of the three. Rewards are taken as sums or
        normalised, whichever fits better; `rewards` says which.
    """
    plain = pd.DataFrame(numbers["discretisations"])
    shrink = 1.0 - plain["discount"]
    normalised = plain.assign(
        profit_free=plain["profit_free"] * shrink, profit_fair=plain["profit_fair"] * shrink
    )
    rows = pd.concat([plain.assign(rewards="sums"), normalised.assign(rewards="normalised")])
    errors = [np.abs(rows[column] - printed) for column, printed in APPENDIX_G.items()]
    rows["largest error"] = np.max(errors, axis=0)
    return rows.sort_values("largest error", kind="stable").head(count).reset_index(drop=True)
