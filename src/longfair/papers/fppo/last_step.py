"""The last step of an epidemic as the authors' code takes it: a switch that no stored run uses.

The code reads the gaps after the environment has started anew. So in the last step of an episode
the long-term gap changes by the way to the next episode's first state, and where that gap is
smaller the step has a bonus. Everywhere else in this project such a step has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from longfair.agents.ppo.massaging.epidemic import EpidemicFPPO
from longfair.agents.ppo.strategy import FloatArray, Rollout
from longfair.papers.fppo.epidemic import CASE
from longfair.papers.setting import World, Wrapper


@dataclass(frozen=True)
class LastStepCounts(EpidemicFPPO):
    """F-PPO in the epidemic whose change of the long-term gap counts in every step.

    As coded the short-term gap of an episode's last step is still 0, so the step can have a bonus
    and no penalty.
    """

    name: ClassVar[str] = "f-ppo-epidemic-last-step"
    revision: ClassVar[int] = 1

    def seen(self, rollout: Rollout) -> tuple[FloatArray, FloatArray]:
        """Return the gap as in F-PPO, and the change of every step, (T, N) each."""
        gap, _ = super().seen(rollout)
        return gap, rollout.info["long_term_gap_change"]


def world() -> World:
    """Say where such an agent acts: the epidemic as coded, whose last step is told as in the code.

    Its short-term gap is that of the other experiments.
    """
    coded = CASE.worlds["as_coded"]
    counts, _ = coded.wrappers
    told = Wrapper("epidemic-gaps", {"as_coded": True, "to_next_start": True})
    return replace(coded, wrappers=(counts, told))
