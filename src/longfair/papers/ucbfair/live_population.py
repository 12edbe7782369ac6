"""Two groups under fixed thresholds, from any start: a live world, the portrait of a population.

The reader moves the start and a threshold for each group, and sees the path of the qualification
rates. Thresholds come from a list, so what share of whom they accept is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.envs.population import PopulationModel, PopulationParams
from longfair.figures import Figure
from longfair.figures.phase_portrait import phase_portrait
from longfair.settings import Range, checked

PARAMS = PopulationParams.synthetic()
STEPS = 40
"""Positions of a slider above its lowest."""
START = (0.3, 0.7)
"""Qualification rates to begin with."""
STRICT = (23, 23)
"""Positions to begin with: a strict threshold for both groups."""
GRID = 40
"""States along a rate in the still figure."""

Pair = tuple[Annotated[int, Range(0, STEPS)], Annotated[int, Range(0, STEPS)]]


@dataclass(frozen=True)
class Path:
    """Where T steps lead from N starts."""

    rates: FloatArray
    """(T + 1, N, 2): qualification rates, the start first."""
    loss: FloatArray
    """(T, N): loss of every step."""
    gap: FloatArray
    """(T, N): squared gap in acceptance."""


def follow(starts: ArrayLike, positions: Sequence[int]) -> Path:
    """Hold two thresholds for a whole episode.

    Parameters
    ----------
    starts
        Qualification rates (N, 2).
    positions
        Position of each group's slider, from 0 (everybody is accepted) to `STEPS` (nobody is).

    Raises
    ------
    UsageError
        If a position is out of range.
    """
    actions = np.array(checked("positions", tuple(positions), Pair)) / STEPS
    model = PopulationModel(PARAMS)
    rates, loss, gap = [np.asarray(starts, dtype=np.float64)], [], []
    for _ in range(PARAMS.episode_length):
        outcome = model.outcome(rates[-1], np.broadcast_to(actions, rates[-1].shape))
        loss.append(1.0 - model.reward(outcome))
        gap.append(model.disparities(rates[-1], outcome)[..., 0])
        rates.append(outcome.next_rates)
    return Path(np.stack(rates), np.stack(loss), np.stack(gap))


def data() -> dict[str, Any]:
    """Return the population, for the script."""
    model = PopulationModel(PARAMS)
    thresholds = model.thresholds(np.arange(STEPS + 1) / STEPS)
    both = np.stack([thresholds, thresholds], axis=-1)
    accepted = model.acceptance(np.full(both.shape, 0.5), both)
    table = PARAMS.fitness
    return {
        "groups": ["group 0", "group 1"],
        "start": START,
        "positions": STRICT,
        "thresholds": thresholds.tolist(),
        "accepted": accepted.tolist(),
        "rejected": [table.unqualified_rejected, table.qualified_rejected],
        "fitness": [table.unqualified_accepted, table.qualified_accepted],
        "shares": PARAMS.group_probability,
        "margin": PARAMS.rate_margin,
        "steps": PARAMS.episode_length,
    }


def still() -> Figure:
    """Draw where one step leads from every state, under the thresholds of the beginning."""
    axis = np.linspace(0.01, 0.99, GRID)
    states = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    model = PopulationModel(PARAMS)
    outcome = model.outcome(states, np.broadcast_to(np.array(STRICT) / STEPS, states.shape))
    change = outcome.next_rates - states
    columns = {"rate_0": states[:, 0], "rate_1": states[:, 1]}
    columns |= {"change_0": change[:, 0], "change_1": change[:, 1]}
    columns |= {"shade": 1.0 - model.reward(outcome)}
    flows = pd.DataFrame(columns).assign(panel="one strict threshold", variant="")
    return phase_portrait(flows, shade="loss of a step", axes="qualified in group {}")
