"""Myopic-Fair as the released scripts weigh: the gap counts with 1, so the loss does not count.

The paper's first version has a weight of one half, and so have the baselines elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

from longfair.papers.ucbfair.experiments import ADULT, references
from longfair.runs.experiment import Arm, Experiment

RULES = ("myopic-fair", "myopic-fair-gd", "myopic-fair-61")
"""No script has a Maxmin-Fair."""

SEEDS = {"book": 5, "smoke": 2}
"""Fewer than elsewhere: neither the rules nor the population draw anything."""


def _weighted(arm: Arm) -> Arm:
    method = arm.config.method
    settings = {**method.settings, "fairness_weight": 1.0}
    return replace(
        arm,
        variant="as_coded",
        config=replace(arm.config, method=replace(method, settings=settings)),
        description=f"only the gap counts; {arm.description}",
    )


def _arms(profile: str) -> tuple[Arm, ...]:
    return tuple(_weighted(arm) for arm in references(ADULT, profile) if arm.method in RULES)


SCRIPT_WEIGHT = Experiment(
    id="ucbfair/script-weight",
    title="Adult scores, with the scripts' weight of the gap",
    arms={profile: _arms(profile) for profile in SEEDS},
    seeds=SEEDS,
    horizon=dict.fromkeys(SEEDS, 1),
    authors="",
)

EXPERIMENTS = (SCRIPT_WEIGHT,)
