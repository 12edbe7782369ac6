"""What pages show of the logged training: why banks fall, by computed numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from longfair.figures import Figure, Words
from longfair.figures.line_chart import line_panels
from longfair.papers.fppo.lending import CASE
from longfair.papers.fppo.results import HARDLY_LENDING
from longfair.papers.page import NOT_STORED, Runs
from longfair.runs.tidy import final

LATER = 10
"""Rollouts of massaging after which the chances are told again."""

TERMS = {"reward": "advantage", "penalty": "penalty", "bonus": "bonus"}
"""What of the advantage's spread is told, and its name in the figure."""

AVERAGED = 15
"""Rollouts over which the lines of the figure are running means."""


class Log(NamedTuple):
    """What was logged of one run."""

    falls: bool
    """Whether it ends as a bank that hardly lends."""
    rollouts: pd.DataFrame
    """Index training steps; columns ``chance_0``, ``chance_1`` and `falling.TOLD`."""


def logs(runs: Runs) -> Iterator[Log]:
    """Return the logs of the runs, by seed.

    Parameters
    ----------
    runs
        Runs of the experiment `fppo/why-banks-fall`.
    """
    rows = runs.results
    told = rows[(rows["phase"] == "curve") & rows["metric"].str.startswith("training_")]
    grouped = told["group"].map({-1: "", 0: "_0", 1: "_1"})
    names = told["metric"].str.removeprefix("training_") + grouped
    cash = final(rows).query("metric == 'end_cash'").set_index("seed")["value"]
    for seed, own in told.assign(name=names).groupby("seed"):
        wide = own.pivot(index="step", columns="name", values="value")
        yield Log(bool(cash[seed] < HARDLY_LENDING), wide)


def falling_figure(runs: Runs) -> Figure | None:
    """Draw chances, flips and shares of the first run that falls, or of the first; None without.

    Lines are running means over `AVERAGED` rollouts; single rollouts stand pale behind them.

    Parameters
    ----------
    runs
        As for `logs`.
    """
    found = sorted(logs(runs), key=lambda log: not log.falls)
    if not found:
        return None
    told = found[0].rollouts.rename_axis("training steps")
    shares = {name: 100.0 * told[f"share_{term}"] for term, name in TERMS.items()}
    return line_panels(
        {
            "chance of a loan": pd.DataFrame(
                {f"group {group}": told[f"chance_{group}"] for group in (0, 1)}
            ),
            "flips per rollout": told[["flips"]],
            "% of the spread": pd.DataFrame(shares),
        },
        across="training steps",
        averaged=AVERAGED,
    )


def why_table(runs: Runs) -> pd.DataFrame | Words:
    """Lay out what the logs show before massaging begins and while it begins.

    Parameters
    ----------
    runs
        As for `logs`.

    Returns
    -------
    pandas.DataFrame
        A row for each run, those that fall first: the mean chances of a loan to group 0 and to
        group 1 in the last rollout before massaging and `LATER` rollouts later; of the first
        `LATER` massaged rollouts the share of decisions that were flipped, what a loan brought, and
        which part of the spread of the advantage in use is due to what.
    """
    found = sorted(logs(runs), key=lambda log: not log.falls)
    if not found:
        return runs.missing
    rows = [
        {
            "run": "falls" if log.falls else "lends on",
            "chances before massaging": _chances(log.rollouts, 0),
            f"{LATER} rollouts later": _chances(log.rollouts, LATER),
            "share flipped": f"{_flipped(log.rollouts):.2f}",
            "a loan brought": f"{_profit(log.rollouts):.2f}",
            **{
                f"% of the spread: {word}": f"{100 * _of(log.rollouts, f'share_{term}'):.0f}"
                for term, word in TERMS.items()
            },
        }
        for log in found
    ]
    return pd.DataFrame(rows).set_index("run").rename_axis(None)


def why_in_words(runs: Runs) -> str:
    """Say what tells the runs that fall from those that lend on, if it does so in all of them.

    Parameters
    ----------
    runs
        As for `logs`.
    """
    found = list(logs(runs))
    falling = [log.rollouts for log in found if log.falls]
    lending = [log.rollouts for log in found if not log.falls]
    if not falling or not lending:
        return f"What tells runs that fall from others: {NOT_STORED}."
    before = _first() - 1
    highest = [max(float(run[f"chance_{group}"].iloc[before]) for run in falling) for group in "01"]
    lowest = [min(float(run[f"chance_{group}"].iloc[before]) for run in lending) for group in "01"]
    told = []
    if all(high < low for high, low in zip(highest, lowest, strict=True)):
        told.append("had the lower chances of a loan before massaging began")
    if min(map(_flipped, falling)) > max(map(_flipped, lending)):
        told.append("had more of their decisions flipped")
    if not told:
        return "Neither chances nor flips tell the runs that fall from those that lend on."
    return f"The runs that fall {', and '.join(told)}."


def _massaged(told: pd.DataFrame) -> pd.DataFrame:
    """Return the first massaged rollouts."""
    begins = _first()
    return told.iloc[begins : begins + LATER]


def _first() -> int:
    """Return the number of the first massaged rollout, from 0 on."""
    strategy, _ = CASE.methods(as_coded=True)["f-ppo"]
    return int(strategy.first) + 1  # type: ignore[attr-defined]  # lending's massaging has it


def _of(told: pd.DataFrame, name: str) -> float:
    return float(_massaged(told)[name].mean())


def _flipped(told: pd.DataFrame) -> float:
    """Return the share of the decisions that were flipped."""
    steps = float(told.index[0])
    return _of(told, "flips") / steps


def _profit(told: pd.DataFrame) -> float:
    """Return what a loan brought on average."""
    own = _massaged(told)
    return float(own["profit"].sum() / max(own["loans"].sum(), 1.0))


def _chances(told: pd.DataFrame, later: int) -> str:
    """Write the chances of both groups: "0.52 and 0.47"."""
    rollout = _first() - 1 + later
    own = told.iloc[min(rollout, len(told) - 1)]
    return f"{own['chance_0']:.2f} and {own['chance_1']:.2f}"
