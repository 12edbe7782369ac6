"""FairQCM on the loan problem of the fair MDP paper: fairness by memory in place of randomness.

The learner knows the problem only from applicants, one after the other, and keeps a balance of what
the groups received. What it has learned is evaluated beside the exact optimum: early, after the
experience that the learners of the ELBERT paper have, and at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.memory_q_learning import Books, Memory, MemoryQLearning, QLearning
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.errors import UsageError
from longfair.papers.fairmdp.loans import Rates, loan_problem, step_weights
from longfair.papers.fairmdp.measured import mean_quantities, mean_rates, placed, table
from longfair.papers.protocol import Act, Evaluation, Snapshots, train_and_evaluate
from longfair.papers.setting import Evaluating, Setting, World
from longfair.runs.experiment import Arm, Experiment, protocol
from longfair.settings import Count, Natural, validate

if TYPE_CHECKING:
    from longfair.runs.checkpoints import Checkpoint


@dataclass(frozen=True)
class Bank:
    """A bank that keeps books. Its settings were chosen on run numbers from 1000 on."""

    rates: Rates
    """How loans count in the lending rate."""
    books: Books


@dataclass(frozen=True)
class Meeting:
    """How many applicants a bank meets, and how it learns from them; the same for all methods."""

    settings: QLearning
    early: Count = 20_480
    """Applicants after which the first measurement is made that is reported as a result."""
    doublings: Natural = 5
    """How often the experience is doubled after that."""
    halvings: Natural = 2
    """How many points the learning curve has before `early`, each at half of the next."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def shortened(self, rollouts: int, episode_length: int) -> Meeting:
        """Return the same for a few applicants."""
        return replace(self, early=256, doublings=1)

    @property
    def checkpoints(self) -> list[int]:
        """Applicants after which the bank is measured."""
        return [
            self.early * 2**power if power >= 0 else self.early // 2**-power
            for power in range(-self.halvings, self.doublings + 1)
        ]

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Learn from applicants, and keep the bank at every checkpoint. A step is one decision."""
        problem, bank = loan_problem(), setting.method
        weights = step_weights(LoanMDPParams.fico(), bank.rates)
        agent = MemoryQLearning(problem, weights, bank.books, self.settings, seed)
        kept, met = [], 0
        for applicants in self.checkpoints:
            agent.learn(applicants - met)
            met = applicants
            kept.append(deepcopy(agent))
        return Snapshots([met * problem.decisions for met in self.checkpoints], _in_turn, kept)


def _in_turn(which: Sequence[int], episodes: int, seed: int | None) -> Act:
    raise UsageError(
        "its balance goes from one applicant to the next, so episodes side by side have no meaning "
        "for this bank: use the measure 'settled-lending'"
    )


@dataclass(frozen=True)
class Settled(Evaluating):
    """Lending is evaluated exactly at every balance; how often each is read is counted."""

    measure: str = "settled-lending"
    judged_on: Count = 2_000_000
    """Applicants met to find out what the balance settles at."""
    judged_on_curve: Count = 400_000
    """The same along the learning curve."""

    def shortened(self) -> Settled:
        """Return the same for a few applicants."""
        return replace(self, judged_on=2_000, judged_on_curve=1_000)


@protocol("settled-lending")
def settled_lending(evaluation: Evaluation) -> pd.DataFrame:
    """Measure a bank along the way, and at the end.

    `price` is what a loan to the group that is ahead costs, on average over applicants. Metrics
    with `_early` were measured after `early` applicants. The applicants on whom readings are
    counted are of another stream than those of training, and the same for all methods.
    """
    learning: Meeting = evaluation.setting.learning
    evaluating: Any = evaluation.setting.evaluating
    prices = evaluation.setting.method.books.prices
    parts, early = [], {}
    for step, met, agent in zip(
        evaluation.snapshots.steps,
        learning.checkpoints,
        evaluation.snapshots.policies,
        strict=True,
    ):
        reported = met in (learning.early, learning.checkpoints[-1])
        judged_on = evaluating.judged_on if reported else evaluating.judged_on_curve
        readings = agent.readings(judged_on, np.random.default_rng(evaluation.seed))
        outcome = agent.outcome(readings)
        found = mean_quantities(outcome) | {"price": float(readings @ prices)}
        parts.append(table("curve", step, found))
        if met == learning.early:
            early = {f"{name}_early": value for name, value in found.items()}
    parts.append(table("final", step, found | early))
    parts.append(placed(mean_rates(outcome), "final", step))
    return pd.concat(parts, ignore_index=True)


TOLERANCE = 0.098
"""Planned for, so that 0.1 is kept although the long run is estimated from finitely many people."""

BANKS: dict[str, Bank] = {
    "as_coded": Bank("as_coded", Books(TOLERANCE, steepest=0.004)),
    "as_published": Bank("discounted", Books(TOLERANCE, steepest=0.5)),
}
"""Gaps of each variant, and books for them. The steepest price is well above the one needed."""

METHODS: dict[str, tuple[Memory, str]] = {
    "fairqcm": ("imagined", "learns from every step for every balance it could have had"),
    "min": ("real", "sees the balance, learns for the one it has"),
    "memoryless": ("none", "is rewarded by the balance without seeing it"),
}
"""FairQCM, and what it takes away step by step: imagined memories, then the memory itself."""

PROFILES = ("smoke", "book", "paper")


def _setting(profile: str, variant: str, memory: Memory) -> Setting:
    learning, evaluating = Meeting(QLearning(memory)), Settled()
    if profile == "smoke":
        learning = replace(learning, early=640, doublings=1, halvings=0)
        evaluating = replace(evaluating, judged_on=4_000, judged_on_curve=1_000)
    return Setting(World("longfair/LoanMDP-v0"), BANKS[variant], learning, evaluating)


def _arms(profile: str) -> tuple[Arm, ...]:
    return tuple(
        Arm(method, variant, _setting(profile, variant, memory), train_and_evaluate, description)
        for variant in BANKS
        for method, (memory, description) in METHODS.items()
    )


def _horizon(profile: str) -> int:
    learning: Meeting = _arms(profile)[0].config.learning
    return learning.checkpoints[-1] * LoanMDPParams.fico().episode_length


MEMORY_LEARNER = Experiment(
    id="fairmdp/memory-learner",
    title="FairQCM on the individual loan problem",
    arms={profile: _arms(profile) for profile in PROFILES},
    seeds={"smoke": 2, "book": 10, "paper": 10},
    horizon={profile: _horizon(profile) for profile in PROFILES},
    authors="",  # the authors have no such learner
)

EXPERIMENTS = (MEMORY_LEARNER,)
