"""F-PPO's attention allocation: what is run, and with which settings."""

from __future__ import annotations

from longfair.agents.ppo.massaging.attention import AttentionFPPO
from longfair.papers.fppo.learning import Trajectories, TrunkPPO
from longfair.papers.fppo.methods import CHOSEN_HERE, VARIANTS, CaseStudy, authors
from longfair.papers.setting import Evaluating, References, Untrained, World, Wrapper

SITES, ROWS = 5, 8

STATIC = (0.0, 2.52, 0.36, 0.04, -0.02)
"""Logarithms of the sites' weights in the proportional policy that is best for the reward.

Found by `longfair.papers.elbert.static_search` on episodes that no result uses.
"""


def world(as_coded: bool) -> World:
    """Say where one acts: the last eight steps are seen, 160 numbers."""
    wrappers = (
        Wrapper("window-rates", {"window": 300, "offset": 1.0}),
        Wrapper("history", {"length": ROWS}),
        Wrapper("attention-gaps", {"window": 300, "as_coded": as_coded}),
    )
    return World("longfair/Attention-v0", {"preset": "fppo"}, wrappers=wrappers)


REFERENCES: References = {
    "equal": (Untrained("equal-units"), "serves every site in every step"),
    "gaussian": (Untrained("gaussian-logits"), "random logits, as an untrained policy draws them"),
    "proportional": (
        Untrained("proportional-to-rates"),
        "units in proportion to the true rates, which no learned policy sees",
    ),
    "discovery": (
        Untrained("proportional-to-incidents", {"logarithms": (0.0,) * SITES, "rows": ROWS}),
        "units in proportion to recent incidents",
    ),
    "greedy": (
        Untrained("greedy-discoveries", {"rows": ROWS}),
        "one unit after the other where one more find is most likely",
    ),
    "above-target": (
        Untrained("proportional-to-excess", {"target": 1.48, "rows": ROWS}),
        "units in proportion to recent incidents above a target; the target is found by search",
    ),
    "static-reward": (
        Untrained("proportional-to-incidents", {"logarithms": STATIC, "rows": ROWS}),
        "units in proportion to weighted recent incidents, best for the reward, found by search",
    ),
}
"""Policies that need no training.

The target was found by `longfair.papers.elbert.static_search` for the reward alone, on episodes
that no result uses.
"""

CASE = CaseStudy(
    identity="fppo/attention",
    title="Attention allocation: PPO, A-PPO, F-PPO and CPO beside policies that need no training",
    worlds={variant: world(as_coded) for variant, as_coded in VARIANTS.items()},
    massaged=AttentionFPPO,
    a_ppo=(0.15, 0.05),
    learning={
        **authors(TrunkPPO(2048, (128, 128, 128, 64), 2_000_000)),
        "smoke": TrunkPPO(150, (32, 16, 16), 3_000, minibatch=50, epochs=2, learning_rate=1e-3),
    },
    evaluating={
        **authors(Evaluating(final_episodes=100, episode_length=1000, measure="fppo-attention")),
        "smoke": Evaluating(final_episodes=4, episode_length=200, measure="fppo-attention"),
    },
    episode_length={**authors(1000), "smoke": 100},
    references=REFERENCES,
    seeds={**authors(10), "smoke": 2},
    constrained={**authors(Trajectories()), "smoke": Trajectories(copies=5, total_steps=3_000)},
    chosen_here=(*CHOSEN_HERE, "f-ppo-l.as_published"),
)
"""As published the weight and the tolerance of F-PPO are the code's: the text names none.

They weigh raw terms there, which is our choice, so these runs have our settings.
"""

ATTENTION = CASE.experiment()
