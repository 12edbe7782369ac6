"""Let Stable-Baselines3 train on a batch environment without copying it apart.

Stable-Baselines3 has its own vector interface, which differs from Gymnasium's in what happens at
the end of an episode. This adapter translates, and keeps the batch arrays for agents that use
them: building one dictionary per copy and step would cost more than the step itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, overload

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvStepReturn

from longfair.envs.vector import Batch
from longfair.errors import UsageError
from longfair.settings import Range, checked, shortened, validated


class BatchInfos(Sequence[dict[str, Any]]):
    """The `infos` list of Stable-Baselines3, made from batch arrays when somebody looks.

    The dictionary of a copy is made once and kept, so what wrappers write into it stays.

    Attributes
    ----------
    arrays
        The `info` of the batch environment: arrays over copies.
    """

    def __init__(self, arrays: dict[str, Any], num_envs: int, truncated: Any) -> None:
        self.arrays = arrays
        self._num_envs = num_envs
        self._truncated = truncated
        self._columns: _Columns | None = None
        self._made: dict[int, dict[str, Any]] = {}

    def __len__(self) -> int:
        """Return the number of copies."""
        return self._num_envs

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """Return the info of one copy, or a list of them."""
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(self._num_envs))]
        if not -self._num_envs <= index < self._num_envs:
            raise IndexError(index)
        copy = index % self._num_envs
        if copy not in self._made:
            self._made[copy] = self._info(copy)
        return self._made[copy]

    def _info(self, copy: int) -> dict[str, Any]:
        if self._columns is None:
            self._columns = _columns(self.arrays)
        info = _of_copy(self._columns, copy)
        if "_final_obs" in self.arrays and self.arrays["_final_obs"][copy]:
            info["terminal_observation"] = self.arrays["final_obs"][copy]
            info["TimeLimit.truncated"] = bool(self._truncated[copy])
            info["terminal_info"] = _of_copy(_columns(self.arrays["final_info"]), copy)
        return info

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the copies."""
        return (self[position] for position in range(self._num_envs))


class _Columns(list[tuple[str, Any, Any]]):
    """Keys, what copies have of them or columns of a dictionary, and which copies; None: all."""


def _columns(arrays: dict[str, Any]) -> _Columns:
    """Take `info` apart; as Gymnasium has it, an array `_key` says which copies have a `key`."""
    return _Columns(
        (key, _columns(value) if isinstance(value, dict) else value, arrays.get(f"_{key}"))
        for key, value in arrays.items()
        if not key.startswith(("final_", "_"))
    )


def _of_copy(columns: _Columns, copy: int) -> dict[str, Any]:
    """Return what columns say of one copy."""
    return {
        key: _of_copy(value, copy) if isinstance(value, _Columns) else value[copy]
        for key, value, has in columns
        if has is None or has[copy]
    }


class BatchVecEnv(VecEnv):
    """A batch environment as the vector environment Stable-Baselines3 expects.

    Parameters
    ----------
    env
        A batch environment, possibly wrapped, that resets ended copies in the same step.

    Notes
    -----
    `infos` is a `BatchInfos`. A copy whose episode ended has `terminal_observation`,
    `terminal_info` (with the `group_state` the episode ended in) and `TimeLimit.truncated`.
    """

    @validated
    def __init__(self, env: Batch) -> None:
        if env.metadata["autoreset_mode"] != AutoresetMode.SAME_STEP:
            raise UsageError("Stable-Baselines3 needs autoreset: use AutoresetMode.SAME_STEP")
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._actions: Any = None

    def reset(self) -> Any:
        """Start an episode in every copy and return the observations."""
        seed = self._seeds[0]
        observation, arrays = self.env.reset(seed=seed)
        if not isinstance(arrays, dict):
            raise UsageError(
                f"{self.env} returns info as a {type(arrays).__name__}: give an environment whose "
                "info is a dictionary of arrays, without DictInfoToList"
            )
        self._reset_seeds()
        columns = _columns(arrays)
        self.reset_infos = [_of_copy(columns, copy) for copy in range(self.num_envs)]
        return observation

    def step_async(self, actions: Any) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Take one step in every copy."""
        observation, reward, terminated, truncated, arrays = self.env.step(self._actions)
        infos: Any = BatchInfos(arrays, self.num_envs, truncated)
        return observation, reward.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        """Close the batch environment."""
        self.env.close()

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Refuse options: all copies start together."""
        if any(options) if isinstance(options, list) else options:
            raise UsageError(f"options={shortened(options)}: all copies start together: give none")

    def _get_indices(self, indices: VecEnvIndices) -> Iterable[int]:
        """Return numbers of copies, all of which there are."""
        number = Annotated[int, Range(-self.num_envs, self.num_envs - 1)]
        single = isinstance(indices, (int, np.integer))
        given = [indices] if single else super()._get_indices(indices)
        found: tuple[int, ...] = checked("indices", list(given), tuple[number, ...])
        return found

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the batch, once per copy asked for; wrappers come first."""
        if attr_name == "render_mode":
            return [None for _ in self._get_indices(indices)]
        env = self.env
        while not hasattr(env, attr_name) and hasattr(env, "env"):
            env = env.env
        value = getattr(env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse: the copies share their attributes."""
        raise UsageError(f"cannot set {attr_name!r}: make a new environment with other params")

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of the batch once and return its result for every copy asked for."""
        result = getattr(self.env.unwrapped, method_name)(*args, **kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: VecEnvIndices = None) -> list[bool]:
        """Say no: wrappers of single environments cannot be around a copy of a batch."""
        return [False for _ in self._get_indices(indices)]
