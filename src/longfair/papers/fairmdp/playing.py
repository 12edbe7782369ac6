"""How lenders play the individual loan problem, and what is reported of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.finite import lagrangian
from longfair.agents.policies.policy import Policy
from longfair.arrays import FloatArray, IntArray
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.papers.fairmdp.committing import true_episode, true_problem
from longfair.papers.fairmdp.loans import LoanEpisode, step_weights
from longfair.papers.fairmdp.measured import table
from longfair.papers.protocol import Evaluation
from longfair.papers.setting import World
from longfair.papers.untrained import params, policy
from longfair.runs.experiment import protocol

# Lenders ----------------------------------------------------------------------------------------


class Lender(Policy):
    """Lends by chance in every situation of an applicant.

    Parameters
    ----------
    episode
        The situations.
    chances
        Shape (S,): chance of a loan in each of `episode.states`.
    seed
        Seed of the draws.
    """

    def __init__(self, episode: LoanEpisode, chances: FloatArray, seed: int) -> None:
        self._chances = np.zeros(episode.states.max(axis=0) + 1)
        self._chances[tuple(episode.states.T)] = chances
        self._rng = np.random.default_rng(seed)
        self._counts: IntArray = np.zeros((0, 3), np.int64)

    def observe(self, info: dict[str, Any]) -> None:
        """Read what the applicants have repaid and not, and how often they were denied."""
        self._counts = info["counts"]

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> IntArray:
        """Return decisions (N,); the group is the last number of an observation."""
        chance = self._chances[(observation[:, 2].astype(np.int64), *self._counts.T)]
        limit = 0.5 if deterministic else self._rng.random(len(chance))
        decisions: IntArray = (chance > limit).astype(np.int64)
        return decisions


@policy("same-decision")
def always(world: World, seed: int, decision: int) -> Lender:
    """Lend to everybody (1) or to nobody (0)."""
    episode = true_episode(params(world))
    return Lender(episode, np.full(len(episode.states), float(decision)), seed)


@policy("best-loans-within")
def best_within(world: World, seed: int, gap: float = 1.0) -> Lender:
    """Take the most reward with a gap in discounted lending rates of at most `gap`.

    Rates differ by at most 1, so by default there is no constraint.
    """
    true = params(world)
    return Lender(true_episode(true), _plan(true, gap), seed)


@cache
def _plan(true: LoanMDPParams, gap: float) -> FloatArray:
    """Return chances of a loan (S,)."""
    chances: FloatArray = lagrangian.solve(true_problem(true, "dp", "discounted"), gap).policy[:, 1]
    return chances


# What is reported -------------------------------------------------------------------------------


@protocol("lent")
def lent(evaluation: Evaluation) -> pd.DataFrame:
    """Play one episode with every applicant, and report means over applicants as `final`.

    `reward`, discounted, with the offset; `gap_dp_discounted` and `gap_eo_discounted`, the
    difference between the groups' lending rates, among everybody and among those who start
    qualified, each step weighted by the discount. So are the exact values of the same names, to
    which these come near.
    """
    last, episodes = evaluation.snapshots.steps[-1], evaluation.setting.evaluating.final_episodes
    act, env, seed = evaluation.ready([len(evaluation.snapshots.steps) - 1], episodes, "final")
    true = params(evaluation.setting.world)
    weights = step_weights(true, "discounted")
    observation, info = env.reset(seed=seed)
    group, qualified = observation[:, 2].astype(np.int64), info["qualified"]
    reward, loans = np.zeros((2, episodes))
    for step, weight in enumerate(weights):
        observation, gained, _, _, info = env.step(act(observation, info))
        reward += true.discount**step * gained
        loans += weight * info["supply"].sum(axis=1)
    found = {
        "reward": float(reward.mean()),
        "gap_dp_discounted": largest_gap(loans, group),
        "gap_eo_discounted": largest_gap(loans[qualified], group[qualified]),
    }
    return table("final", last, found)


def largest_gap(loans: FloatArray, group: IntArray) -> float:
    """Return the largest difference between the mean loans (N,) of two groups.

    Parameters
    ----------
    loans
        Of each applicant.
    group
        Of each applicant, shape (N,).
    """
    return float(np.ptp(np.bincount(group, weights=loans) / np.bincount(group)))
