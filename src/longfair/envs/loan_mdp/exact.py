r"""The individual loan problem written out, and exact values of many policies at once.

A lender holds a Beta belief :math:`(\alpha, \beta)` about an applicant and decides again and again.
Repayments, defaults and denials since the beginning tell the belief and the step, so the situations
of one applicant form a network without loops that can be solved backwards, one step at a time. With
:math:`a(s)` the chance of a loan in situation :math:`s` and :math:`p(s)` the chance that it is
repaid, every expected sum over an episode follows the same recursion,

.. math::

    V(s) = a(s)\, c(s) + \delta \big[(1 - a(s))\, V(s_{denied})
           + a(s) (1 - p(s))\, V(s_{defaulted}) + a(s)\, p(s)\, V(s_{repaid})\big],

with :math:`c` the expected profit of a loan and :math:`\delta = \gamma` for the profit, and
:math:`c = 1` and :math:`\delta = 1` or :math:`\gamma` for the number of loans. Group values are
averages of the first situations, over everybody (demographic parity) or over those who start
qualified (equal opportunity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.arrays import FloatArray, IntArray
from longfair.compiling import njit
from longfair.envs.loan_mdp.model import LoanModel
from longfair.errors import UsageError
from longfair.settings import Axes, Count, Range, require_length, validated

EVERYBODY, QUALIFIED = 0, 1
"""Over whom an average is taken: all applicants of a group, or those who start qualified."""

Who = Annotated[int, Range(EVERYBODY, QUALIFIED)]

PROFIT, LOANS, LOANS_DISCOUNTED, FIRST = range(4)
"""What is added up: discounted profit, loans, discounted loans, the loan of the first step."""

SAME_BELIEF = 1e-9
"""Beliefs that differ by less are one and the same."""


@dataclass(frozen=True)
class Applicants:
    """All situations of one group's applicants, in order of time.

    The first situations are those in which an episode can begin.
    """

    step: IntArray
    """(S,): decisions taken before."""
    counts: IntArray
    """(S, 3): repayments, defaults and denials, exploration included."""
    repaid: FloatArray
    """(S,): chance that a loan is repaid, which is the mean of the belief."""
    profit: FloatArray
    """(S,): expected profit of a loan."""
    following: IntArray
    """(S, 3): next situation after a denial, a default and a repayment; S after the last step."""
    belief: IntArray
    """(S,): row of `beliefs`. Different counts can lead to one belief."""
    beliefs: FloatArray
    """(B, 2): the distinct alpha and beta."""
    initial: FloatArray
    """(F,): probability of each of the first situations."""
    qualified: FloatArray
    """(F,): the same among those who start qualified."""

    @property
    def starts(self) -> FloatArray:
        """(2, F): where everybody starts, and where those start who are qualified."""
        return np.stack([self.initial, self.qualified])


@dataclass(frozen=True)
class LoanProblem:
    """The applicants of all groups, and how a lender's decisions are counted."""

    applicants: tuple[Applicants, ...]
    """One per group."""
    group_probability: FloatArray
    """(G,)."""
    discount: float
    reward_offset: float
    """Added to the reward of every step."""
    decisions: int
    """Steps of an episode."""

    @classmethod
    @validated
    def of(cls, model: LoanModel, steps: Count | None = None) -> LoanProblem:
        """Write out a model whose counts are not bounded.

        Parameters
        ----------
        model
            The model.
        steps
            Cut episodes after that many steps. What is left out counts as nothing: rates are still
            those of a whole episode.

        Raises
        ------
        UsageError
            If counts are bounded, a group has nobody who could start qualified, or the number of
            steps is out of range.
        """
        params = model.params
        length = int(params.episode_length)
        if steps is not None and steps > length:
            raise UsageError(f"steps={steps}: give 1 to {length}, the length of an episode")
        if params.largest_count is not None:
            raise UsageError(
                f"largest_count={params.largest_count}: with bounded counts the step is not part "
                "of the situation; give None"
            )
        law = model.initial_law()
        groups = range(len(params.exploration))
        return cls(
            tuple(_applicants(model, group, law[group], steps or length) for group in groups),
            np.array(params.group_probability, dtype=np.float64),
            float(params.discount),
            float(params.reward_offset),
            length,
        )

    def evaluate(self, chances: Sequence[ArrayLike]) -> Outcome:
        """Evaluate P policies exactly; see the function `evaluate`."""
        return evaluate(self, chances)

    @property
    def discounted_steps(self) -> float:
        """What one unit in every step of an episode is worth, discounted."""
        return float((self.discount ** np.arange(self.decisions)).sum())

    @property
    def offset_total(self) -> float:
        """What the offset alone adds to the reward of an episode, discounted."""
        return self.reward_offset * self.discounted_steps


