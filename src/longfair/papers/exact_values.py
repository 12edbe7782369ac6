"""Exact expected returns in the environments that an exact solver reaches.

They are the yardsticks for what is learned: no policy can do better than the best choice. They take
a while, so the book reads them from a file that `scripts/write_exact_values.py` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from longfair.agents.finite import FiniteProblem
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut import exact as exact_doughnut
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.envs.loan_mdp import tabular as loan_mdp_written_out
from longfair.envs.loan_pool import exact as exact_loan_pool

Values = Iterator[tuple[str, str, float]]
"""Preset, policy, expected return of an episode."""


def doughnut() -> Values:
    """Yield what the fixed policies of the doughnut problem score."""
    controllers = {
        "turns that skip the absent": exact_doughnut.rotation_skipping_absent,
        "somebody who is there, at random": exact_doughnut.somebody_there_at_random,
        "turns that are lost on the absent": exact_doughnut.strict_rotation,
        "anybody, at random": exact_doughnut.anybody_at_random,
        "the first who is there": exact_doughnut.fixed_priority,
    }
    for preset in DoughnutParams.PRESETS:
        params: DoughnutParams = getattr(DoughnutParams, preset)()
        presence, length = params.presence_probability, params.episode_length
        best = exact_doughnut.least_served_score(
            len(presence), presence[0], length, params.smoothing
        )
        yield preset, "best: whoever is there and has had least", best.reward
        for policy, controller in controllers.items():
            score = exact_doughnut.controller_score(controller(presence), length, params.smoothing)
            yield preset, policy, score.reward


def loan_pool() -> Values:
    """Yield the best value of the discrete loan pool and those of fixed rules."""
    pool = exact_loan_pool.PairedLoanPool()
    cases = {
        "best": (pool, exact_loan_pool.best_choice),
        "best of those that keep the difference to at most 10 loans": (
            replace(pool, largest_gap=10),
            exact_loan_pool.best_choice,
        ),
        "the group with fewer loans, there the best credit": (
            pool,
            exact_loan_pool.lagging_group_best_credit,
        ),
        "somebody who asks, at random": (pool, exact_loan_pool.somebody_asking_at_random),
        "anybody, at random": (pool, exact_loan_pool.anybody_at_random),
    }
    for policy, (problem, rule) in cases.items():
        yield "discrete", policy, exact_loan_pool.loan_pool_value(problem, rule)


def loan_mdp() -> Values:
    """Yield the best value of the individual loan problem and that of lending to everybody."""
    for preset in LoanMDPParams.PRESETS:
        params: LoanMDPParams = getattr(LoanMDPParams, preset)()
        model = loan_mdp_written_out(preset)
        problem = FiniteProblem.of_face(model)
        always = np.tile([0.0, 1.0], (len(model.states), 1))
        for discount, note in ((1.0, ""), (params.discount, f", discount {params.discount:g}")):
            best = problem.backward_induction(model.horizon, discount).values[0]
            granted = problem.policy_values(always, model.horizon, discount)[0]
            yield preset, f"best{note}", float(model.initial_distribution @ best)
            yield preset, f"lend to everybody{note}", float(model.initial_distribution @ granted)


SOLVED: Mapping[str, Callable[[], Values]] = {
    "Doughnut": doughnut,
    "LoanPool": loan_pool,
    "LoanMDP": loan_mdp,
}
"""By the name of the environment."""


def exact_values() -> list[dict[str, Any]]:
    """Compute all exact values.

    Returns
    -------
    list of dict
        `environment`, `preset`, `policy`, `value` (expected undiscounted return of an episode,
        unless the policy's name gives a discount).
    """
    return [
        {"environment": name, "preset": preset, "policy": policy, "value": value}
        for name, solve in SOLVED.items()
        for preset, policy, value in solve()
    ]
