"""Proximal policy optimisation and the fairness methods built on it.

============== ==========================================================
`fair_ppo`     the algorithm: Stable-Baselines3's PPO that asks a strategy
`strategy`     what a strategy may change, and plain PPO (G-PPO)
`elbert_po`    ELBERT-PO
`r_ppo`        R-PPO, a penalty on the reward
`a_ppo`        A-PPO, fairness terms in the advantage
`policy`       actor and critics as a Stable-Baselines3 policy
`networks`     the stacked networks behind it
`rollout`      buffer and advantage estimation for several signals
============== ==========================================================
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
