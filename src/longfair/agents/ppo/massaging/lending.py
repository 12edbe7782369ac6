r"""Action massaging in lending: an unsure decision is flipped where that makes the window fairer.

With the threshold :math:`\tau(i) = \tau_s \gamma^{\,i - i_s}` in rollout i, a decision taken with
probability :math:`\pi` is unsure where :math:`\tau(i) \le \pi \le 1 - \tau(i)`. The band is empty
at first and opens as training goes on. It is the constraint of Equation 6 (Hu et al. 2024) where
there are two actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longfair.agents.ppo.f_ppo import FPPOL, GAPS, TOLD_BY
from longfair.agents.ppo.strategy import Moment
from longfair.agents.register import FAIR_PPO, register
from longfair.settings import Natural, Probability, Share

NEEDS = (*GAPS, "window_supply", "window_demand", "applicant_demand")


@register(
    label="F-PPO in lending",
    place=90,
    loaded_by=FAIR_PPO,
    needs=NEEDS,
    environments=("longfair/Lending-v0",),
)
@dataclass(frozen=True)
class LendingFPPO(FPPOL):
    r"""F-PPO in lending: terms in the advantage, and massaged decisions.

    Parameters
    ----------
    threshold, decay, first
        :math:`\tau_s`, :math:`\gamma` and :math:`i_s` of the schedule. The band does not close.

    Notes
    -----
    Implementation details, with their source:

    1. Supply and demand of a window are true and possible positives; what the applicant would add
       to the demand is the info `applicant_demand`. As coded it is the hidden outcome, which a
       bank cannot know. Given the expected outcome instead, the same rule reads no label.
    2. As coded a tie is flipped, so that whoever will default is always flipped inside the band
       (neither decision changes a true positive rate). As published the flip must be fairer.
    3. As coded the band includes its ends, as published it does not. It opens after rollout i_s.
    """

    name: ClassVar[str] = "f-ppo-lending"
    revision: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = NEEDS
    told_by: ClassVar[str] = TOLD_BY.format("LendingGaps")
    threshold: Probability = 0.5
    decay: Share = 0.985
    first: Natural = 17

    @classmethod
    def in_code(cls) -> Self:
        """Return what the authors' code trains; at evaluation it does not massage."""
        return cls(penalty_weight=1.12, bonus_weight=1.0, tolerance=0.005, as_coded=True)

    @classmethod
    def in_text(cls) -> Self:
        """Return what the text describes, which massages at evaluation as well."""
        return cls(penalty_weight=1.0, bonus_weight=1.0, tolerance=0.05, as_coded=False)

    def band(self, rollout: int) -> float:
        """Return the probability from which on a decision is unsure: 0.5 means none is."""
        # None is before the first rollout, where a fast decay would overflow.
        return self.threshold * self.decay ** max(rollout - self.first, 0)

    @property
    def flips_ties(self) -> bool:
        """Whether a decision is flipped at a tie as well, and at the ends of the band."""
        return self.as_coded

    def intervene(self, moment: Moment) -> NDArray[Any]:
        """Flip unsure decisions where that is fairer."""
        from longfair.agents.ppo.massaging.lending_flips import gaps_of_decisions, massaged

        if moment.rollout <= self.first:
            return moment.actions
        logits = moment.output.astype(np.float64)
        accept = 1.0 / (1.0 + np.exp(logits[:, 0] - logits[:, 1]))
        gaps = gaps_of_decisions(*(moment.info[name] for name in NEEDS[len(GAPS) :]))
        return massaged(moment.actions, accept, gaps, self.band(moment.rollout), self.flips_ties)
