r"""ELBERT-PO for several notions at once, such as equalised odds.

Equalised odds asks for equal true positive rates and for equal false positive rates. Each is a
long-term benefit rate of its own, with a pair of supply and demand per group, so the objective is

.. math:: J = \eta - \alpha\,(b^T)^2 - \alpha\,(b^F)^2

and the advantage is the reward's plus one chain-rule term per notion (Xu et al. 2024, Appendix A,
Equation 8). With M groups there are 4M + 1 critics. The authors did not run it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from longfair.agents.ppo.elbert_po import ElbertPO, advantage_weights
from longfair.agents.ppo.strategy import Plan, Rollout
from longfair.agents.register import FAIR_PPO, Style, register
from longfair.errors import UsageError
from longfair.settings import Count


@register(
    label="ELBERT-PO, several notions",
    place=50,
    style=Style("#56B4E9", "p"),
    loaded_by=FAIR_PPO,
)
@dataclass(frozen=True)
class SeveralNotionsPO(ElbertPO):
    """Equal long-term benefit rates under several notions.

    Parameters
    ----------
    notions
        How many notions the rollout's supply and demand hold, one after another: their last axis
        is `notions` times the number of groups long.
    """

    name: ClassVar[str] = "several-notions-po"
    revision: ClassVar[int] = 1
    notions: Count = 2

    def plan(self, rollout: Rollout) -> Plan:
        """Fix the totals, and weigh the advantages of every notion by its own bias."""
        supply = self._total(rollout.supply, rollout)
        demand = self._total(rollout.demand, rollout)
        if len(supply) % self.notions:
            raise UsageError(
                f"{len(supply)} pairs of supply and demand: give a multiple of {self.notions}, "
                "the number of notions"
            )
        each = [
            advantage_weights(*pair, self.alpha, self.beta)[1:].reshape(2, -1)
            for pair in zip(
                np.split(supply, self.notions), np.split(demand, self.notions), strict=True
            )
        ]
        weights = np.concatenate([[1.0], np.concatenate(each, axis=1).reshape(-1)])
        return super().plan(rollout)._replace(weights=weights.astype(np.float32))
