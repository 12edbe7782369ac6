"""What is reported of lending policies: reward, profit, gaps and rates, as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from longfair.arrays import FloatArray
from longfair.envs.loan_mdp.exact import EVERYBODY, QUALIFIED, Outcome

ALL_GROUPS = -1


def quantities(outcome: Outcome) -> dict[str, FloatArray]:
    """Return what is reported of P policies, each (P,).

    Parameters
    ----------
    outcome
        Outcome of the policies.

    Returns
    -------
    dict of str to numpy.ndarray
        `reward` with the offset and `profit` without; `gap_dp` and `gap_eo` as coded, with
        `_discounted` as published.
    """
    return {
        "reward": outcome.reward,
        "profit": outcome.profit,
        "gap_dp": outcome.gap(EVERYBODY),
        "gap_eo": outcome.gap(QUALIFIED),
        "gap_dp_discounted": outcome.gap(EVERYBODY, discounted=True),
        "gap_eo_discounted": outcome.gap(QUALIFIED, discounted=True),
    }


def mean_quantities(outcome: Outcome, suffix: str = "") -> dict[str, float]:
    """Return the means of `quantities` over the policies, under names with a suffix."""
    return {name + suffix: float(values.mean()) for name, values in quantities(outcome).items()}


def mean_rates(outcome: Outcome) -> pd.DataFrame:
    """Return the mean lending rates of the groups: columns `metric`, `group`, `value`."""
    rates = {
        "rate": outcome.rates(),
        "rate_discounted": outcome.rates(discounted=True),
        "rate_qualified": outcome.rates(QUALIFIED),
        "rate_qualified_discounted": outcome.rates(QUALIFIED, discounted=True),
    }
    rows = [
        (name, group, float(value))
        for name, values in rates.items()
        for group, value in enumerate(values.mean(axis=0))
    ]
    return pd.DataFrame(rows, columns=["metric", "group", "value"])


def table(phase: str, step: int, overall: Mapping[str, float]) -> pd.DataFrame:
    """Return numbers of all groups together as rows of a result table."""
    frame = pd.DataFrame({"metric": list(overall), "value": list(overall.values())})
    return placed(frame.assign(group=ALL_GROUPS), phase, step)


def placed(frame: pd.DataFrame, phase: str, step: int) -> pd.DataFrame:
    """Say of which phase and step rows with `metric`, `group` and `value` are."""
    return frame.assign(phase=phase, step=np.int64(step)).astype({"group": np.int32})
