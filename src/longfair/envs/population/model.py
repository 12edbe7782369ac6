"""The population problem without episodes: what thresholds do to qualification rates."""

from __future__ import annotations

import hashlib
import io
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.envs.population.params import GROUPS, SCORES, PopulationParams
from longfair.errors import UsageError
from longfair.settings import OneOf, checked, shortened, validated

DISPARITIES = ("demographic parity", "equal opportunity", "equalised odds", "qualification")
"""What the numbers of `info["disparity"]` compare, in order; all are squared gaps in [0, 1]."""

_TABLES = Path(__file__).parent / "data"
_TABLE_SHA256 = {
    "adult": "65ca0af0e10e4ecbee6a7e3b0a26af352fe0c6f649de7fc9e3cf4a31162b971b",
    "adult_race": "9e96369b90749b212dec00885f59649bcf98afd0d076f5c73c483d9271407bbc",
    "adult_weak_ridge": "84498de09c4e1aad54fe30334411cee7955b42546496d217ba7b82908117aca7",
    "adult_strong_ridge": "251260980ca5d9c890a2ccc8ac11f214f83c1ed557caf8af2c35592d056d0e2d",
    "adult_16_bins": "0b01d7bf15b5f448e93e1d1125226d72eb7e62e4194664eb00b95f6571e5f645",
    "adult_64_bins": "011179e96a711eface9ba5c7aee370015b9e65d53eba4f59fc6938469efd4c90",
}


