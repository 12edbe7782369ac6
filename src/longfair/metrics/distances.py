r"""How far apart two groups are: optimal-transport distances, and one that cannot see scores.

* `score_distance` is the Wasserstein-1 distance between two distributions over ordered scores:
  how many score levels an average member of one group has to move to look like the other group.
* `cloud_distance` is the exact transport cost between two clouds of points with Euclidean ground
  cost.  F-PPO's lending figure applies it to clouds of probability vectors, one per evaluation
  episode.  It ignores that scores are ordered.
* `sorted_count_distance` is what F-PPO's training code would compute if its solver were exact: it
  treats the *counts* of the score levels as if they were samples, so it does not see which score a
  count belongs to. What its solver answers is `longfair.metrics.sinkhorn.sinkhorn_distance`.

Transport is solved by the POT library, which is imported on first use because it loads slowly.

References
----------
Hu, Lear and Zhang (2024) and the authors' code; Flamary et al. (2021), *POT: Python Optimal
Transport*.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics._arrays import finite, non_negative, same_shape


def score_distance(
    first: ArrayLike, second: ArrayLike, scores: ArrayLike | None = None
) -> FloatArray:
    """Wasserstein-1 distance between distributions over ordered scores.

    Parameters
    ----------
    first, second
        Probabilities, equal shapes (..., levels), summing to one over the last axis.
    scores
        Position of each level, shape (levels,).  By default 0, 1, 2, ..., so that the distance
        is measured in score levels.

    Returns
    -------
    numpy.ndarray
        Shape (...), in the unit of `scores`.

    Raises
    ------
    UsageError
        If shapes differ, a row is not a distribution, or `scores` does not fit.
    """
    left, right = _distributions(first, "first"), _distributions(second, "second")
    same_shape(left, right, "first and second")
    levels = left.shape[-1]
    places = np.arange(levels, dtype=np.float64) if scores is None else finite(scores, "scores")
    if places.shape != (levels,):
        raise UsageError(f"scores must have shape ({levels},); given {places.shape}")
    rows = left.reshape(-1, levels).T, right.reshape(-1, levels).T
    positions = np.repeat(places[:, None], rows[0].shape[1], axis=1)
    distances = _transport().wasserstein_1d(positions, positions, *rows, p=1)
    return np.asarray(distances, dtype=np.float64).reshape(left.shape[:-1])[()]


def cloud_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Exact transport cost between two clouds of equally weighted points.

    Parameters
    ----------
    first, second
        Points, shapes (points, dimensions); the numbers of points may differ.

    Returns
    -------
    float
        Mean Euclidean distance under the best matching.

    Raises
    ------
    UsageError
        If a cloud is empty, not two-dimensional, or the dimensions differ.
    """
    left, right = _cloud(first, "first"), _cloud(second, "second")
    if left.shape[1] != right.shape[1]:
        raise UsageError(
            "first and second must have points of the same dimension; "
            f"given {left.shape[1]} and {right.shape[1]}"
        )
    transport = _transport()
    cost = transport.dist(left, right, metric="euclidean")
    return float(transport.emd2([], [], cost))


def sorted_count_distance(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Compare counts as if they were samples: mean absolute difference after sorting.

    F-PPO's training code asks a solver for this distance that does not reach it: its answer,
    `longfair.metrics.sinkhorn.sinkhorn_distance`, is some hundredths too small on average, and at
    times a quarter. Two groups whose counts are permutations of each other have distance zero,
    however far apart their scores are.

    Parameters
    ----------
    first, second
        Counts, equal shapes (..., levels).

    Returns
    -------
    numpy.ndarray
        Shape (...), in people.

    Raises
    ------
    UsageError
        If shapes differ, there is no level, or a count is negative or not finite.
    """
    left, right = non_negative(first, "first"), non_negative(second, "second")
    same_shape(left, right, "first and second")
    if left.ndim == 0 or left.shape[-1] == 0:
        raise UsageError(f"first and second need at least one level; given shape {left.shape}")
    gaps = np.abs(np.sort(left, axis=-1) - np.sort(right, axis=-1))
    distance: FloatArray = gaps.mean(axis=-1)
    return distance


def _transport() -> Any:
    return importlib.import_module("ot")


def _distributions(values: ArrayLike, name: str) -> FloatArray:
    array = non_negative(values, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise UsageError(f"{name} needs levels on its last axis; given shape {array.shape}")
    totals = array.sum(axis=-1)
    if not np.allclose(totals, 1.0, atol=1e-8):
        worst = float(np.asarray(totals).flat[np.abs(totals - 1.0).argmax()])
        raise UsageError(f"{name} must sum to one over its last axis; one row sums to {worst:g}")
    normalised: FloatArray = array / totals[..., None]
    return normalised


def _cloud(points: ArrayLike, name: str) -> FloatArray:
    array = finite(points, name)
    if array.ndim != 2 or array.size == 0:
        raise UsageError(f"{name} must have shape (points, dimensions); given {array.shape}")
    return array
