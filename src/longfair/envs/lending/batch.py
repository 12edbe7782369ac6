"""Lending with scores that move: the bank-loan problem of the ELBERT and F-PPO papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.compiling import njit
from longfair.envs.vector import FairVectorEnv, Restart, Transition, checked_discrete
from longfair.settings import (
    Count,
    EpisodeLength,
    Length,
    NonNegative,
    Probability,
    Range,
    checked,
    require_distribution,
    validate,
    validated,
)

_ByScore = Annotated[tuple[Probability, ...], Length(2)]


@dataclass(frozen=True)
class LendingParams:
    """Everything that defines a lending problem.

    The defaults are the values of both papers; they differ in the episode length only.
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("elbert", "elbert_evaluation", "fppo", "fppo_evaluation")

    initial_distribution: Annotated[tuple[tuple[Probability, ...], ...], Length(1)] = (
        (0.0, 0.1, 0.1, 0.2, 0.3, 0.3, 0.0),
        (0.1, 0.1, 0.2, 0.3, 0.3, 0.0, 0.0),
    )
    """G rows of C probabilities: the scores of each group at the start of an episode."""
    repay_probability: _ByScore = (0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7)
    """C probabilities of repaying a loan, by score, the same for every group."""
    group_probability: tuple[Probability, ...] = (0.5, 0.5)
    """G probabilities that the next applicant belongs to each group."""
    mass_shift: Probability = 0.01
    """Probability mass that moves one score up or down after an accepted loan."""
    loan_amount: NonNegative = 1.0
    """Lost when an accepted applicant defaults, in units of cash."""
    interest_rate: NonNegative = 1.0
    """Earned per unit of loan when an accepted applicant repays."""
    starting_cash: NonNegative = 10_000.0
    """Cash of the bank at the start of an episode; below `loan_amount` the episode terminates."""
    episode_length: EpisodeLength = 2048
    """Applicants per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        for group, row in enumerate(self.initial_distribution):
            name = f"initial_distribution[{group}]"
            require_distribution(name, row, len(self.repay_probability), "repay_probability")
        require_distribution(
            "group_probability",
            self.group_probability,
            len(self.initial_distribution),
            "initial_distribution",
        )
        checked("starting_cash", self.starting_cash, Annotated[float, Range(self.loan_amount)])

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
    | `cash` | (N,) | cash of the bank after this step, also when it ended an episode |

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

    params_class = LendingParams

    @validated
    def __init__(
        self,
        num_envs: Count = 1,
        params: LendingParams | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
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
        # A group and score pair is one number, group * C + score.
        self._observation_table = _one_hot_pairs(groups, scores)
        self._distribution = np.empty((num_envs, groups, scores))
        self._cash = np.empty(num_envs)
        self._pair: IntArray = np.zeros(num_envs, dtype=np.int64)
        self._repays = np.zeros(num_envs, dtype=np.bool_)

    @property
    def repays(self) -> BoolArray:
        """Whether the present applicants (N,) would repay: hidden from agents, for oracles."""
        return self._repays.copy()

    def _restart(self, copies: BoolArray) -> None:
        self._distribution[copies] = self._initial
        self._cash[copies] = self.params.starting_cash
        pair, repays = self._draw_applicants()
        self._pair = np.where(copies, pair, self._pair)
        self._repays = np.where(copies, repays, self._repays)

    def _transition(self, actions: IntArray) -> Transition:
        reward, supply, demand = (
            np.zeros(self.num_envs),
            *np.zeros((2, *self._distribution.shape[:2])),
        )
        _decide(
            actions,
            self._pair,
            self._repays,
            self._profit,
            self.params.mass_shift,
            self._distribution,
            reward,
            supply,
            demand,
        )
        self._cash += reward
        self._pair, self._repays = self._draw_applicants()
        broke = self._cash < self.params.loan_amount
        return Transition(reward, supply, demand, broke, {"cash": self._cash.copy()})

    def _draw_applicants(self) -> tuple[IntArray, BoolArray]:
        """Draw group, score and outcome of the next applicant in every copy."""
        uniforms = self.np_random.random((3, self.num_envs))
        return _applicants(uniforms, self._group_limits, self._distribution, self._repay)

    def _observation(self) -> Any:
        return self._observation_table.take(self._pair, axis=0)

    def _group_state(self) -> FloatArray:
        return self._distribution.copy()

    def _checked_actions(self, actions: Any) -> IntArray:
        return checked_discrete(actions, self.num_envs, 2)


def _one_hot_pairs(groups: int, scores: int) -> Any:
    """Return (G * C, C + G): the observation of every group and score pair."""
    score_part = np.tile(np.eye(scores, dtype=np.float32), (groups, 1))
    group_part = np.repeat(np.eye(groups, dtype=np.float32), scores, axis=0)
    return np.concatenate([score_part, group_part], axis=1)


@njit(cache=True)
def _decide(
    actions: IntArray,
    pair: IntArray,
    repays: BoolArray,
    profit: FloatArray,
    mass_shift: float,
    distribution: FloatArray,
    reward: FloatArray,
    supply: FloatArray,
    demand: FloatArray,
) -> None:
    """Act on one applicant in every copy, and move the scores of the applicant's group.

    Parameters
    ----------
    actions, pair, repays
        (N,): the decision, group and score of the applicant, and whether a loan is repaid.
    profit
        (2,): what a loan brings that is not repaid, and one that is.
    mass_shift
        Probability that moves after an accepted loan.
    distribution
        (N, G, C), changed in place.
    reward, supply, demand
        (N,), (N, G) and (N, G): zeros, filled in.
    """
    scores = distribution.shape[2]
    for copy in range(len(actions)):
        group, score = divmod(pair[copy], scores)
        outcome = int(repays[copy])
        demand[copy, group] = outcome
        if actions[copy]:
            reward[copy] = profit[outcome]
            supply[copy, group] = outcome
            target = min(score + 1, scores - 1) if outcome else max(score - 1, 0)
            mass = min(distribution[copy, group, score], mass_shift)
            distribution[copy, group, score] -= mass
            distribution[copy, group, target] += mass


@njit(cache=True)
def _applicants(
    uniforms: FloatArray, group_limits: FloatArray, distribution: FloatArray, repay: FloatArray
) -> tuple[IntArray, BoolArray]:
    """Draw one applicant in every copy.

    Parameters
    ----------
    uniforms
        (3, N): draws for group, score and outcome.
    group_limits
        (G - 1,): cumulative probabilities of the groups, without the last.
    distribution
        (N, G, C).
    repay
        (C,): probability to repay.

    Returns
    -------
    pair, repays
        (N,) each.
    """
    copies, _, scores = distribution.shape
    pair, repays = np.empty(copies, np.int64), np.empty(copies, np.bool_)
    for copy in range(copies):
        group = 0
        while group < len(group_limits) and uniforms[0, copy] >= group_limits[group]:
            group += 1
        # The last limit is left out: rounding must not push a draw beyond the top score.
        score, limit = 0, distribution[copy, group, 0]
        while score < scores - 1 and uniforms[1, copy] >= limit:
            score += 1
            limit += distribution[copy, group, score]
        pair[copy] = group * scores + score
        repays[copy] = uniforms[2, copy] < repay[score]
    return pair, repays
