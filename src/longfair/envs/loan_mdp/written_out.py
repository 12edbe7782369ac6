"""The individual loan problem written out in full, for solvers that need every probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.envs.loan_mdp.model import LoanModel
from longfair.envs.loan_mdp.params import LoanMDPParams
from longfair.envs.parameters import chosen_params
from longfair.envs.tabular import TabularModel, require_small
from longfair.settings import EpisodeLength, validated

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@validated
def tabular(
    preset: str | None = None,
    params: LoanMDPParams | None = None,
    episode_length: EpisodeLength | None = None,
) -> TabularModel:
    """Write an individual loan problem out in full.

    Returns
    -------
    TabularModel
        A state is the group and the applicant's repayments, defaults and denials. With bounded
        counts (`discretised`: 1922 states) denials stay 0 and the model is the same at every step,
        so it also serves for an infinite horizon. Without (`fico`: 73,034 states) the counts tell
        the step, and after the last decision nothing happens any more.

    Raises
    ------
    UsageError
        When the problem is too large.
    """
    chosen = chosen_params(LoanMDPParams, preset, params, episode_length, default="discretised")
    model = LoanModel(chosen)
    law = model.initial_law()
    parts = [_group_part(model, group, law[group]) for group in range(len(chosen.prior))]
    first_state = np.cumsum([0] + [len(part.counts) for part in parts])
    size = int(first_state[-1])
    targets = np.concatenate(
        [part.targets + first for part, first in zip(parts, first_state, strict=False)]
    )
    return TabularModel(
        fields=("group", "repayments", "defaults", "denials"),
        states=np.concatenate(
            [np.insert(part.counts, 0, group, axis=1) for group, part in enumerate(parts)]
        ),
        initial_distribution=np.concatenate(
            [
                share * part.initial
                for share, part in zip(chosen.group_probability, parts, strict=True)
            ]
        ),
        transition=_sparse_rows(targets, np.concatenate([part.chances for part in parts]), size),
        reward=np.concatenate([part.reward for part in parts]),
        supply=_lent(parts),
        horizon=chosen.episode_length,
    )


@dataclass(frozen=True)
class _GroupPart:
    """The states of one group: groups never mix."""

    counts: IntArray
    """(S, 3): repayments, defaults, denials."""
    targets: IntArray
    """(S, 2, 2): the two next states after each action."""
    chances: FloatArray
    """(S, 2, 2): their probabilities."""
    reward: FloatArray
    """(S, 2)."""
    initial: FloatArray
    """(S,)."""
    deciding: BoolArray
    """(S,): whether there is still something to decide."""


def _group_part(model: LoanModel, group: int, law: FloatArray) -> _GroupPart:
    params = model.params
    loans = params.exploration[group]
    bounded = params.largest_count is not None
    listed = _bounded_counts(params) if bounded else _reachable_counts(loans, params.episode_length)
    counts = np.argwhere(listed)
    row = np.full(np.array(listed.shape) + 1, -1)
    row[tuple(counts.T)] = np.arange(len(counts))
    alpha, beta = model.belief(np.full(len(counts), group), counts)
    mean = alpha / (alpha + beta)
    repaid, defaulted, denied = (row[tuple((counts + one).T)] for one in np.eye(3, dtype=np.int64))
    here = np.arange(len(counts))
    if bounded:
        # A count at its bound stays there.
        repaid, defaulted = (np.where(next_ < 0, here, next_) for next_ in (repaid, defaulted))
        denied, drift, over = here, params.denial_drift, np.zeros(len(counts), np.bool_)
    else:
        drift, over = 0.0, counts.sum(axis=1) == loans + params.episode_length
    targets = np.stack([denied, defaulted, defaulted, repaid], axis=1)
    targets = np.where(over[:, None], here[:, None], targets).reshape(-1, 2, 2)
    fixed = np.broadcast_to([1.0 - drift, drift], (len(counts), 2))
    chances = np.stack([fixed, np.stack([1.0 - mean, mean], axis=1)], axis=1)
    reward = params.reward_offset + np.stack([np.zeros(len(counts)), model.profit(alpha, beta)], 1)
    initial = np.zeros(len(counts))
    repayments = np.arange(loans + 1)
    initial[row[repayments, loans - repayments, 0]] = law[: loans + 1]
    return _GroupPart(counts, targets, chances, reward * ~over[:, None], initial, ~over)


def _bounded_counts(params: LoanMDPParams) -> BoolArray:
    """Mark all counts (repayments, defaults, denials) up to the bound, without denials."""
    assert params.largest_count is not None
    side = params.largest_count + 1
    require_small(4 * side**2, "the loan problem")
    return np.ones((side, side, 1), np.bool_)


def _reachable_counts(loans: int, length: int) -> BoolArray:
    """Mark the counts that an applicant with `loans` loans can have within `length` decisions."""
    require_small((loans + length + 1) ** 2 * (length + 1), "the loan problem")
    repayments, defaults, denials = np.indices((loans + length + 1,) * 2 + (length + 1,))
    lent = repayments + defaults
    reachable: BoolArray = (lent >= loans) & (lent + denials <= loans + length)
    return reachable


def _lent(parts: list[_GroupPart]) -> FloatArray:
    """Return (G, S, 2): one loan for the group of a state, where it is granted."""
    group = np.repeat(np.arange(len(parts)), [len(part.counts) for part in parts])
    deciding = np.concatenate([part.deciding for part in parts])
    lent = np.zeros((len(parts), len(group), 2))
    lent[group, np.arange(len(group)), 1] = deciding
    return lent


def _sparse_rows(targets: IntArray, chances: FloatArray, size: int) -> csr_array:
    """Return (S * 2, S): a row per state and action."""
    from scipy.sparse import coo_array, csr_array  # longer to import than all environments

    rows = np.repeat(np.arange(2 * size), 2)
    matrix = csr_array(coo_array((chances.ravel(), (rows, targets.ravel())), (2 * size, size)))
    matrix.eliminate_zeros()
    return matrix
