r"""F-PPO's advantage regularisation, and A-PPO on the same windowed disparity (Hu et al. 2024).

With :math:`d_t` the short-term gap after the step, :math:`g_t` by how much the step changed the
long-term gap, and a tolerance :math:`\omega`, F-PPO adds two terms to the advantage,

.. math:: P_t = \min(0, -g_t)\,1[d_t > \omega], \qquad
          Q_t = \max(0, -g_t)\,1[d_t \le \omega] .

As published (Equations 4 and 7) the sum is :math:`A + \lambda (P + Q)`. As coded, A, P and Q are
scaled to [0, 1] over the minibatch before they are weighted, so a weight weighs a range and not a
value. With action massaging (Equation 6) on top it is F-PPO (Algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from longfair.agents.ppo.advantage_terms import level_and_increase, with_terms
from longfair.agents.ppo.strategy import Plan, Rollout, Strategy
from longfair.agents.register import FAIR_PPO, register
from longfair.arrays import FloatArray
from longfair.settings import NonNegative

if TYPE_CHECKING:
    from torch import Tensor

GAPS = ("short_term_gap", "short_term_gap_before", "long_term_gap_change")
"""Info arrays (N,): the short-term gap after and before the step, and how the step changed the
long-term gap."""

TOLD_BY = "wrap the batch in {} of longfair.papers.fppo.gaps, which tells it"
"""Where the gaps come from, given the names of wrappers."""

ANY_GAPS = TOLD_BY.format("LendingGaps, AttentionGaps or EpidemicGaps")


WORLDS = ("longfair/Lending-v0", "longfair/Attention-v0", "longfair/Epidemic-v0")
"""Where the paper says what the gaps are."""


@register(label="F-PPO-L", place=70, loaded_by=FAIR_PPO, needs=GAPS, environments=WORLDS)
@dataclass(frozen=True)
class FPPOL(Strategy):
    """F-PPO's terms in the advantage (Equations 4 and 7), without action massaging.

    Parameters
    ----------
    penalty_weight, bonus_weight
        Weights of P and Q; equal in the paper.
    tolerance
        Short-term gap up to which a step counts as fair.
    as_coded
        See the notes.

    Notes
    -----
    Implementation details, with their source:

    1. Both gaps are those after the step (text and code).
    2. As coded A, P and Q are scaled to [0, 1] per minibatch, weighted, summed and standardised.
       As published the raw sum is standardised once, as PPO does with any advantage; the paper
       does not say whether A is standardised before.
    3. As coded the last step of an episode counts as d = 0, because the code looks after the
       environment has reset itself. What g is there the environment's gaps say.
    4. Critics learn the unregularised returns (code).
    """

    name: ClassVar[str] = "f-ppo-l"
    revision: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = GAPS
    told_by: ClassVar[str] = ANY_GAPS
    penalty_weight: NonNegative = 1.0
    bonus_weight: NonNegative = 1.0
    tolerance: NonNegative = 0.05
    as_coded: bool = False

    def plan(self, rollout: Rollout) -> Plan:
        """Keep the two terms of every step."""
        gap, change = gap_seen(rollout, self.as_coded), rollout.info["long_term_gap_change"]
        unfair = gap > self.tolerance
        penalty = np.where(unfair, np.minimum(0.0, -change), 0.0)
        bonus = np.where(unfair, 0.0, np.maximum(0.0, -change))
        return super().plan(rollout)._replace(features=np.stack([penalty, bonus], axis=2))

    def advantage(self, advantages: Tensor, features: Tensor, plan: Plan) -> Tensor:
        """Add the terms and standardise."""
        weights = (self.penalty_weight, self.bonus_weight)
        return with_terms(advantages, features, weights, self.as_coded)


@register(label="A-PPO, windowed", place=80, loaded_by=FAIR_PPO, needs=GAPS, environments=WORLDS)
@dataclass(frozen=True)
class WindowedAPPO(Strategy):
    r"""A-PPO (Yu et al. 2022) on the short-term gap that F-PPO's environments tell.

    The terms are :math:`\min(0, \omega - d)` and
    :math:`\min(0, -(d_t - d_{t-1}) 1[d > \omega])`, where d is the gap after the step as coded
    and before it as published.

    Parameters
    ----------
    level_weight, change_weight
        Weights of the two terms.
    tolerance
        Gap up to which the terms vanish.
    as_coded
        Minibatch scaling, gap after the step and the reset at episode ends, or raw terms.
    """

    name: ClassVar[str] = "windowed-a-ppo"
    revision: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = GAPS
    told_by: ClassVar[str] = ANY_GAPS
    level_weight: NonNegative = 0.25
    change_weight: NonNegative = 0.25
    tolerance: NonNegative = 0.005
    as_coded: bool = True

    def plan(self, rollout: Rollout) -> Plan:
        """Keep the two terms of every step."""
        after = gap_seen(rollout, self.as_coded)
        before = rollout.info["short_term_gap_before"]
        looked_at = after if self.as_coded else before
        terms = level_and_increase(before, after, looked_at, self.tolerance)
        return super().plan(rollout)._replace(features=terms)

    def advantage(self, advantages: Tensor, features: Tensor, plan: Plan) -> Tensor:
        """Add the terms and standardise."""
        weights = (self.level_weight, self.change_weight)
        return with_terms(advantages, features, weights, self.as_coded)


def gap_seen(rollout: Rollout, as_coded: bool) -> FloatArray:
    """Return the short-term gap (T, N) after every step; as coded it is 0 at an episode's end."""
    gap: FloatArray = rollout.info["short_term_gap"]
    return np.where(rollout.ends, 0.0, gap) if as_coded else gap
