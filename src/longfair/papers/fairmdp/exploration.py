"""Section 5 and Figure 2c of the fair MDP paper: learning fairly when transitions are unknown.

The paper reports N = 1000 episodes of which the first 100 explore, estimates the belief about a
stranger of each group, and states neither constraint, nor exploration probability, nor planner.
Here a coin explores, the likelihood is maximised, and the planner is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.explore_then_commit import estimate_strangers, explore
from longfair.agents.fair_mdp.model import FloatArray
from longfair.agents.finite import lagrangian
from longfair.agents.finite.problem import FiniteProblem
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem, Outcome, evaluate
from longfair.papers.fairmdp.loans import LoanEpisode, Rates, loan_episode
from longfair.papers.fairmdp.measured import mean_quantities, placed, table
from longfair.papers.protocol import two_seeds
from longfair.runs.experiment import Arm, Experiment, protocol

COIN = 0.5
"""Probability of a loan while exploring."""

SAME = 1e-9
"""Gaps above the tolerance by less than this are rounding errors of the planner."""


@dataclass(frozen=True)
class Setting:
    """What counts as reward and as fair."""

    discount: float
    """Discount of the reward. 1: episodes are worth the sum of their steps."""
    rates: Rates
    """How steps count in the lending rates, see `longfair.papers.fairmdp.loans`."""
    episode_length: int = 51
    tolerance: float = 0.1

    @property
    def params(self) -> LoanMDPParams:
        """The true problem."""
        return replace(
            LoanMDPParams.fico(), discount=self.discount, episode_length=self.episode_length
        )

    def gap(self, outcome: Outcome) -> FloatArray:
        """Return the gaps (P,) that have to stay within the tolerance."""
        return outcome.gap(discounted=self.rates == "discounted")


@dataclass(frozen=True)
class ExplorationConfig:
    """One learner."""

    setting: Setting
    exploring: int = 100
    """Episodes of exploration; all of them for a learner that never commits."""
    episodes: int = 1000
    planned_tolerance: float | None = 0.1
    """Tolerance the committed policy keeps in the estimated problem; None for no constraint."""
    knows_first_law: bool = True
    """Whether the law of the first situations is known, as in Section 5. If not, it follows from
    the estimates."""

    def shortened(self) -> ExplorationConfig:
        """Return the same for a few episodes."""
        return replace(self, exploring=min(self.exploring, 20), episodes=200)


class Plan(NamedTuple):
    """A policy of the true problem: for each group the chance of a loan (1, S)."""

    chances: list[FloatArray]
    strangers: FloatArray
    """(G, 2): beliefs about strangers that it was made for."""


@protocol("explore-then-commit")
def learn_and_measure(config: ExplorationConfig, seed: int) -> pd.DataFrame:
    """Explore, commit, and compute expected regret and true gaps of every episode.

    Parameters
    ----------
    config
        The learner.
    seed
        Number of the run.

    Returns
    -------
    pandas.DataFrame
        The result table; see `longfair.runs`. Steps of the curve are episodes: `regret` is the
        expected loss of all episodes so far against the best fair policy, `gap` that of the policy
        of the last one.
    """
    setting = config.setting
    problem = _true_problem(setting)
    coin = evaluate(problem, [np.full((1, len(g.beliefs)), COIN) for g in problem.applicants])
    plan = committed(config, seed)
    outcome = coin if plan is None else evaluate(problem, plan.chances)
    best = best_reward(setting)
    rewards = np.array([coin.reward[0], outcome.reward[0]])
    gaps = np.array([setting.gap(coin)[0], setting.gap(outcome)[0]])
    parts = [course(config, best, rewards, gaps, mean_quantities(outcome))]
    if plan is not None:
        parts.append(_estimates(plan.strangers, config.episodes))
    return pd.concat(parts, ignore_index=True)


def course(
    config: ExplorationConfig,
    best: float,
    rewards: FloatArray,
    gaps: FloatArray,
    more: Mapping[str, float],
) -> pd.DataFrame:
    """Tell regret and gap of every episode.

    Parameters
    ----------
    config
        The learner.
    best
        Reward of the best fair policy.
    rewards, gaps
        (2,): expected reward and gap of an episode of exploration, and of one afterwards.
    more
        More to tell of the end, by name.

    Returns
    -------
    pandas.DataFrame
        Rows of a result table.
    """
    losses = best - rewards
    parts = []
    for episode in np.linspace(0, config.episodes, 51).astype(int).tolist():
        explored = min(episode, config.exploring)
        regret = losses @ [explored, episode - explored]
        gap = gaps[0] if episode <= config.exploring else gaps[1]
        parts.append(table("curve", episode, {"regret": float(regret), "gap": float(gap)}))
    overall = {
        **more,
        "regret": float(losses @ [config.exploring, config.episodes - config.exploring]),
        "regret_exploring": float(losses[0] * config.exploring),
        "slope_ratio": float(losses[1] / losses[0]),
        "gap_largest": float(gaps.max()),
        "fair": float(gaps.max() <= config.setting.tolerance + SAME),
        "reward_best": best,
    }
    parts.append(table("final", config.episodes, overall))
    return pd.concat(parts, ignore_index=True)


def committed(config: ExplorationConfig, seed: int) -> Plan | None:
    """Explore and plan.

    Parameters
    ----------
    config
        The learner.
    seed
        Number of the run.

    Returns
    -------
    Plan or None
        None if the learner never commits.
    """
    if config.exploring >= config.episodes:
        return None
    believed, strangers = estimated(config, seed)
    problem = believed.problem("dp", config.setting.rates)
    if config.knows_first_law:
        problem = replace(problem, inflow=_true_fair_problem(config.setting).inflow)
    policy = lagrangian.solve(problem, config.planned_tolerance).policy
    return Plan(_by_group(believed, policy), strangers)


def estimated(config: ExplorationConfig, seed: int) -> tuple[LoanEpisode, FloatArray]:
    """Explore, and estimate.

    Parameters
    ----------
    config
        The learner.
    seed
        Number of the run.

    Returns
    -------
    believed : LoanEpisode
        The problem by the estimates.
    strangers : (G, 2)
        The estimates: beliefs about strangers of each group.
    """
    training, _ = two_seeds(seed)
    env = gymnasium.make_vec(
        "longfair/LoanMDP-v0",
        num_envs=config.exploring,
        episode_length=config.setting.episode_length,
    )
    loans = explore(env, COIN, training, np.random.default_rng((training, 1)))
    true = config.setting.params
    strangers = estimate_strangers(loans, true.denial_drift)
    prior = tuple((float(alpha), float(beta)) for alpha, beta in strangers)
    return loan_episode(replace(true, prior=prior)), strangers


def best_reward(setting: Setting) -> float:
    """Return the reward of the best policy that is fair in the true problem."""
    problem = _true_fair_problem(setting)
    return float(lagrangian.solve(problem, setting.tolerance).value.reward)


@cache
def _true_problem(setting: Setting) -> LoanProblem:
    return LoanProblem.of(LoanModel(setting.params))


@cache
def _true_fair_problem(setting: Setting) -> FiniteProblem:
    return loan_episode(setting.params).problem("dp", setting.rates)


def _by_group(episode: LoanEpisode, policy: FloatArray) -> list[FloatArray]:
    """Cut a policy (S, 2) into the chances of a loan of each group; the situations' order agrees.

    The same counts are the same situation in the believed and in the true problem.
    """
    groups = len(episode.params.prior)
    return [policy[episode.states[:, 0] == group, 1][None] for group in range(groups)]


def _estimates(strangers: FloatArray, step: int) -> pd.DataFrame:
    rows = [
        (name, group, float(pair[place]))
        for group, pair in enumerate(strangers)
        for place, name in enumerate(("alpha", "beta"))
    ]
    return placed(pd.DataFrame(rows, columns=["metric", "group", "value"]), "final", step)


VARIANTS: dict[str, Setting] = {
    "as_published": Setting(1.0, "discounted"),
    "as_coded": Setting(0.8, "as_coded"),
    "discounted": Setting(0.8, "discounted"),
}
"""What is summed. `as_published`: Section 5, where the horizon replaces the discount, for reward
and rates. `as_coded`: reward and gap of the authors' code for Figure 1; they published none for
this figure. `discounted`: reward and rates as defined in the paper's Section 2."""

