"""Fair decision problems: fairness constraints in Markov decision processes (Wen et al. 2021)."""

from longfair.papers.fairmdp import cross_entropy, exploration, memory_learner, other_learners
from longfair.papers.fairmdp.checks import CHECKS

EXPERIMENTS = (
    *cross_entropy.EXPERIMENTS,
    *exploration.EXPERIMENTS,
    *other_learners.EXPERIMENTS,
    *memory_learner.EXPERIMENTS,
)

__all__ = ["CHECKS", "EXPERIMENTS"]
