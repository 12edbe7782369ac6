r"""The best that can be done in the population: dynamic programming over its horizon.

The population is deterministic and its state is a pair of rates, so the best policy is found by
working backwards on a grid of log-odds :math:`\times` log-odds, with knots for both thresholds.
With a **price** :math:`\nu` on fairness, where the fairness of a step is 1 minus its disparity
:math:`\Delta`, the value is

.. math::

    V_h(s) = \max_a \; r(s, a) + \nu \, (1 - \Delta(s, a)) + V_{h+1}(s'),

interpolated linearly between knots. Sums of reward and of fairness are kept apart, which tells what
the price bought.

The constrained problem (Yin et al. 2023, Equation 1) asks for the most reward with a mean disparity
within a budget. Its Lagrangian (Equation 4) has one price, which bisection finds: the higher the
price, the smaller the disparity. At the right price two policies may be equally good, and the
optimum draws one of them beforehand, so that the budget is spent exactly. For any price :math:`\nu`
the Lagrangian's value bounds the optimum from above.

Grids are not exact. Where the error halves at least when all distances between knots do, the change
of a value from a grid to its `finer` one is no less than the error that is left. And `follow` plays
a plan in the population itself: what it brings is reached for certain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.arrays import FloatArray
from longfair.envs.population.compiled import Tables, back_up
from longfair.envs.population.model import DISPARITIES, Outcome, PopulationModel, by_group
from longfair.envs.population.params import GROUPS, PopulationParams, Rows
from longfair.errors import UsageError
from longfair.settings import (
    Axes,
    OneOf,
    Positive,
    Probability,
    Range,
    checked,
    validate,
    validated,
)

Gap = Annotated[str, OneOf(*DISPARITIES)]
Price = Annotated[float, Range(0.0, 1e100)]


@dataclass(frozen=True)
class Resolution:
    """How fine a grid is."""

    rates: Annotated[int, Range(3)] = 61
    """Knots of each group's rate, even in log-odds between the margins."""
    thresholds: Annotated[int, Range(2)] = 41
    """Knots of each group's threshold, even between the lowest and the highest."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        validate(self)

    def finer(self) -> Resolution:
        """Return a grid with all these knots and one in the middle of every pair."""
        return Resolution(2 * self.rates - 1, 2 * self.thresholds - 1)


class Problem(NamedTuple):
    """What a planner solves, wherever episodes start."""

    params: PopulationParams
    disparity: str
    resolution: Resolution


class Plan(NamedTuple):
    """What is best for one price, on a grid."""

    price: float
    reward: FloatArray
    """(H + 1, S, S): sum of rewards from every step on, for every pair of rates; last row 0."""
    fairness: FloatArray
    """(H + 1, S, S): the same of 1 minus the disparity."""
    problem: Problem
    """Whose plan it is."""


class Planner:
    """Dynamic programming for a population and a measure of disparity.

    Parameters
    ----------
    params
        The population.
    disparity
        One of `DISPARITIES`.
    resolution
        The grid.
    """

    @validated
    def __init__(
        self,
        params: PopulationParams,
        disparity: Gap = DISPARITIES[0],
        resolution: Resolution | None = None,
    ) -> None:
        self.params = params
        self.model = PopulationModel(params)
        self.disparity = DISPARITIES.index(disparity)
        self.resolution = Resolution() if resolution is None else resolution
        anywhere = replace(params, starts=(), start_range=(0.5, 0.5))
        self.problem = Problem(anywhere, disparity, self.resolution)
        margin = params.rate_margin or 1e-6
        end = np.log1p(-margin) - np.log(margin)
        self.log_odds = np.linspace(-end, end, self.resolution.rates)
        self.knots = np.linspace(0.0, 1.0, self.resolution.thresholds)
        self._tables = self._written_out()

    @validated
    def plan(self, price: Price = 0.0) -> Plan:
        """Return what is best when a unit of fairness is worth `price` units of reward."""
        shape = (self.params.episode_length + 1, len(self.log_odds), len(self.log_odds))
        reward, fairness = np.zeros(shape), np.zeros(shape)
        for step in reversed(range(self.params.episode_length)):
            reward[step], fairness[step] = back_up(
                self._tables, price, reward[step + 1], fairness[step + 1]
            )
        return Plan(price, reward, fairness, self.problem)

    def at(self, values: ArrayLike, rates: ArrayLike) -> FloatArray:
        """Interpolate values (S, S) of the grid at rates (..., 2).

        Raises
        ------
        UsageError
            If a rate is not in [0, 1], there is not one for every group, or the values are not
            those of the grid.
        """
        size = len(self.log_odds)
        if not isinstance(values, np.ndarray):
            values = np.asarray(checked("values", values, Annotated[ArrayLike, Axes(2)]))
        if np.shape(values) != (size, size):
            raise UsageError(f"values have shape {np.shape(values)}: give ({size}, {size})")
        cell, part = self._position(by_group("rates", rates))
        first, second = cell[..., 0], cell[..., 1]
        p, q = part[..., 0], part[..., 1]
        near = values[first, second] * (1.0 - q) + values[first, second + 1] * q
        far = values[first + 1, second] * (1.0 - q) + values[first + 1, second + 1] * q
        return near + p * (far - near)

    def fairness(self, rates: ArrayLike, outcome: Outcome) -> FloatArray:
        """Return 1 minus the disparity of a step, (...)."""
        return 1.0 - self.model.disparities(rates, outcome)[..., self.disparity]

    def _position(self, rates: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        """Return the knot before each rate, and how far past it the rate is, in cells."""
        width = self.log_odds[1] - self.log_odds[0]
        with np.errstate(divide="ignore"):
            odds = np.log(rates) - np.log1p(-rates)
        place = np.clip((odds - self.log_odds[0]) / width, 0.0, len(self.log_odds) - 1.0)
        cell = np.minimum(place.astype(np.int64), len(self.log_odds) - 2)
        return cell, place - cell

    def _written_out(self) -> Tables:
        """Ask the population about every state and knot, both groups at the same knot at once."""
        # What happens to a group depends on both rates, but only on its own threshold.
        each = 1.0 / (1.0 + np.exp(-self.log_odds))
        states = np.stack(np.meshgrid(each, each, indexing="ij"), axis=-1)[:, :, None, :]
        actions = np.repeat(self.knots[:, None], GROUPS, axis=1)
        outcome = self.model.outcome(states, actions)
        cell, part = self._position(outcome.next_rates)
        worth = self.model.group_reward(outcome) * self.model.shares
        compared, state_gap = _compared(states, outcome, self.disparity)
        return Tables(
            np.ascontiguousarray(np.swapaxes(worth, 2, 3)),
            np.ascontiguousarray(np.swapaxes(compared, 2, 3)),
            np.ascontiguousarray(np.swapaxes(cell, 2, 3)),
            np.ascontiguousarray(np.swapaxes(part, 2, 3)),
            state_gap,
        )


def _compared(
    states: FloatArray, outcome: Outcome, disparity: int
) -> tuple[FloatArray, FloatArray]:
    """Return numbers (..., 2, 2) whose squared differences make the gap, and a state's own gap."""
    shape = outcome.next_rates.shape
    # Shares of Gaussian features are the same in every state.
    acceptance = np.broadcast_to(outcome.acceptance, (*shape, 2))
    nothing = np.zeros(shape)
    gap = np.zeros(states.shape[:2])
    if disparity == 0:
        columns = [states * acceptance[..., 1] + (1.0 - states) * acceptance[..., 0], nothing]
    elif disparity == 1:
        columns = [acceptance[..., 1], nothing]
    elif disparity == 2:
        columns = [np.sqrt(0.5) * acceptance[..., label] for label in (0, 1)]
    else:
        columns = [nothing, nothing]
        gap = (states[:, :, 0, 0] - states[:, :, 0, 1]) ** 2
    return np.stack(columns, axis=-1), gap


