r"""Exact values in the loan pool: dynamic programming over a state reduced by symmetry.

Two groups, A and B, of two people each. Written out, the pool of the FairQCM paper has far more
states than fit a computer, but few of them differ:

* rewards depend on the loans made only through the gap :math:`L_A - L_B`;
* the two people of a group are alike, so their credit levels form an unordered pair;
* who asks is drawn anew at every step, so it is averaged over and not part of the state;
* every loan changes both the gap and the profit by one, so the two are odd or even together;
* a profit from which the margin can no longer be missed, or no longer be met, needs no number.

What is left is, for :math:`K` pairs of levels and :math:`M_t` values of gap and profit at step
:math:`t`, an array of shape :math:`(M_t, K, K)`: about a million numbers at a step. The recursion
from the last step backwards follows any rule that does not tell the people of a group apart: the
best choice at every state, or a heuristic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.envs.loan_pool.params import LoanPoolParams
from longfair.errors import UsageError
from longfair.settings import Axes, Count, checked, validate, validated


@dataclass(frozen=True)
class PairedLoanPool:
    """A discrete loan pool of two groups with two people each, alike within a group.

    The default is the paper's.
    """

    params: LoanPoolParams = field(default_factory=LoanPoolParams)
    """The pool; people 0 and 1 are group A, people 2 and 3 group B."""
    largest_gap: Count | None = None
    """Largest difference between the groups' loans that is allowed; None for no limit."""

    def __post_init__(self) -> None:
        """Raise `UsageError` unless the pool has the symmetry that the recursion uses."""
        validate(self)
        params = self.params
        first, second = params.initial_repayment[:2], params.initial_repayment[2:]
        alike = len(set(params.request_probability)) == len(set(first)) == len(set(second)) == 1
        if params.groups != (0, 0, 1, 1) or not alike or params.credit_noise is not None:
            raise UsageError(
                "params: give groups (0, 0, 1, 1), one request probability, one initial repayment "
                "probability in each group, and credit_noise=None"
            )

    @cached_property
    def repayment(self) -> tuple[float, ...]:
        """Probability of repaying, by credit level."""
        low, step = self.params.lowest_repayment, self.params.credit_step
        levels = round((self.params.highest_repayment - low) / step) + 1
        # Rounded to what a person would write: 0.3, not 0.30000000000000004.
        return tuple(round(low + level * step, 12) for level in range(levels))

    @property
    def start(self) -> tuple[int, int]:
        """Credit level of the people of A and of B at the start."""
        above = np.array(self.params.initial_repayment[1:3]) - self.params.lowest_repayment
        a, b = np.rint(above / self.params.credit_step).astype(int).tolist()
        return a, b

    @property
    def asking(self) -> float:
        """Probability that each person asks."""
        return self.params.request_probability[0]

    @property
    def episode_length(self) -> int:
        """Steps."""
        return self.params.episode_length


class Stage(NamedTuple):
    """What can be done at one step, for all states of the step. M gaps and profits, K pairs."""

    granted: tuple[FloatArray, FloatArray, FloatArray, FloatArray]
    """Value (M, K, K) of a loan to A's person with less credit, A's with more, B's with less, B's
    with more."""
    refused: FloatArray
    """Value (M, K, K) of a loan to somebody who did not ask."""
    gap: IntArray
    """(M, 1, 1): loans to A minus loans to B so far."""
    credit: tuple[IntArray, IntArray, IntArray, IntArray]
    """Credit levels, in the order of `granted`: (K, 1) for the people of A, (K,) for those of B."""


Asking = tuple[bool, bool, bool, bool]
"""Whether A's person with less credit, A's with more, B's with less and B's with more ask."""
Rule = Callable[[Stage, Asking], FloatArray]
"""Maps what can be done and who asks to the value (M, K, K) of what the rule does."""


