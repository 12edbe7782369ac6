"""Our short-sighted policies minimise what the authors' myopic scripts maximise.

The log is `authors_logs/ucbfair_greedy.npz`; `authors_logs/README.md` says how it was made and what
is in it. How the scripts find the best thresholds is not in their release.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from longfair.agents.policies.population import BASELINES, Cost
from longfair.envs.population import PopulationModel, PopulationParams

LOG = dict(np.load(Path(__file__).parent / "authors_logs" / "ucbfair_greedy.npz"))
SINGLE = {"rtol": 1e-6, "atol": 1e-6}
"""Rounding to single precision, in which the authors' simulator works."""

WORLDS = {"group": PopulationParams.synthetic(), "adult": PopulationParams.adult()}
REFUSALS = (0.0, 0.7, 1.0)
"""Weight of true negatives, by loss in the log: true positives alone, both, zero-one."""
NOTIONS = ("demographic-parity", "equal-opportunity", "equalised-odds", "demographic-parity")
"""By disparity in the log; the last stands for none."""
CASES = list(product(WORLDS, range(3), range(4)))


@pytest.mark.parametrize(("world", "loss", "gap"), CASES)
def test_costs_are_the_scripts_rewards(world: str, loss: int, gap: int) -> None:
    """1 minus ours, with the weight that the script takes, and with one half."""
    model = PopulationModel(replace(WORLDS[world], true_negative_weight=REFUSALS[loss]))
    for weight, rewards in (
        (float(LOG[f"{world}_weights"][loss, gap]), LOG[f"{world}_rewards"]),
        (0.5, LOG[f"{world}_half"]),
    ):
        cost = Cost(weight, NOTIONS[gap]).of(model, LOG["rates"], LOG["actions"])
        np.testing.assert_allclose(1.0 - cost, rewards[loss, gap], **SINGLE)


@pytest.mark.parametrize("world", WORLDS)
def test_the_scripts_weigh_the_disparity_alone_or_not_at_all(world: str) -> None:
    """Ours have one half, which the paper's first version names, or nothing."""
    weights = LOG[f"{world}_weights"]
    assert set(weights[:, :3].ravel()) == {1.0}
    assert set(weights[:, 3]) == {0.0}
    assert {cost.fairness_weight for cost in BASELINES.values()} == {0.0, 0.5}
