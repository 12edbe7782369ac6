"""ELBERT's attention experiments, original and harder: what is run, and with which settings."""

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

SITES = 5
ROWS = 8
"""Past steps that agents observe."""

CONSTANT = {
    "elbert_harder": {"constant-reward": (12, 7, 5, 4, 2), "constant-optimum": (9, 7, 6, 5, 3)}
}
"""Units of the best constant allocations, by preset and policy, found by trying all of them.

`longfair.agents.policies.constant_allocations` does it exactly. In the original environment the
best one, for the reward and for ELBERT's objective, is that of the policy `equal`.
"""

STATIC = {
    "elbert": {"static-optimum": (0.0, -0.14, 2.9, -0.15, -0.06)},
    "elbert_harder": {
        "static-reward": (0.0, 0.57, 1.2, 1.35, 1.56),
        "static-optimum": (0.0, 0.68, 0.86, 0.97, 1.02),
    },
}
"""Logarithms of the sites' weights in the best proportional policies, by preset and policy.

Found by `longfair.papers.elbert.static_search` on episodes that no result uses.
"""

DESCRIPTIONS = {
    "equal": "the same number of units everywhere",
    "gaussian": "random logits, as an untrained policy draws them",
    "proportional": "units in proportion to the true rates, which no learned policy sees",
    "constant-reward": "the best constant allocation for the reward alone",
    "constant-optimum": "the best constant allocation for ELBERT's objective",
    "static-reward": "units in proportion to weighted recent incidents, best for the reward alone",
    "static-optimum": "units in proportion to weighted recent incidents, best for the objective",
}
"""Policies that need no training; those found by a search only where one was made."""


def world(preset: str) -> World:
    """Say where one acts: agents see the last steps, and the running rates at each of them."""
    wrappers = (Wrapper("running-rates", {"offset": 1.0}), Wrapper("history", {"length": ROWS}))
    return World("longfair/Attention-v0", {"preset": preset}, wrappers=wrappers)


def references(preset: str) -> References:
    """Return the policies that need no training for a preset."""
    policies = {
        "equal": Untrained("equal-units"),
        "gaussian": Untrained("gaussian-logits"),
        "proportional": Untrained("proportional-to-rates"),
        **{
            name: Untrained("constant-units", {"units": units})
            for name, units in CONSTANT.get(preset, {}).items()
        },
        **{
            name: Untrained("proportional-to-incidents", {"logarithms": found, "rows": ROWS})
            for name, found in STATIC[preset].items()
        },
    }
    return {name: (policy, DESCRIPTIONS[name]) for name, policy in policies.items()}


SMOKE = PPO(
    copies=2,
    minibatch=200,
    epochs=2,
    learning_rate=3e-3,
    hidden=(16,),
    total_steps=1_600,
    annealed=True,
)

_EVALUATING = Evaluating(final_episodes=100, episode_length=1024, measure="rates-and-extremes")
EVALUATING = {
    "paper": replace(_EVALUATING, every=5, episodes=10),
    "book": replace(_EVALUATING, every=4, episodes=4),
    "smoke": replace(_EVALUATING, every=1, episodes=2, final_episodes=4, episode_length=100),
}
EPISODE_LENGTH = {"paper": 1024, "book": 1024, "smoke": 100}

# Settings of `book`: as many steps as the authors', with fewer epochs and a learning rate larger by
# as much. With larger steps, or critics that fit worse, ELBERT-PO loses a site in some runs.
HARDER = Problem(
    world("elbert_harder"),
    learning={
        "paper": PPO(4, 64, 10, 1e-5, (128, 64), 5_000_000),
        "book": PPO(4, 64, 4, 2.5e-5, (64, 64), 5_000_000),
        "smoke": SMOKE,
    },
    evaluating={**EVALUATING, "book": replace(EVALUATING["book"], every=12)},
    episode_length=EPISODE_LENGTH,
)
ORIGINAL = Problem(
    world("elbert"),
    learning={
        "paper": PPO(4, 64, 10, 1e-6, (128, 64), 20_000_000),
        "book": PPO(8, 256, 2, 2e-4, (64, 64), 1_200_000, annealed=True),
        "smoke": SMOKE,
    },
    evaluating=EVALUATING,
    episode_length=EPISODE_LENGTH,
)

ALPHA = {"elbert": 50.0, "elbert_harder": 2e4}
"""ELBERT-PO's weight of the squared bias, by preset."""

PENALTY = {"elbert": 10.0, "elbert_harder": 20.0}
"""R-PPO's weight of the disparity, by preset."""

BETA = 20.0
"""Sharpness of the soft bias."""

TOLERANCE = 0.05
"""Disparity that R-PPO and A-PPO leave alone."""


def methods(preset: str) -> Methods:
    """Return the four methods in both variants, with the weights of a preset."""
    return four_methods(
        ElbertPO.as_coded(ALPHA[preset], BETA),
        ElbertPO.as_published(ALPHA[preset], BETA),
        RPPO(penalty=PENALTY[preset], tolerance=TOLERANCE, excess_only=True, offset=1.0),
        APPO(level_weight=0.15, change_weight=0.15, tolerance=TOLERANCE, offset=1.0),
    )


SEEDS = {"smoke": 2, "book": 10, "paper": 10}

ATTENTION = ORIGINAL.experiment(
    "elbert/attention",
    "Attention allocation: four methods beside policies that need no training",
    methods("elbert"),
    references("elbert"),
    {**SEEDS, "book": 20},
)
ATTENTION_HARDER = HARDER.experiment(
    "elbert/attention-harder",
    "Attention allocation with busier sites, five times the units",
    methods("elbert_harder"),
    references("elbert_harder"),
    SEEDS,
)
