"""F-PPO's bank loans: what is run, and with which settings."""

from __future__ import annotations

from longfair.agents.ppo.massaging.lending import LendingFPPO
from longfair.papers.fppo.learning import TrunkPPO
from longfair.papers.fppo.methods import VARIANTS, CaseStudy, authors
from longfair.papers.fppo.one_change import changed
from longfair.papers.setting import Evaluating, References, Untrained, World, Wrapper


def world(as_coded: bool, **distance: str) -> World:
    """Say where one acts: 25 numbers are seen, and gaps taken over the last 300 applicants."""
    window = {"window": 300, "as_coded": as_coded}
    wrappers = (Wrapper("window-statistics", window), Wrapper("lending-gaps", window | distance))
    return World("longfair/Lending-v0", {"preset": "fppo"}, wrappers=wrappers)


REFERENCES: References = {
    "accept-all": (Untrained("accept-with-chance", {"chance": 1.0}), "accepts everybody"),
    "accept-half": (
        Untrained("accept-with-chance", {"chance": 0.5}),
        "accepts everybody with probability one half",
    ),
    **{
        f"threshold-{first}-{second}": (
            Untrained("thresholds", {"limits": (first, second)}),
            f"accepts group 0 from score {first} on, group 1 from score {second} on",
        )
        for first, second in ((3, 3), (2, 2), (1, 1), (2, 1), (3, 2))
    },
    "equal-opportunity": (
        Untrained("equal-opportunity"),
        "best profit now under equal true positive rates, knowing the scores",
    ),
    "static-reward": (
        Untrained("real-thresholds", {"limits": (1.39, 1.79)}),
        "two thresholds between scores, found by a search for the most profit in 10,000 steps",
    ),
}
"""Policies that need no training.

The real thresholds were found by `longfair.papers.elbert.static_search` for the reward alone, on
episodes that no result uses. Profit is flat there: some whole thresholds earn as much.
"""

CASE = CaseStudy(
    identity="fppo/lending",
    title="Bank loans: PPO, A-PPO and F-PPO beside policies that need no training",
    worlds={variant: world(as_coded) for variant, as_coded in VARIANTS.items()},
    regularised={"as_coded": world(True, distance="sinkhorn")},
    massaged=LendingFPPO,
    a_ppo=(0.25, 0.005),
    learning={
        **authors(TrunkPPO(2000, (256, 256, 256, 128), 700_000)),
        "smoke": TrunkPPO(200, (32, 16, 16), 4_000, minibatch=100, epochs=2, learning_rate=1e-3),
    },
    evaluating={
        **authors(Evaluating(final_episodes=100, episode_length=10_000, measure="fppo-lending")),
        "smoke": Evaluating(final_episodes=10, episode_length=600, measure="fppo-lending"),
    },
    episode_length={**authors(2000), "smoke": 200},
    references=REFERENCES,
    seeds={**authors(10), "smoke": 2},
    elsewhere={
        "f-ppo-exact": (
            world(True, distance="sorted-counts"),
            "F-PPO with the exact limit of the code's smoothed distance",
        )
    },
    changed=changed,
)

LENDING = CASE.experiment()
