"""How fair was it: pure functions of arrays, independent of every environment and agent.

========================  =========================================================
module                    what it measures
========================  =========================================================
`benefit`                 long-term benefit rates, exact and soft bias, gradients
`supply_demand`           supply and demand behind the static notions
`aggregation`             notions that take the ratio first, and what they miss
`windows`                 the same quantities over the last few steps
`distances`               optimal transport between groups
`decision_log`            rates and gaps of logged decisions, with intervals
`sinkhorn`                the same, smoothed, as F-PPO's training code asks for it
`memory_fairness`         fairness that depends on the past: schemes, memories, automata
========================  =========================================================
"""

from __future__ import annotations

from longfair.metrics import memory_fairness
from longfair.metrics.aggregation import (
    Trajectory,
    signed_gap_sum,
    squared_gap_sum,
    step_gaps,
    two_trajectories,
)
from longfair.metrics.benefit import (
    SquaredBiasGradient,
    benefit_rate,
    bias,
    bias_gradient,
    cumulative,
    long_term_benefit_rate,
    soft_bias,
    soft_bias_gradient,
    squared_bias_gradient,
)
from longfair.metrics.distances import cloud_distance, score_distance, sorted_count_distance
from longfair.metrics.supply_demand import (
    EqualisedOdds,
    SupplyDemand,
    accuracy_parity,
    demographic_parity,
    discovery_probability,
    equal_opportunity,
    equalised_odds,
)
from longfair.metrics.windows import (
    windowed_gap,
    windowed_rates,
    windowed_share_deviation,
    windowed_sum,
)

__all__ = [
    "EqualisedOdds",
    "SquaredBiasGradient",
    "SupplyDemand",
    "Trajectory",
    "accuracy_parity",
    "benefit_rate",
    "bias",
    "bias_gradient",
    "cloud_distance",
    "cumulative",
    "demographic_parity",
    "discovery_probability",
    "equal_opportunity",
    "equalised_odds",
    "long_term_benefit_rate",
    "memory_fairness",
    "score_distance",
    "signed_gap_sum",
    "soft_bias",
    "soft_bias_gradient",
    "sorted_count_distance",
    "squared_bias_gradient",
    "squared_gap_sum",
    "step_gaps",
    "two_trajectories",
    "windowed_gap",
    "windowed_rates",
    "windowed_share_deviation",
    "windowed_sum",
]
