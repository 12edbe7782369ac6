"""F-PPO: short-term and long-term fairness in dynamic systems (Hu, Lear and Zhang 2024)."""

from longfair.papers.fppo.attention import ATTENTION
from longfair.papers.fppo.epidemic import EPIDEMIC
from longfair.papers.fppo.lending import LENDING

EXPERIMENTS = (LENDING, ATTENTION, EPIDEMIC)

__all__ = ["EXPERIMENTS"]
