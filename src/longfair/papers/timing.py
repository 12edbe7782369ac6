"""How long a policy and an environment take for a step, for the bench cases of all papers."""

from __future__ import annotations

import time
from typing import Any

from gymnasium.vector import VectorEnv

from longfair.agents.evaluation import Act


def seconds_of_a_step(env: VectorEnv[Any, Any, Any], act: Act, steps: int) -> float:
    """Return processor seconds of one step of all copies, the mean over some steps.

    Parameters
    ----------
    env
        The copies.
    act
        Who acts in them.
    steps
        Steps to time.
    """
    observation, info = env.reset(seed=0)
    started = time.process_time()
    for _ in range(steps):
        observation, _, _, _, info = env.step(act(observation, info))
    return (time.process_time() - started) / steps
