"""Executable check of ELBERT's Propositions 3.1 and 3.2: the gradient that ELBERT-PO follows."""

from __future__ import annotations

import numpy as np

from longfair.agents.supply_demand_mdp import (
    SupplyDemandMDP,
    finite_differences,
    policy_gradient,
)
from longfair.runs.claims import CheckResult
from longfair.wording import numeral, power_of_ten

TOLERANCE = 1e-6
PROBLEMS = 10


def policy_gradient_check() -> CheckResult:
    """Compare the policy gradient with finite differences on random tabular problems.

    Half of the problems have two groups (exact bias), half have four (soft bias).

    Returns
    -------
    CheckResult
        Computed: the largest relative difference, and the smallest one when the fairness terms
        are left out, which shows that the check could fail.
    """
    rng = np.random.default_rng(32)
    right, wrong = [], []
    for number in range(PROBLEMS):
        groups = 2 if number % 2 == 0 else 4
        problem = SupplyDemandMDP.random(states=5, actions=3, groups=groups, rng=rng)
        logits = rng.normal(size=(5, 3))
        expected = finite_differences(problem, logits, alpha=3.0, beta=20.0)
        right.append(_distance(policy_gradient(problem, logits, 3.0, 20.0), expected))
        wrong.append(_distance(policy_gradient(problem, logits, 0.0, 20.0), expected))
    computed = {
        "largest_difference": max(right),
        "smallest_difference_without_fairness": min(wrong),
    }
    detail = (
        f"On {PROBLEMS} random problems the gradient differs from finite differences by at most "
        f"{power_of_ten(max(right), 1)} of its length; without the fairness terms by at least "
        f"{numeral(min(wrong), 1)}."
    )
    passed = max(right) < TOLERANCE < min(wrong)
    return CheckResult(passed, computed, detail, instances=PROBLEMS)


def _distance(gradient: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(gradient - expected) / np.linalg.norm(expected))