MARGIN = 0.02
"""What the cautious learner keeps of the tolerance. The theorem's margin would exceed it."""

LEARNERS: dict[str, tuple[dict[str, Any], str]] = {
    "explore-commit": ({}, "a coin for 100 episodes, then the best fair policy of the estimates"),
    "explore-commit-margin": (
        {"planned_tolerance": 0.1 - MARGIN},
        "the same, keeping a part of the tolerance",
    ),
    "explore-commit-own-law": (
        {"knows_first_law": False},
        "the same, estimating the law of first situations too",
    ),
    "explore-commit-race-blind": (
        {"planned_tolerance": None},
        "the same, without a constraint on the committed policy",
    ),
    "explore-commit-030": ({"exploring": 30}, "a coin for 30 episodes only"),
    "explore-commit-300": ({"exploring": 300}, "a coin for 300 episodes"),
    "coin": ({"exploring": 1000}, "a coin for ever"),
}
"""Learners, by what they change of `ExplorationConfig`."""

EPISODE_LENGTH = {"paper": 51, "book": 51, "smoke": 6}


def _arms(profile: str) -> tuple[Arm, ...]:
    length = EPISODE_LENGTH[profile]
    return tuple(
        Arm(
            learner,
            variant,
            replace(ExplorationConfig(replace(setting, episode_length=length)), **changes),
            learn_and_measure,
            description,
        )
        for variant, setting in VARIANTS.items()
        for learner, (changes, description) in LEARNERS.items()
    )


EXPLORATION = Experiment(
    id="fairmdp/exploration",
    title="Explore, then commit: regret and fairness with unknown transitions",
    arms={profile: _arms(profile) for profile in EPISODE_LENGTH},
    seeds={"smoke": 2, "book": 30, "paper": 5},
    horizon=dict.fromkeys(EPISODE_LENGTH, 1000),
    authors="",  # no code was published; constraint, tolerance, coin and planner are ours
)

EXPERIMENTS = (EXPLORATION,)
