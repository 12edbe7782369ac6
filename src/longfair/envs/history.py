"""Vector wrappers for what the agents of attention allocation and epidemic control observe.

The observation of a paper is a composition of wrappers over the environment's own observation:

- ELBERT, attention: `History(RunningRates(env, offset=1.0), 8)`, 160 numbers;
- F-PPO, attention: `History(WindowRates(env, 300, offset=1.0), 8)`, 160 numbers;
- ELBERT, epidemic: the environment's own 102 numbers;
- F-PPO, epidemic: `VaccinationCounts(env)`, 136 numbers.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.arrays import Float32Array
from longfair.envs.epidemic import EpidemicVectorEnv
from longfair.envs.vector import Batch
from longfair.envs.wrappers import AppendedMemory, Boundaries, WindowRates
from longfair.errors import UsageError
from longfair.settings import Count, validated

__all__ = ["History", "VaccinationCounts", "WindowRates"]


class History(VectorWrapper[Any, Any, Any, Any]):
    """Show the last `length` observations of the episode, the oldest first.

    Rows before the start of the episode are zero. The result is flat: `length` times as many
    numbers as before.

    Parameters
    ----------
    env
        A batch environment with a `Box` observation of one axis.
    length
        Observations shown, at least 1; 8 in attention allocation.
    """

    revision: ClassVar[int] = 1
    """Raised by hand when what is shown is meant to change."""

    @validated
    def __init__(self, env: Batch, length: Count = 8) -> None:
        super().__init__(env)
        inner = env.single_observation_space
        if not isinstance(inner, Box) or len(inner.shape) != 1:
            raise UsageError(f"observation space {inner}: give an environment with a flat Box")
        # Zero stands for "before the episode", so the bounds have to include it.
        low, high = np.minimum(inner.low, 0.0), np.maximum(inner.high, 0.0)
        self.single_observation_space = Box(
            np.tile(low, length), np.tile(high, length), dtype=np.float32
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._boundaries = Boundaries(env)
        self._rows = np.zeros((self.num_envs, length, inner.shape[0]), np.float32)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32Array, dict[str, Any]]:
        """Start episodes; all copies forget, or those of `options["reset_mask"]`."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._begin(self._boundaries.reset(options), observation)
        return self._flat(), info

    def step(self, actions: Any) -> tuple[Float32Array, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        self._rows[:, :-1] = self._rows[:, 1:]
        self._rows[:, -1] = observation
        if "_final_obs" in info:
            ended = info["_final_obs"]
            self._rows[ended, -1] = info["final_obs"][ended]
            info["final_obs"] = self._flat()
        begun = self._boundaries.step(terminated | truncated, info)
        if begun is not None:
            self._begin(begun, observation)
        return self._flat(), reward, terminated, truncated, info

    def _begin(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self._rows[copies] = 0.0
        self._rows[copies, -1] = observation[copies]

    def _flat(self) -> Float32Array:
        return self._rows.reshape(self.num_envs, -1).copy()


class VaccinationCounts(AppendedMemory):
    """Append how often every person was vaccinated in this episode: V numbers.

    F-PPO's agents observe it in epidemic control, 3 * V + V = 136 numbers. The published code
    writes the count beside each person's state; here the counts follow all states, which is the
    same to a fully connected network.

    Parameters
    ----------
    env
        A batch of `longfair/Epidemic-v0`.
    as_coded
        The published code counts in the wrong place: a vaccine for person a is counted for person
        a - 1, and a vaccine for person 0, or for nobody, for the last person. True does the same;
        False counts what happened.
    """

    @validated
    def __init__(self, env: Batch, as_coded: bool = False) -> None:
        if not isinstance(env.unwrapped, EpidemicVectorEnv):
            raise UsageError(f"{env} vaccinates nobody: give a batch of longfair/Epidemic-v0")
        nodes = len(env.unwrapped.params.group)
        # One vaccine per step is the most there can be.
        super().__init__(env, size=nodes, low=0.0, high=env.unwrapped.episode_length)
        choices = np.arange(nodes + 1)
        # Where each choice is counted; column V, for nobody, is not shown.
        self._column = (choices - 1) % nodes if as_coded else choices
        self._counts = np.zeros((self.num_envs, nodes + 1), np.float32)
        self._copy = np.arange(self.num_envs)

    def _forget(self, copies: slice | NDArray[np.bool_], observation: Any) -> None:
        self._counts[copies] = 0.0

    def _remember(self, info: dict[str, Any]) -> None:
        self._counts[self._copy, self._column[info["vaccinated"]]] += 1.0

    def _memory(self) -> Float32Array:
        return self._counts[:, :-1]
