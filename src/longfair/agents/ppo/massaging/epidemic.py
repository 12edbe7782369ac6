r"""Action massaging in epidemic control: a vaccine goes to the community that has had too few.

The threshold :math:`\tau(i) = \min(\tau_e, \tau_s \gamma^{\,i - i_s})` in rollout i rises from
:math:`i_s` on. It is the distance that Equation 6 allows (Hu et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longfair.agents.ppo.f_ppo import FPPOL, GAPS, TOLD_BY
from longfair.agents.ppo.strategy import Moment
from longfair.agents.register import FAIR_PPO, register
from longfair.settings import Natural, Probability, Range

NEEDS = (*GAPS, "vaccines_so_far", "infections_so_far", "susceptible", "community")


@register(
    label="F-PPO in epidemics",
    place=110,
    loaded_by=FAIR_PPO,
    needs=NEEDS,
    environments=("longfair/Epidemic-v0",),
)
@dataclass(frozen=True)
class EpidemicFPPO(FPPOL):
    r"""F-PPO in epidemic control: terms in the advantage, and massaged vaccinations.

    Parameters
    ----------
    threshold, highest, growth, first
        :math:`\tau_s`, :math:`\tau_e`, :math:`\gamma` and :math:`i_s` of the schedule. The
        threshold does not fall, and at most doubles from rollout to rollout.

    Notes
    -----
    Implementation details, with their source:

    1. The gap of an option counts the vaccines and the new infections of the episode so far, and
       the vaccine that the option gives; infections of the step itself are not known yet (code).
    2. As coded an action is replaced if its own probability is at most the threshold, whatever
       the substitute's: by the likeliest susceptible person of the fairest community (anybody
       there if nobody is susceptible), or by nobody. Of equally fair options the first counts.
    3. As published the vaccine goes to the other community where that is fairer, to the likeliest
       of its susceptible people whose probability is closer than the threshold to that of the
       action; an action that vaccinates nobody stays. Massaging begins one rollout earlier.
    """

    name: ClassVar[str] = "f-ppo-epidemic"
    revision: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = NEEDS
    told_by: ClassVar[str] = TOLD_BY.format("EpidemicGaps")
    threshold: Probability = 0.01
    highest: Probability = 0.35
    growth: Annotated[float, Range(1.0, 2.0)] = 1.2
    first: Natural = 50

    @classmethod
    def in_code(cls) -> Self:
        """Return what the authors' code trains; at evaluation it does not massage."""
        return cls(penalty_weight=0.25, bonus_weight=0.25, tolerance=0.05, as_coded=True)

    @classmethod
    def in_text(cls) -> Self:
        """Return what the text describes, which massages at evaluation as well."""
        return cls(penalty_weight=0.25, bonus_weight=0.25, tolerance=0.05, as_coded=False)

    def closeness(self, rollout: int) -> float:
        """Return the threshold of a rollout."""
        # Far rollouts would overflow; the minimum is reached long before.
        return min(self.highest, self.threshold * self.growth ** min(rollout - self.first, 1000))

    def intervene(self, moment: Moment) -> NDArray[Any]:
        """Give the vaccine to whom it makes the episode fairer."""
        from longfair.agents.ppo.massaging import epidemic_vaccines as compiled

        if moment.rollout < self.first + self.as_coded:
            return moment.actions
        logits = moment.output.astype(np.float64)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances = weights / weights.sum(axis=1, keepdims=True)
        vaccines, infections, susceptible, community = (
            moment.info[name] for name in NEEDS[len(GAPS) :]
        )
        gaps = compiled.gaps_of_options(vaccines, infections)
        massaged = compiled.massaged_as_coded if self.as_coded else compiled.massaged_as_published
        limit = self.closeness(moment.rollout)
        return massaged(moment.actions, chances, gaps, susceptible, community, limit)
