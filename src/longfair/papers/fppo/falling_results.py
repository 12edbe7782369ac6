"""What pages show of the logged training: why banks fall, by computed numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pandas as pd

from longfair.figures import Figure
from longfair.figures.line_chart import line_panels
from longfair.papers.fppo.lending import CASE
from longfair.papers.fppo.results import HARDLY_LENDING
from longfair.papers.page import NOT_STORED, Runs
from longfair.runs.tidy import final
from longfair.wording import counted

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


def why_in_words(runs: Runs) -> list[str]:
    """Say in three sentences what the logs show: chances, flips and loans, and the spread.

    Parameters
    ----------
    runs
        As for `logs`.
    """
    found = list(logs(runs))
    if not found:
        return [f"What was logged: {NOT_STORED}."]
    falling = [log.rollouts for log in found if log.falls]
    lending = [log.rollouts for log in found if not log.falls]
    kinds = {
        _those(falling, "that falls", "that fall"): falling,
        _those(lending, "that goes on lending", "that go on lending"): lending,
    }
    kinds = {name: own for name, own in kinds.items() if own}
    chances = "; ".join(
        f"{name} {_chances(own, 0)}, and {LATER} rollouts later {_chances(own, LATER)}"
        for name, own in kinds.items()
    )
    loans = "; ".join(
        f"{name} {_each(own, _flipped)} of the decisions were flipped, and a loan brought "
        f"{_each(own, _profit)}"
        for name, own in kinds.items()
    )
    spread = "; ".join(
        f"{name} {', '.join(f'the {word} {_shares(own, term)} %' for term, word in TERMS.items())}"
        for name, own in kinds.items()
    )
    were = "was" if len(found) == 1 else "were"
    return [
        f"Of {counted(len(found), 'run')} that {were} logged, mean chances of a loan to group 0 "
        f"and to group 1 in the last rollout before massaging: {chances}.",
        f"In the first {LATER} massaged rollouts, run by run: {loans}.",
        f"What has which part of the spread of the advantage that was used there: {spread}.",
    ]


def _those(runs: list[pd.DataFrame], one: str, several: str) -> str:
    """Name some of the runs: "in the one that falls", "in the 2 that fall"."""
    return f"in the one {one}" if len(runs) == 1 else f"in the {len(runs)} {several}"


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


def _each(runs: list[pd.DataFrame], tell: Callable[[pd.DataFrame], float]) -> str:
    """Write a number of every run: "0.31, 0.28"."""
    return ", ".join(f"{tell(run):.2f}" for run in runs)


def _shares(runs: list[pd.DataFrame], term: str) -> str:
    """Write a term's share of every run's spread in percent: "23, 31"."""
    return ", ".join(f"{100 * _of(run, f'share_{term}'):.0f}" for run in runs)


def _chances(runs: list[pd.DataFrame], later: int) -> str:
    """Write the chances of both groups, run by run: "0.52 and 0.47, 0.50 and 0.51"."""
    rollout = _first() - 1 + later
    told = [run.iloc[min(rollout, len(run) - 1)] for run in runs]
    return ", ".join(f"{own['chance_0']:.2f} and {own['chance_1']:.2f}" for own in told)
