"""Terms that a method adds to the advantage, as A-PPO and F-PPO do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from longfair.agents.ppo.strategy import standardised
from longfair.arrays import FloatArray

if TYPE_CHECKING:
    from torch import Tensor


def level_and_increase(
    before: FloatArray, after: FloatArray, looked_at: FloatArray, tolerance: float
) -> FloatArray:
    r"""Return A-PPO's two terms of every step, (T, N, 2).

    .. math:: \min(0, \omega - \Delta), \qquad
              \min\big(0, -(\Delta' - \Delta_b)\,1[\Delta > \omega]\big)

    Parameters
    ----------
    before, after
        (T, N): disparities :math:`\Delta_b` and :math:`\Delta'` around the step.
    looked_at
        (T, N): the one of them that is held against the tolerance, :math:`\Delta`.
    tolerance
        :math:`\omega`, up to which the terms vanish.
    """
    level = np.minimum(0.0, tolerance - looked_at)
    increase = np.minimum(0.0, (before - after) * (looked_at > tolerance))
    return np.stack([level, increase], axis=2)


def with_terms(
    advantages: Tensor, features: Tensor, weights: Sequence[float], scaled: bool
) -> Tensor:
    """Add weighted terms to the reward's advantage and standardise the sum (Hu et al., Equation 4).

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
