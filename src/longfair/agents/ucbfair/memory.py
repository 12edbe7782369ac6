r"""What L-UCBFair keeps of its episodes, and how it fits values to them.

For a step :math:`h`, with features :math:`\phi^\tau` of the actions played at that step,

.. math::

    \Lambda_h = \varsigma I + \sum_\tau \phi^\tau \phi^{\tau\top}, \qquad
    w_{j,h} = \Lambda_h^{-1} \sum_\tau \phi^\tau \, [\, j^\tau + V_{j,h+1}(s_{h+1}^\tau) \,],

for the reward and the fairness :math:`j`. In a state the value of a cell :math:`c` is

.. math::

    Q_{j,h}(s, c) = \operatorname{clip}\Big( \langle w_{j,h}, \phi(s, c) \rangle
    + \beta \sqrt{\phi(s, c)^\top \Lambda_h^{-1} \phi(s, c)},\; 0,\; H - h + 1 \Big),

cells are chosen by a softmax of :math:`\kappa (Q_r + \nu Q_g)`, and :math:`V_{j,h}` is the mean of
:math:`Q_{j,h}` under it.

A new episode changes :math:`\Lambda_h^{-1}` by a matrix of rank one, and every
:math:`\phi^\top \Lambda_h^{-1} \phi` by a square. So one matrix product per step, of all cells'
features in all stored states with two weights and a direction, gives values and uncertainties.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longfair.agents.ucbfair.cells import Cells
from longfair.agents.ucbfair.features import Features, require_bounded
from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.arrays import FloatArray
from longfair.errors import UsageError

ANEW = 100
"""Episodes after which inverses are worked out anew, so that rounding does not add up."""


class Episodes(NamedTuple):
    """N episodes of H steps."""

    states: FloatArray
    """(H, N, S): before every step."""
    actions: FloatArray
    """(H, N, A)."""
    signals: FloatArray
    """(H, 2, N): reward and fairness."""
    promised: FloatArray
    """(H, 2, N): values of the states, under the policy that played."""
    last: FloatArray
    """(N, S): states in which the episodes ended."""


class Estimates(NamedTuple):
    """All that the policy needs."""

    weights: FloatArray
    """(H, 2, d): of reward and fairness."""
    inverse: FloatArray
    """(H, d, d): of the Gram matrices."""


class Judge:
    """Turns estimates into values of cells, and those into a policy.

    Parameters
    ----------
    settings
        Settings without None; see `LUCBFairSettings.resolved`.
    horizon
        Steps H of an episode.
    """

    def __init__(self, settings: LUCBFairSettings, horizon: int) -> None:
        assert settings.bonus is not None
        assert settings.sharpness is not None
        self.horizon = horizon
        self._bonus, self._sharpness = settings.bonus, settings.sharpness
        self._remaining = settings.remaining_cap

    def values(self, step: int, products: NDArray[Any], width: NDArray[Any]) -> NDArray[Any]:
        """Return optimistic values (2, ..., M).

        Parameters
        ----------
        step
            Number of the step, from 0 on.
        products
            (2, ..., M): weights times features.
        width
            (..., M): features times inverse times features.
        """
        cap = self.horizon - step if self._remaining else self.horizon
        bonus = np.sqrt(np.maximum(width, 0))
        bonus *= self._bonus
        values: NDArray[Any] = np.clip(products + bonus, 0, cap)
        return values

    def policy(self, values: NDArray[Any], price: float) -> NDArray[Any]:
        """Return the chances (..., M) of the cells, given values (2, ..., M)."""
        chances: NDArray[Any] = values[0] + price * values[1]
        chances -= chances.max(axis=-1, keepdims=True)
        chances *= self._sharpness
        np.exp(chances, out=chances)
        chances /= chances.sum(axis=-1, keepdims=True)
        return chances

    def worth(self, values: NDArray[Any], price: float) -> NDArray[Any]:
        """Return the values (2, ...) of states, given those of their cells (2, ..., M)."""
        worth: NDArray[Any] = np.einsum("...m,j...m->j...", self.policy(values, price), values)
        return worth


class Memory(ABC):
    """Stored episodes.

    Parameters
    ----------
    settings
        Settings without None.
    features, cells
        The feature map, and the cells of actions.
    horizon
        Steps H of an episode.

    Attributes
    ----------
    estimates
        What was fitted last; in the beginning values are 0 and uncertainty is everything.
    """

    def __init__(
        self, settings: LUCBFairSettings, features: Features, cells: Cells, horizon: int
    ) -> None:
        self.settings, self.features, self.cells = settings, features, cells
        self.horizon = horizon
        self.judge = Judge(settings, horizon)
        size = features.size
        prior = np.eye(size) / settings.ridge
        self.estimates = Estimates(np.zeros((horizon, 2, size)), np.tile(prior, (horizon, 1, 1)))
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Make room for episodes."""

    def at_centres(self, states: FloatArray) -> FloatArray:
        """Return the features (..., M, d) of all cells in states (..., S)."""
        return self.features_of(states[..., None, :], self.cells.centres)

    def features_of(self, states: FloatArray, actions: FloatArray) -> FloatArray:
        """Return the features (..., d) of states (..., S) and actions (..., A).

        Raises
        ------
        UsageError
            If one is not finite, or too large for a regression; see `require_bounded`.
        """
        return require_bounded(self.features(states, actions))

    def policy(self, step: int, centres: FloatArray, price: float) -> tuple[FloatArray, FloatArray]:
        """Return chances of the cells (N, M) and values (2, N) of states at a step.

        Parameters
        ----------
        step
            Number of the step, from 0 on.
        centres
            (N, M, d): from `at_centres`.
        price
            Nu.
        """
        products = np.moveaxis(centres @ self.estimates.weights[step].T, -1, 0)
        width = _width(centres, self.estimates.inverse[step])
        values = self.judge.values(step, products, width)
        chances = self.judge.policy(values, price)
        return chances, (chances * values).sum(axis=-1)

    @abstractmethod
    def add(self, episodes: Episodes) -> None:
        """Take in new episodes."""

    @abstractmethod
    def fit(self, price: float) -> None:
        """Work the estimates out anew, for a price on unfairness."""

    def require_room(self, episodes: int) -> None:
        """Refuse more episodes than there is room for."""
        if episodes > self._room():
            raise UsageError(
                f"{episodes} episodes are asked for, and there is room for {self._room():g} of "
                f"episodes={self.settings.episodes}: plan for more in the settings, or learn for "
                "fewer steps"
            )

    def _room(self) -> float:
        """Return how many more episodes there is room for; here for any number."""
        return math.inf


