"""From decisions, simulated or logged, to who received how much at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError, near_misses
from longfair.metrics._arrays import finite
from longfair.settings import checked

if TYPE_CHECKING:
    import pandas as pd


def received_by(actions: ArrayLike, there: ArrayLike) -> FloatArray:
    """Return what every person received when each action hands one unit to one person.

    Parameters
    ----------
    actions
        Shape (..., T): the person chosen at every step, counted from 0.
    there
        Shape (..., T, n): whether each person could be served at that step. A unit for somebody
        who was not there is wasted.

    Returns
    -------
    numpy.ndarray
        Shape (..., T, n): 1 where a person received a unit, else 0.

    Raises
    ------
    UsageError
        If the shapes do not fit, or an action names nobody.
    """
    present = np.asarray(there, dtype=bool)
    chosen = np.asarray(actions)
    if present.ndim < 2 or chosen.shape != present.shape[:-1]:
        raise UsageError(
            f"actions need the shape of `there` without its last axis; given {chosen.shape} "
            f"and {present.shape}"
        )
    people = present.shape[-1]
    if chosen.dtype.kind not in "iu":
        raise UsageError(f"actions must be whole numbers, one person each; given {chosen.dtype}")
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < people):
        raise UsageError(
            f"actions must be 0 to {people - 1}; given {chosen.min()} to {chosen.max()}"
        )
    served: FloatArray = (chosen[..., None] == np.arange(people)) & present
    return served.astype(np.float64)


def received_from_log(
    log: pd.DataFrame,
    *,
    step: str = "step",
    person: str = "person",
    amount: str | None = None,
    people: Sequence[object] | None = None,
) -> pd.DataFrame:
    """Return what every person (or group) received at every step of a logged table of decisions.

    Parameters
    ----------
    log
        One row per decision. Several rows may share a step.
    step, person
        Columns that say when, and for whom.
    amount
        Column that says how much the person received, a number or true/false; without it every
        row hands out one unit. A decision that gave nothing is a row with amount 0.
    people
        Everybody who counts, in the order wanted. By default everybody in the log, sorted; name
        them all if somebody may never appear.

    Returns
    -------
    pandas.DataFrame
        One row per step of the log in ascending order, one column per person. Every function of
        this package takes it as an array of shape (T, n).

    Raises
    ------
    UsageError
        If it is no table, a column is missing, the log is empty, a value is missing or no plain
        one, or somebody is not listed.
    """
    import pandas as pd

    log = checked("log", log, pd.DataFrame)
    wanted = [step, person] + ([amount] if amount is not None else [])
    for column in wanted:
        if column not in log.columns:
            allowed = [str(name) for name in log.columns]
            raise UsageError(f"the log has no column {column!r}: {near_misses(column, allowed)}")
    if log.empty or log[wanted].isna().any(axis=None):
        raise UsageError(f"the log needs at least one row and no missing value in {wanted}")
    for column in (step, person):
        if not log[column].map(pd.api.types.is_scalar).all():
            raise UsageError(f"column {column}: give numbers or text, not lists or the like")
    everybody = _sorted(person, log[person].unique()) if people is None else list(people)
    for name in log[person].unique():
        if name not in everybody:
            raise UsageError(f"{person} {name!r}: {near_misses(str(name), map(str, everybody))}")
    units = 1.0 if amount is None else finite(log[amount], amount)
    table = log.assign(_units=units).pivot_table(
        index=step, columns=person, values="_units", aggfunc="sum", fill_value=0.0
    )
    return table.reindex(columns=everybody, fill_value=0.0).astype(np.float64)


def _sorted(column: str, names: Any) -> list[Any]:
    try:
        return sorted(names)
    except TypeError:
        raise UsageError(
            f"column {column} has names that cannot be sorted: give people= in the order wanted"
        ) from None
