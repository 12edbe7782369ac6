"""The treatment of the Adult data: choices of ours, each changed alone.

The groups are men and women elsewhere, and White and everybody else here; the regression of the
score has ten times and a tenth of its penalty; the score has 16 and 64 bins in place of 32. The
fitness table, the equal sizes of the groups, the bounds on the thresholds and the constant
threshold are those of the preset ``adult`` in all of them, so that one thing changes at a time.

L-UCBFair, a minute a run, learns in all five. With 64 bins the shares at the edges of 32 bins stay
as they are, so the policies that search those edges play the same; L-UCBFair draws its thresholds
between the edges, too, where the shares differ.

A second experiment takes the one fitness table of the authors that was found, ``cited``, which is
of their earlier code and of no Adult scores. There everything that learns plays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.ucbfair.experiments import (
    ADULT,
    PROFILES,
    SEEDS,
    SHORT,
    Problem,
    references,
    td3_arms,
    ucb_arms,
)
from longfair.runs.experiment import Arm, Experiment

WORLDS = {
    "race": "adult_race",
    "strong-ridge": "adult_strong_ridge",
    "weak-ridge": "adult_weak_ridge",
    "16-bins": "adult_16_bins",
    "64-bins": "adult_64_bins",
}
"""Ending of the methods' names to preset."""


def _learner(name: str, problem: Problem, profile: str) -> Arm:
    return Arm(
        f"l-ucbfair-{name}",
        "one_change",
        problem.setting(
            LUCBFairSettings.calibrated(notion=problem.disparity), PROFILES[profile].ucb, profile
        ),
        train_and_evaluate,
        name,
    )


def _arms(profile: str) -> tuple[Arm, ...]:
    problems = {name: replace(ADULT, preset=preset) for name, preset in WORLDS.items()}
    return (
        *(_learner(name, problem, profile) for name, problem in problems.items()),
        *(
            replace(arm, method=f"{arm.method}-{name}")
            for name, problem in problems.items()
            for arm in references(problem, profile)
        ),
    )


CITED = Problem("adult_cited", "dp", 31 / 32)
"""Its constant threshold is the strictest there is, which loses least of 14 that were tried."""


def _cited(profile: str) -> tuple[Arm, ...]:
    learned = ucb_arms(CITED, profile)[:2]
    trained = [arm for arm in td3_arms(CITED, profile) if arm.variant == "as_published"][:1]
    return (*learned, *trained, *references(CITED, profile))


def _experiment(name: str, title: str, arms: Callable[[str], tuple[Arm, ...]]) -> Experiment:
    return Experiment(
        id=f"ucbfair/{name}",
        title=title,
        arms={profile: arms(profile) for profile in PROFILES},
        seeds=SEEDS,
        horizon={"book": 200_000, "smoke": PROFILES["smoke"].ucb.episodes * SHORT},
        authors="",
    )


ADULT_WORLDS = _experiment(
    "adult-worlds", "Adult scores, with other groups, regressions and bins", _arms
)
ADULT_CITED = _experiment(
    "adult-cited", "Adult scores under the one fitness table that was found", _cited
)

EXPERIMENTS = (ADULT_WORLDS, ADULT_CITED)
