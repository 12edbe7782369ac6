"""Lending as a place to train in, for experiments beside the main one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv

from longfair.agents.policies import AcceptanceTable
from longfair.envs.wrappers import RunningRates
from longfair.papers.elbert import training
from longfair.papers.elbert.training import ReferenceConfig, TrainedConfig, World

STATIC_OPTIMUM = (1.99, 1.58)
"""The best real thresholds for ELBERT's objective, one per group.

Found by `longfair.papers.elbert.static_search` on episodes that no result uses.
"""


def lending_world(preset: str) -> World:
    """Say where methods are trained: agents see score, group and running true positive rates."""
    return World(partial(_observed_batch, preset))


def train_and_evaluate(config: TrainedConfig, seed: int) -> pd.DataFrame:
    """Train and evaluate a method; see `longfair.papers.elbert.training`."""
    return training.train_and_evaluate(config, seed, lending_world(config.preset))


def evaluate_static_optimum(config: ReferenceConfig, seed: int) -> pd.DataFrame:
    """Evaluate the best real thresholds; see `longfair.papers.elbert.training`."""
    return training.evaluate_reference(
        config,
        seed,
        lending_world(config.preset),
        lambda _, own: real_thresholds(STATIC_OPTIMUM, own),
    )


def real_thresholds(
    thresholds: Sequence[float], seed: int | None = None, scores: int = 7
) -> AcceptanceTable:
    """Accept from a real score on: its fraction is the chance to refuse the score below it.

    A threshold of 1.6 accepts everybody from score 2 on, and score 1 with probability 0.4.
    """
    chance = np.arange(scores) + 1.0 - np.asarray(thresholds)[:, None]
    return AcceptanceTable(np.clip(chance, 0.0, 1.0), seed)


def _observed_batch(preset: str, copies: int, episode_length: int) -> VectorEnv[Any, Any, Any]:
    env = gymnasium.make_vec(
        "longfair/Lending-v0", num_envs=copies, preset=preset, episode_length=episode_length
    )
    return RunningRates(env)
