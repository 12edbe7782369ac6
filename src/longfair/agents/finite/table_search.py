"""Constrained cross-entropy search over tables of logits, with exact values as scores.

It stands beside the exact solvers as the one that needs neither a linear program nor the
transitions, only scores. How the search moves is in `longfair.agents.fair_mdp.cross_entropy`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from longfair.agents.fair_mdp.cross_entropy import CrossEntropy, Gaussians, Scores, search
from longfair.agents.finite.problem import FiniteProblem, require_groups
from longfair.agents.finite.solution import FairSolution, NoFairPolicyError, solution
from longfair.arrays import FloatArray
from longfair.settings import NonNegative, validated


@validated
def solve(
    problem: FiniteProblem,
    tolerance: NonNegative,
    generator: np.random.Generator,
    settings: CrossEntropy | None = None,
) -> FairSolution:
    """Return the best sampled policy that keeps the tolerance.

    Parameters
    ----------
    problem
        The problem; every sample is evaluated exactly.
    tolerance
        Largest difference allowed between the values of two groups.
    generator
        Source of the samples.
    settings
        Of the search; those of the authors' code when not given.

    Raises
    ------
    NoFairPolicyError
        If no sample keeps the tolerance. It knows the smallest gap that was sampled.
    UsageError
        If the tolerance is negative, or there are fewer than two groups.
    """
    require_groups(problem)
    best, best_reward, smallest = None, -np.inf, np.inf
    start = Gaussians.standard(problem.reward.size)

    def policy(logits: FloatArray) -> FloatArray:
        return np.asarray(softmax(logits.reshape(problem.reward.shape), axis=1))

    def score(logits: FloatArray) -> Scores:
        values = [problem.evaluate(policy(row)) for row in logits]
        return Scores(
            np.array([value.reward for value in values]), np.array([value.gap for value in values])
        )

    for generation in search(score, start, tolerance, settings or CrossEntropy(), generator):
        reward, gap = generation.scores
        smallest = min(smallest, float(gap.min()))
        allowed = np.where(gap <= tolerance, reward, -np.inf)
        if allowed.max() > best_reward:
            best, best_reward = generation.parameters[allowed.argmax()], float(allowed.max())
    if best is None:
        raise NoFairPolicyError(tolerance, smallest)
    return solution(problem, problem.occupancy(policy(best)), tolerance, 0.0)