class Acceptance(Protocol):
    """How many of each group and label pass a threshold."""

    def __call__(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return shares (..., G, 2), unqualified first, for rates and thresholds (..., G)."""

    def slopes(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return the derivatives (..., G, 2) of the shares by the group's own threshold."""


class GaussianAcceptance:
    """Features are normal with mean 1 for the qualified, -1 for the unqualified, deviation 1."""

    def __call__(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return acceptance shares; they do not depend on the qualification rates."""
        from scipy.special import ndtr  # a tenth of a second, which parameters need not wait for

        shares: FloatArray = ndtr(_LABEL_MEANS - thresholds[..., None])
        return shares

    def slopes(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return minus the density of each label's feature at the threshold."""
        distance = _LABEL_MEANS - thresholds[..., None]
        slopes: FloatArray = -np.exp(-0.5 * distance**2) / np.sqrt(2.0 * np.pi)
        return slopes


_LABEL_MEANS = np.array([-1.0, 1.0])


class SurvivalTable:
    """Scores from tables: the share of each group and label that reaches a threshold.

    Parameters
    ----------
    knots
        (K,): qualification rates at which the table was made, evenly spaced.
    survival
        (K, K, G, 2, B + 1): share of a group and label (unqualified, qualified) whose score is at
        least 0, 1/B, ..., 1, for every pair of knots.

    Raises
    ------
    UsageError
        If the knots are not at least two rates that rise evenly, or the survival is not a share
        for each of them that never rises with the score.

    Notes
    -----
    Between knots, shares are interpolated linearly in both rates and in the threshold. Beyond the
    outermost knots the outermost values hold.
    """

    def __init__(self, knots: FloatArray, survival: FloatArray) -> None:
        self.knots = knots = _even_knots(knots)
        self.survival = survival = _bounded("survival", survival)
        size, shape = len(knots), survival.shape
        if shape[:-1] != (size, size, GROUPS, 2) or shape[-1] < 2:
            raise UsageError(
                f"survival has shape {shape}: give ({size}, {size}, {GROUPS}, 2, B + 1), "
                f"for {size} knots and B bins"
            )
        if (np.diff(survival, axis=-1) > 0).any():
            raise UsageError("survival rises with the score: give shares that reach at least it")
        edges = shape[-1]
        self._first, self._scale = knots[0], (size - 1) / (knots[-1] - knots[0])
        self._bins = edges - 1
        self._flat = survival.reshape(-1)
        self._row_strides = np.array([size, 1]) * GROUPS * 2 * edges
        self._cell = np.arange(GROUPS * 2).reshape(GROUPS, 2) * edges

    def __call__(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return acceptance shares; those of each group depend on the rates of both."""
        at_edge, past_edge, edge_part = self._edges(rates, thresholds)
        return at_edge + edge_part[..., None] * (past_edge - at_edge)

    def slopes(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return the slope of the straight piece that begins at or before the threshold."""
        at_edge, past_edge, _ = self._edges(rates, thresholds)
        slopes: FloatArray = self._bins * (past_edge - at_edge)
        return slopes

    def _edges(
        self, rates: FloatArray, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return shares (..., G, 2) at the edges of the threshold's bin, and its place there."""
        row, row_part = _position((rates - self._first) * self._scale, len(self.knots) - 1)
        edge, edge_part = _position(thresholds * self._bins, self._bins)
        start = (row * self._row_strides).sum(axis=-1)[..., None, None]
        index = start + self._cell + edge[..., None]
        first, second = row_part[..., 0, None, None], row_part[..., 1, None, None]
        left, right = self._row_strides
        upper = self._between(index, right, second)
        lower = self._between(index + left, right, second)
        step = self._between(index + 1, right, second)
        lower_step = self._between(index + left + 1, right, second)
        at_edge = upper + first * (lower - upper)
        past_edge = step + first * (lower_step - step)
        return at_edge, past_edge, edge_part

    def _between(self, index: Any, stride: Any, part: FloatArray) -> Any:
        near, far = self._flat.take(index), self._flat.take(index + stride)
        return near + part * (far - near)


def _position(value: FloatArray, cells: int) -> tuple[Any, FloatArray]:
    """Split a position on a line of cells into the cell's number and the part of it passed."""
    inside = np.minimum(np.maximum(value, 0.0), cells)
    cell = np.minimum(inside.astype(np.int64), cells - 1)
    return cell, inside - cell


_Scores = Annotated[str, OneOf(*SCORES)]


def adult_table(features: str = "adult") -> SurvivalTable:
    """Return a survival table of Adult scores that comes with the package.

    Parameters
    ----------
    features
        Which scores: a name of `longfair.envs.population.params.SCORES`.

    Raises
    ------
    UsageError
        When there is no such table, or it is missing or not the one this version was verified with.
    """
    return _packaged_table(checked("features", features, _Scores))


@cache
def _packaged_table(features: str) -> SurvivalTable:
    file = _TABLES / f"{features}_survival.npz"
    remedy = "run `python scripts/make_adult_tables.py` in the repository and reinstall"
    if not file.is_file():
        raise UsageError(f"{file} is missing: {remedy}")
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != _TABLE_SHA256[features]:
        raise UsageError(f"{file} is not the table of this version: {remedy}")
    with np.load(io.BytesIO(content)) as table:
        return SurvivalTable(table["knots"], table["survival"].astype(np.float64))


class Outcome(NamedTuple):
    """What thresholds do to a population in one step. Shares are of the whole population."""

    true_positives: FloatArray
    """(..., G): qualified and accepted."""
    true_negatives: FloatArray
    """(..., G): unqualified and rejected."""
    acceptance: FloatArray
    """(..., G, 2): share accepted of each group's unqualified, then of its qualified."""
    next_rates: FloatArray
    """(..., G): qualification rates after the step."""


class Slopes(NamedTuple):
    """Derivatives of a step by the action of each group."""

    reward: FloatArray
    """(..., G): of the reward. Of a group's own reward it is this over the group's share."""
    disparities: FloatArray
    """(..., 4, G): of the squared gaps, in the order of `DISPARITIES`."""


class PopulationModel:
    r"""The decision problem without episodes: what an action does in a state.

    Short-sighted baselines, phase portraits and exact solvers ask it about many states and actions
    at once. It is deterministic: the population is as large as one likes.

    Parameters
    ----------
    params
        The parameters.
    """

    @validated
    def __init__(self, params: PopulationParams) -> None:
        self.params = params
        self.shares = np.array(params.group_probability)
        self._low, high = params.threshold_range
        self._width = high - self._low
        self._accept: Acceptance = (
            GaussianAcceptance() if params.features == "gaussian" else adult_table(params.features)
        )
        table = params.fitness
        # By label (unqualified, qualified): fitness when rejected, and what acceptance adds.
        self._rejected = np.array([table.unqualified_rejected, table.qualified_rejected])
        accepted = np.array([table.unqualified_accepted, table.qualified_accepted])
        self._added = accepted - self._rejected

    def thresholds(self, actions: ArrayLike) -> FloatArray:
        """Return the thresholds that actions in [0, 1] stand for, of the same shape.

        Raises
        ------
        UsageError
            If an action is not in [0, 1].
        """
        return self._thresholds(_bounded("actions", actions))

    def acceptance(self, rates: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """Return who passes thresholds (..., G) of the feature's own scale; see `Acceptance`.

        Raises
        ------
        UsageError
            If a rate is not in [0, 1], or a threshold outside the range that actions stand for, or
            there is not one for every group.
        """
        high = self._low + self._width
        threshold = _of_groups("thresholds", _bounded("thresholds", thresholds, self._low, high))
        rate = by_group("rates", rates)
        _require_together(rates=rate, thresholds=threshold)
        return self._accept(rate, threshold)

    def outcome(self, rates: ArrayLike, actions: ArrayLike) -> Outcome:
        """Return what actions (..., G) do in states (..., G).

        Raises
        ------
        UsageError
            If an action or a rate is not in [0, 1], there is not one for every group, or the other
            axes of the two do not go together.
        """
        rate, action = _bounded("rates", rates), _bounded("actions", actions)
        _of_groups("rates", rate)
        _of_groups("actions", action)
        _require_together(rates=rate, actions=action)
        return self.transition(rate, action)

    def transition(self, rate: FloatArray, actions: ArrayLike) -> Outcome:
        """Return the same as `outcome`, of arrays that were checked before."""
        acceptance = self._accept(rate, self._thresholds(actions))
        qualified = self.shares * rate
        unqualified = self.shares - qualified
        return Outcome(
            qualified * acceptance[..., 1],
            unqualified * (1.0 - acceptance[..., 0]),
            acceptance,
            self._next_rates(rate, acceptance),
        )

    def group_reward(self, outcome: Outcome) -> FloatArray:
        """Return the reward (..., G) that each group alone would bring as the whole population."""
        rewards: FloatArray = self._worth(outcome) / self.shares
        return rewards

    def reward(self, outcome: Outcome) -> FloatArray:
        """Return the reward (...): weighted true positives and true negatives (Equation 8)."""
        total: FloatArray = self._worth(outcome).sum(axis=-1)
        return total

    def disparities(self, rates: ArrayLike, outcome: Outcome) -> FloatArray:
        """Return the squared gaps (..., 4) between the groups, in the order of `DISPARITIES`.

        Raises
        ------
        UsageError
            If a rate is not in [0, 1], there is not one for every group, or the outcome is not of
            such rates.
        """
        rate = by_group("rates", rates)
        _require_together(rates=rate, outcome=outcome.acceptance[..., 0])
        return self.gaps(rate, outcome)

    def gaps(self, rate: FloatArray, outcome: Outcome) -> FloatArray:
        """Return the same as `disparities`, of rates that were checked before."""
        acceptance = outcome.acceptance
        accepted = rate * acceptance[..., 1] + (1.0 - rate) * acceptance[..., 0]
        squares = (acceptance[..., 0, :] - acceptance[..., 1, :]) ** 2
        gaps = np.broadcast_arrays(
            (accepted[..., 0] - accepted[..., 1]) ** 2,
            squares[..., 1],
            0.5 * (squares[..., 0] + squares[..., 1]),
            (rate[..., 0] - rate[..., 1]) ** 2,
        )
        return np.stack(gaps, axis=-1)

    def slopes(self, rates: ArrayLike, actions: ArrayLike) -> Slopes:
        """Return how a step changes with the actions (..., G).

        Raises
        ------
        UsageError
            As `outcome` does.
        """
        outcome = self.outcome(rates, actions)
        rate = np.asarray(rates, dtype=np.float64)
        acceptance = self._accept.slopes(rate, self._thresholds(actions)) * self._width
        qualified = self.shares * rate
        worth = (
            self.params.true_positive_weight * qualified * acceptance[..., 1]
            - self.params.true_negative_weight * (self.shares - qualified) * acceptance[..., 0]
        )
        return Slopes(worth, self._disparity_slopes(rate, outcome.acceptance, acceptance))

    def _disparity_slopes(
        self, rate: FloatArray, acceptance: FloatArray, slopes: FloatArray
    ) -> FloatArray:
        """Differentiate `disparities` by the actions: (..., 4, G)."""
        sign = np.array([1.0, -1.0])
        accepted = rate * acceptance[..., 1] + (1.0 - rate) * acceptance[..., 0]
        accepted_slope = rate * slopes[..., 1] + (1.0 - rate) * slopes[..., 0]
        parity = 2.0 * (accepted[..., :1] - accepted[..., 1:]) * sign * accepted_slope
        gap = acceptance[..., :1, :] - acceptance[..., 1:, :]
        by_label = 2.0 * gap * sign[:, None] * slopes
        opportunity = by_label[..., 1]
        odds = 0.5 * by_label.sum(axis=-1)
        parts = np.broadcast_arrays(parity, opportunity, odds, 0.0)
        return np.stack(parts, axis=-2)

    def _thresholds(self, actions: ArrayLike) -> FloatArray:
        return self._low + self._width * np.asarray(actions, dtype=np.float64)

    def _worth(self, outcome: Outcome) -> FloatArray:
        params = self.params
        return (
            params.true_positive_weight * outcome.true_positives
            + params.true_negative_weight * outcome.true_negatives
        )

    def _next_rates(self, rate: FloatArray, acceptance: FloatArray) -> FloatArray:
        fitness = self._rejected + self._added * acceptance
        qualified = rate * fitness[..., 1]
        following = qualified / (qualified + (1.0 - rate) * fitness[..., 0])
        margin = self.params.rate_margin
        kept: FloatArray = np.minimum(np.maximum(following, margin), 1.0 - margin)
        return kept


def _bounded(name: str, given: ArrayLike, low: float = 0.0, high: float = 1.0) -> FloatArray:
    """Return numbers, all of them in [low, high]."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{name}={shortened(given)}: give numbers in [{low:g}, {high:g}]")
    values = array.astype(np.float64, copy=False)
    inside = (values >= low) & (values <= high)  # Not so of what is no number.
    if not inside.all():
        raise UsageError(f"{name} hold {values[~inside][0]}: give numbers in [{low:g}, {high:g}]")
    return values


def _require_together(**given: FloatArray) -> None:
    """Refuse two arrays that cannot be broadcast against each other."""
    (name, one), (other_name, other) = given.items()
    try:
        np.broadcast_shapes(one.shape, other.shape)
    except ValueError:
        raise UsageError(
            f"{name} have shape {one.shape} and {other_name} {other.shape}: give as many of both"
        ) from None


def by_group(name: str, given: ArrayLike) -> FloatArray:
    """Return numbers (..., G), all of them in [0, 1].

    Raises
    ------
    UsageError
        If one is not, or there is not one for every group.
    """
    return _of_groups(name, _bounded(name, given))


def _of_groups(name: str, values: FloatArray) -> FloatArray:
    """Return numbers (..., G) as they are."""
    if values.shape[-1:] != (GROUPS,):
        raise UsageError(f"{name} have shape {values.shape}: give (..., {GROUPS}), by group")
    return values


def _even_knots(given: ArrayLike) -> FloatArray:
    """Return rates (K,) that rise evenly, two at least."""
    knots = _bounded("knots", given)
    several = knots.ndim == 1 and len(knots) > 1
    if not several or knots[0] >= knots[-1] or not np.allclose(np.diff(knots, 2), 0.0):
        raise UsageError(f"knots={shortened(given)}: give two rates or more that rise evenly")
    return knots
