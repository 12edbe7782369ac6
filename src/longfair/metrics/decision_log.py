r"""Benefit rates and gaps of logged decisions, with people as clusters.

A log has a row for every decision: when it was made, on whom, of which group, what was decided, and
how it turned out where that was ever seen. A group's benefit rate is

.. math::

    r_g = \frac{\sum_p S_p}{\sum_p D_p} ,

over the people p of the group, with supply S and demand D of a person added up over the log. The
same person may be decided on many times, and such decisions are not independent. So intervals take
people for the units, with the variance of a ratio of sums over clusters,

.. math::

    \operatorname{var}(r_g) = \frac{n}{n - 1} \cdot
    \frac{\sum_p (S_p - r_g D_p)^2}{\big(\sum_p D_p\big)^2} ,

and Student's t with n - 1 degrees of freedom for n people (Cochran 1977, Section 11.12, without the
correction for a finite population). Intervals end where rates do, at 0 and 1. A rate of exactly 0
or 1 has no such variance: there the interval is the exact one of Clopper and Pearson (1934) for as
many independent people, none or all of whom were accepted. The interval of a difference adds the
squared distances of both rates from the ends of theirs (Newcombe 1998, Method 10).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

import numpy as np
import pandas as pd
from scipy import stats

from longfair.errors import UsageError
from longfair.settings import OneOf, Positive, Range, checked

COLUMNS = ("time", "person", "group", "decision")
"""What a log needs; `outcome` besides, for notions that look at it."""

NOTIONS = ("acceptance", "true-positive", "false-positive")
"""Whose share of favourable decisions is meant: of everybody, of those whose outcome was good, and
of those whose outcome was bad."""

_MOST_WINDOWS = 2.0**53
"""From here on whole numbers are not told apart."""

Notion = Annotated[str, OneOf(*NOTIONS)]
Level = Annotated[float, Range(0.5, 0.999)]


def benefit_rates(
    log: pd.DataFrame, notion: str = "acceptance", level: float = 0.95
) -> pd.DataFrame:
    """Return every group's share of favourable decisions.

    Parameters
    ----------
    log
        Columns `time` (a number or a date), `person`, `group`, `decision` (0 or 1), and for other
        notions than acceptance `outcome` (0 or 1, missing where it was never seen).
    notion
        One of `NOTIONS`. Decisions whose outcome was never seen do not count where the outcome
        matters; a group whose outcomes only show after one of the two decisions has no such rate.
    level
        Level of the intervals.

    Returns
    -------
    pandas.DataFrame
        Index group; `rate`, `low` and `high` (within [0, 1]; missing with fewer than two people),
        `people` and `decisions` that count. Where the rate is 0 or 1, the interval is Clopper and
        Pearson's, with people for the units: all of 5 people accepted gives [0.478, 1].

    Raises
    ------
    UsageError
        If it is no table, a column is missing or there twice, a value is none of those allowed, a
        person is in two groups, nothing counts, or outcomes that matter were never seen in a group
        after one of the decisions.
    """
    level = checked("level", level, Level)
    people = _by_person(_counted(log, notion))
    rows = {
        group: _ratio(own, level)
        for group, own in people.groupby("group", sort=True, observed=True)
    }
    return pd.DataFrame(rows).T.rename_axis("group").astype({"people": int, "decisions": int})


def benefit_gap(
    log: pd.DataFrame, notion: str = "acceptance", level: float = 0.95
) -> pd.Series[Any]:
    """Return the largest difference of two groups' rates.

    Parameters
    ----------
    log, notion, level
        As for `benefit_rates`.

    Returns
    -------
    pandas.Series
        `gap`, `low`, `high`, and the groups that have `most` and `least`. The interval is that of
        the difference of these two, within [-1, 1], with the degrees of freedom of the one with
        fewer people. A rate of 0 or 1 adds the distance to the end of its own interval, as in
        `benefit_rates`. It does not count that they were chosen, so with equal rates it lies too
        high.

    Raises
    ------
    UsageError
        As for `benefit_rates`, and if there is only one group.
    """
    level = checked("level", level, Level)
    return _gap(_counted(log, notion), level)


def gaps_over_time(
    log: pd.DataFrame, width: float, notion: str = "acceptance", level: float = 0.95
) -> pd.DataFrame:
    """Return the gap in consecutive windows of time.

    Parameters
    ----------
    log, notion, level
        As for `benefit_rates`.
    width
        Length of a window, in units of `time`; in days where `time` holds dates. The first begins
        with the first decision that counts; with dates, at the midnight before the log's first.

    Returns
    -------
    pandas.DataFrame
        Index start of the window, a date where `time` holds dates; columns of `benefit_gap`.
        Windows in which fewer than two groups count are left out.

    Raises
    ------
    UsageError
        As for `benefit_gap`, and if no window has two groups, or the windows are too many to count.
    """
    width = checked("width", width, Positive)
    level = checked("level", level, Level)
    counted = _counted(log, notion)
    _require_two(counted["group"].unique())
    dates = _is_date(log["time"])
    first = 0.0 if dates else counted["time"].min()
    rows = {
        start: _gap(own, level)
        for start, own in counted.groupby(_windows(counted["time"], first, width))
        if own["group"].nunique() > 1
    }
    if not rows:
        raise UsageError(f"width={width:g}: no window has decisions on two groups; give a larger")
    gaps = pd.DataFrame(rows).T
    if dates:
        gaps.index = _first_midnight(log["time"]) + pd.to_timedelta(gaps.index, unit="D")
    return gaps.rename_axis("time")


def _windows(time: Any, first: float, width: float) -> Any:
    """Return where the window of every decision starts, the first of them at `first`."""
    farthest = float(time.abs().max())
    place = (time - first) / width
    if not place.max() < _MOST_WINDOWS:
        raise UsageError(
            f"width={width:g}: times are up to {float(time.max() - first):g} apart, which are too "
            "many windows; give a larger width"
        )
    # A time that rounding put just before a window's start belongs to that window.
    rounding = 8 * np.finfo(float).eps * farthest / width
    number = np.floor(place + min(rounding, 0.5)).astype("int64")
    return first + width * number


def _counted(log: pd.DataFrame, notion: str) -> pd.DataFrame:
    """Return the decisions that count, with `supply` and `demand` of 0 or 1."""
    notion = checked("notion", notion, Notion)
    needed = [*COLUMNS, *(["outcome"] if notion != "acceptance" else [])]
    log = checked("log", log, pd.DataFrame).reset_index(drop=True)
    missing = [name for name in needed if name not in log]
    if missing:
        raise UsageError(
            f"the log has no column {', '.join(missing)}: {notion} needs {', '.join(needed)}"
        )
    for name in needed:
        _require(log, name)
    if _is_date(log["time"]):
        log = log.assign(time=(log["time"] - _first_midnight(log["time"])) / pd.Timedelta(days=1))
    if (log.groupby("person", observed=True)["group"].nunique() > 1).any():
        raise UsageError("a person of the log is in two groups: give every person one")
    if notion == "acceptance":
        chosen = log
    else:
        _require_seen(log, notion)
        chosen = log[log["outcome"] == (1 if notion == "true-positive" else 0)]
    if chosen.empty:
        raise UsageError(f"no decision of the log counts for {notion}")
    return chosen.assign(supply=chosen["decision"].astype(float), demand=1.0)


def _require_seen(log: pd.DataFrame, notion: str) -> None:
    """Refuse outcomes that were only ever seen after one of the two decisions."""
    seen = log["outcome"].notna()
    if seen.any() and log.loc[seen, "decision"].all():
        raise UsageError(
            f"{notion} needs outcomes of unfavourable decisions too, and the log has none: "
            "use acceptance"
        )
    for group, own in seen.groupby(log["group"], observed=True):
        for decision, kind in enumerate(("unfavourable", "favourable")):
            such = own[log.loc[own.index, "decision"] == decision]
            if own.any() and len(such) and not such.any():
                raise UsageError(
                    f"{notion} needs outcomes of {kind} decisions too, and group {group} has "
                    f"{len(such)} of these without one: use acceptance"
                )


def _require(log: pd.DataFrame, name: str) -> None:
    """Refuse a column whose values are not allowed."""
    values = log[name]
    if not isinstance(values, pd.Series):
        raise UsageError(f"the log has {values.shape[1]} columns {name}: give one")
    if name == "time":
        if not _is_time(values):
            raise UsageError(
                "column time: give finite numbers, such as days since the first one, or dates "
                "(pandas.to_datetime makes them from text)"
            )
    elif name in ("person", "group"):
        if values.isna().any():
            raise UsageError(f"column {name}: {int(values.isna().sum())} rows are empty; fill them")
        if not values.map(pd.api.types.is_scalar).all():
            raise UsageError(f"column {name}: give numbers or text, not lists or the like")
    else:
        given = values.dropna() if name == "outcome" else values
        if not given.isin([0, 1]).all():
            raise UsageError(f"column {name}: give 0 or 1" + ", or nothing" * (name == "outcome"))


def _is_time(values: pd.Series[Any]) -> bool:
    if _is_date(values):
        return bool(values.notna().all())
    real = pd.api.types.is_integer_dtype(values) or pd.api.types.is_float_dtype(values)
    return real and bool(np.isfinite(values.to_numpy(float, na_value=np.nan)).all())


def _is_date(values: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(values))


def _first_midnight(dates: pd.Series[Any]) -> Any:
    return dates.min().normalize()


def _by_person(counted: pd.DataFrame) -> pd.DataFrame:
    columns = counted.groupby(["group", "person"], sort=False, observed=True)[["supply", "demand"]]
    return columns.sum().reset_index()


def _ratio(people: pd.DataFrame, level: float) -> dict[str, float]:
    """Return the rate of one group's people, its interval and its size."""
    rate, error = _rate_and_error(people)
    count = len(people)
    down, up = _reach(rate, error, count, count, level)
    return {
        "rate": rate,
        "low": np.maximum(rate - down, 0.0),
        "high": np.minimum(rate + up, 1.0),
        "people": count,
        "decisions": float(people["demand"].sum()),
    }


