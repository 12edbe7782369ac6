"""A stochastic policy network, or a stack of them, that acts without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longfair.agents.learning.compiled_actor import choices, policy_outputs

FloatArray = NDArray[np.float32]


class Actor:
    """One policy, or a stack of P policies, sampling actions without torch.

    A stack evaluates P snapshots of a policy side by side, which is how learning curves are
    evaluated.

    Parameters
    ----------
    layers
        Weights (..., before, after) and biases (..., after) of every layer, head included.
    deviation
        Standard deviations (..., actions) of a Gaussian policy; None for a categorical one.
    """

    def __init__(
        self,
        layers: list[tuple[NDArray[Any], NDArray[Any]]],
        deviation: FloatArray | None,
    ) -> None:
        self.layers = layers
        self.deviation = deviation
        self._weights = tuple(_stacked(weight, weight.shape[-2]) for weight, _ in layers)
        self._biases = tuple(_stacked(bias, 1) for _, bias in layers)

    @staticmethod
    def stack(actors: list[Actor]) -> Actor:
        """Return one actor for observations (P, B, ...) from P actors of one shape."""
        layers = [
            (np.stack([w for w, _ in pairs]), np.stack([b for _, b in pairs])[:, None])
            for pairs in zip(*(actor.layers for actor in actors), strict=True)
        ]
        deviations = [actor.deviation for actor in actors if actor.deviation is not None]
        return Actor(layers, np.stack(deviations)[:, None] if deviations else None)

    def output(self, observations: NDArray[Any]) -> FloatArray:
        """Map observations (..., B, input) to logits or means (..., B, actions)."""
        rows = np.ascontiguousarray(observations, np.float32)
        stacked = rows.reshape(len(self._weights[0]), -1, rows.shape[-1])
        output = policy_outputs(self._weights, self._biases, stacked)
        return output.reshape(*observations.shape[:-1], output.shape[-1])

    def sample(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw actions: integers (..., B), or real numbers (..., B, actions), unclipped."""
        return self.drawn(self.output(observations), rng)

    def drawn(self, output: FloatArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw actions, as `sample` does, from what `output` has returned."""
        if self.deviation is not None:
            noise = rng.standard_normal(output.shape, dtype=np.float32)
            return output + self.deviation * noise
        uniform = rng.random(output.shape[:-1])
        chosen = choices(output.reshape(-1, output.shape[-1]), uniform.reshape(-1))
        return chosen.reshape(uniform.shape)


def _stacked(array: NDArray[Any], rows: int) -> FloatArray:
    """Return weights or biases (P, rows, after) for compiled code, P being 1 for one policy."""
    contiguous = np.ascontiguousarray(array, np.float32)
    return contiguous.reshape(-1, rows, array.shape[-1])
