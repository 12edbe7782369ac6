"""Supply and demand of lending under several notions of fairness.

==================  ================================  ==========================
notion              supply counts                     demand counts
==================  ================================  ==========================
``true-positive``   accepted and would repay          would repay
``false-positive``  accepted and would not repay      would not repay
``acceptance``      accepted                          everybody
``accuracy``        decided as the outcome shows      everybody
==================  ================================  ==========================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

GROUPS = 2
SCORES = 7

NOTIONS = ("true-positive", "false-positive", "acceptance", "accuracy")
"""In the order in which `AllNotions` gives them."""


class AllNotions(VectorWrapper[Any, Any, Any, Any]):
    """Give supply and demand of lending under all notions: four times as many groups.

    Parameters
    ----------
    env
        A batch of `longfair/Lending-v0`, whose observation begins with score and group.
    """

    revision: ClassVar[int] = 1

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._member: NDArray[Any] = np.zeros((env.num_envs, GROUPS))

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._meet(observation, info)
        return observation, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Decide on one applicant in every copy; supply and demand have shape (N, 8)."""
        member, accepted = self._member, np.asarray(actions)[:, None]
        observation, reward, terminated, truncated, info = self.env.step(actions)
        repays = info["demand"].sum(axis=1, keepdims=True)
        demand = [member * repays, member * (1.0 - repays), member, member]
        right = accepted * repays + (1.0 - accepted) * (1.0 - repays)
        supply = [demand[0] * accepted, demand[1] * accepted, member * accepted, member * right]
        info["demand"] = np.concatenate(demand, axis=1)
        info["supply"] = np.concatenate(supply, axis=1)
        self._meet(observation, info)
        return observation, reward, terminated, truncated, info

    def _meet(self, observation: Any, info: dict[str, Any]) -> None:
        """Note the group of the applicant to be decided on next."""
        self._member = observation[:, SCORES : SCORES + GROUPS].astype(np.float64)
        info["group_state"] = np.tile(info["group_state"], (1, len(NOTIONS), 1))


class SomeNotions(VectorWrapper[Any, Any, Any, Any]):
    """Keep some of all notions; a pair of supply and demand counts as a group.

    Parameters
    ----------
    env
        A batch of `AllNotions`.
    notions
        The notions to keep, in this order.
    """

    revision: ClassVar[int] = 1

    def __init__(self, env: VectorEnv[Any, Any, Any], notions: Sequence[str]) -> None:
        super().__init__(env)
        self._columns: NDArray[np.int64] = np.concatenate([own_columns(n) for n in notions])
        self.num_groups = len(self._columns)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step in every copy."""
        *outcome, info = self.env.step(actions)
        for key in ("supply", "demand"):
            info[key] = info[key][:, self._columns]
        observation, reward, terminated, truncated = outcome
        return observation, reward, terminated, truncated, info


def own_columns(notion: str) -> NDArray[np.int64]:
    """Return the columns of a notion in the supply and demand of `AllNotions`."""
    return NOTIONS.index(notion) * GROUPS + np.arange(GROUPS)
