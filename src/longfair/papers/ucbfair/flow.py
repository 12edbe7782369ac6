"""What one step does to every population: the arrows of a phase portrait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from longfair.envs.population import DISPARITIES, PopulationModel, PopulationParams, start_grid
from longfair.settings import Count, Probability, checked

_BLOCK = 8_192
"""Rows that a policy is asked about together."""


def flow(
    policy: Any, params: PopulationParams, size: int = 100, draws: int = 20, passed: float = 0.0
) -> pd.DataFrame:
    """Average the first step of a policy from every state of a square grid.

    Parameters
    ----------
    policy
        Anything with ``predict``; it is shown two rates and the time.
    params
        The population.
    size
        States along a rate.
    draws
        How often the policy draws in every state; 20 in the paper. The mean is taken.
    passed
        Share of the episode that has passed.

    Returns
    -------
    pandas.DataFrame
        One row per state: ``rate_0``, ``rate_1``; ``change_0``, ``change_1``, by how much they
        change; ``loss``; and the four disparities by name.
    """
    size, draws = checked("size", size, Count), checked("draws", draws, Count)
    passed = checked("passed", passed, Probability)
    model = PopulationModel(params)
    rows = np.repeat(start_grid(size), draws, axis=0)
    shown = np.column_stack([rows, np.full(len(rows), passed)]).astype(np.float32)
    actions = np.concatenate(
        [
            policy.predict(shown[first : first + _BLOCK], deterministic=draws == 1)[0]
            for first in range(0, len(rows), _BLOCK)
        ]
    )
    outcome = model.outcome(rows, actions)
    columns = np.column_stack(
        [
            rows,
            outcome.next_rates - rows,
            1.0 - model.reward(outcome),
            model.disparities(rows, outcome),
        ]
    )
    means = columns.reshape(size * size, draws, -1).mean(axis=1)
    names = ["rate_0", "rate_1", "change_0", "change_1", "loss", *DISPARITIES]
    return pd.DataFrame(means, columns=names)
