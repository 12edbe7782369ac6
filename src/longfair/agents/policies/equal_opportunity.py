r"""The equal-opportunity oracle: best profit now among policies with equal true positive rates.

It knows the current score distributions :math:`\mu_g` and the repayment probabilities
:math:`\rho`. For one group, accepting from the top score downwards traces a curve of profit against
true positive rate: linear between scores and concave, because the chance of repayment rises with
the score. The sum over groups, weighted by their shares, is concave and piecewise linear in the
common rate, so its maximum is at a corner of one of the curves. Evaluating all corners is exact;
the F-PPO code searches the same curve numerically.

Between corners a group's policy accepts the score at its threshold with some probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from longfair.agents.policies.lending import applicants
from longfair.agents.policies.policy import Policy
from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import (
    Length,
    NonNegative,
    Probability,
    Seed,
    require_distribution,
    validated,
)


class EqualOpportunityOracle(Policy):
    """Myopically optimal lending under equal true positive rates, recomputed at every step.

    Parameters
    ----------
    repay_probability
        (C,): chance of repayment by score, not decreasing.
    group_probability
        (G,): shares of the groups among applicants.
    gain, loss
        Profit of a repaid and cost of a defaulted loan.
    seed
        Seed of the agent's own generator, for the score at the threshold.

    Notes
    -----
    Call `observe(info)` with the batch `info` before `predict`: the oracle reads `group_state`.
    """

    @validated
    def __init__(
        self,
        repay_probability: Annotated[Sequence[Probability], Length(1)],
        group_probability: Annotated[Sequence[Probability], Length(1)] = (0.5, 0.5),
        gain: NonNegative = 1.0,
        loss: NonNegative = 1.0,
        seed: Seed | None = None,
    ) -> None:
        require_distribution("group_probability", group_probability, len(group_probability))
        self._repay = np.asarray(repay_probability, dtype=np.float64)
        if (np.diff(self._repay) < 0).any():
            raise UsageError("repay_probability falls with the score: give it in rising order")
        self._shares = np.asarray(group_probability, dtype=np.float64)
        self._profit = gain * self._repay - loss * (1.0 - self._repay)
        self._rng = np.random.default_rng(seed)
        self._acceptance: FloatArray | None = None

    def observe(self, info: dict[str, Any]) -> None:
        """Look at the score distributions, `info["group_state"]` of shape (N, G, C)."""
        found, known = info["group_state"].shape[1:], (len(self._shares), len(self._repay))
        if found != known:
            raise UsageError(
                f"group_state describes {found[0]} groups by {found[1]} numbers, and the oracle "
                f"knows {known[0]} groups of {known[1]} scores: show it lending without wrappers "
                "that change the groups"
            )
        self._acceptance = self.acceptance(info["group_state"])

    def choose(self, observation: NDArray[Any], deterministic: bool = False) -> NDArray[np.int64]:
        """Return decisions (N,) for observations (N, ...)."""
        if self._acceptance is None:
            raise UsageError("the oracle has not seen the score distributions: call observe(info)")
        group, score = applicants(observation, len(self._shares), len(self._repay))
        chance = self._acceptance[np.arange(len(group)), group, score]
        limit = 0.5 if deterministic else self._rng.random(len(chance))
        return (chance > limit).astype(np.int64)

    def acceptance(self, distribution: FloatArray) -> FloatArray:
        """Return the acceptance probabilities (N, G, C) for score distributions (N, G, C)."""
        repaid = distribution * self._repay
        share = repaid / repaid.sum(axis=2, keepdims=True)
        # Rate and profit (N, G, C + 1) at the corners, from rejecting all on.
        rate, profit = _from_top(share), _from_top(distribution * self._profit)
        candidates = rate.reshape(len(rate), 1, -1)
        wide = len(rate), len(self._shares), candidates.shape[2]
        values = _interpolate(rate, profit, np.broadcast_to(candidates, wide))
        best = (self._shares[:, None] * values).sum(axis=1).argmax(axis=1)
        common = candidates[np.arange(len(rate)), 0, best]
        return _accepted_up_to(common, share)


_ROUNDING = 1e-12


def _from_top(values: FloatArray) -> FloatArray:
    """Return cumulative sums from the last score down, starting with 0: (..., C + 1)."""
    totals = np.cumsum(values[..., ::-1], axis=-1)
    return np.concatenate([np.zeros_like(totals[..., :1]), totals], axis=-1)


def _accepted_up_to(rate: FloatArray, share: FloatArray) -> FloatArray:
    """Return probabilities (N, G, C) that reach the true positive rate (N,) from the top.

    The share (N, G, C) is what every score adds to its group's rate.
    """
    above = np.cumsum(share[..., ::-1], axis=2)[..., ::-1] - share
    missing = rate[:, None, None] - above
    chance = np.divide(missing, share, out=(missing > _ROUNDING).astype(float), where=share > 0)
    clipped: FloatArray = np.clip(chance, 0.0, 1.0)
    return clipped


def _interpolate(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """Interpolate y linearly over rising x, both (N, G, K), at points (N, G, P)."""
    right = (x[..., None, :] < at[..., None]).sum(axis=-1).clip(1, x.shape[-1] - 1)
    x0, x1 = np.take_along_axis(x, right - 1, 2), np.take_along_axis(x, right, 2)
    y0, y1 = np.take_along_axis(y, right - 1, 2), np.take_along_axis(y, right, 2)
    width = x1 - x0
    part = np.divide(at - x0, width, out=np.ones_like(width), where=width > 0)
    return y0 + np.clip(part, 0.0, 1.0) * (y1 - y0)
