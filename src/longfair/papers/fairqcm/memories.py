"""FairQCM on doughnuts with memories that are shorter than the paper's.

The paper's agent on doughnuts counts what everybody has received. Here it remembers what Min or
Reset does. Each of these stands beside an agent with the same memory, minibatches and buffer that
imagines nothing.
"""

from __future__ import annotations

from dataclasses import replace

from longfair.papers.fairqcm.deep import (
    CHANGES,
    EPISODES,
    SEEDS,
    config_of,
    episode_length,
    learned_arms,
    observed,
)
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Setting
from longfair.runs.experiment import Arm, Experiment

MEMORIES = {"with_min": "with the memory of Min", "with_reset": "with the memory of Reset"}
"""What FairQCM remembers in place of what everybody has received, by variant."""


def remembering(memory: str, profile: str) -> Setting:
    """Return the settings of FairQCM as published with the memory of `"min"` or `"reset"`."""
    config = config_of("doughnuts", "fairqcm", "as_published", profile)
    wrappers = observed(memory, config.method.switches)
    return replace(config, world=replace(config.world, wrappers=wrappers))


def imagining_nothing(memory: str, profile: str) -> Setting:
    """Return the same without counterfactual experience: Min or Reset with other minibatches."""
    config = remembering(memory, profile)
    return replace(config, method=replace(config.method, counterfactual=False))


def _arms(profile: str) -> list[Arm]:
    arms = learned_arms("doughnuts", ("fairqcm",), ("as_published",), profile)
    for variant, description in MEMORIES.items():
        memory = variant.removeprefix("with_")
        fair, plain = remembering(memory, profile), imagining_nothing(memory, profile)
        arms += [
            Arm("fairqcm", variant, fair, train_and_evaluate, description),
            Arm(memory, "large_batch", plain, train_and_evaluate, CHANGES["large_batch"]),
        ]
    return arms


SHORTER_MEMORIES = Experiment(
    id="fairqcm/doughnuts-memories",
    title="Doughnuts with deep agents: counterfactual experience with shorter memories",
    arms={profile: tuple(_arms(profile)) for profile in EPISODES},
    seeds=SEEDS,
    horizon={
        profile: episodes * episode_length("doughnuts") for profile, episodes in EPISODES.items()
    },
)

EXPERIMENTS = (SHORTER_MEMORIES,)
