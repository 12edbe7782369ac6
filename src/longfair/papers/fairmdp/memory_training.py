"""How a bank that keeps books learns from applicants, and what is reported of it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.memory_q_learning import MemoryQLearning
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.errors import UsageError
from longfair.papers.fairmdp.loans import loan_problem, step_weights
from longfair.papers.fairmdp.measured import mean_quantities, mean_rates, placed, table
from longfair.papers.fairmdp.memory_learner import Meeting
from longfair.papers.protocol import Act, Evaluation, Snapshots
from longfair.papers.setting import Setting
from longfair.runs.experiment import protocol


def train(meeting: Meeting, setting: Setting, seed: int) -> Snapshots:
    """Learn from applicants, and keep the bank at every checkpoint. A step is one decision."""
    problem, bank = loan_problem(), setting.method
    weights = step_weights(LoanMDPParams.fico(), bank.rates)
    agent = MemoryQLearning(problem, weights, bank.books, meeting.settings, seed)
    kept, met = [], 0
    for applicants in meeting.checkpoints:
        agent.learn(applicants - met)
        met = applicants
        kept.append(deepcopy(agent))
    steps = [met * problem.decisions for met in meeting.checkpoints]
    return Snapshots(steps, _in_turn, kept, agent.learned())


def _in_turn(which: Sequence[int], episodes: int, seed: int | None) -> Act:
    raise UsageError(
        "its balance goes from one applicant to the next, so episodes side by side have no meaning "
        "for this bank: use the measure 'settled-lending'"
    )


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
