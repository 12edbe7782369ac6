"""The base of all environments: many copies of one decision problem, stepped together.

An environment is written once, for a batch. Its state is a handful of arrays whose first axis is
the copy, and one transition moves all copies with NumPy operations. The scalar face
(`longfair.envs.scalar`) is a batch of one, so there is a single transition function to trust.

A subclass fills in four methods: `_restart` (put some copies at the start of an episode),
`_transition` (apply one action per copy), `_observation` and `_group_state` (describe all copies).
Everything that is easy to get wrong, episode boundaries above all, is written here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.envs.parameters import chosen_params
from longfair.envs.scalar import ScalarFace
from longfair.errors import UsageError, near_misses
from longfair.settings import (
    Count,
    EpisodeLength,
    Give,
    Seed,
    checked,
    require_length,
    shortened,
    validated,
)

Batch = Annotated[
    VectorEnv[Any, Any, Any], Give("a batch environment, as gymnasium.make_vec returns it")
]
"""What wrappers stand around."""
Restart = Annotated[
    AutoresetMode, Give("AutoresetMode.SAME_STEP, NEXT_STEP or DISABLED of gymnasium.vector")
]
"""How the copies of a batch restart."""


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
    facts: Mapping[str, NDArray[Any]] = MappingProxyType({})
    """Fresh arrays (N, ...), by their `info` keys: what else there is to say about this step."""


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
        observation of the next one, and the ended episode's last observation and moment are
        in `info["final_obs"]` and `info["final_info"]`, in the rows where `info["_final_obs"]`
        is true. `AutoresetMode.NEXT_STEP`: the step after that restarts the copy, whatever its
        action; it has reward, supply, demand and all facts 0. `AutoresetMode.DISABLED`: the caller
        resets, all copies or those of `options={"reset_mask": mask}`.

    Notes
    -----
    The `info` of `reset` describes a moment: `group_state`, shape (N, G, K), what long-term notions
    look at, and what else `_moment` tells. The `info` of `step` carries the moment of the returned
    observation, and in addition `supply` and `demand`, shape (N, G), and further facts. Facts
    belong to the step just made, also when it ended an episode. The moment in which an
    episode ended is in `info["final_info"]`.

    One `numpy.random.Generator` drives the whole batch: the same seed and the same number of
    copies give the same trajectory.
    """

    revision: ClassVar[int] = 1
    """Raised by hand when the numbers of the environment are meant to change."""
    params_class: ClassVar[type[Any]]
    """The record of parameters."""
    people: ClassVar[bool] = False
    """Whether every group is a single person."""
    rates_within_episode: ClassVar[bool] = True
    """Whether supply over demand, added up within one episode, says how each group was treated."""
    finite: ClassVar[bool] = False
    """Whether problems of moderate size have a `tabular` face."""
    continuous: ClassVar[bool] = False
    """Whether actions are real numbers."""

    @validated
    def __init__(
        self,
        num_envs: Count,
        num_groups: Count,
        episode_length: EpisodeLength,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
    ) -> None:
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": []}
        self.num_envs = num_envs
        self.num_groups = num_groups
        self.episode_length = episode_length
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)
        self._mode = autoreset_mode
        self._elapsed = np.zeros(num_envs, dtype=np.int64)
        self._ended = np.ones(num_envs, dtype=np.bool_)
        self._any_ended = True
        self._begun = False

    @property
    def episode_steps(self) -> NDArray[np.int64]:
        """Shape (N,): steps that the present episode of every copy has had."""
        return self._elapsed.copy()

    # How it is made -----------------------------------------------------------------------------

    @classmethod
    @validated
    def make(
        cls,
        num_envs: Count = 1,
        preset: str | None = None,
        params: Any = None,
        episode_length: EpisodeLength | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
        **changes: Any,
    ) -> Self:
        """Make a batch, as `gymnasium.make_vec` does.

        Parameters
        ----------
        num_envs, autoreset_mode
            As for the class.
        preset, params, episode_length, **changes
            As for `chosen_params`.
        """
        make: Any = cls
        chosen = cls.chosen_params(preset, params, episode_length, **changes)
        env: Self = make(num_envs, chosen, autoreset_mode)
        return env

    @classmethod
    @validated
    def make_scalar(
        cls,
        preset: str | None = None,
        params: Any = None,
        episode_length: EpisodeLength | None = None,
        **changes: Any,
    ) -> ScalarFace:
        """Make the scalar face, as `gymnasium.make` does; arguments as for `chosen_params`."""
        manual = AutoresetMode.DISABLED
        return ScalarFace(cls.make(1, preset, params, episode_length, manual, **changes))

    @classmethod
    def chosen_params(
        cls, preset: str | None = None, params: Any = None, episode_length: int | None = None
    ) -> Any:
        """Return the parameters that the arguments of `make` and `make_vec` stand for.

        Parameters
        ----------
        preset
            Name of a preset; the first of the record when neither this nor `params` is given.
        params
            A record of parameters instead of a preset.
        episode_length
            Replaces that of the preset or the record.
        """
        return chosen_params(cls.params_class, preset, params, episode_length)

    def for_stable_baselines3(self, outermost: VectorEnv[Any, Any, Any]) -> Any:
        """Return this batch, with the wrappers around it, as Stable-Baselines3 wants it.

        Parameters
        ----------
        outermost
            This batch, or the outermost of its wrappers.
        """
        from longfair.envs.sb3 import BatchVecEnv

        return BatchVecEnv(outermost)

    # What a subclass fills in -------------------------------------------------------------------

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

    def _moment(self) -> dict[str, NDArray[Any]]:
        """Return fresh arrays (N, ...), by their `info` keys, that describe the present moment."""
        return {"group_state": self._group_state()}

    def _checked_actions(self, actions: Any) -> Any:
        """Return the actions as an array, or raise `UsageError`; here those of a `Discrete`."""
        if not isinstance(self.single_action_space, Discrete):
            raise NotImplementedError
        return checked_discrete(actions, self.num_envs, int(self.single_action_space.n))

    # The Gymnasium interface --------------------------------------------------------------------

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes in all copies, or in those of `options["reset_mask"]`.

        Parameters
        ----------
        seed
            Seeds the batch's one generator; None continues its stream. A list of N numbers, as
            other vector environments take it, seeds this one generator from all of them together:
            the same list gives the same trajectory, but copy i does not do what a batch of one with
            the i-th seed does. A list of N times None continues the stream.
        options
            None, or `{"reset_mask": mask}` with a boolean array of shape (N,).

        Returns
        -------
        observation, info
            `info["group_state"]` has shape (N, G, K).
        """
        copies = self._reset_mask(options)
        self._seed(seed)
        self._restart(copies)
        self._elapsed[copies] = 0
        self._ended[copies] = False
        self._any_ended = bool(self._ended.any())
        self._begun = self._begun or not self._any_ended
        return self._observation(), self._moment()

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
        fresh = None
        actions = self._checked_actions(actions)
        if self._any_ended:
            if self._mode != AutoresetMode.NEXT_STEP or not self._begun:
                raise UsageError("an episode has ended or not begun: call reset() before step()")
            fresh = self._ended.copy()
            # Copies that begin anew take part in the transition, which knows no exceptions, from a
            # valid state; what it did to them is taken back below.
            self._restart(fresh)
        reward, supply, demand, terminated, facts = self._transition(actions)
        self._elapsed += 1
        info: dict[str, Any] = {"supply": supply, "demand": demand, **facts}
        if fresh is not None:
            self._begin_anew(fresh, [reward, terminated, *info.values()])
        truncated = (self._elapsed >= self.episode_length) & ~terminated
        ended = terminated | truncated
        if np.count_nonzero(ended):
            self._end_episodes(ended, info)
        info.update(self._moment())
        return self._observation(), reward, terminated, truncated, info

    def _begin_anew(self, fresh: BoolArray, made: list[NDArray[Any]]) -> None:
        """Restart copies in place of their step: what was `made` of it is nothing."""
        self._restart(fresh)
        self._elapsed[fresh] = 0
        self._ended[fresh] = self._any_ended = False
        for array in made:
            array[fresh] = 0

    def _end_episodes(self, ended: BoolArray, info: dict[str, Any]) -> None:
        if self._mode != AutoresetMode.SAME_STEP:
            self._ended |= ended
            self._any_ended = True
            return
        moment: dict[str, Any] = self._moment()
        info["final_obs"], info["_final_obs"] = self._observation(), ended
        info["final_info"] = moment | {f"_{key}": ended for key in moment}
        info["_final_info"] = ended
        self._restart(ended)
        self._elapsed[ended] = 0

    def _seed(self, seed: int | list[int | None] | None) -> None:
        if not isinstance(seed, (list, tuple, np.ndarray)):
            super().reset(seed=checked("seed", seed, Seed | None))
            return
        require_length("seed", seed, self.num_envs)
        if all(number is None for number in seed):
            return
        numbers = checked("seed", seed, tuple[Seed, ...])
        self._np_random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(numbers)))
        self._np_random_seed = None

    def _reset_mask(self, options: dict[str, Any] | None) -> BoolArray:
        for option in checked("options", options, dict[str, Any] | None) or {}:
            if option != "reset_mask":
                raise UsageError(f"option {option!r}: {near_misses(str(option), ['reset_mask'])}")
        if not options:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise UsageError(
                f"reset_mask has dtype {mask.dtype} and shape {mask.shape}: "
                f"give booleans of shape ({self.num_envs},)"
            )
        return mask


_KINDS = {"integers": "iu", "numbers": "fiu"}
"""Kinds of NumPy types by what they are called."""


def action_array(actions: Any, shape: tuple[int, ...] | None, kind: str) -> NDArray[Any]:
    """Return actions as an array of a shape.

    Parameters
    ----------
    actions
        What was given.
    shape
        Shape (N, ...), one action per copy.
    kind
        What they are: ``"integers"`` or ``"numbers"``.

    Raises
    ------
    UsageError
        When they are something else, or of another shape.
    """
    try:
        array = np.asarray(actions)
    except ValueError:  # rows of different lengths
        raise UsageError(f"actions={shortened(actions)}: give {kind} of shape {shape}") from None
    if array.shape != shape or array.dtype.kind not in _KINDS[kind]:
        raise UsageError(
            f"actions have dtype {array.dtype} and shape {array.shape}: "
            f"give {kind} of shape {shape}"
        )
    return array


def checked_discrete(actions: Any, num_envs: int, choices: int) -> IntArray:
    """Return one integer action per copy, each in 0..`choices` - 1.

    Raises
    ------
    UsageError
        Naming the first bad value and what is allowed.
    """
    array: IntArray = action_array(actions, (num_envs,), "integers").astype(np.int64, copy=False)
    # Seen as unsigned, a negative action is a huge one: a single comparison finds both errors.
    if array.view(np.uint64).max() >= choices:
        bad = array[(array < 0) | (array >= choices)][0]
        raise UsageError(f"action {bad} is not allowed: give integers in 0..{choices - 1}")
    return array
