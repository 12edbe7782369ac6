"""Fair decision problems: fairness constraints in Markov decision processes (Wen et al. 2021)."""

from longfair.papers.fairmdp import (
    cross_entropy,
    exploration,
    individuals,
    memory_learner,
    other_learners,
)

CHECKS = {
    "fair-mdp-randomness": "longfair.papers.fairmdp.checks:randomness",
    "fair-mdp-linear-program": "longfair.papers.fairmdp.checks:linear_program_is_exact",
    "fair-mdp-price-as-coded": "longfair.papers.fairmdp.checks:price_as_coded",
    "fair-mdp-price-as-published": "longfair.papers.fairmdp.checks:price_as_published",
    "fair-mdp-appendix-g-gap": "longfair.papers.fairmdp.checks:appendix_g_gap",
    "fair-mdp-appendix-g-level": "longfair.papers.fairmdp.checks:appendix_g_level",
    "fair-mdp-tightened-check": "longfair.papers.fairmdp.theorems:tightened_check",
    "fair-mdp-stricter-set": "longfair.papers.fairmdp.theorems:stricter_set",
    "fair-mdp-batches": "longfair.papers.fairmdp.theorems:batches",
    "fair-mdp-race-blind": "longfair.papers.fairmdp.theorems:race_blind",
    "fair-mdp-conservative": "longfair.papers.fairmdp.theorems:conservative",
    "fair-mdp-conservative-tolerance": (
        "longfair.papers.fairmdp.theorems:conservative_within_tolerance"
    ),
    "fair-mdp-without-the-step": "longfair.papers.fairmdp.checks:without_the_step",
}
EXPERIMENTS = (
    *cross_entropy.EXPERIMENTS,
    *exploration.EXPERIMENTS,
    *other_learners.EXPERIMENTS,
    *memory_learner.EXPERIMENTS,
    *individuals.EXPERIMENTS,
)

__all__ = ["CHECKS", "EXPERIMENTS"]
