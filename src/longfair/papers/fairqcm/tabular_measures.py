"""What is reported of FairQCM's tabular agents, as rows of a result table.

Of an episode: `return`, the sum of rewards; `welfare`, the sum over steps of the Nash welfare of
the counts, without smoothing and whatever was wasted; `allocated` and `invalid`, the doughnuts that
were taken and that were wasted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv

from longfair.agents.evaluation import acting
from longfair.agents.fairqcm.q_learning import EpisodeScores
from longfair.arrays import FloatArray
from longfair.papers.fairqcm.tabular_exact import ExactValues
from longfair.papers.protocol import Act, Evaluation, two_seeds
from longfair.papers.untrained import params
from longfair.runs.experiment import protocol
from longfair.runs.tables import rows

LAST_EPISODES = 100
"""Evaluation episodes at the end of training over which a final value is a mean."""
GOAL = 36.0
"""The return that `episodes_to_36` waits for, about 96 % of what is possible."""


@protocol("greedy-episodes")
def greedy_episodes(evaluation: Evaluation) -> pd.DataFrame:
    """Report the greedy episodes that followed the training episodes.

    Phase `curve`: means of `bin_episodes` episodes, at the number of doughnuts handed out in
    training by then. Phase `final`: means of the `LAST_EPISODES` last ones; `return_all`, the mean
    of all; `allocated_first_100`; `episodes_to_36`: the end of the first bin whose return reaches
    `GOAL`, and one more than the number of episodes if none does.
    """
    setting = evaluation.setting
    size: int = setting.evaluating.bin_episodes  # type: ignore[attr-defined]  # GreedyEpisodes
    length = params(setting.world).episode_length
    (scores,) = evaluation.snapshots.policies
    series = series_of(scores, length)
    curve = {name: values.reshape(-1, size).mean(axis=1) for name, values in series.items()}
    steps = (np.arange(len(curve["return"])) + 1) * size * length
    frames = [rows("curve", steps, name, values) for name, values in curve.items()]
    final = {name: values[-LAST_EPISODES:].mean() for name, values in series.items()}
    final |= of_whole_run(series, curve["return"], size)
    frames += [rows("final", steps[-1:], name, [value]) for name, value in final.items()]
    return pd.concat(frames, ignore_index=True)


@protocol("reference-episodes")
def reference_episodes(evaluation: Evaluation) -> pd.DataFrame:
    """Report a policy that learns nothing: means over all its episodes, as `final`.

    The policy draws from the seed of training and the environment from that of evaluation.
    """
    setting = evaluation.setting
    own, _ = two_seeds(evaluation.run)
    act = acting(setting.method.make(setting.world, own))
    env = setting.world.make(setting.evaluating.final_episodes, setting.evaluating.episode_length)
    series = series_of(play(act, env, evaluation.seed), params(setting.world).episode_length)
    final = {name: values.mean() for name, values in series.items()}
    final |= {"return_all": final["return"], "allocated_first_100": final["allocated"]}
    frames = [rows("final", [0], name, [value]) for name, value in final.items()]
    return pd.concat(frames, ignore_index=True)


@protocol("distances-to-exact")
def distances_to_exact(evaluation: Evaluation) -> pd.DataFrame:
    """Report how far the tables that were kept are from the exact action values.

    As `curve`, and for the last table as `final`: `relative_distance` is the largest absolute
    difference over all reachable states, memories and actions, divided by the largest exact action
    value; `mean_distance` is the mean difference, divided likewise; `relative_loss` is the share of
    the best value that the greedy policy does not reach.
    """
    setting = evaluation.setting
    exact = ExactValues(params(setting.world), setting.method.discount)
    steps, tables = evaluation.snapshots.steps, evaluation.snapshots.policies
    distances = [exact.distances(table) for table in tables]
    frames = [
        rows("curve", [step], name, [value])
        for step, found in zip(steps, distances, strict=True)
        for name, value in found.items()
    ]
    frames += [rows("final", steps[-1:], name, [value]) for name, value in distances[-1].items()]
    return pd.concat(frames, ignore_index=True)


def play(act: Act, env: VectorEnv[Any, Any, Any], seed: int) -> EpisodeScores:
    """Play one episode in every copy (E,)."""
    scores = EpisodeScores(*np.zeros((3, env.num_envs)))
    observation, info = env.reset(seed=seed)
    counts = np.zeros(info["group_state"].shape[:2])
    ended = False
    while not ended:
        observation, reward, _, truncated, info = env.step(act(observation, info))
        counts += info["supply"]
        scores.reward[:] += reward
        scores.welfare[:] += np.log(counts + 1).sum(axis=1)
        scores.allocated[:] += ~info["wasted"]
        ended = bool(truncated.all())  # all episodes are equally long
    return scores


def series_of(scores: EpisodeScores, length: int) -> dict[str, FloatArray]:
    """Return what is reported of every episode (E,), given the doughnuts of an episode."""
    return {
        "return": scores.reward,
        "welfare": scores.welfare,
        "allocated": scores.allocated,
        "invalid": length - scores.allocated,
    }


def of_whole_run(
    series: Mapping[str, FloatArray], returns: FloatArray, bin_episodes: int
) -> dict[str, float]:
    """Sum up all episodes of a run, given also the returns of its learning curve."""
    reached = np.flatnonzero(returns >= GOAL)
    never = len(series["return"]) + 1
    return {
        "return_all": series["return"].mean(),
        "allocated_first_100": series["allocated"][:100].mean(),
        "episodes_to_36": float((reached[0] + 1) * bin_episodes if len(reached) else never),
    }
