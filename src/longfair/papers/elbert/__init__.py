"""ELBERT: equal long-term benefit rate (Xu et al. 2024)."""

from longfair.papers.elbert.ablations import ABLATIONS
from longfair.papers.elbert.attention import ATTENTION, ATTENTION_HARDER
from longfair.papers.elbert.bellman import no_bellman_equation
from longfair.papers.elbert.checks import CHECKS as _METRIC_CHECKS
from longfair.papers.elbert.gradient import policy_gradient_check
from longfair.papers.elbert.infectious import INFECTIOUS, INFECTIOUS_HARDER
from longfair.papers.elbert.lending import LENDING
from longfair.papers.elbert.notions import EXTENSIONS

CHECKS = {
    **_METRIC_CHECKS,
    "policy-gradient": policy_gradient_check,
    "no-bellman-equation": no_bellman_equation,
}
EXPERIMENTS = (
    LENDING,
    ATTENTION,
    ATTENTION_HARDER,
    INFECTIOUS,
    INFECTIOUS_HARDER,
    *ABLATIONS,
    *EXTENSIONS,
)

__all__ = ["CHECKS", "EXPERIMENTS"]