@dataclass(frozen=True)
class Outcome:
    r"""What P policies bring the lender and the groups."""

    sums: FloatArray
    """(P, G, 2, 4): expected sums over an episode, per group, among everybody and among those who
    start qualified, of profit, loans, discounted loans and the first loan."""
    problem: LoanProblem

    @property
    def profit(self) -> FloatArray:
        """(P,): discounted profit of an episode."""
        return self.sums[:, :, EVERYBODY, PROFIT] @ self.problem.group_probability

    @property
    def reward(self) -> FloatArray:
        """(P,): discounted profit of an episode, with the offset of every step."""
        return self.profit + self.problem.offset_total

    @validated
    def rates(self, who: Who = EVERYBODY, *, discounted: bool = False) -> FloatArray:
        r"""Return the lending rate (P, G) of each group.

        Parameters
        ----------
        who
            `EVERYBODY` or `QUALIFIED`.
        discounted
            Whether step t weighs :math:`\gamma^t / \sum_{t'} \gamma^{t'}`, as the paper defines it.
            If not, loans are divided by the number of decisions *less one*, as in the authors'
            code: always lending then has a rate above 1.
        """
        if discounted:
            return self.sums[:, :, who, LOANS_DISCOUNTED] / self.problem.discounted_steps
        return self.sums[:, :, who, LOANS] / (self.problem.decisions - 1)

    @validated
    def gap(self, who: Who = EVERYBODY, *, discounted: bool = False) -> FloatArray:
        """Return the largest difference (P,) between the lending rates of two groups."""
        gap: FloatArray = np.ptp(self.rates(who, discounted=discounted), axis=1)
        return gap

    @validated
    def first_gap(self, who: Who = EVERYBODY) -> FloatArray:
        """Return the largest difference (P,) between the groups' chances of a loan at once."""
        gap: FloatArray = np.ptp(self.sums[:, :, who, FIRST], axis=1)
        return gap

    @validated
    def mixed(self, shares: Annotated[ArrayLike, Axes(1), Range(0.0, 1.0)]) -> Outcome:
        """Return the outcome of drawing one of the policies, with shares (P,)."""
        require_length("shares", np.asarray(shares).tolist(), len(self.sums))
        return Outcome(np.tensordot(np.asarray(shares), self.sums, axes=1)[None], self.problem)


@validated
def evaluate(problem: LoanProblem, chances: Sequence[Any]) -> Outcome:
    """Evaluate P policies exactly.

    Parameters
    ----------
    problem
        The problem.
    chances
        For each group the chance of a loan: (P, B), one per distinct belief, for policies that
        look at the belief; or (P, S), one per situation, for policies that also know the step.

    Raises
    ------
    UsageError
        If a shape does not fit or a number is no probability.
    """
    require_length("chances", chances, len(problem.applicants))
    sums = np.stack(
        [
            _sums_of_group(group, *_checked(group, chance), problem.discount)
            for group, chance in zip(problem.applicants, chances, strict=True)
        ],
        axis=1,
    )
    return Outcome(sums, problem)


