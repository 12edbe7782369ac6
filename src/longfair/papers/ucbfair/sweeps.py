"""Numbers of L-UCBFair that stand in for the authors', one at a time changed.

With Gaussian features and demographic parity everything is changed, with the other goal and with
Adult scores all but what takes longest or has no meaning there. Adult scores are the shares of a
population from 1/32 to 31/32, so there is no other range of thresholds to try.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.agents.ucbfair.td3_settings import RTD3Settings
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.ucbfair.experiments import (
    ADULT,
    PROFILES,
    SYNTHETIC,
    SYNTHETIC_QR,
    Problem,
    change_experiment,
    references,
    td3_arms,
    ucb_arms,
)
from longfair.papers.ucbfair.learning import UCBLearning
from longfair.runs.experiment import Arm

SCRIPT = {
    "ridge": 1.0,
    "sharpness": 1.0,
    "largest_price": 0.0,
    "data": "frozen",
    "remaining_cap": False,
    "shared_draws": True,
}
"""Numbers of the released script that differ from ours; its number of episodes is not taken."""


class Change(NamedTuple):
    """What an arm of a sweep has that others do not."""

    description: str
    method: Mapping[str, Any] = {}
    learning: Mapping[str, Any] = {}
    """Not in smoke runs."""
    world: Mapping[str, Any] = {}


def _changes(problem: Problem, learning: UCBLearning) -> dict[str, Change]:
    """Return what can be changed, by the ending of the method's name."""
    ours = LUCBFairSettings.calibrated()
    resolved = ours.resolved(horizon=problem.episode_length(), features=learning.size)
    step = resolved.price_step
    assert step is not None
    return {
        **{f"cells-{m * m}": Change(f"{m * m} cells of actions", {"cells": m}) for m in (3, 8, 10)},
        "budget-001": Change("mean disparity of at most 0.01", {"budget": 0.01}),
        "ridge-1": Change("the theorem's ridge", {"ridge": 1.0}),
        "bonus-0": Change("no bonus for uncertainty", {"bonus": 0.0}),
        "bonus-05": Change("ten times the bonus", {"bonus": 0.5}),
        "no-price": Change("no constraint", {"largest_price": 0.0}),
        "frozen": Change("targets are never refreshed", {"data": "frozen"}),
        "pooled": Change("one Gram matrix for all steps", {"data": "pooled", "ridge": 0.01}),
        "size-100": Change("100 features", learning={"size": 100}),
        "one-copy": Change("one episode a policy, as in Algorithm 1", learning={"copies": 1}),
        "sharpness-1": Change("the released script's sharpness of the softmax", {"sharpness": 1.0}),
        "price-step-10": Change("ten times the step of the price", {"price_step": 10 * step}),
        "highest-price-100": Change(
            "ten times the bound of the price", {"largest_price": 100.0, "price_step": step}
        ),
        "learned-80": Change(
            "80 features, learned beforehand from random play",
            learning={"features": "learned", "size": 80},
        ),
        "range-3": Change("thresholds from -3 to 3", world={"threshold_range": (-3.0, 3.0)}),
        "starts-middle": Change(
            "training starts with rates from 0.25 to 0.75", world={"start_range": (0.25, 0.75)}
        ),
        "script": Change("the released script's numbers", SCRIPT),
    }


ELSEWHERE = (
    "cells-9",
    "cells-64",
    "budget-001",
    "ridge-1",
    "bonus-0",
    "bonus-05",
    "frozen",
    "pooled",
    "size-100",
    "sharpness-1",
    "price-step-10",
    "highest-price-100",
    "starts-middle",
)
"""What is changed with the other goal and with Adult scores."""


def _changed(problem: Problem, profile: str, names: Sequence[str] = ()) -> list[Arm]:
    """Return L-UCBFair in a problem, one thing changed at a time: all there is, or what is named.

    It seeks what the problem's goal is.
    """
    learning = PROFILES[profile].ucb
    known = _changes(problem, learning)
    arms = []
    for name, change in known.items():
        if names and name not in names:
            continue
        method = LUCBFairSettings.calibrated(notion=problem.disparity, **change.method)
        chosen = replace(learning, **({} if profile == "smoke" else change.learning))
        changed = replace(problem, changes=change.world or None)
        arms.append(
            Arm(
                f"l-ucbfair-{name}",
                "one_change",
                changed.setting(method, chosen, profile),
                train_and_evaluate,
                change.description,
            )
        )
    return arms


def _gaussian(profile: str) -> tuple[Arm, ...]:
    """Change everything, on Gaussian features with demographic parity, and R-TD3's one number."""
    every_step = RTD3Settings.as_published(notion=SYNTHETIC.disparity)
    one_copy = replace(PROFILES[profile].td3, copies=1)
    return (
        *_changed(SYNTHETIC, profile),
        Arm(
            "r-td3-every-step",
            "one_change",
            SYNTHETIC.setting(every_step, one_copy, profile),
            train_and_evaluate,
            "one gradient step for each step",
        ),
        *ucb_arms(SYNTHETIC, profile)[:1],
        *td3_arms(SYNTHETIC, profile)[:1],
        *references(SYNTHETIC, profile)[-2:],
    )


def _elsewhere(problem: Problem) -> Callable[[str], tuple[Arm, ...]]:
    """Return the arms of a sweep in another problem, by profile."""

    def arms(profile: str) -> tuple[Arm, ...]:
        return (
            *_changed(problem, profile, ELSEWHERE),
            *ucb_arms(problem, profile)[:1],
            *references(problem, profile),
        )

    return arms


EXPERIMENTS = (
    change_experiment("sweep", "L-UCBFair with one of its numbers changed", _gaussian),
    change_experiment(
        "sweep-qr",
        "L-UCBFair with one of its numbers changed, equal qualification rates",
        _elsewhere(SYNTHETIC_QR),
    ),
    change_experiment(
        "sweep-adult",
        "L-UCBFair with one of its numbers changed, Adult scores",
        _elsewhere(ADULT),
    ),
)