def best_choice(stage: Stage, asking: Asking) -> FloatArray:
    """Do what is best, even if that is a loan to somebody who did not ask."""
    choices = [granted for granted, asks in zip(stage.granted, asking, strict=True) if asks]
    if not all(asking):
        choices.append(stage.refused)
    return functools.reduce(np.maximum, choices)


def anybody_at_random(stage: Stage, asking: Asking) -> FloatArray:
    """Choose anybody with equal probability, whether they ask or not."""
    choices = [
        granted if asks else stage.refused
        for granted, asks in zip(stage.granted, asking, strict=True)
    ]
    return functools.reduce(np.add, choices) / len(choices)


def somebody_asking_at_random(stage: Stage, asking: Asking) -> FloatArray:
    """Choose among those who ask with equal probability."""
    choices = [granted for granted, asks in zip(stage.granted, asking, strict=True) if asks]
    return functools.reduce(np.add, choices) / len(choices) if choices else stage.refused


def lagging_group_best_credit(stage: Stage, asking: Asking) -> FloatArray:
    """Lend to the group with fewer loans, there to the better credit.

    When the groups are level, or nobody of the lagging one asks, the best credit of all who ask
    decides, and group A at a tie.
    """
    a_low, a_high, b_low, b_high = asking
    a = stage.granted[1] if a_high else stage.granted[0]
    b = stage.granted[3] if b_high else stage.granted[2]
    if not (a_low or a_high):
        return b if b_low or b_high else stage.refused
    if not (b_low or b_high):
        return a
    a_credit = stage.credit[1] if a_high else stage.credit[0]
    b_credit = stage.credit[3] if b_high else stage.credit[2]
    a_first = (stage.gap < 0) | ((stage.gap == 0) & (a_credit >= b_credit))
    return np.where(a_first, a, b)


@validated
def loan_pool_value(pool: PairedLoanPool, rule: Rule = best_choice) -> float:
    """Return the exact expected return of an episode, by default under the best choices.

    Parameters
    ----------
    pool
        The problem.
    rule
        `best_choice` or another function of this module.
    """
    for values in _values_backwards(pool, rule):
        first = values
    pairs = _Pairs.of_levels(len(pool.repayment))
    a, b = (pairs.pair_of[level, level] for level in pool.start)
    return float(first[0, a, b])