@validated
def roll_out(
    problem: LoanProblem,
    chances: Sequence[Any],
    rollouts: Count,
    generator: np.random.Generator,
    who: Who = EVERYBODY,
) -> Outcome:
    """Estimate the outcome of P policies from sampled episodes.

    Parameters
    ----------
    problem
        The problem. To cut episodes off, cut it off.
    chances
        As for `evaluate`.
    rollouts
        Episodes per policy and group.
    generator
        Source of chance.
    who
        From whom the applicants are drawn.

    Returns
    -------
    Outcome
        The averages of the episodes. Only the part of `who` is estimated, the other holds zeros.

    Notes
    -----
    Episodes that are in one situation are moved on together: how many of them get a loan, and how
    many of those repay, are binomial draws. The sums have the same distribution as those of
    episodes played one by one, at a cost that hardly depends on their number.
    """
    require_length("chances", chances, len(problem.applicants))
    checked = [
        _checked(group, chance) for group, chance in zip(problem.applicants, chances, strict=True)
    ]
    sums = np.zeros((len(checked[0][0]), len(problem.applicants), 2, 4))
    for place, (group, (rows, column)) in enumerate(zip(problem.applicants, checked, strict=True)):
        lent = _sampled_loans(group, rows, column, rollouts, generator, who) / rollouts
        weight = problem.discount**group.step
        sums[:, place, who, PROFIT] = lent @ (weight * group.profit)
        sums[:, place, who, LOANS] = lent.sum(axis=1)
        sums[:, place, who, LOANS_DISCOUNTED] = lent @ weight
        sums[:, place, who, FIRST] = lent[:, : len(group.initial)].sum(axis=1)
    return Outcome(sums, problem)


def _checked(group: Applicants, chance: ArrayLike) -> tuple[NDArray[Any], IntArray]:
    """Return chances (P, B or S) and the column of every situation."""
    rows = np.asarray(chance)
    columns = {len(group.beliefs): group.belief, len(group.step): np.arange(len(group.step))}
    if rows.ndim != 2 or rows.shape[1] not in columns:
        raise UsageError(
            f"chances have shape {rows.shape}: give (policies, {len(group.beliefs)}), one per "
            f"belief, or (policies, {len(group.step)}), one per situation"
        )
    if not (rows.min() >= 0.0 and rows.max() <= 1.0):
        raise UsageError(
            f"chances lie between {rows.min():g} and {rows.max():g}: give probabilities"
        )
    return rows, columns[rows.shape[1]]


def _sums_of_group(
    group: Applicants, chance: NDArray[Any], column: IntArray, discount: float
) -> FloatArray:
    """Return (P, 2, 4): everybody and the qualified; profit, loans, discounted loans, first."""
    first = len(group.initial)
    values = np.empty((len(chance), first, 4))
    _solve_backwards(
        chance, column, group.repaid, group.profit, group.following, discount, values[:, :, :FIRST]
    )
    values[:, :, FIRST] = chance[:, column[:first]]
    return np.asarray(group.starts @ values)


@njit(cache=True)
def _solve_backwards(
    chance: Any,
    column: Any,
    repaid: Any,
    profit: Any,
    following: Any,
    discount: float,
    first_values: Any,
) -> None:
    """Fill the values (P, F, 3) of the first situations: profit, loans, discounted loans."""
    situations = len(repaid)
    values = np.zeros((situations + 1, 3))
    for policy in range(chance.shape[0]):
        for here in range(situations - 1, -1, -1):
            lend = np.float64(chance[policy, column[here]])
            good = lend * repaid[here]
            bad = lend - good
            denied, defaulted, paid = following[here]
            for kind in range(3):
                future = (
                    (1.0 - lend) * values[denied, kind]
                    + bad * values[defaulted, kind]
                    + good * values[paid, kind]
                )
                now = profit[here] if kind == 0 else 1.0
                weight = 1.0 if kind == 1 else discount
                values[here, kind] = lend * now + weight * future
        first_values[policy] = values[: first_values.shape[1]]


