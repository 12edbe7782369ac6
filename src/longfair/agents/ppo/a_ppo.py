r"""A-PPO: fairness terms added to the advantage (Yu et al. 2022, as run by the ELBERT paper).

With :math:`\Delta, \Delta'` the running disparity before and after the step,

.. math:: v = \min(0, \omega - \Delta'),\qquad
          u = \min\big(0, -(\Delta' - \Delta)\,1[\Delta' > \omega]\big),\qquad
          \hat A = \beta_0 A + \beta_1 v + \beta_2 u .

As coded each of the three terms is scaled to [0, 1] over the minibatch, the sum is standardised,
and the last step of every episode has v = u's change = 0 because the disparity is read after the
environment has reset itself. As published the terms are raw and look at the state before the
step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from longfair.agents.ppo.advantage_terms import level_and_increase, with_terms
from longfair.agents.ppo.strategy import Plan, Rollout, Strategy, running_rates
from longfair.agents.register import FAIR_PPO, Style, register
from longfair.settings import NonNegative

if TYPE_CHECKING:
    from torch import Tensor


@register(
    label="A-PPO",
    place=20,
    style=Style("#E69F00", "D", (0, (3, 1, 1, 1))),
    loaded_by=FAIR_PPO,
    rates_within_episode=True,
)
@dataclass(frozen=True)
class APPO(Strategy):
    r"""PPO with two fairness terms in the advantage.

    Parameters
    ----------
    level_weight, change_weight
        :math:`\beta_1` and :math:`\beta_2`; the reward's advantage has weight 1.
    tolerance
        Disparity below which the terms vanish.
    offset
        Added to the denominators of the running rates: 0 in lending, 1 elsewhere.
    as_coded
        Minibatch scaling, disparity after the step and the reset at episode ends (the code), or
        raw terms at the state before the step (the paper).
    """

    name: ClassVar[str] = "a-ppo"
    revision: ClassVar[int] = 1
    level_weight: NonNegative = 0.25
    change_weight: NonNegative = 0.25
    tolerance: NonNegative = 0.005
    offset: NonNegative = 0.0
    as_coded: bool = True

    def plan(self, rollout: Rollout) -> Plan:
        """Keep the two fairness terms of every step."""
        after = np.ptp(running_rates(rollout, self.offset), axis=2)
        before = np.concatenate([np.zeros_like(after[:1]), after[:-1]])
        before[rollout.starts] = 0.0
        if self.as_coded:
            after = np.where(rollout.ends, 0.0, after)
        looked_at = after if self.as_coded else before
        terms = level_and_increase(before, after, looked_at, self.tolerance)
        return super().plan(rollout)._replace(features=terms)

    def advantage(self, advantages: Tensor, features: Tensor, plan: Plan) -> Tensor:
        """Add the fairness terms and standardise."""
        weights = (self.level_weight, self.change_weight)
        return with_terms(advantages, features, weights, self.as_coded)
