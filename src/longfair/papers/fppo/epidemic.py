"""F-PPO's epidemic control: what is run, and with which settings."""

from __future__ import annotations

from longfair.agents.ppo.massaging.epidemic import EpidemicFPPO
from longfair.papers.fppo.learning import TrunkPPO
from longfair.papers.fppo.methods import VARIANTS, CaseStudy, authors
from longfair.papers.setting import Evaluating, References, Untrained, World, Wrapper


def world(as_coded: bool) -> World:
    """Say where one acts: states, and how often everybody was vaccinated, 136 numbers."""
    wrappers = tuple(
        Wrapper(name, {"as_coded": as_coded}) for name in ("vaccination-counts", "epidemic-gaps")
    )
    return World("longfair/Epidemic-v0", {"preset": "fppo"}, wrappers=wrappers)


REFERENCES: References = {
    "nobody": (Untrained("vaccinate-nobody"), "vaccinates nobody"),
    "uniform": (Untrained("vaccinate-uniformly"), "vaccinates anybody or nobody, at random"),
    "max-degree": (
        Untrained("vaccinate-highest-degree", {"as_in_fppo": True}),
        "the susceptible person with the most neighbours: the code's Max agent",
    ),
    "max-exposed": (
        Untrained("vaccinate-most-exposed", {"as_in_fppo": True}),
        "the susceptible person with the most infected neighbours: the text's Max agent",
    ),
    "static-reward": (
        Untrained("vaccination-lottery", {"chance": 1.0, "exposure_weight": 1.59}),
        "community 1 first, there whoever counts most, best for the reward, found by search",
    ),
}
"""Policies that need no training.

The lottery between the communities was found by `longfair.papers.elbert.static_search` for the
reward alone. The search ended at its edge, where nothing is drawn: community 1 always comes first.
"""

CASE = CaseStudy(
    identity="fppo/epidemic",
    title="Epidemic control: PPO, A-PPO and F-PPO beside policies that need no training",
    worlds={variant: world(as_coded) for variant, as_coded in VARIANTS.items()},
    massaged=EpidemicFPPO,
    a_ppo=(0.1, 0.05),
    learning={
        **authors(TrunkPPO(2048, (512, 512, 512, 256), 500_000)),
        "smoke": TrunkPPO(50, (32, 16, 16), 3_000, minibatch=50, epochs=2, learning_rate=1e-3),
    },
    evaluating={
        **authors(Evaluating(final_episodes=1000, episode_length=20, measure="fppo-epidemic")),
        "smoke": Evaluating(final_episodes=20, episode_length=20, measure="fppo-epidemic"),
    },
    episode_length={**authors(20), "smoke": 20},
    references=REFERENCES,
    seeds={**authors(10), "smoke": 2},
)

EPIDEMIC = CASE.experiment()