class PlannedThresholds:
    """Follow a plan: look one step ahead in the population, and read what comes later off the grid.

    Observations are the two rates and the share of the episode that has passed, which
    `longfair.envs.elapsed.ElapsedTime` appends.

    Parameters
    ----------
    planner, plan
        The grid, and what was found on it.

    Raises
    ------
    UsageError
        If the plan is of another population, disparity or grid.
    """

    revision = 1

    @validated
    def __init__(self, planner: Planner, plan: Plan) -> None:
        for name, own, given in zip(Problem._fields, planner.problem, plan.problem, strict=True):
            if own != given:
                raise UsageError(f"the plan is for other {name}: give one that this planner made")
        self._planner = planner
        self._plan = plan
        knots = planner.knots
        self._pairs = np.stack(np.meshgrid(knots, knots, indexing="ij"), axis=-1).reshape(-1, 2)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[FloatArray, None]:
        """Return thresholds (N, 2) for observations (N, 3).

        Raises
        ------
        UsageError
            If the observations are not two rates and one time for all, or the episode is over.
        """
        seen = checked("observation", observation, Rows)
        if seen.shape[1] != GROUPS + 1:
            raise UsageError(
                f"observations have {seen.shape[1]} numbers: give two rates and the time "
                "passed, with the wrapper 'elapsed-time'"
            )
        passed = seen[:, GROUPS]
        if np.ptp(passed) > 0:
            raise UsageError(
                f"observations are of times from {passed.min():.3g} to {passed.max():.3g}: "
                "give one time for all"
            )
        length = self._planner.params.episode_length
        step = int(np.rint(passed[0] * length))
        if step == length:
            raise UsageError(
                f"the time passed is {passed[0]:.3g}: all {length} steps are over, give less"
            )
        return self.at_step(step, np.asarray(seen[:, :GROUPS], np.float64)), None

    def at_step(self, step: int, rates: FloatArray) -> FloatArray:
        """Return thresholds (N, 2) for rates (N, 2) at a step, counted from 0."""
        planner, plan = self._planner, self._plan
        later = plan.reward[step + 1] + plan.price * plan.fairness[step + 1]
        # Episodes from the same start stay together.
        states, back = np.unique(rates, axis=0, return_inverse=True)
        chosen = np.empty((len(states), GROUPS))
        for number, rate in enumerate(states):
            outcome = planner.model.outcome(rate, self._pairs)
            value = planner.model.reward(outcome) + planner.at(later, outcome.next_rates)
            if plan.price:
                value += plan.price * planner.fairness(rate, outcome)
            chosen[number] = self._pairs[value.argmax()]
        return chosen[back.ravel()]


