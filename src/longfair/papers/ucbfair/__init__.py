"""L-UCBFair and R-TD3: long-term fairness with unknown dynamics (Yin et al. 2023)."""

from longfair.papers.ucbfair.experiments import EXPERIMENTS

CHECKS: dict[str, str] = {}

__all__ = ["CHECKS", "EXPERIMENTS"]
