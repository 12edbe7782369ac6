"""Theorem 5.7 of FairQCM on other small problems than the one of `longfair.papers.fairqcm.tabular`.

A theorem speaks of every problem, one problem says little. In these there are more doughnuts, more
people, people who are not equally often there, or a future that counts for less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from longfair.papers.fairqcm.tabular import PREMISES, SMALL, CheckedLearning, Distances
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Setting
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import changed


class Instance(NamedTuple):
    """What a problem has that the first does not."""

    description: str
    world: Mapping[str, Any] = MappingProxyType({})
    """Fields of `longfair.envs.doughnut.DoughnutParams`."""
    method: Mapping[str, Any] = MappingProxyType({})
    """Fields of `longfair.agents.fairqcm.presets.QLearningSettings`."""


INSTANCES = {
    "six_doughnuts": Instance("2 people, 6 doughnuts", {"episode_length": 6}),
    "three_people": Instance(
        "3 people, 3 doughnuts",
        {"presence_probability": (0.8, 0.8, 0.8), "episode_length": 3},
    ),
    "rarely_there": Instance(
        "2 people, 4 doughnuts, one of the two there with probability 0.3",
        {"presence_probability": (0.8, 0.3)},
    ),
    "short_sight": Instance("2 people, 4 doughnuts, a discount of 0.9", method={"discount": 0.9}),
}
"""The other problems; step sizes and premises are those of the first."""

CHECKPOINTS = {
    "book": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000),
    "smoke": (100, 300, 1_000),
}
"""Training episodes after which tables are compared: three times as many as in the first problem,
because some entries are met more rarely."""


def _arm(name: str, instance: Instance, checkpoints: tuple[int, ...]) -> Arm:
    setting = Setting(
        replace(SMALL, changes={**SMALL.changes, **instance.world}),
        changed(PREMISES, instance.method),
        CheckedLearning(checkpoints),
        Distances(),
    )
    return Arm("fairqcm", name, setting, train_and_evaluate, instance.description)


INSTANCES_OF_5_7 = Experiment(
    id="fairqcm/convergence-elsewhere",
    title="Tables of action values against the exact ones, in four other small problems",
    arms={
        profile: tuple(_arm(name, instance, checkpoints) for name, instance in INSTANCES.items())
        for profile, checkpoints in CHECKPOINTS.items()
    },
    seeds={"smoke": 2, "book": 10},
    horizon={profile: 3 * checkpoints[-1] for profile, checkpoints in CHECKPOINTS.items()},
)

EXPERIMENTS = (INSTANCES_OF_5_7,)
