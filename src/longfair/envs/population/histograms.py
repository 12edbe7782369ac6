"""The population as the released code of L-UCBFair shows it: histograms instead of two rates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.envs.population.model import PopulationModel
from longfair.envs.population.params import GROUPS
from longfair.envs.vector import Batch
from longfair.envs.wrappers import Recoded
from longfair.errors import UsageError
from longfair.settings import Count, validated


class FeatureHistograms(Recoded):
    """Show each group's size, ten times its distribution of features, and who is qualified where.

    For every group: its share of the population; ten times the share of it whose feature is in each
    bin; the share of those who are qualified. That is 2 (1 + 2 B) numbers, 130 with 32 bins. They
    are functions of the two rates, so they tell nothing more, and not the time.

    Parameters
    ----------
    env
        A batch of `longfair/Population-v0` that shows its two rates.
    bins
        Bins B: of the range of thresholds for Gaussian features, the outermost without ends; of
        [0, 1] for scores.

    Notes
    -----
    A bin in which nobody is has the share 0.
    """

    revision = 1
    as_released: ClassVar[bool] = True
    """What the code released with R-TD3 shows that agent, without the time."""

    @validated
    def __init__(self, env: Batch, bins: Count = 32) -> None:
        super().__init__(env)
        model = getattr(env.unwrapped, "model", None)
        if not isinstance(model, PopulationModel) or env.single_observation_space.shape != (
            GROUPS,
        ):
            raise UsageError(
                f"{env} does not show two rates: give a batch of longfair/Population-v0"
            )
        self._model = model
        low, high = (
            model.params.threshold_range if model.params.features == "gaussian" else (0.0, 1.0)
        )
        inner = np.linspace(low, high, bins + 1)[1:-1]
        self._edges = np.repeat(inner[:, None], GROUPS, axis=1)
        limit = np.tile(np.concatenate([[1.0], np.full(bins, 10.0), np.ones(bins)]), GROUPS)
        self.single_observation_space = Box(
            np.zeros_like(limit, np.float32), limit.astype(np.float32), dtype=np.float32
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def _recoded(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        return self.histograms(observations)

    def histograms(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return histograms (N, 2 (1 + 2 B)) of populations with rates (N, 2)."""
        rates = np.asarray(observations, np.float64)
        above = self._model.acceptance(rates[:, None, :], self._edges)
        above = np.broadcast_to(above, (len(rates), *above.shape[-3:]))
        ends = np.ones_like(above[:, :1]), np.zeros_like(above[:, :1])
        within = -np.diff(np.concatenate([ends[0], above, ends[1]], axis=1), axis=1)
        qualified = rates[:, None, :] * within[..., 1]
        everybody = qualified + (1.0 - rates[:, None, :]) * within[..., 0]
        share = np.divide(qualified, everybody, out=np.zeros_like(qualified), where=everybody > 0)
        sizes = np.broadcast_to(self._model.shares, (len(rates), 1, GROUPS))
        columns: FloatArray = np.concatenate([sizes, 10.0 * everybody, share], axis=1)
        return np.swapaxes(columns, 1, 2).reshape(len(rates), -1).astype(np.float32)
