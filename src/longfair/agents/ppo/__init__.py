"""Proximal policy optimisation and the fairness methods built on it.

==================== =============================================================
`fair_ppo`           the algorithm: PPO that asks a strategy, as Stable-Baselines3
`strategy`           what a strategy may change, and plain PPO (G-PPO)
`elbert_po`          ELBERT-PO
`demand_regularised` ELBERT-PO that keeps the demand up
`equalised_odds`     ELBERT-PO for equalised odds
`r_ppo`              R-PPO, a penalty on the reward
`a_ppo`              A-PPO, fairness terms in the advantage
`f_ppo`              F-PPO-L, terms for both gaps in the advantage
`massaging`          F-PPO, which changes actions besides; one file per world
`policy`             actor and critics as a Stable-Baselines3 policy
`separate_clipping`  the same, each network's gradient clipped on its own
`shared_trunk`       the same on layers that all share, as F-PPO's
`networks`           the stacked networks behind it
`rollout`            buffer and advantage estimation for several signals
`loss`               PPO's loss in torch
`compiled_update`    its gradient, written out and compiled
==================== =============================================================
"""

from typing import TYPE_CHECKING

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.lazy import names_from

if TYPE_CHECKING:
    from longfair.agents.ppo.fair_ppo import FairPPO

__all__ = ["APPO", "RPPO", "ElbertPO", "FairPPO", "Strategy"]


# The algorithm brings torch.
__getattr__ = names_from(__name__, {"FairPPO": "longfair.agents.ppo.fair_ppo"})
