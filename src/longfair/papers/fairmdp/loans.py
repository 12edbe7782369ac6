r"""The individual loan problem as a fair decision problem, and what policies are worth in it.

The paper *defines* the value of a group with discounted rates, the authors' code *measures*
undiscounted ones: the number of loans over 51 decisions divided by 50. With :math:`w_t` the weight
of step :math:`t`, the lending rate of a group is :math:`\sum_t w_t \Pr[a_t = 1 \mid z]`:

- `"as_coded"`: :math:`w_t = 1/50` (who always lends has a rate of 1.02),
- `"discounted"`: :math:`w_t = \gamma^t / \sum_{t'} \gamma^{t'}`, sums over the 51 steps,
- `"first_step"`: :math:`w_0 = 1`, all others 0. This is what the optimistic baseline looks at.

The reward is :math:`\sum_t \gamma^t r_t` in both cases, not normalised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import block_diag, csr_array

from longfair.agents.fair_mdp.model import SeparableMDP, per_member
from longfair.agents.finite.problem import FiniteProblem, occupancy
from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel, tabular
from longfair.envs.loan_mdp.exact import LoanProblem
from longfair.envs.tabular import TabularModel
from longfair.papers.fairmdp.notions import Notion, Rates

GAPS: dict[str, tuple[Notion, Rates]] = {
    "gap_dp": ("dp", "as_coded"),
    "gap_eo": ("eo", "as_coded"),
    "gap_dp_discounted": ("dp", "discounted"),
    "gap_eo_discounted": ("eo", "discounted"),
}
"""The four gaps that every policy is measured by: notion and weights of the steps."""


@dataclass(frozen=True)
class LoanEpisode:
    """The loan problem of 51 decisions, written out: every state knows its step."""

    params: LoanMDPParams
    states: IntArray
    """(S, 4): group, repayments, defaults, denials; sorted by step."""
    step: IntArray
    """(S,): decisions taken before."""
    stages: tuple[int, ...]
    """Offsets of the steps; see `FiniteProblem.stages`."""
    transition: csr_array
    """(S * 2, S): the last step leads nowhere."""
    reward: FloatArray
    """(S, 2): not discounted, with the offset."""
    initial_distribution: FloatArray
    """(S,)"""
    qualified: BoolArray
    """(S,): whether an applicant who starts here is qualified."""

    def problem(self, notion: Notion = "dp", rates: Rates = "as_coded") -> FiniteProblem:
        """Return the problem in which the groups' lending rates are to be equal.

        Parameters
        ----------
        notion
            `"dp"`: the rates of all applicants. `"eo"`: those of applicants qualified at the start.
            The states are then there twice, ordered by step: within a step first those of
            applicants who started unqualified.
        rates
            Weights of the steps; see the module.
        """
        discounted = self.params.discount**self.step
        weight = step_weights(self.params, rates)[self.step]
        group = self.states[:, 0]
        lent = np.stack([np.zeros_like(weight), weight], axis=1)
        reward = self.reward * discounted[:, None]
        if notion == "dp":
            share = np.array(self.params.group_probability)
            return FiniteProblem(
                continuation=self.transition,
                inflow=self.initial_distribution,
                reward=reward,
                group_values=per_member(lent, group, share),
                stages=self.stages,
            )
        starts = self.initial_distribution * np.stack([~self.qualified, self.qualified])
        share = np.bincount(group, weights=starts[1]).astype(np.float64)
        values = per_member(lent, group, share)
        double = FiniteProblem(
            continuation=csr_array(block_diag([self.transition] * 2, format="csr")),
            inflow=starts.ravel(),
            reward=np.concatenate([reward, reward]),
            group_values=np.concatenate([np.zeros_like(values), values], axis=1),
        )
        order = self.order_with_qualification()
        pairs = (2 * order[:, None] + np.arange(2)).ravel()
        return FiniteProblem(
            continuation=csr_array(double.continuation[pairs][:, order]),
            inflow=double.inflow[order],
            reward=double.reward[order],
            group_values=double.group_values[:, order],
            stages=tuple(2 * cut for cut in self.stages),
        )

    def order_with_qualification(self) -> IntArray:
        """Return where the states of an equal-opportunity problem come from, (2 S,).

        Entry `i` is the number of the state that has become state `i`; numbers from S on stand for
        the states of applicants who started qualified.
        """
        steps = np.concatenate([self.step, self.step])
        order: IntArray = np.argsort(steps, kind="stable")
        return order


def loan_episode(params: LoanMDPParams | None = None) -> LoanEpisode:
    """Write the loan problem of an episode out, by default that of the paper's first figure.

    Parameters
    ----------
    params
        Parameters with unbounded counts, from which the step can be read.
    """
    chosen = LoanMDPParams.fico() if params is None else params
    model = tabular(params=chosen)
    step = model.states[:, 1:].sum(axis=1) - np.array(chosen.exploration)[model.states[:, 0]]
    deciding = np.flatnonzero(step < chosen.episode_length)
    order = deciding[np.argsort(step[deciding], kind="stable")]
    pairs = (2 * order[:, None] + np.arange(2)).ravel()
    cuts = np.searchsorted(step[order], np.arange(chosen.episode_length + 1))
    return LoanEpisode(
        params=chosen,
        states=model.states[order],
        step=step[order],
        stages=tuple(int(cut) for cut in cuts),
        transition=csr_array(model.transition[pairs][:, order]),
        reward=model.reward[order],
        initial_distribution=model.initial_distribution[order],
        qualified=qualified(chosen, model.states[order]),
    )


@cache
def loan_problem(steps: int | None = None) -> LoanProblem:
    """Write out the loan problem of the paper's first figure, or its first steps only."""
    return LoanProblem.of(LoanModel(LoanMDPParams.fico()), steps)


