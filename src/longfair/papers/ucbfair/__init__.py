"""L-UCBFair and R-TD3: long-term fairness with unknown dynamics (Yin et al. 2023)."""

from longfair.papers.ucbfair import (
    adult_worlds,
    beyond,
    box,
    descent,
    experiments,
    portraits,
    script_weight,
    sweeps,
)

CHECKS = {
    "ucbfair-same-flow": "longfair.papers.ucbfair.checks:same_flow",
    "ucbfair-same-flow-box": "longfair.papers.ucbfair.checks:same_flow_box",
    "ucbfair-threshold-optimal": "longfair.papers.ucbfair.checks:threshold_is_optimal",
    "ucbfair-blind-to-qualification": "longfair.papers.ucbfair.checks:blind_to_qualification",
    "ucbfair-accept-everybody": "longfair.papers.ucbfair.checks:accept_everybody",
    "ucbfair-bounds": "longfair.papers.ucbfair.theorem:bounds_hold",
    "ucbfair-not-linear": "longfair.papers.ucbfair.theorem:population_is_not_linear",
}

EXPERIMENTS = (
    *experiments.EXPERIMENTS,
    *sweeps.EXPERIMENTS,
    *box.EXPERIMENTS,
    *descent.EXPERIMENTS,
    *script_weight.EXPERIMENTS,
    *adult_worlds.EXPERIMENTS,
    *portraits.EXPERIMENTS,
    *beyond.EXPERIMENTS,
)

__all__ = ["CHECKS", "EXPERIMENTS"]
