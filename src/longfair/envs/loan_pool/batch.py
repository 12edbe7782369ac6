"""A bank with the same few customers at every step: fairness between two groups of people."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.envs.bits import bit_table
from longfair.envs.loan_pool.exact import PairedLoanPool
from longfair.envs.loan_pool.params import LoanPoolParams
from longfair.envs.loan_pool.written_out import tabular
from longfair.envs.tabular import TabularModel
from longfair.envs.vector import FairVectorEnv, Restart, Transition
from longfair.settings import Count, validated


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
    | `earned` | (N,) | 1 for a repaid loan, -1 for one that was not, 0 for no loan |
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

    @validated
    def __init__(
        self,
        num_envs: Count = 1,
        params: LoanPoolParams | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
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
            "earned": outcome,
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
        return self.np_random.random(self._loans.shape) < self._request_probability

    def _observation(self) -> Any:
        profit = self._profit_bits.take(self._profit + self.episode_length, axis=0)
        credit = self._credit_columns.reshape(self.num_envs, -1)
        return np.concatenate([self._requests, profit, credit], axis=1, dtype=np.float32)

    def _group_state(self) -> FloatArray:
        return np.stack([self._loans, self._credit / self._steps_per_unit], axis=2)

    def tabular(self) -> TabularModel:
        """Write the problem out in full; see `longfair.envs.loan_pool.tabular`."""
        return tabular(params=self.params)

    def exact(self) -> PairedLoanPool:
        """Return the pool reduced by symmetry, for exact values; see `loan_pool.exact`."""
        return PairedLoanPool(self.params)
