"""A bank with the same few customers at every step: fairness between two groups of people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode
from scipy.sparse import csr_array

from longfair.envs.bits import bit_table
from longfair.envs.tabular import TabularModel, require_small
from longfair.envs.vector import (
    BoolArray,
    FairVectorEnv,
    FloatArray,
    IntArray,
    Transition,
    checked_discrete,
)
from longfair.errors import UsageError
from longfair.settings import (
    Count,
    Natural,
    NonNegative,
    Probability,
    Range,
    checked,
    require_length,
    validate,
)


@dataclass(frozen=True)
class LoanPoolParams:
    """Everything that defines a loan pool. The defaults are those of the discrete variant."""

    PRESETS: ClassVar[tuple[str, ...]] = ("discrete", "continuous")

    groups: tuple[Natural, ...] = (0, 0, 1, 1)
    """Group of each of the P people: 0 or 1. Both groups have somebody."""
    request_probability: tuple[Probability, ...] = (0.9, 0.9, 0.9, 0.9)
    """Probability that each person asks for a loan, drawn anew at every step."""
    initial_repayment: tuple[Probability, ...] = (0.6, 0.6, 0.9, 0.9)
    """Probability that each person repays a loan, at the start of an episode."""
    lowest_repayment: Probability = 0.2
    """Repayment probabilities never fall below this."""
    highest_repayment: Probability = 0.9
    """Repayment probabilities never rise above this."""
    credit_step: Annotated[float, Range(0.0, 1.0, above=True)] = 0.1
    """A repaid loan raises the borrower's repayment probability by this, a default lowers it."""
    credit_noise: NonNegative | None = None
    """None: credit moves on a grid. A number: it is real-valued, and every change has a Gaussian
    error with this standard deviation."""
    margin: Probability = 0.1
    """Profit that the bank must make by the end, in units per step, rounded down in total."""
    invalid_grant_cost: NonNegative = 1.0
    """Cost of granting a loan to somebody who did not ask, in episode lengths."""
    missed_margin_cost: NonNegative = 10.0
    """Cost of ending an episode with less profit than the margin, in episode lengths."""
    episode_length: Count = 40
    """Steps per episode, at most one loan in each."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        if set(self.groups) != {0, 1}:
            raise UsageError(
                f"groups={self.groups!r}: give 0 or 1 for each person, both at least once"
            )
        for field in ("request_probability", "initial_repayment"):
            require_length(field, getattr(self, field), len(self.groups))
        low, high = self.lowest_repayment, self.highest_repayment
        checked("highest_repayment", high, Annotated[float, Range(low, 1.0)])
        credit = tuple[Annotated[float, Range(low, high)], ...]
        checked("initial_repayment", self.initial_repayment, credit)
        if self.credit_noise is None:
            self._require_grid()

    def _require_grid(self) -> None:
        named = {f"initial_repayment[{i}]": x for i, x in enumerate(self.initial_repayment)}
        for field, value in {"highest_repayment": self.highest_repayment, **named}.items():
            steps = (value - self.lowest_repayment) / self.credit_step
            if abs(steps - round(steps)) > _GRID_TOLERANCE:
                raise UsageError(
                    f"{field}={value!r} is {steps:g} credit steps above lowest_repayment: "
                    "give a whole number of steps, or a credit_noise for real-valued credit"
                )

    @classmethod
    def discrete(cls) -> LoanPoolParams:
        """Return the pool whose credit has eight levels, repayment probabilities 0.2 to 0.9."""
        return cls()

    @classmethod
    def continuous(cls) -> LoanPoolParams:
        """Return the pool with real-valued credit; the standard deviation 0.05 is our choice."""
        return cls(credit_noise=0.05)

    @property
    def required_profit(self) -> int:
        """Profit, in units, that an episode must reach."""
        return math.floor(self.episode_length * self.margin + _GRID_TOLERANCE)

    @property
    def invalid_reward(self) -> float:
        """Reward of granting a loan to somebody who did not ask."""
        return -self.invalid_grant_cost * self.episode_length

    @property
    def missed_reward(self) -> float:
        """Reward of the last step of an episode that misses the margin."""
        return -self.missed_margin_cost * self.episode_length


_GRID_TOLERANCE = 1e-9


class LoanPoolVectorEnv(FairVectorEnv):
    r"""A bank grants one loan a step to one of a few customers, and is to treat two groups alike.

    At every step each person asks for a loan with a fixed probability. The agent grants one unit
    to one person. The person repays with the probability that is the person's credit; a repaid
    loan earns the bank one unit and improves the person's credit, a default costs it one unit and
    lowers the credit. Both groups should get the same number of loans at all times: the reward is
    minus the difference. Group B starts with better credit, so a bank that only looks at profit
    lends to B. Granting a loan to somebody who did not ask, or ending with too little profit, costs
    far more than unfairness.

    ## Action space

    `Discrete(P)`: the person who is granted a loan.

    ## Observation space

    `Box(0, 1)`, flat: 1 for each person who asks, else 0 (P numbers); the profit so far plus the
    episode length, in bits, most significant first (with the presets 7 numbers); then each person's
    credit. In the discrete variant that is the credit level counted from 0, in bits (with the
    presets 3 numbers a person, 23 in all); in the continuous one the repayment probability itself
    (1 number a person, 15 in all). Neither the loans made so far nor the time are observed:
    wrappers in `longfair.envs.memory` append the loans.

    ## Rewards

    :math:`-|L_A - L_B|`, where :math:`L` counts the loans of a group in this episode, this step's
    included. Instead, minus `invalid_grant_cost` episode lengths (-40) when the chosen person did
    not ask; the person then gets nothing. Instead of either, minus `missed_margin_cost` episode
    lengths (-400) at the last step if the profit of the episode is below a tenth of its length,
    rounded down (4 units).

    ## Starting state

    No loans, no profit; repayment probabilities 0.6 in group A (people 0 and 1) and 0.9 in group B
    (people 2 and 3); who asks is drawn.

    ## Episode end

    Truncated after `episode_length` steps. Never terminated.

    ## Information

    G = P: supply and demand are kept for every person; `params.groups` says who belongs to A (0)
    and B (1).

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, G) | 1 for the person who got this step's loan |
    | `demand` | (N, G) | 1 for every person who asked for it |
    | `group_state` | (N, G, 2) | loans the person has had in this episode; repayment probability |
    | `welfare` | (N,) | minus the difference of the groups' loans after this step, in loans |
    | `invalid` | (N,) | whether this step's choice had not asked (boolean) |
    | `profit` | (N,) | profit of the episode after this step, in units |
    | `missed_margin` | (N,) | whether this step ended an episode below the margin (boolean) |

    The keys below `group_state` belong to the step just made, also when it ended an episode.

    ## Arguments

    `preset`: `"discrete"` (default) or `"continuous"`. `params`: a `LoanPoolParams` instead of a
    preset. `episode_length`: replaces that of the preset; the required profit and the two costs
    scale with it.

    ## Vectorised use

    `gymnasium.make_vec("longfair/LoanPool-v0", num_envs=256)` steps 256 copies together;
    `gymnasium.make("longfair/LoanPool-v0")` is a batch of one. `tabular()` in this module writes a
    short discrete problem out in full.

    ## Version history

    v0: first version. The order within a step is loan, repayment, credit, next requests, reward,
    as in the authors' code. The paper's continuous variant has no code and its Gaussians are lost:
    ours move credit by +0.1 or -0.1 on average, with standard deviation 0.05, and clip it to
    [0.2, 0.9]. With standard deviation 0 it behaves as the discrete one.
    """

    params_class = LoanPoolParams
    people = True
    finite = True

    def __init__(
        self,
        num_envs: int = 1,
        params: LoanPoolParams | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = LoanPoolParams.discrete() if params is None else params
        people, length = len(params.groups), params.episode_length
        # Credit is kept in credit steps: a repayment probability times this.
        self._steps_per_unit = 1.0 / params.credit_step
        self._lowest = params.lowest_repayment * self._steps_per_unit
        self._highest = params.highest_repayment * self._steps_per_unit
        self._initial_credit = np.array(params.initial_repayment) * self._steps_per_unit
        self._profit_bits = bit_table(2 * length)
        self._level_bits = bit_table(round(self._highest - self._lowest))
        credit_width = self._level_bits.shape[1] if params.credit_noise is None else 1
        super().__init__(
            num_envs=num_envs,
            num_groups=people,
            episode_length=length,
            observation_space=Box(
                0.0, 1.0, (people * (1 + credit_width) + self._profit_bits.shape[1],), np.float32
            ),
            action_space=Discrete(people),
            autoreset_mode=autoreset_mode,
        )
        self.memory_units = np.array(params.groups)  # a memory counts for every group
        # One row per copy: comparing equal shapes is several times faster than broadcasting.
        self._request_probability = np.tile(params.request_probability, (num_envs, 1))
        # A loan to group 0 adds one to the gap, a loan to group 1 takes one away.
        self._gap_change = 1.0 - 2.0 * np.array(params.groups)
        self._first_cell = np.arange(num_envs) * people
        self._requests = np.zeros((num_envs, people), dtype=np.bool_)
        self._loans = np.zeros((num_envs, people))
        self._credit = np.zeros((num_envs, people))
        self._credit_columns = np.zeros((num_envs * people, credit_width), dtype=np.float32)
        self._gap = np.zeros(num_envs)
        self._profit = np.zeros(num_envs, dtype=np.int64)

    def _restart(self, copies: BoolArray) -> None:
        self._loans[copies] = 0
        self._credit[copies] = self._initial_credit
        columns = self._credit_columns.reshape(*self._credit.shape, -1)
        columns[copies] = self._describe_credit(self._initial_credit)
        self._gap = np.where(copies, 0, self._gap)
        self._profit = np.where(copies, 0, self._profit)
        np.copyto(self._requests, self._draw_requests(), where=copies[:, None])

    def _transition(self, actions: IntArray) -> Transition:
        cell = self._first_cell + actions
        granted = self._requests.reshape(-1).take(cell)
        outcome = self._lend(cell, granted)
        self._gap = self._gap + self._gap_change.take(actions) * granted
        self._profit = self._profit + outcome
        supply = np.zeros(self._loans.shape)
        supply.reshape(-1)[cell] = granted
        self._loans += supply
        demand = self._requests.astype(np.float64)
        self._requests = self._draw_requests()
        welfare = -np.abs(self._gap)
        reward = np.where(granted, welfare, self.params.invalid_reward)
        missed = self._elapsed >= self.episode_length - 1
        missed &= self._profit < self.params.required_profit
        reward[missed] = self.params.missed_reward
        facts = {
            "welfare": welfare,
            "invalid": ~granted,
            "profit": self._profit.copy(),
            "missed_margin": missed,
        }
        return Transition(reward, supply, demand, np.zeros(len(cell), np.bool_), facts)

    def _lend(self, cell: IntArray, granted: BoolArray) -> IntArray:
        """Lend where `granted`; return +1 for a repayment, -1 for a default, else 0: (N,)."""
        cells = self._credit.reshape(-1)
        credit = cells.take(cell)
        repays = self.np_random.random(self.num_envs) * self._steps_per_unit < credit
        outcome: IntArray = np.where(repays, 1, -1) * granted
        credit += outcome
        if self.params.credit_noise is not None:
            noise = self.np_random.standard_normal(self.num_envs) * granted
            credit += noise * (self.params.credit_noise * self._steps_per_unit)
        np.maximum(credit, self._lowest, out=credit)
        np.minimum(credit, self._highest, out=credit)
        cells[cell] = credit
        self._credit_columns[cell] = self._describe_credit(credit)
        return outcome

    def _describe_credit(self, credit: FloatArray) -> Any:
        """Return the observation's columns (M, W) for M credits."""
        if self.params.credit_noise is None:
            return self._level_bits.take(np.rint(credit - self._lowest).astype(np.int64), axis=0)
        return (credit / self._steps_per_unit)[:, None]

    def _draw_requests(self) -> BoolArray:
        requests: BoolArray = self.np_random.random(self._loans.shape) < self._request_probability
        return requests

    def _observation(self) -> Any:
        profit = self._profit_bits.take(self._profit + self.episode_length, axis=0)
        credit = self._credit_columns.reshape(self.num_envs, -1)
        return np.concatenate([self._requests, profit, credit], axis=1, dtype=np.float32)

    def _group_state(self) -> FloatArray:
        return np.stack([self._loans, self._credit / self._steps_per_unit], axis=2)

    def tabular(self) -> TabularModel:
        """Write the problem out in full; see the function `tabular` of this module."""
        return tabular(params=self.params)

    def _checked_actions(self, actions: Any) -> IntArray:
        return checked_discrete(actions, self.num_envs, self.num_groups)


def tabular(
    preset: str = "discrete",
    params: LoanPoolParams | None = None,
    episode_length: int | None = None,
) -> TabularModel:
    """Write a short discrete loan pool out in full, with time and the groups' gap in the state.

    Parameters
    ----------
    preset, params
        As in `make_vector`.
    episode_length
        Replaces that of `params`. A preset is cut to 4 steps unless a length is given: its 40 steps
        are out of reach of this face. The exact solver of `longfair.agents.exact_loan_pool` reaches
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
    chosen = LoanPoolVectorEnv.chosen_params(preset, params, episode_length)
    if chosen.credit_noise is not None:
        raise UsageError("credit is real-valued: give a problem with credit_noise=None")
    return _written_out(chosen)


_WRITTEN_LENGTH = 4


def _written_out(params: LoanPoolParams) -> TabularModel:
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
