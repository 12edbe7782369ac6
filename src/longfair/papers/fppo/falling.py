"""Why banks stop lending as coded: runs of F-PPO whose training is logged, rollout by rollout.

The arm is that of `fppo/lending`, run by run with the same draws, so its runs are those whose end
is stored there. What is added is told per rollout, under ``training_...``:

- ``chance``, by group: mean probability with which the policy chose to accept an applicant;
- ``flips``: decisions that massaging changed; ``loans``: applicants that got a loan after that;
  ``profit``: what those loans brought;
- ``share_reward``, ``share_penalty``, ``share_bonus``: what part of the spread of the advantage,
  as it is used, is due to the reward's advantage and to the two terms; see `shares_of_spread`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from longfair.arrays import FloatArray
from longfair.papers.fppo.learning import TrunkPPO
from longfair.papers.fppo.lending import CASE
from longfair.papers.protocol import Evaluation, train_and_evaluate
from longfair.runs.experiment import Arm, Experiment, protocol

if TYPE_CHECKING:
    import pandas as pd

    from longfair.papers.protocol import Snapshots
    from longfair.papers.setting import Setting
    from longfair.runs.checkpoints import Checkpoint


TOLD = ("flips", "loans", "profit", "share_reward", "share_penalty", "share_bonus")
"""What is told of a rollout, beside the chances of both groups."""

EPISODES = 10
"""Episodes of the evaluation: a point of the figure takes as many (`measures.LENDING_EPISODES`)."""

MEASURE = "longfair.papers.fppo.falling:lending_training"


@dataclass(frozen=True)
class LoggedPPO(TrunkPPO):
    """The same training, with more kept of every rollout."""

    name: ClassVar[str] = "logged-trunk-ppo"
    revision: ClassVar[int] = 1

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.fppo.training.train`."""
        from longfair.papers.fppo.falling_training import RolloutLog
        from longfair.papers.fppo.training import train

        return train(self, setting, seed, checkpoint, RolloutLog)


@protocol("fppo-lending-training")
def lending_training(evaluation: Evaluation) -> pd.DataFrame:
    """Report an evaluation in lending, and the log of the training."""
    import pandas as pd

    from longfair.papers.fppo import measures
    from longfair.runs.tables import rows

    (log,) = evaluation.snapshots.policies
    frames = [measures.lending(evaluation)]
    for name in TOLD:
        frames.append(rows("curve", log.steps, f"training_{name}", getattr(log, name)))
    for group, values in enumerate(zip(*log.chance, strict=True)):
        frames.append(rows("curve", log.steps, "training_chance", values, group))
    return pd.concat(frames, ignore_index=True)


def shares_of_spread(terms: FloatArray, weights: Sequence[float], scaled: bool) -> FloatArray:
    """Return each term's part of the spread of a weighted sum, mean over minibatches.

    The part of a term is its covariance with the sum over the variance of the sum. The parts of a
    minibatch add up to 1; a term that goes against the sum has a negative one. They are those of
    the standardised sum, too.

    Parameters
    ----------
    terms
        (M, B, K): samples of M minibatches, on which the sum is taken one by one.
    weights
        (K,).
    scaled
        Whether every term is first scaled to [0, 1] over its minibatch, as in
        `longfair.agents.ppo.advantage_terms.with_terms`.

    Returns
    -------
    numpy.ndarray
        (K,). Minibatches whose sum has no spread are left out; 0 if all are.
    """
    if scaled:
        low, high = terms.min(axis=1, keepdims=True), terms.max(axis=1, keepdims=True)
        terms = (terms - low) / (high - low + 1e-8)
    parts = terms * np.asarray(weights)
    parts = parts - parts.mean(axis=1, keepdims=True)
    total = parts.sum(axis=2, keepdims=True)
    spread = (total**2).sum(axis=1)
    own = (parts * total).sum(axis=1)[spread[:, 0] > 0] / spread[spread[:, 0] > 0]
    shares: FloatArray = own.mean(axis=0) if len(own) else np.zeros(terms.shape[2])
    return shares


def _arm(profile: str) -> Arm:
    strategy, _ = CASE.methods(as_coded=True)["f-ppo"]
    setting = CASE.setting(strategy, profile, "as_coded")
    setting = replace(
        setting,
        learning=LoggedPPO(**vars(setting.learning)),
        evaluating=replace(setting.evaluating, final_episodes=EPISODES, measure=MEASURE),
    )
    return Arm("f-ppo", "as_coded", setting, train_and_evaluate, "F-PPO, its training logged")


FALLING = Experiment(
    id="fppo/why-banks-fall",
    title="Bank loans: the training of F-PPO as coded, rollout by rollout",
    arms={profile: (_arm(profile),) for profile in ("book", "smoke")},
    seeds={"book": 3, "smoke": 1},
    horizon={profile: CASE.learning[profile].total_steps for profile in ("book", "smoke")},
    authors="",  # a log, on which no claim is judged
)
