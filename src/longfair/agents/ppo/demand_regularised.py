r"""ELBERT-PO that also values the demand of one group.

A bias can shrink because the disadvantaged group asks for less. Where its demand must not be
driven down, it is added to the objective with a weight :math:`\zeta` (Xu et al. 2024, Appendix E):

.. math:: J^{reg} = J + \zeta\,\eta^D_g,\qquad A^{reg}_t = A^{fair}_t + \zeta A^D_{g,t} .

The paper gives no value of the weight, and the authors did not run it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.strategy import Plan, Rollout
from longfair.agents.register import FAIR_PPO, Style, register
from longfair.errors import UsageError
from longfair.settings import Natural, NonNegative


@register(
    label="ELBERT-PO, demand weighted",
    place=60,
    style=Style("#009E73", "X"),
    loaded_by=FAIR_PPO,
)
@dataclass(frozen=True)
class DemandRegularisedPO(ElbertPO):
    """Equal long-term benefit rates without driving down the demand of one group.

    Parameters
    ----------
    demand_weight
        The weight of the group's demand. Where advantages are standardised one by one it weighs
        the standardised advantage, so that it compares with 1, the weight of the reward.
    regularised_group
        The group whose demand is valued.
    """

    name: ClassVar[str] = "demand-regularised-po"
    revision: ClassVar[int] = 1
    demand_weight: NonNegative = 1.0
    regularised_group: Natural = 1

    def plan(self, rollout: Rollout) -> Plan:
        """Add the weight to that of the group's demand."""
        plan = super().plan(rollout)
        groups = rollout.demand.shape[2]
        if not 0 <= self.regularised_group < groups:
            raise UsageError(
                f"regularised_group={self.regularised_group}: give a group in 0..{groups - 1}"
            )
        weights = plan.weights.copy()
        weights[1 + groups + self.regularised_group] += self.demand_weight
        return plan._replace(weights=weights)