class Course(NamedTuple):
    """What policies bring from given starts, played in the population. Sums over an episode."""

    reward: FloatArray
    """(N,)."""
    fairness: FloatArray
    """(N,)."""


@validated
def follow(planner: Planner, plan: Plan, starts: Rows) -> Course:
    """Play a plan from starts (N, 2) in the population itself."""
    rates = _pairs(starts)
    policy = PlannedThresholds(planner, plan)
    reward, fairness = np.zeros(len(rates)), np.zeros(len(rates))
    for step in range(planner.params.episode_length):
        outcome = planner.model.outcome(rates, policy.at_step(step, rates))
        reward += planner.model.reward(outcome)
        fairness += planner.fairness(rates, outcome)
        rates = outcome.next_rates
    return Course(reward, fairness)


class Optimum(NamedTuple):
    """The best policy under a budget: a draw between two plans.

    Numbers are means over starts and per step.
    """

    price: float
    """What a unit of disparity costs at the optimum, in units of reward."""
    plans: tuple[Plan, Plan]
    """A plan that keeps the budget, and one that may not."""
    share: float
    """Chance of the second plan."""
    loss: float
    """1 minus the reward, on the grid."""
    disparity: float
    """On the grid."""
    bound: float
    """No policy that keeps the budget has a smaller loss, on the grid."""


@validated
def constrained_optimum(
    planner: Planner,
    starts: Rows,
    budget: Probability,
    highest_price: Annotated[Price, Range(0.0, 1e100, above=True)] = 1000.0,
    tolerance: Positive = 1e-3,
) -> Optimum:
    """Find the best policy whose mean disparity over the starts is within a budget.

    Parameters
    ----------
    planner
        The problem on a grid.
    starts
        (N, 2): rates in which episodes start, all equally likely.
    budget
        Largest mean disparity per step.
    highest_price
        Where the search for the price ends.
    tolerance
        How close together prices are told apart, relative to the price. Prices with no number
        between them end the search, too.

    Raises
    ------
    UsageError
        If the budget is not kept at the highest price.
    """
    rates = _pairs(starts)
    length = planner.params.episode_length

    def measured(plan: Plan) -> tuple[float, float]:
        reward, fairness = (
            float(planner.at(values[0], rates).mean()) / length
            for values in (plan.reward, plan.fairness)
        )
        return 1.0 - reward, 1.0 - fairness

    free = planner.plan()
    loss, disparity = measured(free)
    if disparity <= budget:
        return Optimum(0.0, (free, free), 0.0, loss, disparity, loss)
    low, high = free, planner.plan(highest_price)
    if measured(high)[1] > budget:
        raise UsageError(
            f"budget={budget:g}: with price {highest_price:g} the mean disparity is "
            f"{measured(high)[1]:.3g}; give a larger budget or a higher price"
        )
    bound = loss
    while high.price - low.price > tolerance * max(1e-3, low.price):
        # Prices of interest span several powers of ten, and the first is zero.
        middle = np.sqrt(low.price * high.price) if low.price else high.price / 10.0
        if not low.price < middle < high.price:
            break
        tried = planner.plan(float(middle))
        loss, disparity = measured(tried)
        bound = max(bound, loss + tried.price * (disparity - budget))
        low, high = (tried, high) if disparity > budget else (low, tried)
    (kept_loss, kept), (spent_loss, spent) = measured(high), measured(low)
    share = (budget - kept) / (spent - kept)
    mixed = (1.0 - share) * kept_loss + share * spent_loss
    return Optimum(high.price, (high, low), share, mixed, budget, bound)


def _pairs(starts: ArrayLike) -> FloatArray:
    """Return starts as an array (N, 2)."""
    rates = np.asarray(starts, np.float64)
    if rates.shape[1] != GROUPS:
        raise UsageError(f"starts has shape {rates.shape}: give (starts, {GROUPS})")
    return rates
