"""Constrained policy optimisation (Achiam et al. 2017), one of F-PPO's baselines.

============== ==========================================================
`cpo`          the algorithm: play, step within a trust region, fit critics
`settings`     what it is told, as coded and as published
`trust_region` the step: the best for the reward that keeps the constraint
`samples`      a batch of episodes, and what a policy promises on it
`networks`     the policy, and critics fitted by L-BFGS
============== ==========================================================

Libraries that have the method (OmniSafe, FSRL) bring loops and environments of their own, pinned
releases of Gymnasium, and tens of packages beside torch. What is needed of it is this folder.
"""

from typing import TYPE_CHECKING

from longfair.agents.cpo.settings import CPOSettings
from longfair.lazy import names_from

if TYPE_CHECKING:
    from longfair.agents.cpo.cpo import CPO

__all__ = ["CPO", "CPOSettings"]


# The algorithm brings torch.
__getattr__ = names_from(__name__, {"CPO": "longfair.agents.cpo.cpo"})
