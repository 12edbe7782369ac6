"""Long-term fairness with unknown dynamics: L-UCBFair and R-TD3 (Yin et al. 2023).

`learner` is L-UCBFair: least-squares value iteration with optimism, a softmax over cells of the
actions, and a price on unfairness. `features` and `offline_features` are what it is linear in.
`td3` is R-TD3, Stable-Baselines3's TD3 with a reward whose weight on fairness grows with time.
"""

import importlib
from typing import TYPE_CHECKING, Any

from longfair.agents.ucbfair.settings import LUCBFairSettings

if TYPE_CHECKING:
    from longfair.agents.ucbfair.cells import Cells
    from longfair.agents.ucbfair.features import LearnedFeatures, RadialFeatures
    from longfair.agents.ucbfair.learner import LUCBFair

__all__ = ["Cells", "LUCBFair", "LUCBFairSettings", "LearnedFeatures", "RadialFeatures"]

_PLACES = {
    "Cells": "longfair.agents.ucbfair.cells",
    "LUCBFair": "longfair.agents.ucbfair.learner",
    "LearnedFeatures": "longfair.agents.ucbfair.features",
    "RadialFeatures": "longfair.agents.ucbfair.features",
}


def __getattr__(name: str) -> Any:
    """Import what learns, and with it scipy, when somebody asks for it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
