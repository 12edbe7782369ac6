"""The scalar face of a batch environment: the ordinary `gymnasium.Env` of one copy."""

from __future__ import annotations

from typing import Annotated, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from longfair.errors import UsageError
from longfair.settings import Give, Seed, checked, shortened, validated


class ScalarFace(gymnasium.Env[Any, Any]):
    """Show a batch of one as a single environment.

    There is no second implementation: every call goes to the batch environment, and the first
    axis is taken off what comes back. What the batch declares, such as `params`, `num_groups` or
    `people`, and the faces it hands out can be asked of this one.

    Parameters
    ----------
    vector_env
        A batch environment, possibly wrapped, with one copy and autoreset disabled.
    """

    @validated
    def __init__(
        self,
        vector_env: Annotated[
            VectorEnv[Any, Any, Any],
            Give("a batch of one, as gymnasium.make_vec returns it with AutoresetMode.DISABLED"),
        ],
    ) -> None:
        if vector_env.num_envs != 1:
            raise UsageError(f"num_envs={vector_env.num_envs}: a scalar face needs exactly 1 copy")
        if vector_env.metadata["autoreset_mode"] != AutoresetMode.DISABLED:
            raise UsageError("the batch resets itself: make it with AutoresetMode.DISABLED")
        self.vector_env = vector_env
        self.metadata = {"render_modes": []}
        self.observation_space = vector_env.single_observation_space
        self.action_space = vector_env.single_action_space

    def __getattr__(self, name: str) -> Any:
        """Return what the batch environment declares."""
        if name.startswith("_") or name == "vector_env":
            raise AttributeError(name)
        return getattr(self.vector_env.unwrapped, name)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `FairVectorEnv.reset`."""
        seed = checked("seed", seed, Seed | None)
        observation, info = self.vector_env.reset(seed=seed, options=options)
        super().reset(seed=seed)
        return observation[0], _first(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`. Info arrays lose their first axis."""
        try:
            actions = np.asarray(action)[None]
        except ValueError:  # rows of different lengths
            space = shortened(self.action_space)
            raise UsageError(f"action={shortened(action)}: give one of {space}") from None
        observation, reward, terminated, truncated, info = self.vector_env.step(actions)
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
