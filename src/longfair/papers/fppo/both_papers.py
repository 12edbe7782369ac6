"""The last policy by both papers' measures, in a world that both papers have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers.fppo import measures
from longfair.papers.fppo.beyond import Judging
from longfair.papers.protocol import Evaluation
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
    keys, curves = CURVES[judging.world]
    last = len(evaluation.snapshots.steps) - 1
    played = measures.recorded(evaluation, keys, last)
    supply, demand = (played[name].sum(axis=(0, 1)) for name in ("supply", "demand"))
    told = measures.summaries(curves(played)) | {
        "bias": float(bias(benefit_rate(supply, np.maximum(demand, 1.0)))),
        "reward": float(played["reward"].mean()),
    }
    rows = [(evaluation.snapshots.steps[last], name, value) for name, value in told.items()]
    frame = pd.DataFrame(rows, columns=["step", "metric", "value"])
    return frame.assign(phase="final", group=np.int32(-1))
