r"""Fair learning when the transitions are unknown: explore first, then commit (Section 5).

For :math:`N_0` episodes the lender decides by a policy that ignores the state, here a fair coin. It
is fair whatever the transitions are. From what was seen it estimates the transitions, computes the
best fair policy of the estimated problem, and keeps it for the remaining :math:`N - N_0` episodes.

In the loan problem the transitions are known but for two numbers per group: the belief
:math:`(\alpha_z, \beta_z)` about a stranger. An applicant with :math:`n_a` repayments,
:math:`n_b` defaults and :math:`n_d` denials repays the next loan with probability

.. math::

    p = \frac{\alpha_z + n_a}{\alpha_z + \beta_z + n_a + n_b + 0.1\, n_d},

so the likelihood of everything seen is a product of such terms, and one that all applicants of a
group share (a beta-binomial one where there were no denials).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import (
    Axes,
    Count,
    NonNegative,
    Positive,
    Probability,
    Range,
    Seed,
    Share,
    validated,
)


@dataclass(frozen=True)
class LoansSeen:
    """Loans whose outcome is known."""

    group: IntArray
    """(L,): group of the borrower."""
    counts: IntArray
    """(L, 3): repayments, defaults and denials before the loan."""
    repaid: BoolArray
    """(L,)"""


@validated
def explore(
    env: VectorEnv[Any, Any, Any], chance: Probability, seed: Seed, generator: np.random.Generator
) -> LoansSeen:
    """Decide by chance alone for one episode in every copy, and keep the outcomes of all loans.

    Parameters
    ----------
    env
        A batch of loan problems, whose `info` carries `counts`.
    chance
        Probability of a loan in every step.
    seed
        Seed of the environment.
    generator
        Source of the decisions.

    Returns
    -------
    LoansSeen
        Includes the loans that every applicant had before the episode: the lender knows their
        outcomes. Their order is not known and does not matter.
    """
    observation, info = env.reset(seed=seed)
    group = observation[:, 2].astype(np.int64)
    parts = [_earlier_loans(group, info["counts"])]
    over = np.zeros(env.num_envs, dtype=np.bool_)
    while not over.any():
        before, counts = observation, info["counts"]
        lent = generator.random(env.num_envs) < chance
        observation, _, terminated, truncated, info = env.step(lent.astype(np.int64))
        over = terminated | truncated
        after = info["final_obs"] if over.any() else observation
        repaid = after[:, 0] > before[:, 0]  # only a repayment raises alpha
        parts.append(LoansSeen(group[lent], counts[lent], repaid[lent]))
    return _joined(parts)


@validated
def estimate_strangers(loans: LoansSeen, denial_drift: NonNegative, groups: Count) -> FloatArray:
    """Return the most likely belief (G, 2) about a stranger of each group: alpha and beta.

    Parameters
    ----------
    loans
        What was seen.
    denial_drift
        What a denial adds to beta.
    groups
        Number of groups G, whether or not they got loans.

    Raises
    ------
    UsageError
        If a group has no repaid loan or no defaulted one: then there is no largest likelihood. If
        a loan is of a group beyond these.
    """
    if (loans.group >= groups).any():
        raise UsageError(
            f"groups={groups}: a loan is of group {loans.group.max()}, give more groups"
        )
    return np.stack([_estimate(loans, group, denial_drift) for group in range(groups)])


@validated
def transition_error(
    states: Count, actions: Count, exploring: Count, least: Share, risk: Share
) -> float:
    r"""Return how far estimated transition probabilities may be off (Theorem 5.1, re-derived).

    After :math:`N_0` episodes every probability is known up to
    :math:`\epsilon_P = \sqrt{\log(4 |S|^2 |A| / \delta) / (\lambda_0 N_0)}` with probability
    :math:`1 - \delta`, if :math:`N_0 \ge 2 \lambda_0^{-2} \log(2 |S| |A| / \delta)`.

    Parameters
    ----------
    states, actions
        Numbers of states and actions.
    exploring
        Episodes of exploration :math:`N_0`.
    least
        Smallest share :math:`\lambda_0` of a state and action in an episode of exploration.
    risk
        Delta.
    """
    return float(np.sqrt(np.log(4.0 * states**2 * actions / risk) / (least * exploring)))


@validated
def required_exploration(states: Count, actions: Count, least: Share, risk: Share) -> float:
    """Return how many episodes of exploration `transition_error` needs to hold."""
    return float(2.0 * np.log(2.0 * states * actions / risk) / least**2)


@validated
def value_error(states: Count, steps: Count, largest: Positive, error: NonNegative) -> float:
    r"""Return how far values of a policy may be off when transitions are off by at most `error`.

    :math:`\tau = \frac12 |S| T^2 R_{max}\, \epsilon_P` for sums over T steps of rewards of at most
    :math:`R_{max}` in size.
    """
    return 0.5 * states * steps**2 * largest * error


@validated
def regret_bound(
    episodes: Annotated[ArrayLike, Axes(1), Range(0.0)],
    exploring: Count,
    steps: Count,
    largest: Positive,
    value_off: NonNegative,
) -> FloatArray:
    r"""Return the bound of Theorem 5.1 on the regret after n episodes (re-derived).

    :math:`2 T R_{max} \min(n, N_0) + 2 \tau \max(n - N_0, 0)`.

    Parameters
    ----------
    episodes
        Numbers of episodes n.
    exploring, steps, largest
        :math:`N_0`, T and :math:`R_{max}`.
    value_off
        :math:`\tau`, see `value_error`.
    """
    explored = np.minimum(episodes, exploring)
    committed = np.asarray(episodes) - explored
    return 2.0 * steps * largest * explored + 2.0 * value_off * committed


def _earlier_loans(group: IntArray, counts: IntArray) -> LoansSeen:
    """Write the loans before the episode one by one, repayments first."""
    parts = []
    for place, (repayments, defaults, _) in enumerate(counts.tolist()):
        paid, failed = np.arange(repayments), np.arange(defaults)
        before = np.zeros((repayments + defaults, 3), dtype=np.int64)
        before[:, 0] = np.concatenate([paid, np.full(defaults, repayments)])
        before[repayments:, 1] = failed
        same_group = np.full(len(before), group[place])
        parts.append(LoansSeen(same_group, before, np.arange(len(before)) < repayments))
    return _joined(parts)


def _joined(parts: list[LoansSeen]) -> LoansSeen:
    return LoansSeen(
        np.concatenate([part.group for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.repaid for part in parts]),
    )


def _estimate(loans: LoansSeen, group: int, denial_drift: float) -> FloatArray:
    """Return (2,): the most likely alpha and beta of one group."""
    mine = loans.group == group
    counts, repaid = loans.counts[mine].astype(np.float64), loans.repaid[mine]
    if not 0 < repaid.sum() < len(repaid):
        raise UsageError(
            f"group {group} has {int(repaid.sum())} repaid loans of {len(repaid)}: both a "
            "repayment and a default are needed, explore for more episodes"
        )
    from scipy.optimize import minimize  # takes time to import

    for_alpha = counts[:, 0]
    for_beta = counts[:, 1] + denial_drift * counts[:, 2]

    def unlikeliness(logarithms: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the mean log-likelihood, and its slope by log alpha and log beta."""
        alpha, beta = np.exp(logarithms)
        good, bad = alpha + for_alpha, beta + for_beta
        total = good + bad
        chance = np.where(repaid, good, bad) / total
        slope = [
            alpha * np.mean(np.where(repaid, 1.0 / good, 0.0) - 1.0 / total),
            beta * np.mean(np.where(repaid, 0.0, 1.0 / bad) - 1.0 / total),
        ]
        return -float(np.log(chance).mean()), -np.array(slope)

    found = minimize(unlikeliness, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-7, 7)] * 2)
    return np.asarray(np.exp(found.x))
