"""ELBERT: equal long-term benefit rate (Xu et al. 2024)."""

from longfair.papers.elbert.ablations import ABLATIONS
from longfair.papers.elbert.attention import ATTENTION, ATTENTION_HARDER
from longfair.papers.elbert.infectious import INFECTIOUS, INFECTIOUS_HARDER
from longfair.papers.elbert.lending import LENDING
from longfair.papers.elbert.notions import EXTENSIONS

CHECKS = {
    "temporal-discrimination": "longfair.papers.elbert.checks:temporal_discrimination",
    "soft-bias-bounds": "longfair.papers.elbert.checks:soft_bias_bounds",
    "horizon-one": "longfair.papers.elbert.checks:horizon_one",
    "policy-gradient": "longfair.papers.elbert.gradient:policy_gradient_check",
    "no-bellman-equation": "longfair.papers.elbert.bellman:no_bellman_equation",
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
