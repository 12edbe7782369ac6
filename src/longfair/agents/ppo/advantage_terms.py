"""Terms that a method adds to the advantage, as A-PPO and F-PPO do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from longfair.agents.ppo.strategy import standardised

if TYPE_CHECKING:
    from torch import Tensor


def with_terms(
    advantages: Tensor, features: Tensor, weights: Sequence[float], scaled: bool
) -> Tensor:
    """Add weighted terms to the reward's advantage and standardise the sum.

    Parameters
    ----------
    advantages, features
        As for `longfair.agents.ppo.strategy.Strategy.advantage`; the features are the terms.
    weights
        Weight of every term; the advantage has weight 1.
    scaled
        Whether advantage and terms are first scaled to [0, 1], each over the minibatch.
    """
    import torch

    terms = torch.cat([advantages[..., :1], features], dim=-1)
    if scaled:
        low, high = torch.aminmax(terms, dim=-2, keepdim=True)
        terms = (terms - low) / (high - low + 1e-8)
    return standardised((terms @ terms.new_tensor([1.0, *weights]))[..., None])[..., 0]
