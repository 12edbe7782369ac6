"""ELBERT's infectious disease experiments, original and harder: what is run, and how."""

from __future__ import annotations

from dataclasses import replace

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.papers.four_methods import four_methods
from longfair.papers.setting import (
    PPO,
    Evaluating,
    Methods,
    Problem,
    References,
    Untrained,
    World,
    Wrapper,
)

STATIC = {
    "elbert": {
        "static-reward": (1.0, 1.59),
        "static-optimum": (0.44, 1.49),
        "static-optimum-text": (0.45, 1.18),
    },
    "elbert_harder": {
        "static-reward": (0.99, 0.03),
        "static-optimum": (0.49, 0.24),
        "static-optimum-text": (0.51, 0.24),
    },
}
"""The best lotteries, by preset and policy: chance of group 1, and weight of infected neighbours.

Found by `longfair.papers.elbert.static_search` on episodes that no result uses, for both formulas
of the bias: an episode has so little demand that the one the code adds to it decides.
"""

WASTEFUL_DAYS = {"vaccinate-then-waste": 14.01, "vaccinate-then-waste-text": 14.22}
"""Days on which the wasteful schedule is useful, harder environment; found in the same way."""


def world(preset: str) -> World:
    """Say where one acts: agents see everybody's health."""
    return World("longfair/Epidemic-v0", {"preset": preset})


def with_clock(preset: str) -> World:
    """Say where one acts who sees besides how much of the episode has passed."""
    return replace(world(preset), wrappers=(Wrapper("elapsed-time"),))


def vaccinate_then_waste(useful_days: float) -> Untrained:
    """Return the schedule that protects group 1 for some days and wastes the other vaccines."""
    return Untrained("vaccinate-then-waste", {"useful_days": useful_days, "days": 20})


def references(preset: str) -> References:
    """Return the policies that need no training for a preset."""
    return {
        "nobody": (Untrained("vaccinate-nobody"), "vaccinates nobody"),
        "uniform": (
            Untrained("vaccinate-uniformly"),
            "anybody or nobody with equal chances, as an untrained policy draws",
        ),
        "highest-degree": (
            Untrained("vaccinate-highest-degree"),
            "the susceptible person with the most neighbours",
        ),
        "most-exposed": (
            Untrained("vaccinate-most-exposed"),
            "the susceptible person with the most infected neighbours",
        ),
        "static-reward": (
            _lottery(preset, "static-reward"),
            "a lottery between the groups, the best one for the reward alone",
        ),
        "static-optimum": (
            _lottery(preset, "static-optimum"),
            "a lottery between the groups, the best one for ELBERT's objective by the code's bias",
        ),
        "static-optimum-text": (
            _lottery(preset, "static-optimum-text"),
            "a lottery between the groups, the best one for ELBERT's objective by the text's bias",
        ),
    }


def _lottery(preset: str, policy: str) -> Untrained:
    chance, weight = STATIC[preset][policy]
    return Untrained("vaccination-lottery", {"chance": chance, "exposure_weight": weight})


SMOKE = PPO(
    copies=50,
    minibatch=250,
    epochs=2,
    learning_rate=1e-3,
    hidden=(32,),
    total_steps=4_000,
    annealed=True,
)


def _evaluating(every: int, episodes: int, final_episodes: int) -> Evaluating:
    """Report wasted vaccines beside the rates."""
    return Evaluating(every, episodes, final_episodes, 20, "rates-and-extremes", ("wasted",))


EVALUATING = {
    "paper": _evaluating(every=5, episodes=200, final_episodes=2000),
    "book": _evaluating(every=6, episodes=200, final_episodes=2000),
    "smoke": _evaluating(every=1, episodes=20, final_episodes=50),
}
EPISODE_LENGTH = dict.fromkeys(EVALUATING, 20)

HARDER = Problem(
    world("elbert_harder"),
    learning={
        "paper": PPO(250, 64, 10, 1e-5, (512, 256), 5_000_000),
        "book": PPO(250, 1000, 4, 4e-4, (64, 64), 1_500_000, annealed=True),
        "smoke": SMOKE,
    },
    evaluating=EVALUATING,
    episode_length=EPISODE_LENGTH,
)
ORIGINAL = Problem(
    world("elbert"),
    learning={
        "paper": PPO(250, 64, 10, 1e-5, (512, 256), 10_000_000),
        "book": PPO(250, 1000, 4, 4e-4, (64, 64), 1_000_000, annealed=True),
        "smoke": SMOKE,
    },
    evaluating=EVALUATING,
    episode_length=EPISODE_LENGTH,
)

ALPHA = {
    "elbert": {"as_coded": 20.0, "as_published": 10.0},
    "elbert_harder": {"as_coded": 50.0, "as_published": 50.0},
}
"""ELBERT-PO's weight of the squared bias, by preset and variant.

Table 1 of the paper gives alpha 10 for the original environment, the authors' script 20.
"""

TOLERANCE = 0.05
"""Disparity that R-PPO and A-PPO leave alone."""


def methods(preset: str) -> Methods:
    """Return the four methods in both variants, with the weights of a preset."""
    return four_methods(
        ElbertPO.as_coded(ALPHA[preset]["as_coded"]),
        ElbertPO.as_published(ALPHA[preset]["as_published"]),
        RPPO(penalty=0.1, tolerance=TOLERANCE, offset=1.0),
        APPO(level_weight=0.1, change_weight=0.1, tolerance=TOLERANCE, offset=1.0),
    )


SEEDS = {"smoke": 2, "book": 20, "paper": 5}

INFECTIOUS = ORIGINAL.experiment(
    "elbert/infectious",
    "An epidemic on a network: four methods beside untrained policies",
    methods("elbert"),
    references("elbert"),
    SEEDS,
)
WITH_CLOCK = replace(HARDER, world=with_clock("elbert_harder"))
"""The harder environment for policies that are told how much of the episode has passed."""

WASTEFUL: References = {
    name: (
        vaccinate_then_waste(days),
        "protects group 1 first, then wastes the vaccines on the ill of group 0; has a clock",
    )
    for name, days in WASTEFUL_DAYS.items()
}
INFECTIOUS_HARDER = HARDER.experiment(
    "elbert/infectious-harder",
    "An epidemic on a network where immunity is lost again",
    methods("elbert_harder"),
    references("elbert_harder"),
    SEEDS,
    beside=(WITH_CLOCK, WASTEFUL),
)