class OptimalLender:
    """Lend optimally in the paper's loan pool, knowing everybody's repayment probability.

    Parameters
    ----------
    pool
        The problem; the environment has to match it.

    Notes
    -----
    Needs `observe`. Keeps the values of all steps, about 100 MB for the paper's problem. Counts
    steps from the last `info` of a `reset` or of an episode's end, so all copies are to be reset
    together.
    """

    people = 4

    @validated
    def __init__(self, pool: PairedLoanPool | None = None) -> None:
        self.pool = PairedLoanPool() if pool is None else pool
        backwards = _values_backwards(self.pool, best_choice)
        self._values = [values.astype(np.float32) for values in backwards][::-1]
        self._pairs = _Pairs.of_levels(len(self.pool.repayment))
        self._state: _Seen | None = None

    def observe(self, info: dict[str, Any]) -> None:
        """Note loans, credit, profit and time after a step or a reset."""
        loans, repayment = info["group_state"][..., 0], info["group_state"][..., 1]
        level = np.abs(repayment[..., None] - np.array(self.pool.repayment)).argmin(axis=2)
        gap = (loans @ [1, 1, -1, -1]).astype(np.int64)
        copies = len(gap)
        if "supply" not in info:
            self._state = _Seen(0, gap, np.zeros(copies, np.int64), level)
            return
        if self._state is None:
            raise UsageError("the lender has not seen the start: call observe(info) after reset()")
        ended = "_final_obs" in info
        step = 0 if ended else self._state.step + 1
        profit = np.zeros(copies, np.int64) if ended else info["profit"]
        self._state = _Seen(step, gap, profit, level)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, None]:
        """Return the person chosen in every copy (N,) for observations (N, ...).

        Raises
        ------
        UsageError
            If `observe` has not been called, or the observations are not finite numbers, a row
            for each of the copies that it told of.
        """
        if self._state is None:
            raise UsageError("the lender does not know the credit: call observe(info)")
        asks = self._requests(observation, len(self._state.gap))
        worth = [self._worth(self._state, person) for person in range(self.people)]
        refused = self._after(self._state, 0, 0, self._state.level, self.pool.params.invalid_reward)
        return np.where(asks, np.stack(worth, axis=1), refused[:, None]).argmax(axis=1), None

    def _requests(self, observation: ArrayLike, copies: int) -> BoolArray:
        """Return who asks for a loan (N, people)."""
        shown: NDArray[Any] = checked("observation", observation, Annotated[ArrayLike, Axes(2)])
        if len(shown) != copies or shown.shape[1] < self.people:
            raise UsageError(
                f"observation has shape {shown.shape}: give a row for each of {copies} copies, "
                f"first the requests of {self.people} people"
            )
        return shown[:, : self.people] > 0

    def _worth(self, seen: _Seen, person: int) -> FloatArray:
        """Return the value (N,) of a loan to a person who asked."""
        change = 1 if person < self.people // 2 else -1
        repays = np.array(self.pool.repayment)[seen.level[:, person]]
        reward = -np.abs(seen.gap + change)
        outcomes = []
        for outcome in (1, -1):
            level = seen.level.copy()
            level[:, person] = np.clip(level[:, person] + outcome, 0, len(self.pool.repayment) - 1)
            outcomes.append(self._after(seen, change, outcome, level, reward))
        return repays * outcomes[0] + (1.0 - repays) * outcomes[1]

    def _after(
        self, seen: _Seen, gap_change: int, profit_change: int, level: IntArray, reward: Any
    ) -> FloatArray:
        """Return reward plus optimal value (N,) after a step."""
        plane = _Plane.at(self.pool, seen.step + 1)
        gap, profit = seen.gap + gap_change, seen.profit + profit_change
        a = self._pairs.pair_of[level[:, 0], level[:, 1]]
        b = self._pairs.pair_of[level[:, 2], level[:, 3]]
        value = reward + self._values[seen.step + 1][plane.rows(gap, profit), a, b]
        return _with_margin(self.pool, seen.step, profit, value)


class _Seen(NamedTuple):
    """What the lender knows: the step, and per copy gap (N,), profit (N,) and levels (N, P)."""

    step: int
    gap: IntArray
    profit: IntArray
    level: IntArray


class _Pairs(NamedTuple):
    """Unordered pairs of credit levels, and where a loan leads. K pairs."""

    pair_of: IntArray
    """(C, C): number of the pair that two levels make, in either order."""
    level: IntArray
    """(2, K): the lower and the higher level."""
    repaid: IntArray
    """(2, K): pair after a repaid loan to the person with the lower and the higher level."""
    defaulted: IntArray
    """(2, K): pair after a default."""

    @classmethod
    def of_levels(cls, levels: int) -> _Pairs:
        low, high = np.triu_indices(levels)
        index = np.zeros((levels, levels), dtype=np.int64)
        index[low, high] = index[high, low] = np.arange(len(low))
        up, down = np.arange(levels) + 1, np.arange(levels) - 1
        up[-1], down[0] = levels - 1, 0
        return cls(
            pair_of=index,
            level=np.stack([low, high]),
            repaid=np.stack([index[up[low], high], index[low, up[high]]]),
            defaulted=np.stack([index[down[low], high], index[low, down[high]]]),
        )


