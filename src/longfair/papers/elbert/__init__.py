"""ELBERT: equal long-term benefit rate (Xu et al. 2024)."""

from longfair.papers.elbert.checks import CHECKS as _METRIC_CHECKS
from longfair.papers.elbert.gradient import policy_gradient_check
from longfair.papers.elbert.lending import LENDING

CHECKS = {**_METRIC_CHECKS, "policy-gradient": policy_gradient_check}
EXPERIMENTS = (LENDING,)

__all__ = ["CHECKS", "EXPERIMENTS"]
