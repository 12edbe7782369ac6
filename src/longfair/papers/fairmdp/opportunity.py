"""Explore, then commit under equal opportunity: Section 5 with the other notion of Section 2.

The paper shows parity or says nothing of the notion; its Theorem 5.1 speaks of both. An applicant's
first situation says whether the applicant is qualified, and the bank that commits remembers it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from longfair.agents.finite import lagrangian
from longfair.agents.finite.problem import FiniteProblem
from longfair.papers.fairmdp.exploration import (
    COIN,
    EPISODE_LENGTH,
    LEARNERS,
    VARIANTS,
    ExplorationConfig,
    Setting,
    course,
    estimated,
)
from longfair.papers.fairmdp.loans import loan_episode
from longfair.runs.experiment import Arm, Experiment, protocol


@protocol("explore-then-commit-opportunity")
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
        The result table, as in `longfair.papers.fairmdp.exploration`; gaps are those in the lending
        rates of the qualified.
    """
    true = true_problem(config.setting)
    best = lagrangian.solve(true, config.setting.tolerance).value.reward
    tossed = np.tile([1.0 - COIN, COIN], (true.states, 1))
    policy = tossed
    if config.exploring < config.episodes:
        believed, _ = estimated(config, seed)
        problem = replace(believed.problem("eo", config.setting.rates), inflow=true.inflow)
        policy = lagrangian.solve(problem, config.planned_tolerance).policy
    coin, end = true.evaluate(tossed), true.evaluate(policy)
    rewards, gaps = np.array([coin.reward, end.reward]), np.array([coin.gap, end.gap])
    return course(config, float(best), rewards, gaps, {"reward": end.reward, "gap_eo": end.gap})


@cache
def true_problem(setting: Setting) -> FiniteProblem:
    """Return the problem that a bank learns about."""
    return loan_episode(setting.params).problem("eo", setting.rates)


BANKS = ("explore-commit", "explore-commit-margin", "coin")
"""Learners of `exploration` that are tried."""


def _arms(profile: str) -> tuple[Arm, ...]:
    return tuple(
        Arm(
            bank,
            variant,
            replace(
                ExplorationConfig(replace(setting, episode_length=EPISODE_LENGTH[profile])),
                **LEARNERS[bank][0],
            ),
            learn_and_measure,
            LEARNERS[bank][1],
        )
        for variant, setting in VARIANTS.items()
        for bank in BANKS
    )


OPPORTUNITY = Experiment(
    id="fairmdp/exploration-opportunity",
    title="Explore, then commit, under equal opportunity",
    arms={profile: _arms(profile) for profile in ("book", "smoke")},
    seeds={"book": 30, "smoke": 2},
    horizon=dict.fromkeys(("book", "smoke"), 1000),
)

EXPERIMENTS = (OPPORTUNITY,)
