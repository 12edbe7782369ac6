"""The end of a smoothed curve: what some papers plot and report in place of the last policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d

PREFIX = "smoothed_"
"""Begins the name of a metric that is told at the end of a smoothed curve."""


@dataclass(frozen=True)
class Smoothing:
    """How the curve of one run is smoothed.

    Parameters
    ----------
    deviation
        Standard deviation of the Gaussian filter, in evaluations.
    times
        How often the filter is applied.
    """

    deviation: float
    times: int = 1

    def end(self, curve: npt.ArrayLike) -> float:
        """Return the last point of a smoothed curve.

        Parameters
        ----------
        curve
            Shape (evaluations,), in their order.

        Returns
        -------
        float
            A weighted mean of the last evaluations.

        Notes
        -----
        Beyond an end the curve is mirrored, its last evaluation first, and the filter ends four
        standard deviations from its middle. That is what `scipy.ndimage.gaussian_filter1d` does if
        it is told nothing else.
        """
        smooth = np.asarray(curve, dtype=np.float64)
        for _ in range(self.times):
            smooth = gaussian_filter1d(smooth, self.deviation)
        return float(smooth[-1])
