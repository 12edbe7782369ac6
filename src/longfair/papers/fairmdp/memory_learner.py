"""FairQCM on the loan problem of the fair MDP paper: fairness by memory in place of randomness.

The learner knows the problem only from applicants, one after the other, and keeps a balance of what
the groups received. What it has learned is evaluated beside the exact optimum: early, after the
experience that the learners of the ELBERT paper have, and at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longfair.agents.fair_mdp.memory_q_learning import Books, Memory, QLearning
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.papers.fairmdp.notions import Rates
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Evaluating, Setting, World
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count, Natural, validate

if TYPE_CHECKING:
    from longfair.papers.protocol import Snapshots
    from longfair.runs.checkpoints import Checkpoint


@dataclass(frozen=True)
class Bank:
    """A bank that keeps books. Its settings were chosen on run numbers from 1000 on."""

    rates: Rates
    """How loans count in the lending rate."""
    books: Books

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)


@dataclass(frozen=True)
class Meeting:
    """How many applicants a bank meets, and how it learns from them; the same for all methods."""

    settings: QLearning
    early: Count = 20_480
    """Applicants after which the first measurement is made that is reported as a result."""
    doublings: Natural = 5
    """How often the experience is doubled after that."""
    halvings: Natural = 2
    """How many points the learning curve has before `early`, each at half of the next."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def shortened(self, rollouts: int, episode_length: int) -> Meeting:
        """Return the same for a few applicants."""
        return replace(self, early=256, doublings=1)

    @property
    def checkpoints(self) -> list[int]:
        """Applicants after which the bank is measured."""
        return [
            self.early * 2**power if power >= 0 else self.early // 2**-power
            for power in range(-self.halvings, self.doublings + 1)
        ]

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Learn; see `longfair.papers.fairmdp.memory_training.train`."""
        from longfair.papers.fairmdp.memory_training import train

        return train(self, setting, seed)


@dataclass(frozen=True)
class Settled(Evaluating):
    """Lending is evaluated exactly at every balance; how often each is read is counted."""

    measure: str = "settled-lending"
    judged_on: Count = 2_000_000
    """Applicants met to find out what the balance settles at."""
    judged_on_curve: Count = 400_000
    """The same along the learning curve."""

    def shortened(self) -> Settled:
        """Return the same for a few applicants."""
        return replace(self, judged_on=2_000, judged_on_curve=1_000)


TOLERANCE = 0.098
"""Planned for, so that 0.1 is kept although the long run is estimated from finitely many people."""

BANKS: dict[str, Bank] = {
    "as_coded": Bank("as_coded", Books(TOLERANCE, steepest=0.004)),
    "as_published": Bank("discounted", Books(TOLERANCE, steepest=0.5)),
}
"""Gaps of each variant, and books for them. The steepest price is well above the one needed."""

METHODS: dict[str, tuple[Memory, str]] = {
    "fairqcm": ("imagined", "learns from every step for every balance it could have had"),
    "min": ("real", "sees the balance, learns for the one it has"),
    "memoryless": ("none", "is rewarded by the balance without seeing it"),
}
"""FairQCM, and what it takes away step by step: imagined memories, then the memory itself."""

PROFILES = ("smoke", "book", "paper")


def _setting(profile: str, variant: str, memory: Memory) -> Setting:
    learning, evaluating = Meeting(QLearning(memory)), Settled()
    if profile == "smoke":
        learning = replace(learning, early=640, doublings=1, halvings=0)
        evaluating = replace(evaluating, judged_on=4_000, judged_on_curve=1_000)
    return Setting(World("longfair/LoanMDP-v0"), BANKS[variant], learning, evaluating)


def _arms(profile: str) -> tuple[Arm, ...]:
    return tuple(
        Arm(method, variant, _setting(profile, variant, memory), train_and_evaluate, description)
        for variant in BANKS
        for method, (memory, description) in METHODS.items()
    )


def _horizon(profile: str) -> int:
    learning: Meeting = _arms(profile)[0].config.learning
    return learning.checkpoints[-1] * LoanMDPParams.fico().episode_length


MEMORY_LEARNER = Experiment(
    id="fairmdp/memory-learner",
    title="FairQCM on the individual loan problem",
    arms={profile: _arms(profile) for profile in PROFILES},
    seeds={"smoke": 2, "book": 20, "paper": 20},
    horizon={profile: _horizon(profile) for profile in PROFILES},
    authors="",  # the authors have no such learner
)

EXPERIMENTS = (MEMORY_LEARNER,)
