"""Where learned policies move the population: what the phase portraits of learners are drawn from.

The same learners and settings as in the paper's figures, one run of each, at the beginning and in
the middle of an episode. Nothing is judged on them: a portrait shows one policy.
"""

from __future__ import annotations

from dataclasses import replace

from longfair.papers.ucbfair.experiments import (
    ADULT,
    HERE,
    PROFILES,
    SYNTHETIC,
    SYNTHETIC_QR,
    Judging,
    Problem,
    td3_arms,
    ucb_arms,
)
from longfair.runs.experiment import Arm, Experiment

PROBLEMS = {"synthetic": SYNTHETIC, "synthetic-qr": SYNTHETIC_QR, "adult": ADULT}
"""Gaussian features and Adult scores with demographic parity; the first with equal rates, too."""

DRAWN = {("l-ucbfair", "calibrated"), ("l-ucbfair", "as_published"), ("r-td3", "as_published")}
"""Methods and variants that have a portrait."""

SEEDS = {"book": 1, "smoke": 1}


def _arms(problem: Problem, profile: str) -> tuple[Arm, ...]:
    judging = Judging(notion=problem.notion, measure=f"{HERE}.flow:flows")
    arms = [*ucb_arms(problem, profile), *td3_arms(problem, profile)]
    return tuple(
        replace(arm, config=replace(arm.config, evaluating=judging))
        for arm in arms
        if (arm.method, arm.variant) in DRAWN
    )


EXPERIMENTS = tuple(
    Experiment(
        id=f"ucbfair/portraits-{name}",
        title=f"Where learned policies move the population: {name}",
        arms={profile: _arms(problem, profile) for profile in PROFILES},
        seeds=SEEDS,
        horizon={
            profile: min(used.td3.total_steps, used.ucb.episodes * (used.episode_length or 100))
            for profile, used in PROFILES.items()
        },
        authors="",
    )
    for name, problem in PROBLEMS.items()
)
