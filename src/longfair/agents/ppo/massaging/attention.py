r"""Action massaging in attention allocation: one unit is moved where that makes shares more equal.

A policy draws logits :math:`l`, and their softmax :math:`p` shares out N units. For every pair of
sites the allocation with one unit moved from r to k is looked at. The best fairer one that changes
the policy little enough is executed, by logits :math:`l'` that move the probability mass
:math:`\sigma = \min(p_r - 0.005, 1/N)` and keep the softmax's denominator Z:

.. math:: l'_r = \log Z + \log(p_r - \sigma), \qquad l'_k = \log Z + \log(p_k + \sigma) .

It stands for Equation 6 (Hu et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longfair.agents.ppo.f_ppo import FPPOL, GAPS, TOLD_BY
from longfair.agents.ppo.strategy import Moment
from longfair.agents.register import FAIR_PPO, attribute, register
from longfair.settings import Count, Natural, NonNegative

NEEDS = (*GAPS, "window_units", "steps_before")


@register(
    label="F-PPO in attention",
    place=100,
    loaded_by=FAIR_PPO,
    needs=NEEDS,
    environments=("longfair/Attention-v0",),
)
@dataclass(frozen=True)
class AttentionFPPO(FPPOL):
    """F-PPO in attention allocation: terms in the advantage, and massaged allocations.

    Parameters
    ----------
    units
        Units that the environment shares out.
    threshold
        How much the policy may change: as coded the Gaussian density of each of the two logits,
        as published the two sites' softmax probabilities may differ by less than this.
    first
        Last rollout without massaging, as coded; as published there is none.

    Notes
    -----
    Implementation details, with their source:

    1. The info `window_units` holds the units of the window that stay beside the new allocation.
       As coded nothing happens in the first step.
    2. The allocation that the environment makes of the new logits need not be the one whose gap
       was looked at (code).
    3. Of equally fair moves the first counts, by r and then by k. As coded the gaps are shares in
       floating point, whose last digit decides among them and at times moves a unit for nothing.
    """

    name: ClassVar[str] = "f-ppo-attention"
    revision: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = NEEDS
    told_by: ClassVar[str] = TOLD_BY.format("AttentionGaps")
    units: Count = 6
    threshold: NonNegative = 0.08
    first: Natural = 15

    @classmethod
    def in_code(cls) -> Self:
        """Return what the authors' code trains; at evaluation it does not massage."""
        return cls(penalty_weight=0.15, bonus_weight=0.15, tolerance=0.1, as_coded=True)

    @classmethod
    def in_text(cls) -> Self:
        """Return what the text describes, which massages at evaluation as well."""
        return cls(penalty_weight=0.15, bonus_weight=0.15, tolerance=0.1, as_coded=False)

    def why_not(self, env: Any) -> str:
        """Say that the environment shares out another number of units; empty if it does not."""
        shared = getattr(attribute(env, "params", None), "units", self.units)
        return "" if shared == self.units else f"units={self.units}: give {shared}, as shared out"

    def intervene(self, moment: Moment) -> NDArray[Any]:
        """Move one unit where that is fairer and changes the policy little."""
        from longfair.agents.ppo.massaging.attention_moves import massaged

        if self.as_coded and moment.rollout <= self.first:
            return moment.actions
        deviation = moment.policy.deviation
        assert deviation is not None
        steps = moment.info["steps_before"]
        logits = massaged(
            moment.actions.astype(np.float64),
            moment.output,
            deviation,
            moment.info["window_units"],
            steps > 0 if self.as_coded else np.ones_like(steps, np.bool_),
            self.units,
            self.threshold,
            self.as_coded,
        )
        return logits.astype(moment.actions.dtype)
