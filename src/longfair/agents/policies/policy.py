"""What all policies that need no training share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from numpy.typing import NDArray

from longfair.agents.learning.observations import observations


class Policy(ABC):
    """A policy that needs no training.

    Some need to be told more than the observation: they have a method `observe`, to be called with
    the batch `info` of every `reset` and `step` before `predict`, as
    `longfair.agents.evaluation.acting` does.
    """

    revision: ClassVar[int] = 1

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], None]:
        """Choose an action in every copy.

        Parameters
        ----------
        observation
            (N, ...): what every copy of the environment shows.
        state, episode_start
            Not used; for the signature of learned agents.
        deterministic
            Choose the most likely action instead of drawing one, where the policy says which it is.

        Returns
        -------
        actions, state
            One action per copy (N, ...), and None.

        Raises
        ------
        UsageError
            If it is not one observation per copy, or holds what is no finite number.
        """
        return self.choose(observations(observation), deterministic), None

    @abstractmethod
    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> NDArray[Any]:
        """Return one action per observation (N, ...)."""
