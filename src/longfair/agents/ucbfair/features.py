r"""What L-UCBFair is linear in: feature maps of states and actions.

A feature map :math:`\phi(s, a) \in \mathbb{R}^d` has non-negative entries that sum to 1, so that
:math:`\|\phi\| \le 1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import Axes, Count, Length, Positive, checked, shortened, validated

LARGEST = 1e6
"""Absolute value that no feature may exceed. The theory bounds a feature vector's norm by 1; this
is what the squares of 32-bit numbers in the regressions bear."""

_Weights = Annotated[Sequence[Annotated[ArrayLike, Axes(2)]], Length(1)]
_Biases = Annotated[Sequence[Annotated[ArrayLike, Axes(1)]], Length(1)]


@runtime_checkable
class Features(Protocol):
    """A feature map."""

    @property
    def size(self) -> int:
        """Number of features d."""

    def __call__(self, states: FloatArray, actions: FloatArray) -> FloatArray:
        """Return features (..., d) of states (..., S) and actions (..., A)."""

    def to_saved(self) -> dict[str, NDArray[Any]]:
        """Return what the map is made of, as arrays."""


class RadialFeatures:
    """Bells around centres in the box of states and actions, normalised to sum 1.

    Parameters
    ----------
    centres
        (d, S + A): where the bells stand.
    width
        Standard deviation of a bell.

    Notes
    -----
    They know nothing of the problem: nothing is fitted.
    """

    kind = "radial"

    @validated
    def __init__(self, centres: Annotated[ArrayLike, Axes(2)], width: Positive = 0.25) -> None:
        self.centres = np.array(centres, dtype=np.float64)
        self.width = width

    @classmethod
    @validated
    def spread(cls, size: Count, numbers: Count = 4, width: Positive = 0.25) -> RadialFeatures:
        """Return bells that fill the unit box evenly, at the points of a Halton sequence.

        Parameters
        ----------
        size
            Number of features d.
        numbers
            Dimension of states and actions together.
        width
            As above.
        """
        from scipy.stats import qmc  # takes half a second, which naming settings need not wait for

        return cls(qmc.Halton(numbers, scramble=False).random(size + 1)[1:], width)

    @property
    def size(self) -> int:
        """Number of features d."""
        return len(self.centres)

    def __call__(self, states: FloatArray, actions: FloatArray) -> FloatArray:
        """Return features (..., d) of states (..., S) and actions (..., A).

        Raises
        ------
        UsageError
            If they do not have S + A numbers together, or one is not finite.
        """
        _require_fitting(states, actions, self.centres.shape[1])
        cut = states.shape[-1]
        logits = self._logits(states, self.centres[:, :cut]) + self._logits(
            actions, self.centres[:, cut:]
        )
        features: FloatArray = softmax(logits, axis=-1)
        return features

    def to_saved(self) -> dict[str, NDArray[Any]]:
        """Return centres and width."""
        return {"centres": self.centres, "width": np.array(self.width)}

    def _logits(self, points: FloatArray, centres: FloatArray) -> FloatArray:
        """Return minus the squared distances (..., d), less what is the same for all centres."""
        logits: FloatArray = (points @ centres.T - 0.5 * (centres**2).sum(axis=1)) / self.width**2
        return logits


class LearnedFeatures:
    """A network whose softmax output is the feature map; see `offline_features`.

    Parameters
    ----------
    weights, biases
        Of every layer, from the input on: (before, after) and (after,). Between layers stands a
        rectifier, after the last one the softmax.

    Raises
    ------
    UsageError
        If there is no layer, or one does not fit the layer before it or its own bias.
    """

    kind = "learned"

    def __init__(self, weights: list[FloatArray], biases: list[FloatArray]) -> None:
        given = checked("weights", weights, _Weights), checked("biases", biases, _Biases)
        if len(given[0]) != len(given[1]):
            raise UsageError(
                f"layers have {len(given[0])} weights and {len(given[1])} biases: give one each"
            )
        self.weights, self.biases = ([np.asarray(one, np.float64) for one in all] for all in given)
        before = len(self.weights[0])
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if weight.shape != (before, len(bias)):
                raise UsageError(
                    f"weights[{number}] has shape {weight.shape}: give ({before}, {len(bias)}), "
                    f"from the layer before to biases[{number}]"
                )
            before = len(bias)

    @property
    def size(self) -> int:
        """Number of features d."""
        return len(self.biases[-1])

    def __call__(self, states: FloatArray, actions: FloatArray) -> FloatArray:
        """Return features (..., d) of states (..., S) and actions (..., A).

        Raises
        ------
        UsageError
            If they do not have S + A numbers together, or one is not finite.
        """
        _require_fitting(states, actions, len(self.weights[0]))
        shape = np.broadcast_shapes(states.shape[:-1], actions.shape[:-1])
        parts = [np.broadcast_to(part, (*shape, part.shape[-1])) for part in (states, actions)]
        hidden = np.concatenate(parts, axis=-1)
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = (np.maximum(hidden, 0.0) if number else hidden) @ weight + bias
        features: FloatArray = softmax(hidden, axis=-1)
        return features

    def to_saved(self) -> dict[str, NDArray[Any]]:
        """Return weights and biases by layer."""
        layers = {f"weight_{number}": weight for number, weight in enumerate(self.weights)}
        return layers | {f"bias_{number}": bias for number, bias in enumerate(self.biases)}


def _require_fitting(states: FloatArray, actions: FloatArray, numbers: int) -> None:
    """Raise `UsageError` unless states and actions are finite and have so many numbers together."""
    parts = states.shape[-1], actions.shape[-1]
    if sum(parts) != numbers:
        raise UsageError(
            f"states of {parts[0]} and actions of {parts[1]} numbers: the features take {numbers}"
        )
    for name, points in (("states", states), ("actions", actions)):
        finite = np.isfinite(points)
        if not finite.all():
            raise UsageError(f"{name} hold {points[~finite][0]}: give finite numbers")


def require_bounded(features: FloatArray) -> FloatArray:
    """Return features (..., d) as they are.

    Raises
    ------
    UsageError
        If they are no numbers, one is not finite, or is further from 0 than `LARGEST`.
    """
    if not isinstance(features, np.ndarray) or features.dtype.kind not in "fiu":
        raise UsageError(f"the feature map gave {shortened(features)}: give an array of numbers")
    # One pass at every step, in which NaN fails the comparison; what fails is looked at closely.
    if not np.vdot(features, features) <= LARGEST**2:
        wrong = features[~(np.abs(features) <= LARGEST)]
        if wrong.size:
            raise UsageError(
                f"the feature map gave {wrong[0]}: give finite numbers from {-LARGEST:g} to "
                f"{LARGEST:g}, best with a norm of at most 1"
            )
    return features


def features_from_saved(kind: str, arrays: dict[str, NDArray[Any]]) -> Features:
    """Return the feature map that `to_saved` described."""
    if kind == RadialFeatures.kind:
        return RadialFeatures(arrays["centres"], float(arrays["width"]))
    layers = range(len(arrays) // 2)
    return LearnedFeatures(
        [arrays[f"weight_{number}"] for number in layers],
        [arrays[f"bias_{number}"] for number in layers],
    )
