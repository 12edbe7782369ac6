"""The exact numbers as tables, curves and figures for reading. Nothing here decides a number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.fair_mdp.examples import deterministic_policies
from longfair.agents.finite import linear_program
from longfair.agents.finite.lagrangian import frontier
from longfair.agents.finite.problem import FiniteProblem, PolicyValue, occupancy
from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.figures import Figure, LineStyle, learning_curves, line_chart
from longfair.figures.style import BLACK, BLUE
from longfair.papers.fairmdp.exact import (
    best_in_episode,
    discounted_steps,
    episode,
    episode_problem,
    finite_problem,
)
from longfair.papers.fairmdp.loans import finite_loan_problem, offset_total
from longfair.papers.fairmdp.notions import Notion, Rates
from longfair.runs.store import Store

NOTIONS: dict[Notion, str] = {"dp": "demographic parity", "eo": "equal opportunity"}
RATES: dict[Rates, str] = {"as_coded": "as coded", "discounted": "as published"}

GROUPS = ("minority", "majority")
UNBROKEN = "\N{NO-BREAK SPACE}"
"""Between words that stay in one line where a table is narrow."""

POLICY_NAMES = {
    "never-lend": "never lend",
    "lend-half": "lend with probability 1/2",
    "always-lend": "always lend",
    "break-even": "lend from the break-even chance on",
    "qualified": "lend to those now above 0.82",
    "unconstrained": "best without constraint",
    "optimistic-exact": "best under the optimistic constraint",
    "conservative-exact": "chances from 0 to the tolerance (conservative)",
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
    """Return the exact numbers of the store.

    Parameters
    ----------
    store
        Where the results are.
    name
        `"fairmdp"`: the numbers of `exact.exact_numbers`. `"fairmdp_scale"`: those of
        `scale.measurements`.

    Raises
    ------
    UsageError
        If they have not been written.
    """
    file = store.root / "exact" / f"{name}.json"
    if not file.is_file():
        raise UsageError(
            f"no exact numbers in {file}: 'python scripts/write_fairmdp_exact.py --scale' computes "
            "them"
        )
    return json.loads(file.read_text(encoding="utf-8"))


# The loan problem --------------------------------------------------------------------------------


def problem_table() -> pd.DataFrame:
    """Lay out who applies in the loan problem, one row per group."""
    params = episode().params
    prior = np.array(params.prior)
    return pd.DataFrame(
        {
            "share of applicants": params.group_probability,
            "belief about a stranger: alpha": prior[:, 0],
            "beta": prior[:, 1],
            "chance of repayment": prior[:, 0] / prior.sum(axis=1),
            "loans before the episode": params.exploration,
        },
        index=["minority (group 0)", "majority (group 1)"],
    )


def average_chance() -> float:
    """Return the chance that the average applicant repays the first loan."""
    return float(problem_table()[["share of applicants", "chance of repayment"]].prod(axis=1).sum())


def solved(notion: Notion, tolerances: Sequence[float | None]) -> pd.DataFrame:
    """Solve the linear program of the finite loan problem.

    Parameters
    ----------
    notion
        What is to be equal.
    tolerances
        For which to solve it; None for no constraint.

    Returns
    -------
    pandas.DataFrame
        Index: tolerance. Columns: profit, gap, lending rates, price, and the situations in which
        the policy tosses a coin: "minority 6 / 3: 0.035" lends with chance 0.035 to those of the
        minority who repaid 6 loans and 3 not. Profits are sums.
    """
    problem, states = finite_problem(notion), finite_loan_problem()[1].states
    rows = {}
    for tolerance in tolerances:
        found = linear_program.solve(problem, tolerance)
        mixed = [
            f"{GROUPS[z]} {repaid} / {lost}: {found.policy[s, 1]:.3f}".replace(" ", UNBROKEN)
            for s in found.randomised_states
            for z, repaid, lost in [states[s % len(states)][:3]]
        ]
        rows[in_words(tolerance)] = {
            "profit": found.value.reward * discounted_steps(),
            "gap": found.value.gap,
            "rate, minority": found.value.group_values[0],
            "majority": found.value.group_values[1],
            "price": found.price * discounted_steps(),
            "coin at": "; ".join(mixed),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("tolerance")


def policies_table(numbers: Any) -> pd.DataFrame:
    """Lay out what policies without training are worth, in the order of `POLICY_NAMES`."""
    titles = {
        "reward": "reward",
        "profit": "profit",
        "gap_dp": "parity gap, as coded",
        "gap_dp_discounted": "parity gap, as published",
        "gap_eo": "opportunity gap, as coded",
        "gap_eo_discounted": "opportunity gap, as published",
    }
    table = pd.DataFrame(numbers["policies"]).set_index("policy").loc[list(POLICY_NAMES)]
    return table.rename(index=POLICY_NAMES)[list(titles)].rename(columns=titles)


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
    rows = _named(rows)
    order = list(dict.fromkeys(rows["tolerance"]))
    table = rows.pivot(index="tolerance", columns=["notion", "rates"], values=column)
    return table.loc[order]


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Write notions and definitions of the gap as a reader knows them."""
    return rows.assign(notion=rows["notion"].map(NOTIONS), rates=rows["rates"].map(RATES))


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
    rows = _named(rows[rows["problem"] == problem])
    tolerances = np.linspace(0.0, largest, points)
    curves = {}
    for (notion, rates), corners in rows.groupby(["notion", "rates"], sort=False):
        best = corners["profit"].max()
        profit = np.interp(tolerances, corners["gap"], corners["profit"])
        curves[f"{notion}, {rates}"] = 100.0 * (1.0 - profit / best)
    return pd.DataFrame(curves, index=pd.Index(tolerances, name="tolerance"))


