"""How the baselines descend on Adult scores: choices of ours, changed one at a time.

The paper searches by gradient descent and does not say from where, nor for how long. The presets
take 200 steps of Adam from thresholds in the middle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from longfair.papers.ucbfair.experiments import ADULT, references
from longfair.runs.experiment import Arm, Experiment

CHANGES: dict[str, dict[str, Any]] = {
    "start-10": {"start": 0.1},
    "start-90": {"start": 0.9},
    "short": {"steps": 50},
    "small-steps": {"step_size": 0.01},
}
"""Fields of `longfair.agents.policies.population.Descent`, by name."""

RULES = ("myopic-fair-gd", "maxmin-fair-gd")
"""Those whose groups the paper finds drifting apart."""

SEEDS = {"book": 5, "smoke": 2}
"""Fewer than elsewhere: neither the rules nor the population draw anything."""


def _changed(arm: Arm, name: str) -> Arm:
    method = arm.config.method
    settings = {**method.settings, **CHANGES[name]}
    return replace(
        arm,
        method=f"{arm.method}-{name}",
        config=replace(arm.config, method=replace(method, settings=settings)),
    )


def _arms(profile: str) -> tuple[Arm, ...]:
    return tuple(
        _changed(arm, name)
        for name in CHANGES
        for arm in references(ADULT, profile)
        if arm.method in RULES
    )


DESCENT = Experiment(
    id="ucbfair/descent",
    title="Adult scores, with other descents of the baselines",
    arms={profile: _arms(profile) for profile in SEEDS},
    seeds=SEEDS,
    horizon=dict.fromkeys(SEEDS, 1),
    authors="",
)

EXPERIMENTS = (DESCENT,)
