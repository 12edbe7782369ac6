"""What is reported of a policy in the population: losses, gaps and rates along an episode.

A policy is played from the 16 states of the paper's evaluation, several times where it draws, and
once from every state of a finer grid, for heat maps and for the flow of one step.

- ``loss``, ``loss_first``, ``loss_last``, ``loss_at_20``: 1 minus the reward, mean over the
  episode, or of one step;
- ``disparity_...``: mean squared gap over the episode, by notion; ``_early`` and ``_late``: over
  the first and the last ten steps; ``share_growing``: share of the starts from which it grows;
- ``rate``: mean qualification rate by group after the last step; ``late_rate``: over the last fifth
  of the episode; ``lower_rate``, ``lower_late_rate``: those of the group that has less;
  ``highest_rate``: the highest after the last step from any start;
- ``gap``, ``late_gap``: mean absolute difference of the rates; ``late_square``: mean squared
  difference over the last 20 steps;
- ``flow_up``: share of a grid of states from which the first step raises both rates;
- ``grid_loss``, ``grid_disparity``: sums over an episode, mean over the grid;
- ``training_...``: what happened in training, in blocks of 20 episodes; ``..._change``: the last
  block less the first; ``..._growth``: exponent with which a cumulative sum grows, see `growth`.

Curves: ``at_loss``, ``at_disparity``, ``at_rate`` by step of the episode, mean over the starts;
``from_loss`` by number of the start; ``heat_loss``, ``heat_disparity``, sums by number of the state
of the finer grid.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.envs.population import PopulationParams, start_grid
from longfair.envs.population.exact import Planner, Resolution
from longfair.papers.protocol import Evaluation
from longfair.papers.setting import Untrained
from longfair.papers.ucbfair.learning import Training
from longfair.papers.ucbfair.policies import DRAWING
from longfair.papers.untrained import params
from longfair.runs.experiment import protocol
from longfair.runs.keys import canonical_json
from longfair.runs.tables import rows

NOTIONS = ("dp", "eop", "eo", "qr")
"""Short names of the four disparities, in the order of the population's `info`."""

STARTS = 4
"""States along a rate, of the evaluation."""

BLOCK = 20
"""Training episodes that are averaged, as in Figure 3."""


class Course(NamedTuple):
    """Episodes played together, N of them."""

    loss: FloatArray
    """(T, N)."""
    disparity: FloatArray
    """(T, N, 4)."""
    rates: FloatArray
    """(T + 1, N, 2): before every step, and at the end."""


@protocol("population")
def population(evaluation: Evaluation) -> pd.DataFrame:
    """Report a policy."""
    trained = evaluation.snapshots.steps[-1]
    notion = NOTIONS.index(notion_of(evaluation))
    course, heat = courses(evaluation)
    final = summaries(course, notion, STARTS**2) | of_grid(heat, notion)
    curves = along(course, heat, notion, STARTS**2)
    for training in evaluation.snapshots.policies:
        final |= of_training(training, evaluation)
        curves |= training_curves(training, trained)
    frames = [rows("final", [trained], name, [value]) for name, value in final.items()]
    frames += [rows("curve", steps, name, values) for name, (steps, values) in curves.items()]
    for name, values in by_group(course).items():
        frames += [rows("final", [trained], name, [v], group) for group, v in enumerate(values)]
    return pd.concat(frames, ignore_index=True)


_PLAYED: dict[str, tuple[Course, Course]] = {}
"""Episodes of policies without training, by their settings."""


def courses(evaluation: Evaluation) -> tuple[Course, Course]:
    """Play from the evaluation's starts, as often as it says, and from the finer grid.

    Policies without training that draw nothing are played once for all seeds of a process.
    """
    setting = evaluation.setting
    method, key = setting.method, canonical_json(setting)
    same = isinstance(method, Untrained) and method.parts()[0] not in DRAWING
    if same and key in _PLAYED:
        return _PLAYED[key]
    starts = np.repeat(start_grid(STARTS), max(1, setting.evaluating.final_episodes), axis=0)
    finer = start_grid(setting.evaluating.grid)  # type: ignore[attr-defined]  # of ucbfair
    found = played(evaluation, starts, 0), played(evaluation, finer, 1)
    if same:
        _PLAYED[key] = found
    return found