def best_points(numbers: Any, notion: Notion, rates: Rates, tolerance: float = 0.1) -> pd.DataFrame:
    """Return the best policies as points beside runs, with and without a constraint.

    Parameters
    ----------
    numbers
        As from `stored`.
    notion, rates
        Whose gap.
    tolerance
        One of the stored ones.

    Returns
    -------
    pandas.DataFrame
        Columns `method` (`best`, `best-free`), `reward` (the profit), `bias` (the gap).
    """
    profits, gaps = (
        optima_table(numbers, column)[NOTIONS[notion], RATES[rates]] for column in ("profit", "gap")
    )
    rows = {"best": in_words(tolerance), "best-free": in_words(None)}
    return pd.DataFrame(
        [
            {"method": method, "reward": profits[row], "bias": gaps[row]}
            for method, row in rows.items()
        ]
    )


def cost_of_fairness(numbers: Any, notion: Notion, rates: Rates, tolerance: float) -> float:
    """Return which share of the best profit fairness costs the best policy within a tolerance.

    Parameters
    ----------
    numbers
        As from `stored`.
    notion, rates
        Whose gap.
    tolerance
        One of the stored ones.
    """
    profits = optima_table(numbers, "profit")[NOTIONS[notion], RATES[rates]]
    return float(1.0 - profits[in_words(tolerance)] / profits["none"])


def price_figure(numbers: Any) -> Figure:
    """Draw which share of the profit fairness costs, for every tolerance."""
    lost = share_lost(numbers, "episode")
    return line_chart(lost, across="tolerance", up="share of the profit lost (%)")


def with_and_without_offset() -> pd.DataFrame:
    """Lay out the printed rewards, and what is left when the constant offset is taken away."""
    offset = offset_total(episode().params)
    table = pd.DataFrame({"reward as printed": PRINTED})
    table["without the offset"] = table["reward as printed"] - offset
    best = table["without the offset"].max()
    table["share of the highest"] = table["without the offset"] / best
    return table


def printed_loss() -> tuple[float, float]:
    """Return between which shares of the profit the printed rewards differ, as they are rounded."""
    table = with_and_without_offset()["without the offset"]
    free, fair, hidden = table.max(), table["Algorithm 2, demographic parity"], 0.005
    low, high = (1.0 - (fair + off) / (free - off) for off in (hidden, -hidden))
    return float(low), float(high)


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


