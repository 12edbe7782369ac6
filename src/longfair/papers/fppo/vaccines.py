"""Whom vaccines reach in F-PPO's epidemic: the learned policies again, with more told of the end.

The infection soon leaves nobody to protect, and a vaccine for anybody else is lost. It still counts
as given, for the short-term gap as well. The arms are those of `fppo/epidemic`, run by run with the
same draws, so their policies are those whose evaluation is stored there. Of an episode of the last
policy is told:

- ``useful`` and ``lost``, by community: vaccines for people who were susceptible, and for others;
  ``kept``: days on which nobody got the vaccine;
- ``lost_share``: lost vaccines over all that were given;
- ``end_short_term_gap``: that of the figure; ``useful_gap``: the same where useful vaccines alone
  are counted; ``end_reward``: the share of people who are not ill;
- over the days, as `at_lost` and `at_susceptible`: the share of a day's vaccines that is lost, and
  people who are susceptible before it is given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from longfair.papers.fppo.epidemic import CASE
from longfair.papers.protocol import Evaluation
from longfair.runs.experiment import Arm, Experiment, protocol

if TYPE_CHECKING:
    import pandas as pd

    from longfair.arrays import FloatArray

MEASURE = "longfair.papers.fppo.vaccines:whom_vaccines_reach"

LEARNED = (("ppo", "as_coded"), ("ppo", "as_published"), ("f-ppo", "as_coded"))
"""What is trained again: PPO, whose two forms end with very different gaps, and F-PPO."""


@protocol("fppo-vaccines")
def whom_vaccines_reach(evaluation: Evaluation) -> pd.DataFrame:
    """Report whom the last policy's vaccines reach."""
    import pandas as pd

    from longfair.papers.fppo.measures import recorded
    from longfair.runs.tables import rows

    keys = ("supply", "demand", "wasted", "health_counts")
    played = recorded(evaluation, keys, 0)
    given, infected = played["supply"], played["demand"]
    lost = given * played["wasted"][:, :, np.newaxis]
    useful = given - lost
    susceptible = played["health_counts"][:-1, :, :, 0].sum(axis=2).mean(axis=1)
    episodes = given.shape[1]
    final = {
        "kept": (1.0 - given.sum(axis=2)).sum(axis=0).mean(),
        "lost_share": _share(lost.sum(), given.sum()),
        "end_reward": played["reward"][-1].mean(),
        "end_short_term_gap": _gap(given, infected),
        "useful_gap": _gap(useful, infected),
    }
    trained = evaluation.snapshots.steps[-1:]
    frames = [rows("final", trained, metric, [value]) for metric, value in final.items()]
    for metric, vaccines in (("useful", useful), ("lost", lost)):
        for group, total in enumerate(vaccines.sum(axis=(0, 1)) / episodes):
            frames.append(rows("final", trained, metric, [total], group))
    days = np.arange(len(given))
    shares = _share(lost.sum(axis=(1, 2)), given.sum(axis=(1, 2)))
    frames += [
        rows("curve", days, "at_lost", shares),
        rows("curve", days, "at_susceptible", susceptible),
    ]
    return pd.concat(frames, ignore_index=True)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part over whole, 0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _gap(vaccines: FloatArray, infected: FloatArray) -> float:
    """Return the figure's gap at the end of episodes, of vaccines and infections (T, N, 2)."""
    from longfair.metrics.windows import windowed_gap

    return float(windowed_gap(vaccines, infected, len(vaccines), offset=1.0)[-1].mean())


def _arms(profile: str) -> tuple[Arm, ...]:
    arms = [
        arm
        for arm in CASE.arms(profile)
        if arm.variant == "reference" or (arm.method, arm.variant) in LEARNED
    ]
    told = replace(CASE.evaluating[profile], measure=MEASURE)
    return tuple(replace(arm, config=replace(arm.config, evaluating=told)) for arm in arms)


VACCINES = Experiment(
    id="fppo/vaccines",
    title="Epidemic control: whom the vaccines of PPO, F-PPO and simple rules reach",
    arms={profile: _arms(profile) for profile in ("book", "smoke")},
    seeds={"book": 10, "smoke": 2},
    horizon={profile: CASE.learning[profile].total_steps for profile in ("book", "smoke")},
    authors="book",  # as in CASE, the book has the authors' settings
)
