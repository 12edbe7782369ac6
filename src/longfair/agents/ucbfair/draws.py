"""How chances become actions: with draws of every step's own, or with those of an episode."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from longfair.agents.ucbfair.cells import Cells
from longfair.arrays import FloatArray


class OwnDraws:
    """Draws that are independent of each other.

    Parameters
    ----------
    cells
        Cells of the actions.
    rng
        Where numbers are drawn.
    """

    def __init__(self, cells: Cells, rng: np.random.Generator) -> None:
        self.cells = cells
        self.rng = rng

    def actions(self, step: int, chances: FloatArray) -> FloatArray:
        """Return actions (N, A) at a step of an episode, given chances (N, M) of the cells."""
        draws = self.rng.random((len(chances), 1 + self.cells.centres.shape[1]))
        below = np.cumsum(chances, axis=1)[:, :-1] <= draws[:, :1]
        return self.cells.within(below.sum(axis=1), draws[:, 1:])


class SharedDraws(OwnDraws):
    """Draws that are the same at every step of an episode, as the released script has them.

    It starts its random numbers from the episode's at every step. One for each cell is
    exponential, and the cell is taken whose chance over its number is the largest; so every step
    alone follows the chances, but a cell once taken is often taken again.
    """

    name: ClassVar[str] = "shared-draws"
    revision: ClassVar[int] = 1

    def __init__(self, cells: Cells, rng: np.random.Generator) -> None:
        super().__init__(cells, rng)
        self._numbers = np.empty((0, len(cells)))
        self._places = np.empty((0, cells.centres.shape[1]))

    def actions(self, step: int, chances: FloatArray) -> FloatArray:
        """Return actions (N, A) at a step of an episode, given chances (N, M) of the cells."""
        if step == 0 or len(chances) != len(self._numbers):
            self._numbers = self.rng.exponential(size=chances.shape)
            self._places = self.rng.random((len(chances), self._places.shape[1]))
        return self.cells.within((chances / self._numbers).argmax(axis=1), self._places)