def _rate_and_error(people: pd.DataFrame) -> tuple[float, float]:
    supply, demand = people["supply"].to_numpy(), people["demand"].to_numpy()
    count, total = len(people), demand.sum()
    rate = float(supply.sum() / total)
    if count < 2:
        return rate, np.nan
    squares = ((supply - rate * demand) ** 2).sum()
    return rate, float(np.sqrt(count / (count - 1) * squares) / total)


def _reach(rate: float, error: float, count: int, fewest: int, level: float) -> tuple[float, float]:
    """Return how far below and above the rate of `count` people the ends of its interval are.

    Student's t is that of `fewest` people.
    """
    if fewest < 2:
        return np.nan, np.nan
    if rate in (0.0, 1.0):
        exact = stats.binomtest(int(rate) * count, count).proportion_ci(level)
        return rate - float(exact.low), float(exact.high) - rate
    half = error * float(stats.t.ppf(0.5 + level / 2, fewest - 1))
    return half, half


def _gap(counted: pd.DataFrame, level: float) -> pd.Series[Any]:
    people = _by_person(counted)
    found = {
        name: (*_rate_and_error(own), len(own))
        for name, own in people.groupby("group", observed=True)
    }
    _require_two(found)
    least, *_, most = sorted(found, key=lambda name: found[name][0])
    gap = found[most][0] - found[least][0]
    fewest = min(found[name][2] for name in (most, least))
    (down, up), (other_down, other_up) = (
        _reach(*found[name], fewest, level) for name in (most, least)
    )
    low = float(np.maximum(gap - np.hypot(down, other_up), -1.0))
    high = float(np.minimum(gap + np.hypot(up, other_down), 1.0))
    return pd.Series(
        {"gap": gap, "low": low, "high": high, "most": most, "least": least},
        dtype=object,  # else whole numbers that name groups become others
    )


def _require_two(groups: Collection[Any]) -> None:
    if len(groups) < 2:
        raise UsageError(
            f"the log has decisions on one group only ({', '.join(map(str, groups))}): give two"
        )
