"""F-PPO: short-term and long-term fairness in dynamic systems (Hu, Lear and Zhang 2024)."""

from longfair.papers.fppo import beyond
from longfair.papers.fppo.attention import ATTENTION
from longfair.papers.fppo.epidemic import EPIDEMIC
from longfair.papers.fppo.falling import FALLING
from longfair.papers.fppo.lending import LENDING
from longfair.papers.fppo.vaccines import VACCINES

CHECKS = {
    "fppo-proposition-1": "longfair.papers.fppo.checks:proposition_1",
    "fppo-vacuous-bound": "longfair.papers.fppo.checks:vacuous_bound",
    "fppo-blind-training": "longfair.papers.fppo.checks:blind_training",
    "fppo-plotted-distances": "longfair.papers.fppo.checks:plotted_distances",
}
EXPERIMENTS = (LENDING, ATTENTION, EPIDEMIC, FALLING, VACCINES, *beyond.EXPERIMENTS)

__all__ = ["CHECKS", "EXPERIMENTS"]
