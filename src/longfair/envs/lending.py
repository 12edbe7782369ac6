"""Lending with scores that move: the bank-loan problem of the ELBERT and F-PPO papers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

from longfair.envs import parameters
from longfair.envs.parameters import (
    require_distribution,
    require_integer,
    require_number,
    require_probabilities,
)
from longfair.envs.scalar import ScalarFace
from longfair.envs.vector import (
    BoolArray,
    FairVectorEnv,
    FloatArray,
    IntArray,
    Transition,
    checked_discrete,
)
from longfair.errors import UsageError


@dataclass(frozen=True)
class LendingParams:
    """Everything that defines a lending problem.

    The defaults are the values of both papers; they differ in the episode length only.
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("elbert", "elbert_evaluation", "fppo", "fppo_evaluation")

    initial_distribution: tuple[tuple[float, ...], ...] = (
        (0.0, 0.1, 0.1, 0.2, 0.3, 0.3, 0.0),
        (0.1, 0.1, 0.2, 0.3, 0.3, 0.0, 0.0),
    )
    """G rows of C probabilities: the scores of each group at the start of an episode."""
    repay_probability: tuple[float, ...] = (0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7)
    """C probabilities of repaying a loan, by score, the same for every group."""
    group_probability: tuple[float, ...] = (0.5, 0.5)
    """G probabilities that the next applicant belongs to each group."""
    mass_shift: float = 0.01
    """Probability mass that moves one score up or down after an accepted loan."""
    loan_amount: float = 1.0
    """Lost when an accepted applicant defaults, in units of cash."""
    interest_rate: float = 1.0
    """Earned per unit of loan when an accepted applicant repays."""
    starting_cash: float = 10_000.0
    """Cash of the bank at the start of an episode; below `loan_amount` the episode terminates."""
    episode_length: int = 2048
    """Applicants per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        scores = len(self.repay_probability)
        if scores < 2:
            raise UsageError(f"repay_probability has {scores} entries: give at least 2 scores")
        require_probabilities("repay_probability", self.repay_probability, size=scores)
        groups = len(self.initial_distribution)
        for group, row in enumerate(self.initial_distribution):
            require_distribution(f"initial_distribution[{group}]", row, size=scores)
        require_distribution("group_probability", self.group_probability, size=groups)
        require_number("mass_shift", self.mass_shift, low=0.0, high=1.0)
        require_number("loan_amount", self.loan_amount, low=0.0)
        require_number("interest_rate", self.interest_rate, low=0.0)
        require_number("starting_cash", self.starting_cash, low=self.loan_amount)
        require_integer("episode_length", self.episode_length, low=1)

    @classmethod
    def elbert(cls) -> LendingParams:
        """Return the training episodes of ELBERT: 2048 applicants."""
        return cls()

    @classmethod
    def elbert_evaluation(cls) -> LendingParams:
        """Return the evaluation episodes of ELBERT: 10,000 applicants, not 2048."""
        return cls(episode_length=10_000)

    @classmethod
    def fppo(cls) -> LendingParams:
        """Return the training episodes of F-PPO: 2000 applicants."""
        return cls(episode_length=2000)

    @classmethod
    def fppo_evaluation(cls) -> LendingParams:
        """Return the evaluation episodes of F-PPO: 10,000 applicants."""
        return cls(episode_length=10_000)


class LendingVectorEnv(FairVectorEnv):
    r"""A bank decides on one loan applicant after another, and its decisions move credit scores.

    Each applicant belongs to a group :math:`g` and has a credit score :math:`c`, drawn from the
    group's current score distribution :math:`\mu_g`. Whether the applicant would repay is drawn
    together with the applicant, before the decision, and is defined even when the loan is refused.
    An accepted loan moves at most 0.01 of the group's probability mass from the applicant's score
    to the next higher score when it is repaid, to the next lower one when it is not; at the ends
    of the scale the mass stays. A refusal changes nothing. So a lender that never lends to a group
    never lets that group's scores rise.

    ## Action space

    `Discrete(2)`: 0 refuses the loan, 1 accepts it.

    ## Observation space

    `Box(0, 1, (C + G,))`: one-hot score (C numbers), then one-hot group (G numbers). With the
    papers' values C = 7 and G = 2. The score distributions and the repayment are not observed.
    Wrappers add what each paper's agents see: `RunningRates` (ELBERT) and `WindowStatistics`
    (F-PPO).

    ## Rewards

    The change of the bank's cash: `interest_rate * loan_amount` (here +1) for an accepted and
    repaid loan, `-loan_amount` (here -1) for an accepted and defaulted one, 0 for a refusal.

    ## Starting state

    The initial score distributions, the starting cash, and one applicant drawn from them. Group 0
    is the advantaged one: it repays with probability 0.590 at the start, group 1 with 0.495.

    ## Episode end

    Truncated after `episode_length` applicants. Terminated when the cash falls below one loan,
    which takes a starting cash much smaller than the papers'.

    ## Information

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, G) | 1 for the applicant's group if the loan was accepted and is repaid |
    | `demand` | (N, G) | 1 for the applicant's group if the applicant would repay |
    | `group_state` | (N, G, C) | current score distribution of every group |
    | `cash` | (N,) | cash of the bank after the step |

    The long-term benefit rate of a group, total supply over total demand, is the true positive
    rate of its loans: equal opportunity, measured over time.

    ## Arguments

    `preset`: `"elbert"` (default, 2048 applicants), `"elbert_evaluation"`, `"fppo"` (2000),
    `"fppo_evaluation"` (both 10,000). `params`: a `LendingParams` instead of a preset.
    `episode_length`: replaces that of the preset.

    ## Vectorised use

    `gymnasium.make_vec("longfair/Lending-v0", num_envs=256, preset="elbert")` steps 256 copies
    together; `gymnasium.make("longfair/Lending-v0")` is a batch of one.

    ## Version history

    v0: first version. The order within a step is cash, distribution, next applicant, as in both
    papers' code. Where the text of ELBERT mentions only the upward move after a repayment, its
    appendix and code move mass both ways, and so does this environment.
    """

    def __init__(
        self,
        num_envs: int = 1,
        params: LendingParams | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = LendingParams.elbert() if params is None else params
        groups, scores = len(params.initial_distribution), len(params.repay_probability)
        super().__init__(
            num_envs=num_envs,
            num_groups=groups,
            episode_length=params.episode_length,
            observation_space=Box(0.0, 1.0, (scores + groups,), np.float32),
            action_space=Discrete(2),
            autoreset_mode=autoreset_mode,
        )
        self._scores = scores
        self._initial = np.array(params.initial_distribution)
        self._repay = np.array(params.repay_probability)
        self._group_limits = np.cumsum(params.group_probability)[:-1]
        # Cash change of an accepted loan, by outcome (default, repaid).
        self._profit = np.array([-params.loan_amount, params.loan_amount * params.interest_rate])
        # A group and score pair is one number, group * C + score; these tables are read by it.
        self._observation_table = _one_hot_pairs(groups, scores)
        self._group_table = np.repeat(np.eye(groups), scores, axis=0)
        self._target_table = _target_pairs(groups, scores)
        self._first_cell = np.arange(num_envs) * groups * scores
        self._first_row = np.arange(num_envs) * groups
        self._distribution = np.empty((num_envs, groups, scores))
        self._cells = self._distribution.reshape(-1)
        self._rows = self._distribution.reshape(-1, scores)
        self._cash = np.empty(num_envs)
        self._pair: IntArray = np.zeros(num_envs, dtype=np.int64)
        self._repays: IntArray = np.zeros(num_envs, dtype=np.int64)

    def _restart(self, copies: BoolArray) -> None:
        self._distribution[copies] = self._initial
        self._cash[copies] = self.params.starting_cash
        pair, repays = self._draw_applicants()
        self._pair = np.where(copies, pair, self._pair)
        self._repays = np.where(copies, repays, self._repays)

    def _transition(self, actions: IntArray) -> Transition:
        pair, repays = self._pair, self._repays
        reward: FloatArray = self._profit[repays] * actions
        self._cash += reward
        cell = self._first_cell + pair
        mass = np.minimum(self._cells[cell], self.params.mass_shift) * actions
        self._cells[cell] -= mass
        self._cells[self._first_cell + self._target_table[repays, pair]] += mass
        demand: FloatArray = self._group_table.take(pair, axis=0) * repays[:, None]
        supply: FloatArray = demand * actions[:, None]
        self._pair, self._repays = self._draw_applicants()
        return Transition(reward, supply, demand, self._cash < self.params.loan_amount)

    def _draw_applicants(self) -> tuple[IntArray, IntArray]:
        """Draw group, score and outcome of the next applicant in every copy."""
        uniforms = self.np_random.random((3, self.num_envs))
        group = self._group_limits.searchsorted(uniforms[0], side="right")
        cumulative = self._rows.take(self._first_row + group, axis=0).cumsum(axis=1)
        # The last limit is left out: rounding must not push a draw beyond the top score.
        score = (cumulative[:, :-1] <= uniforms[1, :, None]).sum(axis=1)
        repays = (uniforms[2] < self._repay[score]).astype(np.int64)
        return group * self._scores + score, repays

    def _observation(self) -> Any:
        return self._observation_table.take(self._pair, axis=0)

    def _group_state(self) -> FloatArray:
        return self._distribution.copy()

    def _checked_actions(self, actions: Any) -> IntArray:
        return checked_discrete(actions, self.num_envs, 2)

    def step(self, actions: Any) -> tuple[Any, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Decide on one applicant in every copy; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = super().step(actions)
        info["cash"] = self._cash.copy()
        return observation, reward, terminated, truncated, info


def _one_hot_pairs(groups: int, scores: int) -> Any:
    """Return (G * C, C + G): the observation of every group and score pair."""
    score_part = np.tile(np.eye(scores, dtype=np.float32), (groups, 1))
    group_part = np.repeat(np.eye(groups, dtype=np.float32), scores, axis=0)
    return np.concatenate([score_part, group_part], axis=1)


def _target_pairs(groups: int, scores: int) -> IntArray:
    """Return (2, G * C): where mass goes after a default (row 0) or a repayment (row 1)."""
    score = np.tile(np.arange(scores), groups)
    first = np.repeat(np.arange(groups) * scores, scores)
    down, up = np.maximum(score - 1, 0), np.minimum(score + 1, scores - 1)
    return np.stack([first + down, first + up])


def lending_params(
    preset: str = "elbert",
    params: LendingParams | None = None,
    episode_length: int | None = None,
) -> LendingParams:
    """Return the parameters that the arguments of `make` and `make_vec` stand for."""
    chosen: LendingParams = parameters.preset(LendingParams, preset) if params is None else params
    return chosen if episode_length is None else replace(chosen, episode_length=episode_length)


def make_vector(
    num_envs: int = 1,
    preset: str = "elbert",
    params: LendingParams | None = None,
    episode_length: int | None = None,
) -> LendingVectorEnv:
    """Make the batch environment; `gymnasium.make_vec("longfair/Lending-v0")` calls this."""
    return LendingVectorEnv(num_envs, lending_params(preset, params, episode_length))


def make_scalar(
    preset: str = "elbert",
    params: LendingParams | None = None,
    episode_length: int | None = None,
) -> gymnasium.Env[Any, Any]:
    """Make the scalar face; `gymnasium.make("longfair/Lending-v0")` calls this."""
    chosen = lending_params(preset, params, episode_length)
    return ScalarFace(LendingVectorEnv(1, chosen, AutoresetMode.DISABLED))
