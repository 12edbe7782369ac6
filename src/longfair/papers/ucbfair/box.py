"""How low and how high a threshold may be on Adult scores: a choice of ours, changed alone.

The presets let thresholds lie between 1/32 and 31/32 of the score. Short-sighted rules lean on the
lower end, so what they do to the groups hangs on it.
"""

from __future__ import annotations

from dataclasses import replace

from longfair.papers.ucbfair.experiments import ADULT, references
from longfair.runs.experiment import Arm, Experiment

LOWEST = {"0": 0.0, "64": 1 / 64, "16": 1 / 16}
"""Lowest threshold by name; the highest is one less it."""

RULES = ("myopic-fair", "myopic-fair-gd", "myopic-fair-61", "maxmin-fair", "maxmin-fair-gd")


SEEDS = {"book": 5, "smoke": 2}
"""Fewer than elsewhere: neither the rules nor the population draw anything."""


def _arms(profile: str) -> tuple[Arm, ...]:
    return tuple(
        replace(arm, method=f"{arm.method}-box-{name}")
        for name, low in LOWEST.items()
        for arm in references(
            replace(ADULT, changes={"threshold_range": (low, 1.0 - low)}), profile
        )
        if arm.method in RULES
    )


BOX = Experiment(
    id="ucbfair/box",
    title="Adult scores, with other bounds on the thresholds",
    arms={profile: _arms(profile) for profile in SEEDS},
    seeds=SEEDS,
    horizon=dict.fromkeys(SEEDS, 1),
    authors="",
)

EXPERIMENTS = (BOX,)