def _width(centres: NDArray[Any], inverse: NDArray[Any]) -> NDArray[Any]:
    """Return features times inverse times features (..., M), of features (..., M, d)."""
    width: NDArray[Any] = ((centres @ inverse) * centres).sum(axis=-1)
    return width


class PerStepMemory(Memory):
    """A regression for every step, targets and uncertainties worked out anew at every fit."""

    def _begin(self) -> None:
        episodes, size, cells = self.settings.episodes, self.features.size, len(self.cells)
        self.count = 0
        self._fitted = 0
        self._played = np.zeros((self.horizon, episodes, size))
        self._signals = np.zeros((self.horizon, 2, episodes))
        self._centres = np.zeros((self.horizon, episodes, cells, size), np.float32)
        self._width = np.zeros((self.horizon, episodes, cells), np.float32)

    def add(self, episodes: Episodes) -> None:
        """Take in new episodes; there is room for as many as the settings plan for."""
        new = slice(self.count, self.count + episodes.states.shape[1])
        self.require_room(episodes.states.shape[1])
        self._played[:, new] = self.features_of(episodes.states, episodes.actions)
        self._signals[:, :, new] = episodes.signals
        for step, states in enumerate(episodes.states):
            centres = self.at_centres(states)
            self._centres[step, new] = centres
            self._width[step, new] = _width(centres, self.estimates.inverse[step])
        self.count = new.stop

    def _room(self) -> float:
        """Return how many of the episodes that the settings plan for have not been played."""
        return self.settings.episodes - self.count

    def fit(self, price: float) -> None:
        """Go backwards through the steps."""
        count = self.count
        anew = count // ANEW > self._fitted // ANEW
        later = np.zeros((2, count))
        for step in reversed(range(self.horizon)):
            inverse = self.estimates.inverse[step]
            directions = self._anew(step) if anew else self._narrowed(step)
            targets = self._signals[step, :, :count] + later
            weights = targets @ self._played[step, :count] @ inverse
            self.estimates.weights[step] = weights
            rows = np.concatenate([weights, directions]).astype(np.float32)
            centres = self._centres[step, :count]
            products = rows @ centres.reshape(-1, centres.shape[2]).T
            products = products.reshape(len(rows), count, -1)
            width = self._width[step, :count]
            for product in products[2:]:
                width -= product * product
            later = self.judge.worth(self.judge.values(step, products[:2], width), price)
        self._fitted = count

    def _narrowed(self, step: int) -> FloatArray:
        """Update an inverse by the new episodes; return directions (N, d) in which it shrank."""
        inverse = self.estimates.inverse[step]
        new = self._played[step, self._fitted : self.count]
        moved = new @ inverse
        root = np.linalg.cholesky(np.eye(len(new)) + moved @ new.T)
        directions: FloatArray = np.linalg.solve(root, moved)
        inverse -= directions.T @ directions
        return directions

    def _anew(self, step: int) -> FloatArray:
        """Work an inverse and all uncertainties out from the beginning; no direction is left."""
        played = self._played[step, : self.count]
        size = played.shape[1]
        gram = self.settings.ridge * np.eye(size) + played.T @ played
        inverse = self.estimates.inverse[step]
        inverse[:] = np.linalg.inv(gram)
        centres = self._centres[step, : self.count]
        self._width[step, : self.count] = _width(centres, inverse.astype(np.float32))
        return np.zeros((0, size))