def _sampled_loans(
    group: Applicants,
    chance: NDArray[Any],
    column: IntArray,
    rollouts: int,
    generator: np.random.Generator,
    who: int,
) -> IntArray:
    """Return in how many of the episodes every situation occurs and gets a loan, (P, S)."""
    visits = np.zeros((len(chance), len(group.step)), dtype=np.int64)
    loans = np.zeros((len(chance), len(group.step)), dtype=np.int64)
    start = group.starts[who]
    visits[:, : len(start)] = generator.multinomial(rollouts, start / start.sum(), len(chance))
    bounds = np.searchsorted(group.step, np.arange(group.step[-1] + 2)).tolist()
    for first, end in pairwise(bounds):
        here = slice(first, end)
        lend = chance[:, column[here]].astype(np.float64)
        loans[:, here] = generator.binomial(visits[:, here], lend)
        if end == len(group.step):
            break
        paid = generator.binomial(loans[:, here], group.repaid[here])
        moved = (visits[:, here] - loans[:, here], loans[:, here] - paid, paid)
        for outcome, number in enumerate(moved):
            # One outcome leads from different situations to different ones: no index repeats.
            visits[:, group.following[here, outcome]] += number
    return loans


def _applicants(model: LoanModel, group: int, law: FloatArray, steps: int) -> Applicants:
    params = model.params
    loans = int(params.exploration[group])
    step, repayments, defaults = _situations(loans, steps)
    counts = np.stack([repayments, defaults, loans + step - repayments - defaults], axis=1)
    alpha, beta = model.belief(np.full(len(step), group), counts)
    beliefs, belief = _distinct(np.stack([alpha, beta], axis=1))
    mean = alpha / (alpha + beta)
    first = slice(0, loans + 1)
    initial = law[: loans + 1]
    qualified = initial * (mean[first] >= params.qualified_mean)
    if not qualified.sum() > 0:
        raise UsageError(
            f"group {group} has nobody who starts qualified: qualified_mean="
            f"{params.qualified_mean} is above every first belief"
        )
    return Applicants(
        step=step,
        counts=counts,
        repaid=mean,
        profit=model.profit(alpha, beta),
        following=_following(step, repayments, defaults, steps),
        belief=belief,
        beliefs=beliefs,
        initial=initial,
        qualified=qualified / qualified.sum(),
    )


def _distinct(beliefs: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows (B, 2) in order of first appearance, and the row of each (S,).

    The order makes the row of a situation its own number when no two situations share a belief, so
    that chances per belief and chances per situation then mean the same.
    """
    _, first, row = np.unique(
        np.rint(beliefs / SAME_BELIEF), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    return beliefs[first[order]], np.argsort(order)[row.ravel()]


def _situations(loans: int, steps: int) -> tuple[IntArray, IntArray, IntArray]:
    """List step, repayments and defaults of all situations, in order of time."""
    side = loans + steps
    step, repayments, defaults = np.indices((steps, side, side))
    lent = repayments + defaults
    possible = np.argwhere((lent >= loans) & (lent <= loans + step))
    return possible[:, 0], possible[:, 1], possible[:, 2]


def _following(step: IntArray, repayments: IntArray, defaults: IntArray, steps: int) -> IntArray:
    """Return (S, 3): the situation after a denial, a default and a repayment."""
    side = int(repayments.max()) + 2
    row = np.full((steps + 1, side, side), len(step))
    row[step, repayments, defaults] = np.arange(len(step))
    return np.stack(
        [
            row[step + 1, repayments, defaults],
            row[step + 1, repayments, defaults + 1],
            row[step + 1, repayments + 1, defaults],
        ],
        axis=1,
    )