class _Plane(NamedTuple):
    """The values of gap and profit at one step that differ in what can still happen. M of them."""

    pool: PairedLoanPool
    step: int
    gap: IntArray
    """(M,)."""
    profit: IntArray
    """(M,): settled, see `_settled`."""

    @classmethod
    def at(cls, pool: PairedLoanPool, step: int) -> _Plane:
        span = np.arange(-step, step + 1)
        gap, profit = (grid.reshape(-1) for grid in np.meshgrid(span, span, indexing="ij"))
        alike = (gap - profit) % 2 == 0
        gap = gap[alike]
        settled = _settled(pool, step, gap, profit[alike])
        distinct = np.unique(np.stack([gap, settled], axis=1), axis=0)
        return cls(pool, step, distinct[:, 0], distinct[:, 1])

    def rows(self, gap: IntArray, profit: IntArray) -> IntArray:
        """Return the rows of values of gap and profit."""
        settled = _settled(self.pool, self.step, gap, profit)
        base = 4 * self.pool.episode_length
        return np.searchsorted(self.gap * base + self.profit, gap * base + settled)


def _settled(pool: PairedLoanPool, step: int, gap: IntArray, profit: IntArray) -> IntArray:
    """Return the profit, or a stand-in where it is settled whether the margin will be met.

    Stand-ins are odd or even as the gap is, like every profit.
    """
    left = pool.episode_length - step
    safe, lost = pool.params.required_profit + left, pool.params.required_profit - left - 1
    settled = np.where(profit >= safe, safe + (safe - gap) % 2, profit)
    return np.where(profit <= lost, lost - (lost - gap) % 2, settled)


def _with_margin(
    pool: PairedLoanPool, step: int, profit: IntArray, value: FloatArray
) -> FloatArray:
    """Put in what the last step costs where the profit (M,) after it is too small."""
    if step == pool.episode_length - 1:
        value[profit < pool.params.required_profit] = pool.params.missed_reward
    return value


def _values_backwards(pool: PairedLoanPool, rule: Rule) -> Iterator[FloatArray]:
    """Yield the values (M, K, K) of all states, from after the last step to before the first."""
    pairs = _Pairs.of_levels(len(pool.repayment))
    size = pairs.level.shape[1]
    values = np.zeros((len(_Plane.at(pool, pool.episode_length).gap), size, size))
    yield values
    for step in reversed(range(pool.episode_length)):
        stage = _stage(pool, pairs, step, values)
        values = np.zeros_like(stage.refused)
        for asking in product((False, True), repeat=4):
            number = sum(asking)
            chance = pool.asking**number * (1.0 - pool.asking) ** (4 - number)
            values += chance * rule(stage, (asking[0], asking[1], asking[2], asking[3]))
        yield values


def _stage(pool: PairedLoanPool, pairs: _Pairs, step: int, values: FloatArray) -> Stage:
    plane, later = _Plane.at(pool, step), _Plane.at(pool, step + 1)

    def after(gap_change: int, profit_change: int, reward: Any) -> FloatArray:
        gap, profit = plane.gap + gap_change, plane.profit + profit_change
        value = values[later.rows(gap, profit)]
        value += np.broadcast_to(reward, gap.shape)[:, None, None]
        return _with_margin(pool, step, profit, value)

    repays = np.array(pool.repayment)[pairs.level]
    granted = []
    for group, gap_change in ((0, 1), (1, -1)):
        reward = -np.abs(plane.gap + gap_change)
        repaid, defaulted = after(gap_change, 1, reward), after(gap_change, -1, reward)
        for which in (0, 1):
            chance = repays[which][:, None] if group == 0 else repays[which]
            value = chance * repaid.take(pairs.repaid[which], axis=1 + group)
            value += (1.0 - chance) * defaulted.take(pairs.defaulted[which], axis=1 + group)
            if pool.largest_gap is not None:
                value[np.abs(plane.gap + gap_change) > pool.largest_gap] = -np.inf
            granted.append(value)
    return Stage(
        granted=(granted[0], granted[1], granted[2], granted[3]),
        refused=after(0, 0, pool.params.invalid_reward),
        gap=plane.gap[:, None, None],
        credit=(pairs.level[0][:, None], pairs.level[1][:, None], pairs.level[0], pairs.level[1]),
    )
