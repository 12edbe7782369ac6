"""What is logged of F-PPO's training in lending; `longfair.papers.fppo.falling` says what for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longfair.agents.ppo import FairPPO
from longfair.agents.ppo.f_ppo import FPPOL
from longfair.envs.lending import LendingParams
from longfair.papers.fppo.falling import TOLD, shares_of_spread
from longfair.papers.fppo.training import RolloutGaps
from longfair.runs.checkpoints import Checkpoint

SCORES = len(LendingParams.fppo().repay_probability)
"""Entries of an observation before those that tell the group."""


class RolloutLog(RolloutGaps):
    """The short-term gap of every rollout, and what was chosen, flipped and learned from.

    Parameters
    ----------
    checkpoint
        As for `RolloutGaps`.

    Attributes
    ----------
    chance
        Mean probability of accepting an applicant, of both groups, by rollout.
    flips, loans, profit, share_reward, share_penalty, share_bonus
        By rollout; see `longfair.papers.fppo.falling`.
    """

    KEPT: ClassVar[tuple[str, ...]] = (*RolloutGaps.KEPT, "chance", *TOLD)

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        super().__init__(checkpoint)
        self.chance: list[list[float]] = []
        self.flips: list[float] = []
        self.loans: list[float] = []
        self.profit: list[float] = []
        self.share_reward: list[float] = []
        self.share_penalty: list[float] = []
        self.share_bonus: list[float] = []
        self._begin()

    def _begin(self) -> None:
        self._chances, self._applicants, self._counts = np.zeros(2), np.zeros(2), np.zeros(3)

    def _on_step(self) -> bool:
        told = self.locals
        logits = told["output"].astype(np.float64)
        accept = 1.0 / (1.0 + np.exp(logits[:, 0] - logits[:, 1]))
        group = told["observation"][:, SCORES : SCORES + 2]
        self._chances += accept @ group
        self._applicants += group.sum(axis=0)
        flipped = (told["actions"] != told["chosen"]).sum()
        self._counts += flipped, told["actions"].sum(), told["rewards"].sum()
        return super()._on_step()

    def _on_rollout_end(self) -> None:
        super()._on_rollout_end()
        self.chance.append((self._chances / np.maximum(self._applicants, 1.0)).tolist())
        shares = self._shares()
        for name, value in zip(TOLD, (*self._counts, *shares), strict=True):
            getattr(self, name).append(float(value))
        self._begin()

    def _shares(self) -> NDArray[np.float64]:
        """Return the shares of the advantage's spread, on minibatches of a shuffle of its own."""
        model = self.model
        assert isinstance(model, FairPPO)
        assert isinstance(model.strategy, FPPOL)
        samples = model._samples
        terms = np.concatenate([samples.advantages[:, :1], samples.features], axis=1)
        order = np.random.default_rng(len(self.chance)).permutation(len(terms))
        size = model.batch_size
        whole = terms[order[: len(terms) // size * size]].astype(np.float64)
        weights = (1.0, model.strategy.penalty_weight, model.strategy.bonus_weight)
        return shares_of_spread(
            whole.reshape(-1, size, terms.shape[1]), weights, model.strategy.as_coded
        )
