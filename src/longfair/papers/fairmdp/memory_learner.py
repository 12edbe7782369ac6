"""FairQCM on the loan problem of the fair MDP paper: fairness by memory in place of randomness.

The learner knows the problem only from applicants, one after the other, and keeps a balance of what
the groups received. What it has learned is evaluated beside the exact optimum: early, after the
experience that the learners of the ELBERT paper have, and at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.memory_q_learning import Books, Memory, MemoryQLearning, QLearning
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.papers.fairmdp.cross_entropy import loan_problem
from longfair.papers.fairmdp.loans import Rates, step_weights
from longfair.papers.fairmdp.measured import mean_quantities, mean_rates, placed, table
from longfair.papers.protocol import two_seeds
from longfair.runs.experiment import Arm, Experiment, protocol


@dataclass(frozen=True)
class MemoryConfig:
    """One method. Settings were chosen on run numbers from 1000 on, the same for all methods."""

    rates: Rates
    """How loans count in the lending rate."""
    books: Books
    learning: QLearning
    early: int = 20_480
    """Applicants after which the first measurement is made that is reported as a result."""
    doublings: int = 5
    """How often the experience is doubled after that."""
    halvings: int = 2
    """How many points the learning curve has before `early`, each at half of the next."""
    judged_on: int = 2_000_000
    """Applicants met to find out what the balance settles at."""
    judged_on_curve: int = 400_000
    """The same along the learning curve."""

    def shortened(self) -> MemoryConfig:
        """Return the same for a few applicants."""
        return replace(self, early=256, doublings=1, judged_on=2_000, judged_on_curve=1_000)

    @property
    def checkpoints(self) -> list[int]:
        """Applicants after which the bank is measured."""
        return [
            self.early * 2**power if power >= 0 else self.early // 2**-power
            for power in range(-self.halvings, self.doublings + 1)
        ]


@protocol("learner-with-books")
def learn_and_measure(config: MemoryConfig, seed: int) -> pd.DataFrame:
    """Learn from applicants; measure the bank along the way.

    Parameters
    ----------
    config
        What to run.
    seed
        Number of the run.

    Returns
    -------
    pandas.DataFrame
        The result table; see `longfair.runs`. A step is one decision. `price` is what a loan to
        the group that is ahead costs, on average over applicants. Metrics with `_early` were
        measured after `early` applicants.

    Notes
    -----
    Lending is evaluated exactly at every level of the balance. How often each level is read is
    counted on applicants of another stream, which are the same for all methods.
    """
    training, evaluation = two_seeds(seed)
    problem = loan_problem()
    weights = step_weights(LoanMDPParams.fico(), config.rates)
    agent = MemoryQLearning(problem, weights, config.books, config.learning, training)
    parts = []
    met = 0
    for applicants in config.checkpoints:
        agent.learn(applicants - met)
        met = applicants
        reported = met in (config.early, config.checkpoints[-1])
        judged_on = config.judged_on if reported else config.judged_on_curve
        readings = agent.readings(judged_on, np.random.default_rng(evaluation))
        outcome = agent.outcome(readings)
        suffix = "_early" if met == config.early else ""
        found = mean_quantities(outcome) | {"price": float(readings @ config.books.prices)}
        step = met * problem.decisions
        parts.append(table("curve", step, found))
        if suffix:
            early = {name + suffix: value for name, value in found.items()}
    parts.append(table("final", step, found | early))
    parts.append(placed(mean_rates(outcome), "final", step))
    return pd.concat(parts, ignore_index=True)


TOLERANCE = 0.098
"""Planned for, so that 0.1 is kept although the long run is estimated from finitely many people."""

BOOKS: dict[str, tuple[Rates, Books]] = {
    "as_coded": ("as_coded", Books(TOLERANCE, steepest=0.004)),
    "as_published": ("discounted", Books(TOLERANCE, steepest=0.5)),
}
"""Gaps of each variant, and books for them. The steepest price is well above the one needed."""

METHODS: dict[str, tuple[Memory, str]] = {
    "fairqcm": ("imagined", "learns from every step for every balance it could have had"),
    "min": ("real", "sees the balance, learns for the one it has"),
    "memoryless": ("none", "is rewarded by the balance without seeing it"),
}
"""FairQCM, and what it takes away step by step: imagined memories, then the memory itself."""


def _arms(profile: str) -> tuple[Arm, ...]:
    arms = []
    for variant, (rates, books) in BOOKS.items():
        for method, (memory, description) in METHODS.items():
            config = MemoryConfig(rates, books, QLearning(memory))
            if profile == "smoke":
                config = replace(
                    config,
                    early=640,
                    doublings=1,
                    halvings=0,
                    judged_on=4_000,
                    judged_on_curve=1_000,
                )
            arms.append(Arm(method, variant, config, learn_and_measure, description))
    return tuple(arms)


def _horizon(profile: str) -> int:
    config: MemoryConfig = _arms(profile)[0].config
    return config.checkpoints[-1] * LoanMDPParams.fico().episode_length


PROFILES = ("smoke", "book", "paper")

MEMORY_LEARNER = Experiment(
    id="fairmdp/memory-learner",
    title="FairQCM on the individual loan problem",
    arms={profile: _arms(profile) for profile in PROFILES},
    seeds={"smoke": 2, "book": 10, "paper": 10},
    horizon={profile: _horizon(profile) for profile in PROFILES},
    authors="",  # the authors have no such learner
)

EXPERIMENTS = (MEMORY_LEARNER,)
