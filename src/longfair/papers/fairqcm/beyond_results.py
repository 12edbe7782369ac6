"""The results beyond FairQCM: what every fix adds, and what its absence costs.

Reading results in general is the matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from longfair.agents.fairqcm.presets import Recipe
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut.exact import least_served_score
from longfair.envs.loan_pool.exact import (
    PairedLoanPool,
    lagging_group_best_credit,
    loan_pool_value,
)
from longfair.figures import Figure, LineStyle, Words
from longfair.figures.dot_intervals import dot_intervals
from longfair.figures.style import BLACK, BLUE, GREY, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers.fairqcm.beyond import (
    ALL_FIXES,
    AUTHORS,
    COMPLETE,
    LAST_EPISODES,
    learned,
    published,
    rungs,
    searches,
    without,
)
from longfair.papers.fairqcm.deep import config_of
from longfair.papers.fairqcm.deep_results import in_words
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.runs.evidence import REFERENCE
from longfair.runs.statistics import estimate
from longfair.runs.tidy import (
    ARM,
    Quantities,
    difference,
    differences,
    middles,
    middles_in_words,
    of_arm,
    references,
    sign,
    written,
)

ADDED: Mapping[str, str] = {
    "fairqcm": "as published, authors' loop",
    "drawn": "memories drawn when learned",
    "published": "ten episodes side by side",
    "clock": "clock, and an end",
    "steps": "larger, fewer steps",
    "replay": "long replay",
    "by-person": "one network for everybody",
    "ledgers": "any ledger imagined",
    "double": "double Q-learning",
    "undiscounted": "no discount",
    "shortfall": "shortfall as reward",
}
"""What every rung of the ladder adds."""

LEFT_OUT: Mapping[str, str] = {
    **ADDED,
    "memories": "imagined nothing",
    "ledgers": "imagined the paper's memories",
    "published": "imagined the code's memories",
    "steps": "larger steps",
}
"""What is left out of all fixes."""

SOUGHT: Mapping[str, str] = {
    "random-weights": "linear, random weights",
    "cross-entropy": "linear, cross-entropy",
}
"""Linear rules without a network."""

BESIDE: Mapping[str, tuple[str, str]] = {
    "doughnuts": ("random-present", "rotation"),
    "lending": ("random-present", "alternating"),
}
"""Policies without training beside the ladder, by problem."""

PRESENT: Mapping[str, str] = {"doughnuts": "random, present", "lending": "random applicant"}
"""What the policy is called that chooses at random among those who are there, by problem."""

_LAST = "last_policy_return"


def look(problem: str) -> Look:
    """Return how the runs of a problem appear.

    Parameters
    ----------
    problem
        `"doughnuts"` or `"lending"`.
    """
    return Look(
        styles={
            "published": LineStyle("before any fix", VERMILION, "s"),
            "replay": LineStyle("up to long replay", ORANGE, "D", (0, (3, 1, 1, 1))),
            "by-person": LineStyle("up to one network", PURPLE, "^", (0, (5, 1.5))),
            COMPLETE[problem]: LineStyle("all fixes", BLUE, "o"),
            "bits": LineStyle("without the shared network", VERMILION, "s", (0, (5, 1.5))),
            "oracle": LineStyle("best possible", BLACK, "*", ":"),
            "rotation": LineStyle("taking turns", SKY, "P", ":"),
            "random-present": LineStyle(PRESENT[problem], GREY, "+", ":"),
            "alternating": LineStyle("alternating", SKY, "P", ":"),
            "random": LineStyle("Random", GREY, "x", ":"),
        },
        variants=SOUGHT,
        axes={"return": "return of a greedy episode"},
        beside=("random-present", "alternating", "oracle"),
        every={"book": 5},
        median=True,
    )


OPTIMAL = "oracle"
"""The reference that nothing surpasses: least served on doughnuts, the exact optimum in lending."""


def arms(problem: str) -> list[tuple[str, str]]:
    """Return method and variant of everything learned: ladder, all fixes but one, searches."""
    return [
        *rungs(problem),
        *((name, "without") for name in without(problem)),
        *((name, "search") for name in searches(problem)),
    ]


def lost(results: pd.DataFrame, problem: str, metric: str) -> pd.DataFrame:
    """Say by how much every learned arm stays below the optimal policy, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    problem
        `"doughnuts"` or `"lending"`.
    metric
        A final metric.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `value`; arms without results are left out.
    """
    best = of_arm(results, metric, OPTIMAL, REFERENCE)
    rows = [
        (best - of_arm(results, metric, *arm))
        .dropna()
        .rename("value")
        .reset_index()
        .assign(**dict(zip(ARM, arm, strict=True)))
        for arm in arms(problem)
    ]
    return pd.concat(rows, ignore_index=True)[[*ARM, "seed", "value"]]


def bars(results: pd.DataFrame, metric: str) -> pd.Series[float]:
    """Return what policies without training reach in a final metric, by method."""
    return references(results, metric).set_index("method")["value"]


def contributions(results: pd.DataFrame, problem: str, quantities: Quantities) -> pd.DataFrame:
    """Say what every fix does to the ladder's rung before, and what its absence does to the whole.

    Parameters
    ----------
    results
        As from `Store.load`.
    problem
        `"doughnuts"` or `"lending"`.
    quantities
        Final metric to column title and number of digits.

    Returns
    -------
    pandas.DataFrame
        Index: method and variant. For `ladder`, the rung less the one below; for `without`, all
        fixes but this one, less all fixes; for `search`, the linear rule less all fixes. `coded`
        is compared with `published`, beside which it stands. Differences are paired by seed; arms
        without results are left out.
    """
    whole = (COMPLETE[problem], "ladder")
    pairs = {upper: (upper, lower) for lower, upper in pairwise(rungs(problem))}
    pairs["coded", "ladder"] = (("coded", "ladder"), ("published", "ladder"))
    others = [arm for arm in arms(problem) if arm not in rungs(problem)]
    pairs |= {arm: (arm, whole) for arm in others}
    return differences(results, pairs, quantities)


def contribution_table(runs: Runs, problem: str, quantities: Quantities) -> pd.DataFrame | Words:
    """Lay `contributions` out in the words of the figures, or say which command makes the runs."""
    if runs.results.empty:
        return runs.missing
    table = contributions(runs.results, problem, quantities)
    called = {
        "ladder": ({**ADDED, "coded": "the code's memories"}, "added"),
        "without": (LEFT_OUT, "left out"),
        "search": (SOUGHT, "no network"),
    }
    table.index = pd.MultiIndex.from_tuples(
        [(called[variant][0][method], called[variant][1]) for method, variant in table.index],
        names=["fix", "how"],
    )
    return table


# Figures ----------------------------------------------------------------------------------------


def loss_figure(runs: Runs, problem: str) -> Figure | None:
    """Draw what every arm loses against the best possible, on a logarithmic scale.

    Parameters
    ----------
    runs
        Runs of the problem's ladder.
    problem
        `"doughnuts"` or `"lending"`.

    Returns
    -------
    Figure or None
        None without runs.
    """
    found = lost(runs.results, problem, _LAST) if len(runs.results) else pd.DataFrame()
    if found.empty:
        return None
    called = {**ADDED, **SOUGHT, "memories": "nothing imagined"}
    unnamed = dict.fromkeys(("ladder", "as_published", "search"), "")
    told = middles_in_words(found, ARM, {**called, **unnamed, "without": "left out"})
    found = middles(found, ARM)
    series = {"ladder": "added", "as_published": "added", "without": "left out"}
    found = found.assign(
        name=found["method"].map(called),
        series=found["variant"].map(series).fillna("no network"),
    )
    found = _in_order(found, "name", list(called.values()))
    found = _in_order(found, "series", ["added", "left out", "no network"])
    reached = bars(runs.results, _LAST)
    names = runs.look.names
    marks = {names[policy]: reached[OPTIMAL] - reached[policy] for policy in BESIDE[problem]}
    if problem == "doughnuts":
        marks["one per cent"] = reached[OPTIMAL] / 100
    return dot_intervals(
        found[["name", "series", "value", "low", "high"]],
        across="return lost against the best possible",
        band=told,
        references=pd.DataFrame({"name": list(marks), "value": list(marks.values())}),
        lowest=0.3,
    )


def _in_order(table: pd.DataFrame, column: str, order: Sequence[str]) -> pd.DataFrame:
    places = {name: place for place, name in enumerate(order)}
    return table.sort_values(column, key=lambda names: names.map(places), kind="stable")


# Sentences and marks ----------------------------------------------------------------------------


class ExactScores(NamedTuple):
    """Expected returns of an episode, computed and not played."""

    oracle: float
    """On doughnuts, of whoever serves the one present who had least."""
    alternating: float
    """In lending, of the lender who serves the group that is behind."""
    optimum: float
    """In lending, of the best policy."""


def exact_scores() -> ExactScores:
    """Compute the returns that need no sample."""
    crowd = DoughnutParams.deep()
    oracle = least_served_score(5, crowd.presence_probability[0], crowd.episode_length, 0.0).reward
    alternating = loan_pool_value(PairedLoanPool(), lagging_group_best_credit)
    return ExactScores(oracle, alternating, loan_pool_value(PairedLoanPool()))


def marks_table(doughnuts: Runs, lending: Runs) -> pd.DataFrame:
    """Say which marks all fixes together reach; reached asks for the whole interval.

    Parameters
    ----------
    doughnuts, lending
        Runs of the two ladders.
    """
    exact = exact_scores()
    marks = [
        ("doughnuts", "one per cent below the Oracle", 0.99 * exact.oracle),
        ("doughnuts", "the Oracle, exactly", exact.oracle),
        ("lending", "the alternating lender, exactly", exact.alternating),
        ("lending", "the optimum, exactly", exact.optimum),
    ]
    if len(doughnuts.results):
        memoryless = float(bars(doughnuts.results, _LAST)["random-present"])
        marks.insert(0, ("doughnuts", "at random among those present", memoryless))
    rows = []
    for problem, _, value in marks:
        runs = doughnuts if problem == "doughnuts" else lending
        rows.append({"value": f"{value:.2f}", **_reached(runs, COMPLETE[problem], value)})
    index = pd.MultiIndex.from_tuples([mark[:2] for mark in marks], names=["problem", "mark"])
    return pd.DataFrame(rows, index=index).fillna("")


def _reached(runs: Runs, method: str, mark: float) -> dict[str, str]:
    values = of_arm(runs.results, _LAST, method, "ladder")
    if values.empty:
        return {}
    found = estimate(values, name=f"{method} all fixes")
    low, high = found.interval or (found.value, found.value)
    word = "yes" if low >= mark else "no" if high < mark else "not decided"
    return {"all fixes": written(found, 2), "reached": word}


def most_and_least(runs: Runs, problem: str) -> str:
    """Name the fix that adds most on the ladder, the one missed most, and those that do harm."""
    if not runs.has((COMPLETE[problem], "ladder")):
        return NOT_STORED
    found = middles(lost(runs.results, problem, _LAST), ARM)
    rung = found[found["variant"].isin(["as_published", "ladder"])].set_index("method")["value"]
    gains = -rung.diff().dropna()
    costs = found[found["variant"] == "without"].set_index("method")["value"]
    costs = costs - rung[COMPLETE[problem]]
    return (
        f"on the ladder *{ADDED[str(gains.idxmax())]}* adds most, {gains.max():.1f}. Of the fixes "
        f"left out alone, *{LEFT_OUT[str(costs.idxmax())]}* costs most, {costs.max():.1f}. All "
        f"fixes together are {rung[COMPLETE[problem]]:.1f} points below the best possible. Fixes "
        f"without which the agent clearly ends higher: {_harmful(runs, problem)}."
    )


def _harmful(runs: Runs, problem: str) -> str:
    harm = []
    for method in without(problem):
        arms = (method, "without"), (COMPLETE[problem], "ladder")
        gain = difference(runs.results, _LAST, *arms)
        if gain is not None and sign(gain) > 0:
            harm.append(f"*{LEFT_OUT[method]}*, {written(gain, 1, signed=True)}")
    return ", ".join(harm) or "none"


def imagining_in_words(runs: Runs, problem: str, left_out: str) -> str:
    """Say what imagining adds to everything else, at the end and over all of training.

    Parameters
    ----------
    runs
        Runs that hold all fixes and all fixes but one.
    problem
        `"doughnuts"` or `"lending"`.
    left_out
        `"memories"` for imagining nothing, `"ledgers"` for what the paper imagines.
    """
    whole, other = (COMPLETE[problem], "ladder"), (left_out, "without")
    if not runs.has(whole, other):
        return NOT_STORED
    pair = [of_arm(runs.results, "return_all", *arm) for arm in (whole, other)]
    first, second = (values.to_dict() for values in pair)
    shared = first.keys() & second.keys()
    wins = sum(first[seed] > second[seed] for seed in shared)
    return (
        f"{in_words(runs, _LAST, whole, other, 1)} for the last policy; "
        f"{in_words(runs, 'return_all', whole, other, 1)} for all of training; more over all of "
        f"training in {wins} of {len(shared)} runs"
    )


# Settings and cost ------------------------------------------------------------------------------


def recipe_table(problem: str) -> pd.DataFrame:
    """Return the settings that differ between FairQCM as published and all fixes."""
    start, best = published(problem), ALL_FIXES[problem]
    rows = {
        field.name: (getattr(start, field.name), getattr(best, field.name))
        for field in fields(Recipe)
    }
    changed = {name: pair for name, pair in rows.items() if pair[0] != pair[1]}
    columns = ["as published", "all fixes"]
    return pd.DataFrame.from_dict(changed, orient="index", columns=columns).rename_axis("setting")


def loop_table() -> pd.DataFrame:
    """Return the numbers in which the authors' loop and that of the agent with a ledger differ."""
    rows = {}
    for problem in COMPLETE:
        theirs = config_of(problem, *AUTHORS)
        ours = learned(problem, published(problem), last=LAST_EPISODES[problem])
        rows[problem, "authors' loop"] = (
            theirs.learning.settings.batch,
            1,
            1,
            theirs.evaluating.final_episodes,
        )
        rows[problem, "from the third rung on"] = (
            ours.method.batch,
            ours.learning.copies,
            ours.method.updates,
            ours.evaluating.final_episodes,
        )
    columns = [
        "minibatch",
        "episodes side by side",
        "updates in a row",
        "further episodes of the last policy",
    ]
    index = pd.MultiIndex.from_tuples(list(rows), names=["problem", "loop"])
    return pd.DataFrame(list(rows.values()), index, columns)


def cost_table(ladders: Mapping[str, Runs]) -> pd.DataFrame | Words:
    """Lay out the median core seconds of a run of every arm, evaluation included.

    Parameters
    ----------
    ladders
        Problem to the runs of its ladder.
    """
    stored = {problem: runs for problem, runs in ladders.items() if len(runs.results)}
    if not stored:
        return next(iter(ladders.values())).missing
    hows = {"ladder": "added", "without": "left out", "search": "no network"}
    seconds = {
        problem: runs.provenance().groupby(["method", "variant"])["core_seconds"].median()
        for problem, runs in stored.items()
    }
    table = pd.DataFrame(
        {
            (problem, how): found.xs(variant, level="variant").round(1)
            for problem, found in seconds.items()
            for variant, how in hows.items()
        }
    )
    called = {**ADDED, **SOUGHT, "memories": "nothing imagined", "coded": "the code's memories"}
    order = [method for method in called if method in table.index]
    return table.loc[order].rename(index=called).astype(object).fillna("")
