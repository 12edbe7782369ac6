"""How long a policy and an environment take for a step, for the bench cases of all papers."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import VectorEnv

from longfair.agents.evaluation import Act
from longfair.runs.bench import steps_per_second


def seconds_of_a_step(env: VectorEnv[Any, Any, Any], act: Act, steps: int) -> float:
    """Return processor seconds of one step of all copies, in the best of five windows.

    What is compiled or loaded at first use does not count.

    Parameters
    ----------
    env
        The copies.
    act
        Who acts in them.
    steps
        Steps that are made between two looks at the clock.
    """
    observation, info = env.reset(seed=0)

    def advance() -> int:
        nonlocal observation, info
        for _ in range(steps):
            observation, _, _, _, info = env.step(act(observation, info))
        return steps

    return 1.0 / steps_per_second(advance, windows=5)
