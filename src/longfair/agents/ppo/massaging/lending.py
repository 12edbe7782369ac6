r"""Action massaging in lending: an unsure decision is flipped where that makes the window fairer.

With the threshold :math:`\tau(i) = \tau_s \gamma^{\,i - i_s}` in rollout i, a decision taken with
probability :math:`\pi` is unsure where :math:`\tau(i) \le \pi \le 1 - \tau(i)`. The band is empty
at first and opens as training goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from longfair.agents.ppo.f_ppo import FPPOL, GAPS
from longfair.agents.ppo.strategy import FloatArray, Moment
from longfair.agents.register import FAIR_PPO, register
from longfair.settings import Natural, Positive, Probability

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
        :math:`\tau_s`, :math:`\gamma` and :math:`i_s` of the schedule.

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
    threshold: Probability = 0.5
    decay: Positive = 0.985
    first: Natural = 17

    def band(self, rollout: int) -> float:
        """Return the probability from which on a decision is unsure: 0.5 means none is."""
        return self.threshold * self.decay ** (rollout - self.first)

    def intervene(self, moment: Moment) -> NDArray[Any]:
        """Flip unsure decisions where that is fairer."""
        if moment.rollout <= self.first:
            return moment.actions
        logits = moment.output.astype(np.float64)
        accept = 1.0 / (1.0 + np.exp(logits[:, 0] - logits[:, 1]))
        chance = np.where(moment.actions == 1, accept, 1.0 - accept)
        gaps = gaps_of_decisions(*(moment.info[name] for name in NEEDS[len(GAPS) :]))
        return massaged(moment.actions, chance, gaps, self.band(moment.rollout), self.as_coded)


@njit(cache=True)
def massaged(
    actions: NDArray[Any], chance: FloatArray, gaps: FloatArray, band: float, as_coded: bool
) -> NDArray[Any]:
    """Flip the unsure decisions whose opposite is fairer.

    Parameters
    ----------
    actions, chance
        (N,): 0 or 1, and the probability with which it was chosen.
    gaps
        (N, 2): short-term gap after a refusal and after an approval.
    band
        Probability from which on a decision is unsure.
    as_coded
        Flip ties too, and include the ends of the band.
    """
    changed = actions.copy()
    for copy, action in enumerate(actions):
        present, opposite = gaps[copy, action], gaps[copy, 1 - action]
        if as_coded:
            flip = band <= chance[copy] <= 1.0 - band and present >= opposite
        else:
            flip = abs(2.0 * chance[copy] - 1.0) < 1.0 - 2.0 * band and present > opposite
        if flip:
            changed[copy] = 1 - action
    return changed


@njit(cache=True)
def gaps_of_decisions(supply: FloatArray, demand: FloatArray, applicant: FloatArray) -> FloatArray:
    """Return (N, 2): the gap of true positive rates after a refusal and after an approval.

    Parameters
    ----------
    supply, demand
        (N, G): true positives and positives of the window, without the applicant.
    applicant
        (N, G): what the applicant adds to the demand, and to the supply if approved.
    """
    gaps = np.empty((len(supply), 2))
    for copy in range(len(supply)):
        for approved in range(2):
            low, high = np.inf, -np.inf
            for group in range(supply.shape[1]):
                needed = demand[copy, group] + applicant[copy, group]
                possible = supply[copy, group] + approved * applicant[copy, group]
                rate = possible / (needed if needed > 0 else 1.0)
                low, high = min(low, rate), max(high, rate)
            gaps[copy, approved] = high - low
    return gaps