class FrozenMemory(Memory):
    """A regression for every step whose targets stay as they were when the step was made."""

    def _begin(self) -> None:
        size = self.features.size
        self._gram = np.tile(self.settings.ridge * np.eye(size), (self.horizon, 1, 1))
        self._sums = np.zeros((self.horizon, 2, size))

    def add(self, episodes: Episodes) -> None:
        """Take in new episodes; only sums are kept."""
        played = self.features_of(episodes.states, episodes.actions)
        targets = episodes.signals.copy()
        targets[:-1] += episodes.promised[1:]
        self._gram += np.swapaxes(played, 1, 2) @ played
        self._sums += targets @ played

    def fit(self, price: float) -> None:
        """Solve every regression; the price has been in the targets since they were made."""
        self.estimates.inverse[:] = np.linalg.inv(self._gram)
        self.estimates.weights[:] = self._sums @ self.estimates.inverse


class PooledMemory(Memory):
    """One Gram matrix for the transitions of all steps, weights for every step.

    Notes
    -----
    Regressions look at a random sample of the transitions, drawn anew at every fit, from a stream
    of its own with seed 0, whatever the agent's seed. Uncertainty counts them all.
    """

    def _begin(self) -> None:
        self._gram = self.settings.ridge * np.eye(self.features.size)
        self._parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self._rng = np.random.default_rng(0)

    def add(self, episodes: Episodes) -> None:
        """Take in new episodes."""
        played = self.features_of(episodes.states, episodes.actions)
        following = np.concatenate([episodes.states[1:], episodes.last[None]])
        rows = played.reshape(-1, played.shape[-1])
        self._gram += rows.T @ rows
        signals = np.moveaxis(episodes.signals, 1, -1).reshape(-1, 2)
        self._parts.append((rows, signals, following.reshape(len(rows), -1)))

    def fit(self, price: float) -> None:
        """Go backwards through the steps with a sample of all transitions."""
        played, signals, following, weight = self._sampled()
        size = played.shape[1]
        inverse = np.linalg.inv(self._gram)
        self.estimates.inverse[:] = inverse
        centres = self.at_centres(following)
        width = _width(centres, inverse).astype(np.float32)
        flat = centres.astype(np.float32).reshape(-1, size).T
        solve = np.linalg.inv(self.settings.ridge * np.eye(size) + weight * (played.T @ played)) @ (
            weight * played.T
        )
        later = np.zeros((2, len(played)))
        for step in reversed(range(self.horizon)):
            weights = (signals.T + later) @ solve.T
            self.estimates.weights[step] = weights
            products = (weights.astype(np.float32) @ flat).reshape(2, len(played), -1)
            later = self.judge.worth(self.judge.values(step, products, width), price)

    def _sampled(self) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return features, signals and next states of a sample, and what a row of it stands for."""
        arrays = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        self._parts = [(arrays[0], arrays[1], arrays[2])]
        total = len(arrays[0])
        if total <= self.settings.sample:
            return arrays[0], arrays[1], arrays[2], 1.0
        chosen = self._rng.choice(total, self.settings.sample, replace=False)
        first, second, third = (array[chosen] for array in arrays)
        return first, second, third, total / self.settings.sample


MEMORIES: dict[str, type[Memory]] = {
    "per step": PerStepMemory,
    "frozen": FrozenMemory,
    "pooled": PooledMemory,
}
"""By `LUCBFairSettings.data`."""
