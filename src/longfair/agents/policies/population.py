r"""Short-sighted policies for the population, which know what a step does and look no further.

In a state :math:`s` each of the four baselines of Yin et al. (2023, Equation 7) minimises

.. math::

    (1 - \omega) \, \mathcal{L}(s, a) + \omega \, \Delta(s, a)

over the two thresholds :math:`a`. The loss :math:`\mathcal{L}` is 1 minus the reward, or for the
Maxmin baselines that of the group that is worse off, each group taken for the whole population.
:math:`\Delta` is a squared gap between the groups. Myopic and Maxmin have :math:`\omega = 0`.

How the paper's optimiser was set is not known, and it matters: with demographic parity the exact
minimum is often to accept everybody, which leaves no gap. So there are two searches. ``grid`` finds
the best of all pairs of knots; ``gd`` follows the gradient and may end in a minimum nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.agents.learning.adam import Adam
from longfair.agents.policies.notions import NOTIONS, Notion
from longfair.agents.policies.policy import Policy
from longfair.arrays import FloatArray
from longfair.settings import (
    Count,
    Length,
    OneOf,
    Positive,
    Probability,
    Seed,
    validate,
    validated,
)

_BLOCK = 2_000_000
"""Pairs of state and action looked at together; more would leave the processor's cache and memory.
"""


@runtime_checkable
class Model(Protocol):
    """What a policy asks the population: `longfair.envs.population.PopulationModel` answers."""

    shares: FloatArray

    def outcome(self, rates: ArrayLike, actions: ArrayLike) -> Any:
        """Return what actions (..., 2) do in states (..., 2)."""

    def reward(self, outcome: Any) -> FloatArray:
        """Return the reward (...)."""

    def group_reward(self, outcome: Any) -> FloatArray:
        """Return the reward (..., 2) that each group would bring as the whole population."""

    def disparities(self, rates: ArrayLike, outcome: Any) -> FloatArray:
        """Return the squared gaps (..., 4)."""

    def slopes(self, rates: ArrayLike, actions: ArrayLike) -> Any:
        """Return derivatives by the actions: `reward` (..., 2), `disparities` (..., 4, 2)."""


@dataclass(frozen=True)
class Cost:
    """What a short-sighted policy minimises (Equation 7)."""

    fairness_weight: Probability = 0.0
    """Omega: weight of the squared gap; that of the loss is the rest."""
    notion: Notion = "demographic-parity"
    """Which gap."""
    worst_group: bool = False
    """Whether the loss is that of the group that is worse off."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def of(self, model: Model, rates: ArrayLike, actions: ArrayLike) -> FloatArray:
        """Return the cost (...) of actions (..., 2) in states (..., 2)."""
        outcome = model.outcome(rates, actions)
        if self.worst_group:
            loss = 1.0 - model.group_reward(outcome).min(axis=-1)
        else:
            loss = 1.0 - model.reward(outcome)
        if self.fairness_weight == 0.0:
            return np.asarray(loss)
        gap = model.disparities(rates, outcome)[..., NOTIONS[self.notion]]
        cost: FloatArray = (1.0 - self.fairness_weight) * loss + self.fairness_weight * gap
        return cost

    def slope(self, model: Model, rates: ArrayLike, actions: ArrayLike) -> FloatArray:
        """Return the derivative (..., 2) of the cost by the actions.

        Where both groups are equally badly off, that of the first is taken.
        """
        slopes = model.slopes(rates, actions)
        rewards = slopes.reward
        if self.worst_group:
            own = model.group_reward(model.outcome(rates, actions))
            worst = np.arange(2) == own.argmin(axis=-1)[..., None]
            rewards = np.where(worst, rewards / model.shares, 0.0)
        gap = slopes.disparities[..., NOTIONS[self.notion], :]
        slope: FloatArray = self.fairness_weight * gap - (1.0 - self.fairness_weight) * rewards
        return slope


@dataclass(frozen=True)
class Descent:
    """Gradient descent on the thresholds: what the paper names but does not set."""

    start: Probability = 0.5
    step_size: Positive = 0.05
    steps: Count = 200

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)


