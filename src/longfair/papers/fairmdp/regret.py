"""What it costs to explore and commit: expected regret and true gaps of every episode, exactly.

- ``regret``: expected loss of all episodes so far against the best fair policy, whose reward is
  ``reward_best``; ``regret_exploring``: that of the episodes of exploration;
- ``gap``: that of the policy of the last episode; ``gap_largest``: the largest of all episodes;
  ``fair``: whether it keeps the tolerance;
- ``slope_ratio``: loss of an episode after exploration over that of one of exploration;
- under parity what `longfair.papers.fairmdp.measured` reports of the last policy, and the estimates
  ``alpha`` and ``beta`` by group; under equal opportunity its ``reward`` and ``gap_eo``.

Steps of the curve are episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from longfair.agents.finite import lagrangian
from longfair.arrays import FloatArray
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem, evaluate
from longfair.papers.fairmdp.committing import true_episode, true_problem
from longfair.papers.fairmdp.exploration import Bank
from longfair.papers.fairmdp.measured import mean_quantities, placed, table
from longfair.papers.protocol import Evaluation
from longfair.papers.setting import Setting
from longfair.papers.untrained import params
from longfair.runs.experiment import protocol

SAME = 1e-9
"""Gaps above the tolerance by less than this are rounding errors of the planner."""


class Worth(NamedTuple):
    """What an episode of a policy is worth in the true problem."""

    reward: float
    gap: float
    """What has to stay within the tolerance."""
    reported: Mapping[str, float]
    """What is told of the last policy, by name."""


@protocol("regret")
def regret(evaluation: Evaluation) -> pd.DataFrame:
    """Report regret and gap of every episode; the evaluation draws nothing."""
    setting, plans = evaluation.setting, evaluation.snapshots.policies
    bank, true = setting.method, params(setting.world)
    worth = parity if bank.notion == "dp" else opportunity
    worths = [worth(bank, true, plan.policy) for plan in plans]
    parts = [course(setting, best_reward(bank, true), worths[0], worths[-1])]
    if bank.notion == "dp" and plans[-1].strangers is not None:
        parts.append(estimates(plans[-1].strangers, setting.learning.episodes))
    return pd.concat(parts, ignore_index=True)


def course(setting: Setting, best: float, coin: Worth, end: Worth) -> pd.DataFrame:
    """Tell regret and gap of every episode.

    Parameters
    ----------
    setting
        What was run.
    best
        Reward of the best fair policy.
    coin, end
        Worth of an episode of exploration, and of one afterwards.

    Returns
    -------
    pandas.DataFrame
        Rows of a result table.
    """
    exploring, episodes = setting.learning.exploring, setting.learning.episodes
    losses = best - np.array([coin.reward, end.reward])
    parts = []
    for episode in np.linspace(0, episodes, 51).astype(int).tolist():
        explored = min(episode, exploring)
        lost = losses @ [explored, episode - explored]
        gap = coin.gap if episode <= exploring else end.gap
        parts.append(table("curve", episode, {"regret": float(lost), "gap": gap}))
    largest = max(coin.gap, end.gap)
    overall = {
        **end.reported,
        "regret": float(losses @ [exploring, episodes - exploring]),
        "regret_exploring": float(losses[0] * exploring),
        "slope_ratio": float(losses[1] / losses[0]),
        "gap_largest": largest,
        "fair": float(largest <= setting.method.tolerance + SAME),
        "reward_best": best,
    }
    parts.append(table("final", episodes, overall))
    return pd.concat(parts, ignore_index=True)


def parity(bank: Bank, true: LoanMDPParams, policy: FloatArray) -> Worth:
    """Evaluate a policy (S, 2) under demographic parity."""
    group = true_episode(true).states[:, 0]  # a group's situations have the same order in both
    chances = [policy[group == number, 1][None] for number in range(len(true.prior))]
    outcome = evaluate(_loan_problem(true), chances)
    gap = outcome.gap(discounted=bank.rates == "discounted")
    return Worth(float(outcome.reward[0]), float(gap[0]), mean_quantities(outcome))


def opportunity(bank: Bank, true: LoanMDPParams, policy: FloatArray) -> Worth:
    """Evaluate a policy (2 S, 2) under equal opportunity."""
    value = true_problem(true, "eo", bank.rates).evaluate(policy)
    return Worth(value.reward, value.gap, {"reward": value.reward, "gap_eo": value.gap})


def best_reward(bank: Bank, true: LoanMDPParams) -> float:
    """Return the reward of the best policy that is fair in the true problem."""
    problem = true_problem(true, bank.notion, bank.rates)
    return float(lagrangian.solve(problem, bank.tolerance).value.reward)


def estimates(strangers: FloatArray, step: int) -> pd.DataFrame:
    """Return the estimates (G, 2) as rows of a result table."""
    rows = [
        (name, group, float(pair[place]))
        for group, pair in enumerate(strangers)
        for place, name in enumerate(("alpha", "beta"))
    ]
    return placed(pd.DataFrame(rows, columns=["metric", "group", "value"]), "final", step)


@cache
def _loan_problem(true: LoanMDPParams) -> LoanProblem:
    return LoanProblem.of(LoanModel(true))
