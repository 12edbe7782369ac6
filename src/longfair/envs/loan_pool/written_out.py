"""A short loan pool written out in full, for solvers that need every probability."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from longfair.arrays import FloatArray, IntArray
from longfair.envs.loan_pool.params import LoanPoolParams
from longfair.envs.parameters import chosen_params
from longfair.envs.tabular import TabularModel, require_small
from longfair.errors import UsageError
from longfair.settings import EpisodeLength, validated


@validated
def tabular(
    preset: str | None = None,
    params: LoanPoolParams | None = None,
    episode_length: EpisodeLength | None = None,
) -> TabularModel:
    """Write a short discrete loan pool out in full, with time and the groups' gap in the state.

    Parameters
    ----------
    preset, params
        As in `make_vector`.
    episode_length
        Replaces that of `params`. A preset is cut to 4 steps unless a length is given: its 40 steps
        are out of reach of this face. The exact solver of `longfair.envs.loan_pool.exact` reaches
        them, by using that the people of a group are alike.

    Returns
    -------
    TabularModel
        A state is the step, everybody's credit level counted from 0 (P numbers), the gap (loans of
        group 0 minus loans of group 1), the profit, and who asks (P numbers, 0 or 1). Only states
        that an episode can reach are listed. After the last step nothing happens any more.

    Raises
    ------
    UsageError
        When credit is real-valued, or the problem is too large.
    """
    if params is None and episode_length is None:
        episode_length = _WRITTEN_LENGTH
    chosen = chosen_params(LoanPoolParams, preset, params, episode_length, default="discrete")
    if chosen.credit_noise is not None:
        raise UsageError("credit is real-valued: give a problem with credit_noise=None")
    return _written_out(chosen)


_WRITTEN_LENGTH = 4


def _written_out(params: LoanPoolParams) -> TabularModel:
    from scipy.sparse import csr_array  # longer to import than all environments

    people = len(params.groups)
    requests = np.array(params.request_probability)
    patterns = np.arange(2**people)[:, None] >> np.arange(people) & 1
    chance = np.where(patterns, requests, 1 - requests).prod(axis=1)
    cores = _cores(params)
    # Axes: core, who asks, person chosen, outcome (default, repaid); then who asks next.
    shape = (len(cores.states), len(patterns), people, 2)
    asked = patterns.astype(np.bool_)[None, :, :, None]
    core_after = np.where(asked, cores.after_loan[:, None], cores.after_none[:, None, None, None])
    weight = np.broadcast_to(cores.weight[:, None], shape)
    next_states = core_after[..., None] * len(patterns) + np.arange(len(patterns))
    rows, size = shape[0] * shape[1] * people, shape[0] * shape[1]
    transition = csr_array(
        (
            (weight[..., None] * chance).reshape(-1),
            next_states.reshape(-1),
            np.arange(rows + 1) * 2 * len(patterns),
        ),
        shape=(rows, size),
    )
    transition.sum_duplicates()
    playing = cores.states[:, 0] < params.episode_length
    granted = asked[..., 0] & playing[:, None, None]
    reward = np.where(asked, cores.reward_loan[:, None], cores.reward_none[:, None, None, None])
    people_fields = [f"{name}_{i}" for name in ("credit_level", "request") for i in range(people)]
    return TabularModel(
        fields=("step", *people_fields[:people], "gap", "profit", *people_fields[people:]),
        states=np.concatenate(
            [np.repeat(cores.states, len(patterns), axis=0), np.tile(patterns, (shape[0], 1))],
            axis=1,
        ),
        initial_distribution=np.concatenate([chance, np.zeros(size - len(patterns))]),
        transition=transition,
        reward=(reward * weight).sum(axis=3).reshape(size, people),
        supply=np.eye(people)[:, None, :] * granted.reshape(size, people),
        horizon=params.episode_length,
    )


class _Cores(NamedTuple):
    """States without who asks, and where a loan to each person leads. C cores, P people."""

    states: IntArray
    """(C, P + 3): step, credit levels, gap, profit."""
    after_loan: IntArray
    """(C, P, 2): core after a default and after a repayment."""
    after_none: IntArray
    """(C,): core after a step without a loan."""
    weight: FloatArray
    """(C, P, 2): probability of a default and of a repayment."""
    reward_loan: FloatArray
    """(C, P, 2)."""
    reward_none: FloatArray
    """(C,)."""


def _cores(params: LoanPoolParams) -> _Cores:
    states = _reachable(params)
    playing = states[:, 0] < params.episode_length
    loan, none = _after_loan(states, params), _after_none(states)
    repay = params.lowest_repayment + params.credit_step * states[:, 1:-2]
    reward_loan = _or_missed(-np.abs(loan[..., -2]), loan, params)
    reward_none = _or_missed(np.full(len(states), params.invalid_reward), none, params)
    itself = np.arange(len(states))
    codes = _codes(states, params)
    return _Cores(
        states=states,
        after_loan=np.where(
            playing[:, None, None],
            np.searchsorted(codes, _codes(loan, params)),
            itself[:, None, None],
        ),
        after_none=np.where(playing, np.searchsorted(codes, _codes(none, params)), itself),
        weight=np.stack([1 - repay, repay], axis=2),
        reward_loan=reward_loan * playing[:, None, None],
        reward_none=reward_none * playing,
    )


def _reachable(params: LoanPoolParams) -> IntArray:
    """Return the states (C, P + 3) that an episode can reach, in rising order."""
    people = len(params.groups)
    above = np.array(params.initial_repayment) - params.lowest_repayment
    start = np.rint(above / params.credit_step).astype(np.int64)
    layers = [np.array([[0, *start, 0, 0]])]
    for _ in range(params.episode_length):
        last = layers[-1]
        after = _after_loan(last, params).reshape(-1, last.shape[1])
        layers.append(np.unique(np.concatenate([_after_none(last), after]), axis=0))
        require_small(2 * people * 4**people * sum(map(len, layers)), "the loan pool")
    return np.concatenate(layers)


def _after_none(states: IntArray) -> IntArray:
    """Return (C, P + 3): the states a step later when nobody gets a loan."""
    after = states.copy()
    after[:, 0] += 1
    return after


def _after_loan(states: IntArray, params: LoanPoolParams) -> IntArray:
    """Return (C, P, 2, P + 3): the states after a loan to each person, defaulted or repaid."""
    people = len(params.groups)
    top = round((params.highest_repayment - params.lowest_repayment) / params.credit_step)
    after = np.tile(_after_none(states)[:, None, None, :], (1, people, 2, 1))
    for person, group in enumerate(params.groups):
        for outcome, change in enumerate((-1, 1)):
            row = after[:, person, outcome]
            row[:, 1 + person] = np.clip(row[:, 1 + person] + change, 0, top)
            row[:, -2] += 1 - 2 * group
            row[:, -1] += change
    return after


def _or_missed(usual: Any, after: IntArray, params: LoanPoolParams) -> FloatArray:
    """Return the reward of a step to the states `after`: `usual`, or what a missed margin costs."""
    last = after[..., 0] == params.episode_length
    missed = last & (after[..., -1] < params.required_profit)
    return np.where(missed, params.missed_reward, usual)


def _codes(states: IntArray, params: LoanPoolParams) -> IntArray:
    """Return one number for every state (..., P + 3), rising with the rows."""
    top = round((params.highest_repayment - params.lowest_repayment) / params.credit_step)
    steps, people = params.episode_length, len(params.groups)
    # A step beyond the end, and a loan on top of all, are asked for but never looked up.
    sizes = (steps + 2, *([top + 1] * people), 2 * steps + 3, 2 * steps + 3)
    shifted = states + np.array([0] * (people + 1) + [steps + 1] * 2)
    codes: IntArray = np.ravel_multi_index(tuple(np.moveaxis(shifted, -1, 0)), sizes)
    return codes