def played(evaluation: Evaluation, starts: FloatArray, number: int) -> Course:
    """Play one episode with the last policy from every start (N, 2)."""
    setting = evaluation.setting
    changed = {**setting.world.changes, "starts": tuple(map(tuple, starts.tolist()))}
    env = replace(setting.world, changes=changed).make(
        len(starts), setting.evaluating.episode_length
    )
    last = len(evaluation.snapshots.steps) - 1
    act = evaluation.snapshots.acting([last], len(starts), evaluation.seed_of(10 + number))
    observation, info = env.reset(seed=evaluation.seed_of(20 + number))
    loss, disparity, rates = [], [], [info["group_state"][..., 0]]
    ended = np.zeros(len(starts), np.bool_)
    while not ended.any():
        observation, reward, terminated, truncated, info = env.step(act(observation, info))
        ended = terminated | truncated
        reached = info["final_info"] if ended.any() else info
        loss.append(1.0 - reward)
        disparity.append(info["disparity"])
        rates.append(reached["group_state"][..., 0])
    return Course(np.array(loss), np.array(disparity), np.array(rates))


def summaries(course: Course, notion: int, starts: int) -> dict[str, float]:
    """Sum up episodes from the evaluation's starts; see the module."""
    loss, gap, rates = course.loss, course.disparity[..., notion], course.rates
    steps = len(loss)
    ends, late = min(10, steps), rates[-max(1, steps // 5) - 1 :]
    difference = rates[..., 0] - rates[..., 1]
    early_gap, late_gap = (
        part.mean(axis=0).reshape(starts, -1).mean(axis=1) for part in (gap[:ends], gap[-ends:])
    )
    by_notion = {
        f"disparity_{name}": float(course.disparity[..., number].mean())
        for number, name in enumerate(NOTIONS)
    }
    return {
        "loss": float(loss.mean()),
        "loss_first": float(loss[0].mean()),
        "loss_last": float(loss[-1].mean()),
        "loss_at_20": float(loss[min(20, steps) - 1].mean()),
        **by_notion,
        "disparity_early": float(early_gap.mean()),
        "disparity_late": float(late_gap.mean()),
        "disparity_growth": float(late_gap.mean() - early_gap.mean()),
        "share_growing": float((late_gap > early_gap).mean()),
        "lower_rate": float(rates[-1].mean(axis=0).min()),
        "lower_late_rate": float(late.mean(axis=(0, 1)).min()),
        "highest_rate": float(rates[-1].max()),
        "gap": float(np.abs(difference[-1]).mean()),
        "late_gap": float(np.abs(difference[-len(late) :]).mean()),
        "late_square": float((difference[-min(20, steps) :] ** 2).mean()),
    }


def by_group(course: Course) -> dict[str, FloatArray]:
    """Return numbers (2,) of each group."""
    late = course.rates[-max(1, len(course.loss) // 5) - 1 :]
    return {"rate": course.rates[-1].mean(axis=0), "late_rate": late.mean(axis=(0, 1))}


def of_grid(heat: Course, notion: int) -> dict[str, float]:
    """Sum up episodes from the finer grid."""
    first = heat.rates[1] - heat.rates[0]
    return {
        "flow_up": float((first > 0).all(axis=1).mean()),
        "grid_loss": float(heat.loss.sum(axis=0).mean()),
        "grid_disparity": float(heat.disparity[..., notion].sum(axis=0).mean()),
    }


def along(
    course: Course, heat: Course, notion: int, starts: int
) -> dict[str, tuple[NDArray[np.int64], FloatArray]]:
    """Return curves as pairs of steps and values."""
    steps = np.arange(1, len(course.loss) + 1)
    per_start = course.loss.mean(axis=0).reshape(starts, -1).mean(axis=1)
    states = np.arange(heat.loss.shape[1])
    return {
        "at_loss": (steps, course.loss.mean(axis=1)),
        "at_disparity": (steps, course.disparity[..., notion].mean(axis=1)),
        "at_rate": (np.append(0, steps), course.rates.mean(axis=(1, 2))),
        "from_loss": (np.arange(starts), per_start),
        "heat_loss": (states, heat.loss.sum(axis=0)),
        "heat_disparity": (states, heat.disparity[..., notion].sum(axis=0)),
    }


def of_training(training: Training, evaluation: Evaluation) -> dict[str, float]:
    """Sum up the episodes of training."""
    loss, disparity = np.asarray(training.loss), np.asarray(training.disparity)
    blocks = [blocked(values) for values in (loss, disparity)]
    found = {
        "training_loss_change": float(blocks[0][-1] - blocks[0][0]),
        "training_disparity_change": float(blocks[1][-1] - blocks[1][0]),
    }
    if training.price:
        method = evaluation.setting.method
        best = best_mean_loss(params(evaluation.setting.world))
        found |= {
            "price": float(training.price[-1]),
            "broken_promise": float(
                np.mean(training.promised) / evaluation_length(evaluation)
                - (1.0 - disparity.mean())
            ),
            "regret_growth": growth(loss - best),
            "distortion_growth": growth(disparity - method.budget),
        }
    return found


def training_curves(
    training: Training, steps: int
) -> dict[str, tuple[NDArray[np.int64], FloatArray]]:
    """Return what happened in training, in blocks of episodes."""
    curves = {}
    for name, values in training._asdict().items():
        if len(values):
            means = blocked(np.asarray(values))
            at = np.linspace(0, steps, len(means) + 1)[1:].astype(np.int64)
            curves[f"training_{name}"] = (at, means)
    return curves


def blocked(values: FloatArray) -> FloatArray:
    """Average an array (K,) in blocks; what is left over at the end is left out."""
    size = min(BLOCK, max(1, len(values) // 2))
    means: FloatArray = values[: len(values) // size * size].reshape(-1, size).mean(axis=1)
    return means


def growth(terms: FloatArray) -> float:
    """Return the exponent with which the cumulative sum of terms grows over the second half.

    It is the slope of the logarithm of the sum against the logarithm of the number of terms. A sum
    that grows in proportion has 1. A sum that is not positive throughout, or falls, has at most 0,
    and counts as 0.
    """
    total = np.cumsum(terms)
    second = np.arange(len(total) // 2, len(total))
    if len(second) < 2 or (total[second] <= 0).any():
        return 0.0
    slope = np.polyfit(np.log(second + 1.0), np.log(total[second]), 1)[0]
    return max(0.0, float(slope))


@cache
def best_mean_loss(known: PopulationParams) -> float:
    """Return the smallest mean loss where starts are drawn as in training."""
    planner = Planner(replace(known, starts=()), resolution=Resolution(41, 31))
    low, high = known.start_range
    middles = low + (high - low) * (np.arange(40) + 0.5) / 40
    starts = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    worth = planner.at(planner.plan().reward[0], starts).mean()
    return float(1.0 - worth / known.episode_length)


def evaluation_length(evaluation: Evaluation) -> int:
    """Return the steps of a training episode."""
    own: int = params(evaluation.setting.world).episode_length
    return evaluation.setting.episode_length or own


def notion_of(evaluation: Evaluation) -> str:
    """Return the short name of the disparity that a setting is about."""
    name: str = evaluation.setting.evaluating.notion  # type: ignore[attr-defined]  # of ucbfair
    return name
