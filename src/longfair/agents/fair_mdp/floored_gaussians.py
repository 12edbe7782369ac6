"""The distribution over policies as the authors' code moves it, with a floor by accident."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longfair.agents.fair_mdp.cross_entropy import Gaussians
from longfair.arrays import FloatArray

FLOOR = 1e-5
"""What the code adds to a negative variance, and takes for the least standard deviation."""


@dataclass(frozen=True)
class FlooredGaussians(Gaussians):
    r"""Gaussians whose second moments are repaired as in the authors' code.

    Notes
    -----
    Implementation details, with their source (``constrainedCEM.py`` of the code):

    1. A negative variance :math:`v`, which rounding can leave, is *added* to its second moment,
       and so is 1e-5. The variance becomes :math:`2 v + 10^{-5}`.
    2. No second moment is below 1e-5. The floor is meant for standard deviations, but their list
       is that of the second moments.
    """

    def moved(self, samples: FloatArray, weights: FloatArray, step: float) -> FlooredGaussians:
        """Move the moments a step towards the weighted ones of samples (n', d), and repair them."""
        moved = super().moved(samples, weights, step)
        variance = moved.second_moment - moved.mean**2
        repaired = moved.second_moment + np.where(variance < 0.0, variance + FLOOR, 0.0)
        return FlooredGaussians(moved.mean, np.maximum(repaired, FLOOR), moved.bounds)
