r"""Adam, the optimiser of learning agents, on plain arrays.

.. math::

    m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad
    v \leftarrow \beta_2 v + (1 - \beta_2) g^2, \quad
    \theta \leftarrow \theta - \frac{\lambda}{1 - \beta_1^n}
    \frac{m}{\sqrt{v} / \sqrt{1 - \beta_2^n} + \epsilon} .

torch's own takes ten times as long for the few thousand parameters of these networks, most of it
for bookkeeping. Tests hold it against torch's. Two others use torch's: the features that L-UCBFair
learns beforehand (`longfair.agents.ucbfair.offline_features`), and R-TD3, which is
Stable-Baselines3's TD3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from longfair.agents.learning.memory import rows_apart
from longfair.arrays import Float32Array
from longfair.errors import UsageError

_PIECE = 1024
"""Parameters that are moved at a time."""


class Adam:
    """Adam for one vector of parameters.

    Parameters
    ----------
    values, gradient
        (P,): what is moved in place, and what it is moved by.
    learning_rate
        Step size; may be set before every step.
    decays, epsilon
        As `betas` and `eps` of `torch.optim.Adam`.
    reordered
        Whether the compiler may reorder the arithmetic. Both orders are right to rounding; each
        family keeps the one that its published results were computed with.

    Attributes
    ----------
    moments
        (2, P): running means of the gradient and of its square.
    steps
        Steps made.
    """

    def __init__(
        self,
        values: Float32Array,
        gradient: Float32Array,
        learning_rate: float,
        decays: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        *,
        reordered: bool = False,
    ) -> None:
        self.learning_rate = learning_rate
        self.decays = decays
        self.epsilon = epsilon
        # Values and gradient, where they are `FlatParameters`, have the first two quarters.
        self.moments: Float32Array = rows_apart(2, len(values), first_quarter=2)
        self.steps = 0
        self._values, self._gradient = values, gradient
        self._step: Any = _step_reordered if reordered else _step_in_order

    def step(self, clipping: float = 1.0) -> None:
        """Move all parameters by one step.

        Parameters
        ----------
        clipping
            What the gradient is multiplied with before.
        """
        self.steps += 1
        self._step(
            self._values,
            self._gradient,
            *self.moments,
            clipping,
            self.steps,
            self.learning_rate,
            self.decays,
            self.epsilon,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the moments (2, P) and the number of steps, to go on from later."""
        return {"moments": self.moments.copy(), "steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned.

        Raises
        ------
        UsageError
            When the moments belong to another number of parameters.
        """
        moments = np.asarray(state["moments"], np.float32)
        if moments.shape != self.moments.shape:
            raise UsageError(
                f"moments of shape {moments.shape}: {self.moments.shape} fits these parameters"
            )
        self.moments[:] = moments
        self.steps = int(state["steps"])


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def _step_reordered(
    values: Float32Array,
    gradient: Float32Array,
    first: Float32Array,
    second: Float32Array,
    clipping: float,
    step: int,
    learning_rate: float,
    decays: tuple[float, float],
    epsilon: float,
) -> None:
    size = np.float32(learning_rate / (1.0 - decays[0] ** step))
    root = np.float32(1.0 / math.sqrt(1.0 - decays[1] ** step))
    small = np.float32(epsilon)
    keep_first, keep_second = np.float32(decays[0]), np.float32(decays[1])
    add_first, add_second = np.float32(1.0 - decays[0]), np.float32(1.0 - decays[1])
    factor = np.float32(clipping)
    # Piece by piece, so that what was multiplied is still at hand for the step.
    for start in range(0, len(values), _PIECE):
        piece = slice(start, start + _PIECE)
        moved, slope, mean, square = values[piece], gradient[piece], first[piece], second[piece]
        if clipping != 1.0:
            for i in range(len(slope)):
                slope[i] *= factor
        for i in range(len(slope)):
            mean[i] = keep_first * mean[i] + add_first * slope[i]
            square[i] = keep_second * square[i] + add_second * slope[i] * slope[i]
            moved[i] -= size * mean[i] / (np.sqrt(square[i]) * root + small)


@njit(cache=True)
def _step_in_order(
    values: Float32Array,
    gradient: Float32Array,
    first: Float32Array,
    second: Float32Array,
    clipping: float,
    step: int,
    learning_rate: float,
    decays: tuple[float, float],
    epsilon: float,
) -> None:
    size = np.float32(learning_rate / (1.0 - decays[0] ** step))
    scale = np.float32(math.sqrt(1.0 - decays[1] ** step))
    one, small, factor = np.float32(1.0), np.float32(epsilon), np.float32(clipping)
    keep_first, keep_second = np.float32(decays[0]), np.float32(decays[1])
    for i in range(len(values)):
        gradient[i] *= factor
        first[i] += (one - keep_first) * (gradient[i] - first[i])
        second[i] = keep_second * second[i] + (one - keep_second) * gradient[i] * gradient[i]
        values[i] -= size * first[i] / (np.sqrt(second[i]) / scale + small)
