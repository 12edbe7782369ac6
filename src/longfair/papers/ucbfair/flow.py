"""What one step does to every population: the arrows of a phase portrait.

A learned policy's are stored as curves by number of the state in `start_grid`: ``begin_0`` and
``begin_1``, by how much the first step of an episode changes the rates, ``begin_loss`` its loss and
``begin_disparity`` the disparity that is told; and the same of a step in the middle of an episode,
``middle_...``. ``flow_up``: share of the states from which the first step raises both rates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from longfair.envs.population import DISPARITIES, PopulationModel, PopulationParams, start_grid
from longfair.papers.protocol import Evaluation
from longfair.papers.ucbfair.measures import NOTIONS, notion_of
from longfair.papers.untrained import params as params_of
from longfair.runs.experiment import protocol
from longfair.runs.tables import rows
from longfair.settings import Count, Probability, checked

_BLOCK = 8_192
"""Rows that a policy is asked about together."""

SIZE = 32
"""States along a rate of a learned policy's portrait."""

MOMENTS = {"begin": 0.0, "middle": 0.5}
"""Share of the episode that has passed, by name."""


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


class _Acting:
    """The last policy of a training, asked as `flow` asks."""

    def __init__(self, evaluation: Evaluation) -> None:
        last = len(evaluation.snapshots.steps) - 1
        self._act = evaluation.snapshots.acting([last], 1, evaluation.seed_of(10))

    def predict(self, observation: Any, deterministic: bool = True) -> tuple[Any, None]:
        """Act as in evaluations: a policy that draws, draws."""
        return self._act(observation, {}), None


@protocol("population-flow")
def flows(evaluation: Evaluation) -> pd.DataFrame:
    """Report where the last policy moves populations; see the module."""
    trained = evaluation.snapshots.steps[-1]
    told = DISPARITIES[NOTIONS.index(notion_of(evaluation))]
    known, policy = params_of(evaluation.setting.world), _Acting(evaluation)
    frames = []
    for name, passed in MOMENTS.items():
        moved = flow(policy, known, SIZE, passed=passed)
        kept = {"0": "change_0", "1": "change_1", "loss": "loss", "disparity": told}
        frames += [
            rows("curve", np.arange(len(moved)), f"{name}_{short}", moved[column])
            for short, column in kept.items()
        ]
        if name == "begin":
            up = (moved[["change_0", "change_1"]] > 0).all(axis=1).mean()
            frames.append(rows("final", [trained], "flow_up", [up]))
    return pd.concat(frames, ignore_index=True)


def stored_flow(results: pd.DataFrame, moment: str, shade: str = "loss") -> pd.DataFrame:
    """Arrange the stored flow of one run for `longfair.figures.phase_portrait`.

    Parameters
    ----------
    results
        Rows of one run of a portrait's experiment, as from `Store.load`.
    moment
        ``"begin"`` or ``"middle"`` of an episode.
    shade
        ``"loss"`` or ``"disparity"``.

    Returns
    -------
    pandas.DataFrame
        Columns ``rate_0``, ``rate_1``, ``change_0``, ``change_1``, ``shade``.
    """
    columns = {
        column: results.loc[results["metric"] == f"{moment}_{name}"].sort_values("step")["value"]
        for name, column in (("0", "change_0"), ("1", "change_1"), (shade, "shade"))
    }
    states = pd.DataFrame(start_grid(SIZE), columns=["rate_0", "rate_1"])
    return states.assign(**{name: values.to_numpy() for name, values in columns.items()})
