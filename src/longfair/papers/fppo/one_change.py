"""F-PPO in lending with one thing changed: why banks stop lending, and what its terms weigh."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from longfair.agents.ppo.massaging.lending import LendingFPPO
from longfair.agents.ppo.strategy import Plan, standardised

if TYPE_CHECKING:
    from torch import Tensor

    from longfair.papers.fppo.methods import CaseStudy
    from longfair.papers.setting import Setting

FEWER_STEPS = 200_000
"""Steps of PPO and A-PPO that comments in the authors' settings of lending name."""


@dataclass(frozen=True)
class WithoutTies(LendingFPPO):
    """F-PPO as coded, but a decision is flipped only where that is strictly fairer."""

    name: ClassVar[str] = "f-ppo-lending-without-ties"
    revision: ClassVar[int] = 1

    @property
    def flips_ties(self) -> bool:
        """No, as in the text."""
        return False


@dataclass(frozen=True)
class StandardisedFirst(LendingFPPO):
    """F-PPO as published, with the advantage standardised before the terms are added."""

    name: ClassVar[str] = "f-ppo-lending-standardised-first"
    revision: ClassVar[int] = 1

    def advantage(self, advantages: Tensor, features: Tensor, plan: Plan) -> Tensor:
        """Standardise over the minibatch, add the terms, and standardise the sum."""
        return super().advantage(standardised(advantages), features, plan)


def changed(case: CaseStudy, profile: str) -> dict[str, tuple[Setting, str]]:
    """Return settings and description by method.

    Parameters
    ----------
    case
        Bank loans.
    profile
        How much is learned and judged.
    """
    coded, published = (case.methods(as_coded) for as_coded in (True, False))
    without = WithoutTies(**vars(coded["f-ppo"][0]))
    first = StandardisedFirst(**vars(published["f-ppo"][0]))
    found = {
        "f-ppo-no-ties": (
            case.setting(without, profile, "as_coded"),
            "F-PPO as coded that flips no decision at a tie",
        ),
        "f-ppo-standardised": (
            case.setting(first, profile, "as_published"),
            "F-PPO as published that adds its terms to a standardised advantage",
        ),
    }
    for name in ("ppo", "a-ppo"):
        setting = case.setting(coded[name][0], profile, "as_coded")
        steps = min(FEWER_STEPS, setting.learning.total_steps // 2)
        shorter = replace(setting.learning, total_steps=steps)
        found[f"{name}-200k"] = (
            replace(setting, learning=shorter),
            f"{name.upper()} as coded for {steps:,} steps",
        )
    return found
