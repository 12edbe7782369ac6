"""A generator that gives the population the starts of a log of the authors' code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class LoggedStarts:
    """The starts of a log (E, 2), one episode after the other."""

    def __init__(self, starts: FloatArray) -> None:
        self._left = iter(starts)

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> FloatArray:
        return next(self._left).reshape(shape)
