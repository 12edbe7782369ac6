"""The base of all environments: many copies of one decision problem, stepped together.

An environment is written once, for a batch. Its state is a handful of arrays whose first axis is
the copy, and one transition moves all copies with NumPy operations. The scalar face
(`longfair.envs.scalar`) is a batch of one, so there is a single transition function to trust.

A subclass fills in four methods: `_restart` (put some copies at the start of an episode),
`_transition` (apply one action per copy), `_observation` and `_group_state` (describe all copies).
Everything that is easy to get wrong, episode boundaries above all, is written here, once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.errors import UsageError
from longfair.settings import Count, checked

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Transition(NamedTuple):
    """What one step did to every copy."""

    reward: FloatArray
    """Shape (N,). The environment's own reward."""
    supply: FloatArray
    """Shape (N, G). What each group received in this step."""
    demand: FloatArray
    """Shape (N, G). What each group needed in this step."""
    terminated: BoolArray
    """Shape (N,). Whether the episode ended for a reason other than its length."""


class FairVectorEnv(VectorEnv[Any, Any, Any]):
    """A batch of copies of one environment with group-wise supply and demand.

    Parameters
    ----------
    num_envs
        Number of copies N, at least 1.
    num_groups
        Number of groups G.
    episode_length
        Steps after which an episode is truncated, at least 1.
    observation_space, action_space
        Spaces of a single copy.
    autoreset_mode
        `AutoresetMode.SAME_STEP` (default): the step that ends an episode returns the first
        observation of the next one, and the ended episode's last observation and group state are
        in `info["final_obs"]` and `info["final_info"]`, in the rows where `info["_final_obs"]`
        is true. `AutoresetMode.DISABLED`: the caller
        resets, all copies or those of `options={"reset_mask": mask}`.

    Notes
    -----
    The `info` of `reset` carries `group_state`, shape (N, G, K): what long-term notions look at.
    The `info` of `step` carries in addition `supply` and `demand`, shape (N, G), which always
    belong to the transition just made, also when it ended an episode. `group_state` describes the
    moment of the returned observation.

    One `numpy.random.Generator` drives the whole batch: the same seed and the same number of
    copies give the same trajectory.
    """

    def __init__(
        self,
        num_envs: int,
        num_groups: int,
        episode_length: int,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        num_envs = checked("num_envs", num_envs, Count)
        checked("episode_length", episode_length, Count)
        if autoreset_mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            raise UsageError(f"autoreset_mode={autoreset_mode}: give SAME_STEP or DISABLED")
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": []}
        self.num_envs = num_envs
        self.num_groups = num_groups
        self.episode_length = episode_length
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)
        self._autoreset = autoreset_mode == AutoresetMode.SAME_STEP
        self._elapsed = np.zeros(num_envs, dtype=np.int64)
        self._ended = np.ones(num_envs, dtype=np.bool_)
        self._any_ended = True

    # What a subclass fills in -----------------------------------------------------------------

    def _restart(self, copies: BoolArray) -> None:
        """Put the copies where the mask (N,) is true at the start of an episode."""
        raise NotImplementedError

    def _transition(self, actions: Any) -> Transition:
        """Apply one valid action per copy."""
        raise NotImplementedError

    def _observation(self) -> Any:
        """Return a fresh observation of every copy."""
        raise NotImplementedError

    def _group_state(self) -> FloatArray:
        """Return a fresh array (N, G, K) of group-conditional states."""
        raise NotImplementedError

    def _checked_actions(self, actions: Any) -> Any:
        """Return the actions as an array, or raise `UsageError`."""
        raise NotImplementedError

    # The Gymnasium interface --------------------------------------------------------------------

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes in all copies, or in those of `options["reset_mask"]`.

        Parameters
        ----------
        seed
            Seeds the batch's one generator; None continues its stream.
        options
            None, or `{"reset_mask": mask}` with a boolean array of shape (N,).

        Returns
        -------
        observation, info
            `info["group_state"]` has shape (N, G, K).
        """
        if isinstance(seed, list):
            raise UsageError("seed is a list: give one integer, which seeds the whole batch")
        super().reset(seed=seed)
        copies = self._reset_mask(options)
        self._restart(copies)
        self._elapsed[copies] = 0
        self._ended[copies] = False
        self._any_ended = bool(self._ended.any())
        return self._observation(), {"group_state": self._group_state()}

    def step(self, actions: Any) -> tuple[Any, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Take one step in every copy.

        Parameters
        ----------
        actions
            One action per copy, in `action_space`.

        Returns
        -------
        observation, reward, terminated, truncated, info
            Rewards have shape (N,); see the class notes for `info`.

        Raises
        ------
        UsageError
            When an action is not in the action space, or an ended episode was not reset.
        """
        if self._any_ended:
            raise UsageError("an episode has ended or not begun: call reset() before step()")
        reward, supply, demand, terminated = self._transition(self._checked_actions(actions))
        self._elapsed += 1
        truncated = (self._elapsed >= self.episode_length) & ~terminated
        info: dict[str, Any] = {"supply": supply, "demand": demand}
        ended = terminated | truncated
        if np.count_nonzero(ended):
            self._end_episodes(ended, info)
        info["group_state"] = self._group_state()
        return self._observation(), reward, terminated, truncated, info

    def _end_episodes(self, ended: BoolArray, info: dict[str, Any]) -> None:
        if not self._autoreset:
            self._ended |= ended
            self._any_ended = True
            return
        info["final_obs"], info["_final_obs"] = self._observation(), ended
        info["final_info"] = {"group_state": self._group_state(), "_group_state": ended}
        info["_final_info"] = ended
        self._restart(ended)
        self._elapsed[ended] = 0

    def _reset_mask(self, options: dict[str, Any] | None) -> BoolArray:
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise UsageError(
                f"reset_mask has dtype {mask.dtype} and shape {mask.shape}: "
                f"give booleans of shape ({self.num_envs},)"
            )
        return mask


def checked_discrete(actions: Any, num_envs: int, choices: int) -> IntArray:
    """Return one integer action per copy, each in 0..`choices` - 1.

    Raises
    ------
    UsageError
        Naming the first bad value and what is allowed.
    """
    array = np.asarray(actions)
    if array.shape != (num_envs,) or array.dtype.kind not in "iu":
        raise UsageError(
            f"actions have dtype {array.dtype} and shape {array.shape}: "
            f"give integers of shape ({num_envs},)"
        )
    array = array.astype(np.int64, copy=False)
    # Seen as unsigned, a negative action is a huge one: a single comparison finds both errors.
    if array.view(np.uint64).max() >= choices:
        bad = array[(array < 0) | (array >= choices)][0]
        raise UsageError(f"action {bad} is not allowed: give integers in 0..{choices - 1}")
    return array
