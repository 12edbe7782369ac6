"""Section 5 and Figure 2c of the fair MDP paper: learning fairly when transitions are unknown.

The paper reports N = 1000 episodes of which the first 100 explore, estimates the belief about a
stranger of each group, and states neither constraint, nor exploration probability, nor planner.
Here a coin explores, the likelihood is maximised, and the planner is exact.

The paper shows parity or says nothing of the notion; its Theorem 5.1 speaks of parity, and equal
opportunity is tried here. Under it the first situation of an applicant says whether the applicant
is qualified, and the bank that commits remembers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from longfair.errors import UsageError
from longfair.papers.fairmdp.notions import Notion
from longfair.papers.protocol import Snapshots, train_and_evaluate
from longfair.papers.setting import Evaluating, Setting, World
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count, NonNegative, validate

if TYPE_CHECKING:
    from longfair.runs.checkpoints import Checkpoint

Rates = Literal["as_coded", "discounted"]

COIN = 0.5
"""Probability of a loan while exploring."""


class CountOfQualified:
    """How many are qualified at the start: from revision 2 on as the law says that a bank knows."""

    name: ClassVar[str] = "count-of-qualified"
    revision: ClassVar[int] = 2


@dataclass(frozen=True)
class Bank:
    """What a bank wants that explores and then commits to a plan."""

    notion: Notion = "dp"
    rates: Rates = "discounted"
    """How steps count in the lending rates, see `longfair.papers.fairmdp.loans`."""
    tolerance: NonNegative = 0.1
    """Largest gap of a fair episode."""
    planned_tolerance: NonNegative | None = 0.1
    """Gap that the plan may have in the estimated problem; None for no constraint."""
    knows_first_law: bool = True
    """Whether the law of the first situations is known, as in Section 5. If not, it follows from
    the estimates."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def parts(self) -> tuple[type, ...]:
        """Say what its numbers depend on beside its own settings."""
        return (CountOfQualified,) if self.notion == "eo" and self.knows_first_law else ()


@dataclass(frozen=True)
class Exploring:
    """How long a bank explores."""

    exploring: Count = 100
    """Episodes of exploration; all of them for a bank that never commits."""
    episodes: Count = 1000

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)
        if self.exploring > self.episodes:
            raise UsageError(f"exploring={self.exploring}: give at most episodes={self.episodes}")

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Explore, and commit; see `longfair.papers.fairmdp.committing.train`."""
        from longfair.papers.fairmdp.committing import train

        return train(self, setting, seed)

    def shortened(self, rollouts: int, episode_length: int) -> Exploring:
        """Return the same for a few episodes."""
        return replace(self, exploring=min(self.exploring, 20), episodes=200)


VARIANTS: Mapping[str, tuple[float, Rates]] = {
    "as_published": (1.0, "discounted"),
    "as_coded": (0.8, "as_coded"),
    "discounted": (0.8, "discounted"),
}
"""What is summed: discount of the reward, and how steps count in the lending rates.

`as_published`: Section 5, where the horizon replaces the discount, for reward and rates.
`as_coded`: reward and gap of the authors' code for Figure 1; they published none for this figure.
`discounted`: reward and rates as defined in the paper's Section 2."""

MARGIN = 0.02
"""What the cautious bank keeps of the tolerance. The theorem's margin would exceed it."""

Learners = Mapping[str, tuple[Bank, Exploring, str]]
"""Name to what a bank wants, how long it explores, and a description."""

LEARNERS: Learners = {
    "explore-commit": (
        Bank(),
        Exploring(),
        "a coin for 100 episodes, then the best fair policy of the estimates",
    ),
    "explore-commit-margin": (
        Bank(planned_tolerance=Bank.tolerance - MARGIN),
        Exploring(),
        "the same, keeping a part of the tolerance",
    ),
    "explore-commit-own-law": (
        Bank(knows_first_law=False),
        Exploring(),
        "the same, estimating the law of first situations too",
    ),
    "explore-commit-race-blind": (
        Bank(planned_tolerance=None),
        Exploring(),
        "the same, without a constraint on the committed policy",
    ),
    "explore-commit-030": (Bank(), Exploring(30), "a coin for 30 episodes only"),
    "explore-commit-300": (Bank(), Exploring(300), "a coin for 300 episodes"),
    "coin": (Bank(), Exploring(1000), "a coin for ever"),
}

UNDER_OPPORTUNITY: Learners = {
    name: (replace(LEARNERS[name][0], notion="eo"), *LEARNERS[name][1:])
    for name in ("explore-commit", "explore-commit-margin", "coin")
}
"""Those that are tried under equal opportunity, too."""

EPISODE_LENGTH = {"paper": 51, "book": 51, "smoke": 6}


def world(variant: str, length: int = EPISODE_LENGTH["paper"]) -> World:
    """Return the loan problem of a variant, with episodes of so many steps."""
    changes = {"discount": VARIANTS[variant][0], "episode_length": length}
    return World("longfair/LoanMDP-v0", changes=changes)


def learned(
    variant: str, bank: Bank, learning: Exploring, length: int = EPISODE_LENGTH["paper"]
) -> Setting:
    """Return the settings under which a bank learns.

    Parameters
    ----------
    variant
        A key of `VARIANTS`; it says how steps count for the bank.
    bank, learning
        What the bank wants, and how long it explores.
    length
        Steps of an episode.
    """
    return Setting(
        world(variant, length),
        replace(bank, rates=VARIANTS[variant][1]),
        learning,
        Evaluating(measure="regret", episode_length=None),
    )


def _arms(learners: Learners, profile: str) -> tuple[Arm, ...]:
    return tuple(
        Arm(
            name,
            variant,
            learned(variant, bank, learning, EPISODE_LENGTH[profile]),
            train_and_evaluate,
            description,
        )
        for variant in VARIANTS
        for name, (bank, learning, description) in learners.items()
    )


EXPLORATION = Experiment(
    id="fairmdp/exploration",
    title="Explore, then commit: regret and fairness with unknown transitions",
    arms={profile: _arms(LEARNERS, profile) for profile in EPISODE_LENGTH},
    seeds={"smoke": 2, "book": 60, "paper": 5},
    horizon=dict.fromkeys(EPISODE_LENGTH, 1000),
    authors="",  # no code was published; constraint, tolerance, coin and planner are ours
)

OPPORTUNITY = Experiment(
    id="fairmdp/exploration-opportunity",
    title="Explore, then commit, under equal opportunity",
    arms={profile: _arms(UNDER_OPPORTUNITY, profile) for profile in ("book", "smoke")},
    seeds={"book": 120, "smoke": 2},
    horizon=dict.fromkeys(("book", "smoke"), 1000),
)

EXPERIMENTS = (EXPLORATION, OPPORTUNITY)
