"""The scalar face of a batch environment: the ordinary `gymnasium.Env` of one copy."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from longfair.errors import UsageError


class ScalarFace(gymnasium.Env[Any, Any]):
    """Show a batch of one as a single environment.

    There is no second implementation: every call goes to the batch environment, and the first
    axis is taken off what comes back.

    Parameters
    ----------
    vector_env
        A batch environment, possibly wrapped, with one copy and autoreset disabled.
    """

    def __init__(self, vector_env: VectorEnv[Any, Any, Any]) -> None:
        if vector_env.num_envs != 1:
            raise UsageError(f"num_envs={vector_env.num_envs}: a scalar face needs exactly 1 copy")
        if vector_env.metadata["autoreset_mode"] != AutoresetMode.DISABLED:
            raise UsageError("the batch resets itself: make it with AutoresetMode.DISABLED")
        self.vector_env = vector_env
        self.metadata = {"render_modes": []}
        self.num_groups: int = vector_env.unwrapped.num_groups  # type: ignore[attr-defined]  # set by FairVectorEnv
        self.observation_space = vector_env.single_observation_space
        self.action_space = vector_env.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `FairVectorEnv.reset`."""
        super().reset(seed=seed)
        observation, info = self.vector_env.reset(seed=seed, options=options)
        return observation[0], _first(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`. Info arrays lose their first axis."""
        observation, reward, terminated, truncated, info = self.vector_env.step(
            np.asarray(action)[None]
        )
        return (
            observation[0],
            float(reward[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            _first(info),
        )

    def close(self) -> None:
        """Close the batch environment."""
        self.vector_env.close()


def _first(info: dict[str, Any]) -> dict[str, Any]:
    return {key: value[0] for key, value in info.items()}