def finite_loan_problem(params: LoanMDPParams | None = None) -> tuple[SeparableMDP, TabularModel]:
    """Return the loan problem with bounded counts and an infinite horizon, and its states.

    Parameters
    ----------
    params
        Parameters with bounded counts; by default `LoanMDPParams.discretised()`.
    """
    chosen = LoanMDPParams.discretised() if params is None else params
    model = tabular(params=chosen)
    lends = np.tile([0.0, 1.0], (len(model.states), 1))
    return (
        SeparableMDP(
            transition=model.transition,
            reward=model.reward,
            individual_reward=lends,
            group=model.states[:, 0],
            initial_distribution=model.initial_distribution,
            discount=chosen.discount,
        ),
        model,
    )


def qualified(params: LoanMDPParams, states: IntArray) -> BoolArray:
    """Return whether applicants who start in the given states (S, 4) are qualified, (S,)."""
    alpha, beta = LoanModel(params).belief(states[:, 0], states[:, 1:])
    return np.asarray(alpha / (alpha + beta) >= params.qualified_mean)


def step_weights(params: LoanMDPParams, rates: Rates) -> FloatArray:
    """Return the weight (H,) of every step in the lending rate; see the module."""
    length = params.episode_length
    if rates == "as_coded":
        return np.full(length, 1.0 / (length - 1))
    if rates == "first_step":
        return np.asarray(np.eye(length)[0])
    powers = params.discount ** np.arange(length)
    weights: FloatArray = powers / powers.sum()
    return weights


def offset_total(params: LoanMDPParams) -> float:
    """Return what the constant offset adds to the discounted reward of an episode."""
    powers = params.discount ** np.arange(params.episode_length)
    return float(params.reward_offset * powers.sum())


def measures(episode: LoanEpisode, lending: ArrayLike) -> dict[str, float]:
    """Measure a policy exactly.

    Parameters
    ----------
    episode
        The problem.
    lending
        Shape (S,): probability of lending in every state of `episode.states`.

    Returns
    -------
    dict of str to float
        `reward` with the offset, `profit` without, and the four gaps of `GAPS`.
    """
    chance = np.broadcast_to(np.asarray(lending, dtype=np.float64), (len(episode.states),))
    policy = np.stack([1.0 - chance, chance], axis=1)
    problem = episode.problem("dp")
    starts = {
        "dp": episode.initial_distribution,
        "eo": episode.initial_distribution * episode.qualified,
    }
    visited = {
        notion: occupancy(replace(problem, inflow=start), policy)
        for notion, start in starts.items()
    }
    reward = float((problem.reward * visited["dp"]).sum())
    found = {"reward": reward, "profit": reward - offset_total(episode.params)}
    group = episode.states[:, 0]
    for name, (notion, rates) in GAPS.items():
        weight = step_weights(episode.params, rates)[episode.step]
        loans = np.bincount(group, weights=weight * visited[notion][:, 1])
        found[name] = float(np.ptp(loans / np.bincount(group, weights=starts[notion])))
    return found
