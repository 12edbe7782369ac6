"""The last step of an epidemic, as the authors' code takes it and as ours does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from longfair.agents.ppo.f_ppo import GAPS
from longfair.agents.ppo.massaging.epidemic import EpidemicFPPO
from longfair.agents.ppo.strategy import Rollout
from longfair.papers.fppo.epidemic import CASE
from longfair.papers.fppo.last_step import LastStepCounts, world
from longfair.papers.setting import World

LENGTH, STEPS, COPIES = 20, 45, 3


def changes(where: World) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Play random vaccinations; return told changes (T, N) and the gaps (T + 1, N) seen between."""
    env, rng = where.make(COPIES, LENGTH), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    told, gaps = [], [distance(info["health_counts"])]
    for _ in range(STEPS):
        *_, info = env.step(rng.integers(35, size=COPIES))
        told.append(info["long_term_gap_change"])
        gaps.append(distance(info["health_counts"]))
    return np.array(told), np.array(gaps)


def distance(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance (N,) of two communities' counts (N, 2, 3)."""
    found: NDArray[np.float64] = np.linalg.norm(counts[:, 0] - counts[:, 1], axis=1)
    return found


def test_the_last_step_is_the_way_to_the_next_start() -> None:
    """What is seen after the last step is the first state of the next episode."""
    told, gaps = changes(world())
    plain, same = changes(CASE.worlds["as_coded"])
    last = np.arange(STEPS) % LENGTH == LENGTH - 1
    np.testing.assert_allclose(told, np.diff(gaps, axis=0))
    np.testing.assert_array_equal(gaps, same)
    np.testing.assert_array_equal(told[~last], plain[~last])
    assert not np.isclose(told[last], plain[last]).any()


@pytest.mark.parametrize(("strategy", "bonus"), [(EpidemicFPPO, 0.0), (LastStepCounts, 2.0)])
def test_a_smaller_gap_at_the_next_start_is_a_bonus(
    strategy: type[EpidemicFPPO], bonus: float
) -> None:
    """The short-term gap of the last step is large, and counts as 0 as coded."""
    told = {name: np.full((2, 1), 1.0) for name in GAPS}
    told["long_term_gap_change"] = np.array([[1.0], [-2.0]])
    none, groups = np.zeros((2, 1)), np.zeros((2, 1, 2))
    ends = np.array([[False], [True]])
    rollout = Rollout(none, groups, groups, ~ends, ends, 0.99, told)
    features = strategy(as_coded=True).plan(rollout).features
    np.testing.assert_array_equal(features[:, 0], [[-1.0, 0.0], [0.0, bonus]])
