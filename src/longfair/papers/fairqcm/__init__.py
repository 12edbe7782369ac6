"""FairQCM: fairness with memory (Alamdari et al. 2024)."""

from longfair.papers.fairqcm.beyond import EXPERIMENTS as _BEYOND
from longfair.papers.fairqcm.checks import CHECKS
from longfair.papers.fairqcm.deep import EXPERIMENTS as _DEEP
from longfair.papers.fairqcm.tabular import EXPERIMENTS as _TABULAR

EXPERIMENTS = (*_TABULAR, *_DEEP, *_BEYOND)

__all__ = ["CHECKS", "EXPERIMENTS"]
