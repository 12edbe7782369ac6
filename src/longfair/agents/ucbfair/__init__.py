"""Long-term fairness with unknown dynamics: L-UCBFair and R-TD3 (Yin et al. 2023).

`learner` is L-UCBFair: least-squares value iteration with optimism, a softmax over cells of the
actions, and a price on unfairness. `features` and `offline_features` are what it is linear in.
`td3` is R-TD3, Stable-Baselines3's TD3 with a reward whose weight on fairness grows with time.
"""

from typing import TYPE_CHECKING

from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.lazy import names_from

if TYPE_CHECKING:
    from longfair.agents.ucbfair.cells import Cells
    from longfair.agents.ucbfair.features import LearnedFeatures, RadialFeatures
    from longfair.agents.ucbfair.learner import LUCBFair

__all__ = ["Cells", "LUCBFair", "LUCBFairSettings", "LearnedFeatures", "RadialFeatures"]

# What learns brings scipy.
_PLACES = {
    "Cells": "longfair.agents.ucbfair.cells",
    "LUCBFair": "longfair.agents.ucbfair.learner",
    "LearnedFeatures": "longfair.agents.ucbfair.features",
    "RadialFeatures": "longfair.agents.ucbfair.features",
}
__getattr__ = names_from(__name__, _PLACES)
