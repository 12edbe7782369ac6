"""Lending under equal true positive rates: what an evaluation batch ends with.

The reference is the mean of eight batches of 10 episodes of an independent simulation.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.policies import EqualOpportunityOracle
from longfair.envs.lending import LendingParams

PARAMS = LendingParams.fppo_evaluation()
COPIES = 16


def test_final_cash_and_scores_of_the_equal_opportunity_lender() -> None:
    """The batches ended with 11,596 to 11,749 each; the scores of one of them 0.80 apart."""
    env = gymnasium.make_vec("longfair/Lending-v0", num_envs=COPIES, preset="fppo_evaluation")
    act = acting(EqualOpportunityOracle(PARAMS.repay_probability, seed=1))
    seen: dict[str, Any] = {}

    def watched(observation: Any, info: Any) -> Any:
        seen["last"] = info["group_state"]
        return act(observation, info)

    reward = play_episodes(watched, env, seed=5).reward
    error = reward.std() * np.sqrt(1 / COPIES + 1 / 80)
    assert 10_000 + reward.mean() == pytest.approx(11_670, abs=4 * error + 5)
    distance = earth_mover(seen["last"])
    error = distance.std() * np.sqrt(1 / COPIES + 1 / 10)
    assert distance.mean() == pytest.approx(0.80, abs=4 * error + 0.005)
    assert earth_mover(np.array([PARAMS.initial_distribution])) == pytest.approx(1.0)


def earth_mover(distribution: Any) -> Any:
    """Return how far, in scores, mass has to move between the groups: (N,)."""
    gap = distribution[:, 0] - distribution[:, 1]
    return np.abs(gap.cumsum(axis=-1)).sum(axis=-1)
