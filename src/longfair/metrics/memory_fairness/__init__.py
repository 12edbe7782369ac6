"""Fairness that depends on the past: statuses, schemes, memories (Alamdari et al. 2024).

========================  ==========================================================
module                    the paper's term
========================  ==========================================================
`decisions`               from simulated or logged decisions to who received what
`status`                  status functions U: how well everybody fared so far
`welfare`                 aggregation functions W: one number for one moment
`over_time`               W_time: one number for all moments
`schemes`                 fairness schemes, long-term to bounded, rewards
`individual_unfairness`   to whom it was unfair
`memory`                  memory augmentations, Markovian functions
`automata`                value-regular statuses, Theorems 5.4 and 5.5
========================  ==========================================================
"""

from __future__ import annotations

from longfair.metrics.memory_fairness.automata import (
    Automaton,
    StatusMemory,
    as_words,
    automata_of_memory,
    automaton,
    memory_needed,
    memory_of_automata,
    same_language,
)
from longfair.metrics.memory_fairness.decisions import received_by, received_from_log
from longfair.metrics.memory_fairness.individual_unfairness import (
    least_squared_unfairness,
    overall_unfairness,
    unfair_in_favour_of,
    unfair_to,
    unfairness,
)
from longfair.metrics.memory_fairness.memory import (
    MemoryAugmentation,
    is_markovian,
    memory_augmentation,
)
from longfair.metrics.memory_fairness.over_time import (
    average_moment,
    discounted_sum,
    last_moment,
    worst_moment,
)
from longfair.metrics.memory_fairness.schemes import (
    FairnessScheme,
    PolicyScore,
    anytime,
    bounded,
    every,
    every_moment,
    long_term,
    periodic,
    policy_score,
    scheme_rewards,
    timepoint_first,
)
from longfair.metrics.memory_fairness.status import (
    capped_counts,
    count_gap_modulo,
    counts,
    envy,
    equal_so_far,
    returns,
)
from longfair.metrics.memory_fairness.welfare import (
    all_equal,
    log_nash_welfare,
    nash_welfare,
    rawlsian_welfare,
    relaxed_parity,
    utilitarian_welfare,
)

__all__ = [
    "Automaton",
    "FairnessScheme",
    "MemoryAugmentation",
    "PolicyScore",
    "StatusMemory",
    "all_equal",
    "anytime",
    "as_words",
    "automata_of_memory",
    "automaton",
    "average_moment",
    "bounded",
    "capped_counts",
    "count_gap_modulo",
    "counts",
    "discounted_sum",
    "envy",
    "equal_so_far",
    "every",
    "every_moment",
    "is_markovian",
    "last_moment",
    "least_squared_unfairness",
    "log_nash_welfare",
    "long_term",
    "memory_augmentation",
    "memory_needed",
    "memory_of_automata",
    "nash_welfare",
    "overall_unfairness",
    "periodic",
    "policy_score",
    "rawlsian_welfare",
    "received_by",
    "received_from_log",
    "relaxed_parity",
    "returns",
    "same_language",
    "scheme_rewards",
    "timepoint_first",
    "unfair_in_favour_of",
    "unfair_to",
    "unfairness",
    "utilitarian_welfare",
    "worst_moment",
]