class ShortSighted(Policy):
    """Minimise the cost of the present step (Equation 7).

    Parameters
    ----------
    model
        The population.
    cost
        What is minimised.
    search
        ``"grid"``: the best pair of knots. Of equally good ones that with the smaller loss of the
        whole population is taken, and of these that with the higher thresholds.
        ``"gd"``: Adam on both thresholds, kept within [0, 1].
    knots
        Knots per group, evenly spaced from the lowest to the highest threshold.
    descent
        Settings of ``"gd"``.

    Notes
    -----
    Observations are qualification rates (N, 2); what wrappers append is ignored.
    """

    @validated
    def __init__(
        self,
        model: Model,
        cost: Cost | None = None,
        search: Annotated[str, OneOf("grid", "gd")] = "grid",
        knots: Count = 31,
        descent: Descent | None = None,
    ) -> None:
        self.model = model
        self.cost = Cost() if cost is None else cost
        self.search = search
        self.knots = np.linspace(0.0, 1.0, knots)
        self.descent = Descent() if descent is None else descent

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> FloatArray:
        """Return thresholds (N, 2) in [0, 1] for observations (N, 2 or more)."""
        given = np.asarray(observation, np.float64)[:, :2]
        # Episodes from the same start stay together.
        rates, back = np.unique(given, axis=0, return_inverse=True)
        chosen = self._descended(rates) if self.search == "gd" else self._best_pair(rates)
        return chosen[back.ravel()]

    def _best_pair(self, rates: FloatArray) -> FloatArray:
        # From high to low, so that the first of equally good pairs is the strictest.
        falling = self.knots[::-1]
        pairs = np.stack(np.meshgrid(falling, falling, indexing="ij"), axis=-1).reshape(-1, 2)
        rows = max(1, _BLOCK // len(pairs))
        best = [
            self._first_best(rates[i : i + rows, None, :], pairs)
            for i in range(0, len(rates), rows)
        ]
        return pairs[np.concatenate(best)]

    def _first_best(self, rates: FloatArray, pairs: FloatArray) -> NDArray[np.int64]:
        """Return the number of the best pair in each of the states (S, 1, 2)."""
        cost = self.cost.of(self.model, rates, pairs)
        if self.cost.worst_group:
            # The group that is better off may do anything as long as it stays so.
            best = cost == cost.min(axis=1, keepdims=True)
            cost = np.where(best, Cost().of(self.model, rates, pairs), np.inf)
        first: NDArray[np.int64] = cost.argmin(axis=1)
        return first

    def _descended(self, rates: FloatArray) -> FloatArray:
        actions = np.full(rates.size, self.descent.start, np.float32)
        slope = np.zeros_like(actions)
        adam = Adam(actions, slope, self.descent.step_size)
        for _ in range(self.descent.steps):
            slope[:] = self.cost.slope(self.model, rates, actions.reshape(rates.shape)).ravel()
            adam.step()
            np.clip(actions, 0.0, 1.0, out=actions)
        return actions.reshape(rates.shape).astype(np.float64)


class ConstantThresholds(Policy):
    """Keep the same two thresholds, whatever the state.

    Parameters
    ----------
    actions
        (2,): thresholds on the scale from 0 to 1.
    """

    @validated
    def __init__(self, actions: Annotated[Sequence[Probability], Length(2, 2)]) -> None:
        self.actions = np.array(actions, dtype=np.float64)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> FloatArray:
        """Return the thresholds (N, 2)."""
        return np.tile(self.actions, (len(observation), 1))


class RandomThresholds(Policy):
    """Draw both thresholds anew at every step, uniformly from all there are.

    Parameters
    ----------
    seed
        Seed of the draws.
    """

    @validated
    def __init__(self, seed: Seed | None = None) -> None:
        self._rng = np.random.default_rng(seed)

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> FloatArray:
        """Return thresholds (N, 2); they are drawn whether or not that is asked for."""
        return self._rng.random((len(observation), 2))


BASELINES: dict[str, Cost] = {
    "myopic": Cost(),
    "myopic-fair": Cost(0.5),
    "maxmin": Cost(worst_group=True),
    "maxmin-fair": Cost(0.5, worst_group=True),
}
"""The four baselines of Equation 7, with the weight of the paper's first version."""
