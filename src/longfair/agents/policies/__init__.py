"""Policies that need no training: the bar that a learned policy has to clear.

Lending has `lending` (acceptance by group and score) and `equal_opportunity` (an oracle). Attention
allocation has `attention`, epidemic control `epidemic`. Doughnuts and the loan pool, where one
thing at a time is handed to one of a few people, have `handing_out`. All of them are importable
from here. `constant_allocations` finds the best constant allocation of attention exactly.
"""

from longfair.agents.policies.attention import (
    ConstantAllocation,
    EqualLogits,
    GaussianLogits,
    GreedyDiscoveries,
    ProportionalToExcess,
    ProportionalToIncidents,
    ProportionalToRates,
)
from longfair.agents.policies.epidemic import (
    VaccinateHighestDegree,
    VaccinateMostExposed,
    VaccinateNobody,
    VaccinateThenWaste,
    VaccinateUniformly,
    VaccinationLottery,
)
from longfair.agents.policies.equal_opportunity import EqualOpportunityOracle
from longfair.agents.policies.handing_out import (
    AllocationPolicy,
    AlwaysTheSame,
    AnybodyAtRandom,
    FixedPriority,
    LaggingGroupBestCredit,
    LeastServedThere,
    Rotation,
    SomebodyThereAtRandom,
)
from longfair.agents.policies.lending import (
    AcceptanceTable,
    applicants,
    constant_policy,
    threshold_policy,
)
from longfair.agents.policies.policy import Policy

__all__ = [
    "AcceptanceTable",
    "AllocationPolicy",
    "AlwaysTheSame",
    "AnybodyAtRandom",
    "ConstantAllocation",
    "EqualLogits",
    "EqualOpportunityOracle",
    "FixedPriority",
    "GaussianLogits",
    "GreedyDiscoveries",
    "LaggingGroupBestCredit",
    "LeastServedThere",
    "Policy",
    "ProportionalToExcess",
    "ProportionalToIncidents",
    "ProportionalToRates",
    "Rotation",
    "SomebodyThereAtRandom",
    "VaccinateHighestDegree",
    "VaccinateMostExposed",
    "VaccinateNobody",
    "VaccinateThenWaste",
    "VaccinateUniformly",
    "VaccinationLottery",
    "applicants",
    "constant_policy",
    "threshold_policy",
]
