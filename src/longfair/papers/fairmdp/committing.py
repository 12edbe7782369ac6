"""Explore with a coin, estimate, and commit to the best fair policy of the estimated problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from longfair.agents.fair_mdp.explore_then_commit import estimate_strangers, explore
from longfair.agents.finite import lagrangian
from longfair.agents.finite.problem import FiniteProblem
from longfair.arrays import FloatArray, IntArray
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.papers.fairmdp.exploration import COIN
from longfair.papers.fairmdp.loans import LoanEpisode, loan_episode
from longfair.papers.fairmdp.notions import Notion, Rates
from longfair.papers.protocol import Act, Snapshots
from longfair.papers.untrained import params

if TYPE_CHECKING:
    from longfair.papers.fairmdp.exploration import Bank, Exploring
    from longfair.papers.setting import Setting


class Plan(NamedTuple):
    """What a bank does."""

    policy: FloatArray
    """(S, 2): chances of a denial and of a loan in every situation of the bank's problem."""
    strangers: FloatArray | None = None
    """(G, 2): beliefs about strangers that it was made for; None if nothing was estimated."""


def train(learning: Exploring, setting: Setting, seed: int) -> Snapshots:
    """Explore, and commit unless all episodes explore.

    Parameters
    ----------
    learning
        How long to explore.
    setting
        What to run: the method is a `Bank`.
    seed
        Seed of applicants and coin.

    Returns
    -------
    Snapshots
        The coin, and the plan that the bank commits to; `steps` counts episodes.
    """
    bank, true = setting.method, params(setting.world)
    states = true_problem(true, bank.notion, bank.rates).states
    plans = {0: Plan(np.tile([1.0 - COIN, COIN], (states, 1)))}
    if learning.exploring < learning.episodes:
        env = setting.world.make(learning.exploring)
        loans = explore(env, COIN, seed, np.random.default_rng((seed, 1)))
        strangers = estimate_strangers(loans, true.denial_drift, len(true.prior))
        plans[learning.exploring] = Plan(committed(bank, true, strangers), strangers)
    kept = list(plans.values())
    generator = np.random.default_rng((seed, 2))

    def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
        chances = [loan_chances(bank.notion, true, kept[number].policy) for number in which]
        drawn_from = generator if own is None else np.random.default_rng(own)
        return lending(true_episode(true), np.repeat(chances, episodes, axis=0), drawn_from)

    return Snapshots(list(plans), act, kept, [plan.policy for plan in kept])


def committed(bank: Bank, true: LoanMDPParams, strangers: FloatArray) -> FloatArray:
    """Return the best policy (S, 2) of the estimated problem that keeps the planned tolerance.

    The same counts are the same situation in the estimated and in the true problem.

    Parameters
    ----------
    bank
        What the bank wants.
    true
        The true problem, of which the bank knows all but the beliefs about strangers.
    strangers
        (G, 2): estimates of these beliefs.
    """
    prior = tuple((float(alpha), float(beta)) for alpha, beta in strangers)
    problem = loan_episode(replace(true, prior=prior)).problem(bank.notion, bank.rates)
    if bank.knows_first_law:
        known = true_problem(true, bank.notion, bank.rates)
        # Who is qualified at the start, and how many, is part of the law that is known.
        problem = replace(problem, inflow=known.inflow, group_values=known.group_values)
    return lagrangian.solve(problem, bank.planned_tolerance).policy


@cache
def true_episode(true: LoanMDPParams) -> LoanEpisode:
    """Return the true problem, written out once for all runs."""
    return loan_episode(true)


@cache
def true_problem(true: LoanMDPParams, notion: Notion, rates: Rates) -> FiniteProblem:
    """Return the true problem in which the groups' lending rates are to be equal."""
    return true_episode(true).problem(notion, rates)


def loan_chances(notion: Notion, true: LoanMDPParams, policy: FloatArray) -> FloatArray:
    """Return chances of a loan (2, S) of who started unqualified and qualified.

    Parameters
    ----------
    notion
        Under parity both are the same.
    true
        The true problem.
    policy
        The policy of the problem with this notion, see `LoanEpisode.problem`.
    """
    if notion == "dp":
        return np.stack([policy[:, 1]] * 2)
    chances = np.empty(len(policy))
    chances[true_episode(true).order_with_qualification()] = policy[:, 1]
    return chances.reshape(2, -1)


def lending(episode: LoanEpisode, chances: FloatArray, generator: np.random.Generator) -> Act:
    """Lend by chance in every copy of the loan problem.

    Parameters
    ----------
    episode
        The situations.
    chances
        (N, 2, S): of each copy, as from `loan_chances`.
    generator
        Source of the decisions.
    """
    number = np.zeros(episode.states.max(axis=0) + 1, np.int64)
    number[tuple(episode.states.T)] = np.arange(len(episode.states))
    copies = np.arange(len(chances))

    def act(observation: Any, info: dict[str, Any]) -> IntArray:
        here = number[(observation[:, 2].astype(np.int64), *info["counts"].T)]
        chance = chances[copies, info["qualified"].astype(np.int64), here]
        decisions: IntArray = (generator.random(len(chance)) < chance).astype(np.int64)
        return decisions

    return act
