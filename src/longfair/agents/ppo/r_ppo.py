r"""R-PPO: a fairness penalty added to the reward.

With :math:`\Delta_t` the gap between the highest and the lowest running benefit rate of the
episode (present step included) and a tolerance :math:`\omega`, the reward becomes

.. math:: r_t - \zeta\,\Delta_t\,1[\Delta_t \ge \omega] \quad\text{(as coded, two groups)},\qquad
          r_t - \zeta\,\max(0, \Delta_t - \omega) \quad\text{(the text; as coded in attention)}.

The appendix of the ELBERT paper (Equation 27) has a plus sign, which would reward unfairness; the
figures were made with the minus sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from longfair.agents.ppo.strategy import Plan, Rollout, Strategy, running_rates
from longfair.agents.register import FAIR_PPO, Style, register
from longfair.errors import UsageError
from longfair.settings import NonNegative, Range, validate


@register(
    label="R-PPO",
    place=40,
    style=Style("#CC79A7", "^", (0, (5, 1.5))),
    loaded_by=FAIR_PPO,
    rates_within_episode=True,
)
@dataclass(frozen=True)
class RPPO(Strategy):
    """PPO on a penalised reward.

    Parameters
    ----------
    penalty
        Weight of the penalty.
    tolerance
        Disparity that is not penalised.
    excess_only
        Penalise what exceeds the tolerance (the text) instead of the whole disparity (the code of
        lending and infectious).
    offset
        Added to the denominators of the running rates: 0 in lending, 1 elsewhere.
    sign
        -1 penalises; +1 is the printed Equation 27.
    """

    name: ClassVar[str] = "r-ppo"
    revision: ClassVar[int] = 1
    penalty: NonNegative = 2.0
    tolerance: NonNegative = 0.005
    excess_only: bool = False
    offset: NonNegative = 0.0
    sign: Annotated[int, Range(-1, 1)] = -1

    def __post_init__(self) -> None:
        """Raise `UsageError` for values that have no meaning."""
        validate(self)
        if self.sign == 0:
            raise UsageError("sign=0: give -1 (penalty) or 1 (Equation 27 as printed)")

    def plan(self, rollout: Rollout) -> Plan:
        """Replace the reward by the penalised one."""
        disparity = np.ptp(running_rates(rollout, self.offset), axis=2)
        if self.excess_only:
            penalised = np.maximum(0.0, disparity - self.tolerance)
        else:
            penalised = disparity * (disparity >= self.tolerance)
        rewards = rollout.rewards + self.sign * self.penalty * penalised
        return super().plan(rollout)._replace(rewards=rewards)
