"""The last policy by both papers' measures, in a world that both papers have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from longfair.agents.ppo.massaging.acting import intervening
from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers.fppo import measures
from longfair.papers.fppo.beyond import Judging
from longfair.papers.protocol import Act, Evaluation, Snapshots
from longfair.papers.setting import PPO
from longfair.runs.experiment import protocol

Recipe = tuple[tuple[str, ...], measures.OfEpisodes]

CURVES: Mapping[str, Recipe] = {
    "lending": (("supply", "demand", "cash"), measures.lending_curves),
    "attention": (("supply", "demand", "allocation"), measures.attention_curves),
    "epidemic": (("supply", "demand", "health_counts"), measures.epidemic_curves),
}
"""By world: what is recorded of a step, and F-PPO's measures of it."""


@protocol("both-papers")
def both_papers(evaluation: Evaluation) -> pd.DataFrame:
    """Report the last policy by F-PPO's measures and by ELBERT's bias.

    `bias` is the largest difference of the groups' benefit rates, each the supply over the demand
    of all episodes (ELBERT's text); `reward` is the mean of a step.
    """
    judging = evaluation.setting.evaluating
    assert isinstance(judging, Judging)
    if judging.in_use:
        evaluation = _in_use(evaluation)
    keys, curves = CURVES[judging.world]
    last = len(evaluation.snapshots.steps) - 1
    played = measures.recorded(evaluation, keys, last, massaging=judging.in_use)
    supply, demand = (played[name].sum(axis=(0, 1)) for name in ("supply", "demand"))
    told = measures.summaries(curves(played)) | {
        "bias": float(bias(benefit_rate(supply, np.maximum(demand, 1.0)))),
        "reward": float(played["reward"].mean()),
    }
    rows = [(evaluation.snapshots.steps[last], name, value) for name, value in told.items()]
    frame = pd.DataFrame(rows, columns=["step", "metric", "value"])
    return frame.assign(phase="final", group=np.int32(-1))


def _in_use(evaluation: Evaluation) -> Evaluation:
    """Let the last policy alone act as in the last rollout of its training, massaged."""
    setting, trained = evaluation.setting, evaluation.snapshots
    learning, length = setting.learning, setting.episode_length
    assert isinstance(learning, PPO)
    assert length is not None
    last = -(-learning.total_steps // (learning.copies * length)) - 1
    actor, space = trained.policies[-1], setting.world.make(1, length).single_action_space

    def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
        return intervening(setting.method, actor, last, space, np.random.default_rng(own))

    return Evaluation(setting, Snapshots(trained.steps[-1:], act), evaluation.run)
