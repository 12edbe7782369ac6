r"""Exact values of policies whose two outputs need not sum to one, as the authors' code has them.

A policy says what denying and what lending weigh, :math:`d(s)` and :math:`l(s)`. The recursion of
`longfair.envs.loan_mdp.exact` takes one chance of a loan, and its complement for a denial. That of
the code takes both as they are. With :math:`p(s)` the chance that a loan is repaid,

.. math::

    V(s) = d(s) \big[c_d + \delta\, V(s_{denied})\big]
           + l(s) \big[c_l(s) + \delta \big(p(s)\, V(s_{repaid})
           + (1 - p(s))\, V(s_{defaulted})\big)\big] .

For the reward :math:`c_d` is the offset of every step, :math:`c_l` the offset and the expected
profit of a loan, :math:`\delta = \gamma`; for loans they are 0 and 1, and :math:`\delta` is 1 or
:math:`\gamma`. The offset is part of the recursion: where weights sum to more than one it is
multiplied as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.arrays import FloatArray
from longfair.compiling import njit
from longfair.envs.loan_mdp.exact import FIRST, PROFIT, Applicants, LoanProblem, Outcome
from longfair.errors import UsageError
from longfair.settings import require_length, validated

DENY, LEND = 0, 1
"""Outputs of a policy."""


@validated
def evaluate_outputs(problem: LoanProblem, outputs: Sequence[Any]) -> Outcome:
    """Evaluate P policies exactly.

    Parameters
    ----------
    problem
        The problem.
    outputs
        For each group what denying and lending weigh, (P, B, 2), one pair per distinct belief.

    Returns
    -------
    Outcome
        Its profit is the reward of the recursion less what the offset earns by itself.

    Raises
    ------
    UsageError
        If a shape does not fit or a number is no probability.
    """
    require_length("outputs", outputs, len(problem.applicants))
    sums = np.stack(
        [
            _sums_of_group(problem, group, _checked(group, pair))
            for group, pair in zip(problem.applicants, outputs, strict=True)
        ],
        axis=1,
    )
    return Outcome(sums, problem)


def _checked(group: Applicants, outputs: ArrayLike) -> NDArray[Any]:
    rows = np.asarray(outputs)
    if rows.ndim != 3 or rows.shape[1:] != (len(group.beliefs), 2):
        raise UsageError(
            f"outputs have shape {rows.shape}: give (policies, {len(group.beliefs)}, 2), what "
            "denying and lending weigh for every belief"
        )
    if not (rows.min() >= 0.0 and rows.max() <= 1.0):
        raise UsageError(
            f"outputs lie between {rows.min():g} and {rows.max():g}: give probabilities"
        )
    return rows


def _sums_of_group(problem: LoanProblem, group: Applicants, outputs: NDArray[Any]) -> FloatArray:
    """Return (P, 2, 4): everybody and the qualified; profit, loans, discounted loans, first."""
    first, offset, discount = len(group.initial), problem.reward_offset, problem.discount
    values = np.empty((len(outputs), first, 4))
    _solve_backwards(
        outputs, group.belief, group.repaid, group.profit, group.following, offset, discount,
        values[:, :, :FIRST],
    )  # fmt: skip
    values[:, :, PROFIT] -= offset * (discount ** np.arange(group.step[-1] + 1)).sum()
    values[:, :, FIRST] = outputs[:, group.belief[:first], LEND]
    return np.asarray(group.starts @ values)


@njit(cache=True)
def _solve_backwards(
    outputs: Any,
    column: Any,
    repaid: Any,
    profit: Any,
    following: Any,
    offset: float,
    discount: float,
    first_values: Any,
) -> None:
    """Fill the values (P, F, 3) of the first situations: reward, loans, discounted loans."""
    situations = len(repaid)
    values = np.zeros((situations + 1, 3))
    for policy in range(outputs.shape[0]):
        for here in range(situations - 1, -1, -1):
            deny = np.float64(outputs[policy, column[here], DENY])
            lend = np.float64(outputs[policy, column[here], LEND])
            chance = repaid[here]
            denied, defaulted, paid = following[here]
            for kind in range(3):
                after_loan = chance * values[paid, kind] + (1.0 - chance) * values[defaulted, kind]
                at_denial = offset if kind == 0 else 0.0
                at_loan = offset + profit[here] if kind == 0 else 1.0
                weight = 1.0 if kind == 1 else discount
                values[here, kind] = deny * (at_denial + weight * values[denied, kind]) + lend * (
                    at_loan + weight * after_loan
                )
        first_values[policy] = values[: first_values.shape[1]]