PARTED = 0.02
"""Lending rates that differ by at least this are no longer the same."""


def courses(tolerance: float) -> pd.DataFrame:
    """Follow lending over time under the policies that are best with demographic parity.

    Parameters
    ----------
    tolerance
        Largest gap, in either definition.

    Returns
    -------
    pandas.DataFrame
        Index: decision. One column per group and definition of the gap: the share of the group that
        has a loan.
    """
    columns = {}
    for rates, name in RATES.items():
        course = lending_over_time(best_in_episode("dp", rates, tolerance).policy, rates)
        for group, title in enumerate(("minority", "majority")):
            columns[f"{title}, gap {name}"] = course[:, group]
    return pd.DataFrame(columns).rename_axis("decision")


def decisions_as_without_constraint(course: pd.DataFrame) -> int:
    """Count the first decisions in which the gap as coded changes nothing.

    Parameters
    ----------
    course
        As from `courses`.

    Returns
    -------
    int
        Decisions before a lending rate is `PARTED` from that of the best policy of all.
    """
    free = lending_over_time(best_in_episode("dp", "discounted", None).policy, "discounted")
    coded = course[["minority, gap as coded", "majority, gap as coded"]].to_numpy()
    same = np.abs(coded - free).max(axis=1) < PARTED
    return int(np.logical_and.accumulate(same).sum())


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
            "states with a coin": ", ".join(map(str, found.randomised_states)) or "none",
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


def beside_appendix_g(numbers: Any) -> pd.DataFrame:
    """Hold the linear programs of our discretisation against what Appendix G prints."""
    rows = pd.DataFrame(numbers["programs"]).query("notion == 'dp'").set_index("tolerance")
    free, fair = rows[rows.index.isna()].iloc[0], rows.loc[0.01]
    printed = APPENDIX_G
    lines = {
        "reward without constraint": (printed["profit_free"], free["profit"]),
        "gap without constraint": (printed["gap_free"], free["gap"]),
        "reward at tolerance 0.01": (printed["profit_fair"], fair["profit"]),
        "gap at tolerance 0.01": (0.01, fair["gap"]),
        "share of the profit that fairness costs": (
            1 - printed["profit_fair"] / printed["profit_free"],
            1 - fair["profit"] / free["profit"],
        ),
    }
    return pd.DataFrame.from_dict(lines, orient="index", columns=["paper", "here"])


DIGITS = 4
"""Of the rewards and the gap of a discretisation, by which two are told apart."""


def distinct_discretisations(numbers: Any) -> pd.DataFrame:
    """Return one discretisation of all that give the same rewards and gap, as from `stored`."""
    rows = pd.DataFrame(numbers["discretisations"])
    same = rows[["discount", *APPENDIX_G]].round(DIGITS).duplicated()
    return rows[~same].reset_index(drop=True)


def closest_discretisations(numbers: Any, count: int = 3) -> pd.DataFrame:
    """Return the discretisations that come closest to Appendix G, the best first.

    Of those that differ in no number by more than rounding to `DIGITS` there is the first.

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
    plain = distinct_discretisations(numbers)
    shrink = 1.0 - plain["discount"]
    normalised = plain.assign(
        profit_free=plain["profit_free"] * shrink, profit_fair=plain["profit_fair"] * shrink
    )
    rows = pd.concat([plain.assign(rewards="sums"), normalised.assign(rewards="normalised")])
    errors = [np.abs(rows[column] - printed) for column, printed in APPENDIX_G.items()]
    rows["largest error"] = np.max(errors, axis=0)
    return rows.sort_values("largest error", kind="stable").head(count).reset_index(drop=True)


def times(scale: Any) -> pd.DataFrame:
    """Lay out how long the solvers take, in processor seconds.

    Parameters
    ----------
    scale
        As from `stored`, with the name `"fairmdp_scale"`.
    """
    table = pd.DataFrame(scale).pivot(
        index=["pairs", "problem"], columns="solver", values="processor_seconds"
    )
    table = table[["linear program", "column generation", "duality"]].astype(object)
    return table.where(table.notna(), "not tried")
