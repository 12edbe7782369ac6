"""A continuous action space cut into the Voronoi cells of a square grid of centres."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.settings import Count, validated


class Cells:
    """Cells of the box [0, 1]^A: a grid of cubes around their centres.

    Parameters
    ----------
    per_action
        Cells along every action; there are M = per_action^A in all.
    actions
        Number of actions A.
    """

    @validated
    def __init__(self, per_action: Count, actions: Count = 2) -> None:
        self.per_action = per_action
        middles = (np.arange(self.per_action) + 0.5) / self.per_action
        axes = np.meshgrid(*[middles] * actions, indexing="ij")
        self.centres = np.stack(axes, axis=-1).reshape(-1, actions)

    def __len__(self) -> int:
        """Return the number of cells M."""
        return len(self.centres)

    def within(self, numbers: NDArray[np.int64], draws: FloatArray) -> FloatArray:
        """Return actions (N, A) in given cells (N,), uniform if draws (N, A) are, in [0, 1)."""
        return self.centres[numbers] + (draws - 0.5) / self.per_action
