"""The individual loan problem played in episodes: for policies that can only be watched.

The paper's own policies are evaluated exactly elsewhere. Whoever brings a policy that draws, or
remembers, can have it played here, beside policies that learn nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Evaluating, References, Setting, Untrained, World
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count

PLAYING = "longfair.papers.fairmdp.playing"

TOLERANCE = 0.1
"""Gap in discounted lending rates that the fair optimum keeps: the paper's tolerance."""


@dataclass(frozen=True)
class Applicants(Evaluating):
    """As many applicants as it takes to see a gap of a hundredth."""

    final_episodes: Count = 20_000
    episode_length: Count | None = None
    measure: str = f"{PLAYING}:lent"

    def shortened(self) -> Applicants:
        """Return the same for a few applicants."""
        return Applicants(final_episodes=200)


REFERENCE_POLICIES: References = {
    "lend-to-all": (
        Untrained(f"{PLAYING}:always", {"decision": 1}),
        "lends to everybody",
    ),
    "lend-to-none": (
        Untrained(f"{PLAYING}:always", {"decision": 0}),
        "lends to nobody",
    ),
    "optimum": (
        Untrained(f"{PLAYING}:best_within"),
        "the best policy, by dynamic programming, whatever the groups' rates",
    ),
    "fair-optimum": (
        Untrained(f"{PLAYING}:best_within", {"gap": TOLERANCE}),
        "the best policy with a gap in discounted lending rates of at most 0.1",
    ),
}
"""Policies that learn nothing."""

APPLICANTS = {"book": Applicants(), "smoke": Applicants().shortened()}


def _arm(name: str, profile: str) -> Arm:
    policy, description = REFERENCE_POLICIES[name]
    setting = Setting(World("longfair/LoanMDP-v0"), policy, None, APPLICANTS[profile])
    return Arm(name, "reference", setting, train_and_evaluate, description)


INDIVIDUALS = Experiment(
    id="fairmdp/individuals",
    title="Individual loans, played in episodes by policies that need no training",
    arms={
        profile: tuple(_arm(name, profile) for name in REFERENCE_POLICIES) for profile in APPLICANTS
    },
    seeds={"smoke": 2, "book": 10},
    horizon=dict.fromkeys(APPLICANTS, 0),
    authors="",
)

EXPERIMENTS = (INDIVIDUALS,)
