"""One applicant who comes back: the individual loan problem of Wen, Bastani and Topcu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array
from scipy.stats import betabinom

from longfair.envs.tabular import TabularModel, require_small
from longfair.envs.vector import (
    BoolArray,
    FairVectorEnv,
    FloatArray,
    IntArray,
    Transition,
    checked_discrete,
)
from longfair.settings import (
    Count,
    Length,
    Natural,
    NonNegative,
    OneOf,
    Positive,
    Probability,
    Range,
    checked,
    require_distribution,
    require_length,
    validate,
)


@dataclass(frozen=True)
class LoanMDPParams:
    """Everything that defines an individual loan problem.

    The defaults are the settings behind the paper's first figure. The groups are the minority
    (group 0) and the majority (group 1).
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("fico", "discretised")
    RISK_MEASURES: ClassVar[tuple[str, ...]] = ("as_coded", "standard_deviation")

    prior: Annotated[tuple[tuple[Positive, Positive], ...], Length(1)] = (
        (1.4614873, 0.51479711),
        (1.51578208, 0.19009129),
    )
    """G pairs (alpha, beta): Beta belief about a stranger's repayment probability. These were
    fitted to FICO scores by the authors; the means are 0.740 and 0.889."""
    group_probability: tuple[Probability, ...] = (0.29294318, 0.70705682)
    """G probabilities that the applicant belongs to each group."""
    exploration: tuple[Natural, ...] = (7, 10)
    """Loans that every applicant of each group has had when the episode begins."""
    interest: NonNegative = 0.17318629
    """Earned on a repaid loan."""
    principal: NonNegative = 1.0
    """Lost on a loan that is not repaid."""
    risk_aversion: NonNegative = 0.01
    """Price of one unit of risk, see `risk_measure`."""
    risk_measure: Annotated[str, OneOf(*RISK_MEASURES)] = "as_coded"
    """`"standard_deviation"`: that of the Beta belief. `"as_coded"`: the same times the square root
    of alpha + beta, as in the authors' code."""
    denial_drift: Probability = 0.1
    """What a denied loan adds to beta: a denial lowers the belief."""
    reward_offset: float = 2.0
    """Added to the reward of every step; it keeps the authors' optimiser's rewards positive."""
    qualified_mean: Probability = 0.82
    """Applicants whose first belief has at least this mean count as qualified."""
    discount: Probability = 0.8
    """Discount of the problem. The environment does not apply it; agents and solvers do."""
    largest_count: Natural | None = None
    """None: beliefs move without bounds. A number: repayments and defaults are counted up to it,
    and a denial adds one default with probability `denial_drift`."""
    episode_length: Count = 51
    """Decisions per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        require_distribution("group_probability", self.group_probability, len(self.prior))
        require_length("exploration", self.exploration, len(self.prior))
        bounded = Annotated[int, Range(max(self.exploration))]
        checked("largest_count", self.largest_count, bounded | None)

    @classmethod
    def fico(cls) -> LoanMDPParams:
        """Return the continuous problem of the paper's first figure: 51 decisions."""
        return cls()

    @classmethod
    def discretised(cls) -> LoanMDPParams:
        """Return a finite problem for linear programming: counts up to 30, no reward offset.

        The paper does not say how it discretises. Rounding the drift at random keeps its mean.
        """
        return cls(largest_count=30, reward_offset=0.0)


class LoanModel:
    r"""The decision problem without episodes: beliefs, rewards and where applicants start.

    Parameters
    ----------
    params
        The parameters.
    """

    def __init__(self, params: LoanMDPParams) -> None:
        self.params = params
        self._prior = np.array(params.prior)
        # Without a bound on counts a denial moves beta itself, with one it moves the count.
        self._beta_per_denial = params.denial_drift if params.largest_count is None else 0.0

    def belief(self, group: IntArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return alpha and beta (...).

        Parameters
        ----------
        group
            Shape (...).
        counts
            Shape (..., 3): repayments, defaults, denials.
        """
        prior = self._prior.take(group, axis=0)
        alpha: FloatArray = prior[..., 0] + counts[..., 0]
        beta: FloatArray = prior[..., 1] + counts[..., 1] + self._beta_per_denial * counts[..., 2]
        return alpha, beta

    def profit(self, alpha: ArrayLike, beta: ArrayLike) -> FloatArray:
        """Return the expected profit of a loan (...) minus the price of its risk.

        Parameters
        ----------
        alpha, beta
            Beliefs (...).
        """
        params = self.params
        first, second = np.asarray(alpha, np.float64), np.asarray(beta, np.float64)
        total = first + second
        stake = params.interest + params.principal
        variance = first * second / (total * (total + 1.0))
        if params.risk_measure == "standard_deviation":
            variance = variance / total
        risk = params.risk_aversion * stake * np.sqrt(variance)
        profit: FloatArray = stake * first / total - params.principal - risk
        return profit

    def initial_law(self) -> FloatArray:
        """Return the law (G, H + 1) of the repayments during exploration, H being its longest.

        Whether a loan is repaid is drawn from the current belief each time, so the number is
        beta-binomial. Entries beyond a group's own number of loans are 0.
        """
        repayments = np.arange(max(self.params.exploration) + 1)
        return np.stack(
            [
                betabinom.pmf(repayments, loans, *pair)
                for loans, pair in zip(self.params.exploration, self.params.prior, strict=True)
            ]
        )


class LoanMDPVectorEnv(FairVectorEnv):
    r"""A bank decides again and again whether to lend to the same applicant.

    The bank holds a Beta belief :math:`(\alpha, \beta)` about the applicant's probability of
    repaying, with mean :math:`p = \alpha / (\alpha + \beta)`. A loan is repaid with probability
    :math:`p`; then :math:`\alpha` rises by one, else :math:`\beta` does. A denial raises
    :math:`\beta` by 0.1: who is denied seems, or becomes, less creditworthy. Groups differ in the
    belief about a stranger only, and the profit does not depend on the group. But a group with a
    worse prior, or with fewer loans behind it, is denied more often, and a denial makes the next
    one more likely.

    ## Action space

    `Discrete(2)`: 0 denies the loan, 1 grants it.

    ## Observation space

    `Box((3,))`: :math:`\alpha`, :math:`\beta`, and the group :math:`z` as a number (0 minority,
    1 majority). With the number of steps taken it is the whole state.

    ## Rewards

    `reward_offset` (here 2) for a denial. For a loan, the offset plus the expected profit
    :math:`(I + P) p - P` minus the price of risk, with interest :math:`I` and principal :math:`P`;
    the realised outcome moves the belief only. The papers' risk is
    :math:`(I + P) \sqrt{\alpha \beta / ((\alpha + \beta)(\alpha + \beta + 1))}`. Rewards are not
    discounted by the environment.

    ## Starting state

    A group is drawn. The applicant has had the group's number of loans already (`exploration`: 7
    for the minority, 10 for the majority); their outcomes are drawn one after the other from the
    belief as it moves.

    ## Episode end

    Truncated after `episode_length` decisions. Never terminated.

    ## Information

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, G) | 1 for the applicant's group if the loan was granted |
    | `demand` | (N, G) | 1 for the applicant's group |
    | `group_state` | (N, G, 2) | for the applicant's group 1 and the mean belief, for others 0, 0 |
    | `counts` | (N, 3) | repayments, defaults and denials, exploration included |
    | `qualified` | (N,) | whether the first belief reached `qualified_mean` (boolean) |

    `counts` and `qualified`, like `group_state`, belong to the moment of the returned observation:
    they are in the `info` of `reset` and in `final_info` as well. A copy has one applicant, so
    long-term benefit rates and group means are ratios of sums over copies: summed over copies,
    `supply` over `demand` is the lending rate of a group, the first number of `group_state` counts
    its applicants, and the second over the first is their mean belief. Rates within an episode
    (`RunningRates`) compare nothing here and are refused.

    ## Arguments

    `preset`: `"fico"` (default) or `"discretised"` (repayments and defaults are counted up to 30, a
    denial adds a default with probability 0.1, no offset). `params`: a `LoanMDPParams` instead of a
    preset. `episode_length`: replaces that of the preset.

    ## Vectorised use

    `gymnasium.make_vec("longfair/LoanMDP-v0", num_envs=256, preset="fico")` steps 256 copies
    together; `gymnasium.make("longfair/LoanMDP-v0")` is a batch of one. `tabular()` in this module
    writes either problem out in full, and `LoanModel` has its formulas.

    ## Version history

    v0: first version. The settings are those of the authors' code with which their first figure
    can be reproduced; the text of the paper does not give them. Its comments price risk otherwise
    than its code does, see `risk_measure`.
    """

    params_class = LoanMDPParams
    rates_within_episode = False
    finite = True

    def __init__(
        self,
        num_envs: int = 1,
        params: LoanMDPParams | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = LoanMDPParams.fico() if params is None else params
        groups = len(params.prior)
        super().__init__(
            num_envs=num_envs,
            num_groups=groups,
            episode_length=params.episode_length,
            observation_space=Box(0.0, _highest_observation(params), dtype=np.float32),
            action_space=Discrete(2),
            autoreset_mode=autoreset_mode,
        )
        self.model = LoanModel(params)
        self._group_limits = np.cumsum(params.group_probability)[:-1]
        # The last limit is left out: rounding must not push a draw beyond the most repayments.
        self._repayment_limits = self.model.initial_law().cumsum(axis=1)[:, :-1]
        self._exploration = np.array(params.exploration)
        self._one_hot = np.eye(groups)
        self._group: IntArray = np.zeros(num_envs, dtype=np.int64)
        self._counts: IntArray = np.zeros((num_envs, 3), dtype=np.int64)
        self._qualified = np.zeros(num_envs, dtype=np.bool_)
        self._alpha, self._beta = np.ones(num_envs), np.ones(num_envs)

    def _restart(self, copies: BoolArray) -> None:
        uniforms = self.np_random.random((2, self.num_envs))
        group = self._group_limits.searchsorted(uniforms[0], side="right")
        limits = self._repayment_limits.take(group, axis=0)
        # A group's limits end at 1, so nobody repays more loans than the group has had.
        repayments = (limits <= uniforms[1, :, None]).sum(axis=1)
        repayments = np.minimum(repayments, self._exploration.take(group))
        defaults = self._exploration.take(group) - repayments
        counts = np.stack([repayments, defaults, np.zeros_like(defaults)], axis=1)
        self._group = np.where(copies, group, self._group)
        self._counts = np.where(copies[:, None], counts, self._counts)
        self._update_belief()
        qualified = self._mean() >= self.params.qualified_mean
        self._qualified = np.where(copies, qualified, self._qualified)

    def _transition(self, actions: IntArray) -> Transition:
        reward = self.params.reward_offset + actions * self.model.profit(self._alpha, self._beta)
        uniforms = self.np_random.random(self.num_envs)
        granted, denied = actions == 1, actions == 0
        repaid = granted & (uniforms < self._mean())
        defaulted = granted & ~repaid
        if self.params.largest_count is not None:
            defaulted |= denied & (uniforms < self.params.denial_drift)
        counts = self._counts + np.stack([repaid, defaulted, denied], axis=1)
        if self.params.largest_count is not None:
            counts[:, :2] = np.minimum(counts[:, :2], self.params.largest_count)
        self._counts = counts
        self._update_belief()
        demand = self._one_hot.take(self._group, axis=0)
        supply = demand * actions[:, None]
        return Transition(reward, supply, demand, np.zeros(self.num_envs, np.bool_))

    def _update_belief(self) -> None:
        self._alpha, self._beta = self.model.belief(self._group, self._counts)

    def _mean(self) -> FloatArray:
        return self._alpha / (self._alpha + self._beta)

    def _observation(self) -> Any:
        return np.stack([self._alpha, self._beta, self._group], axis=1).astype(np.float32)

    def _group_state(self) -> FloatArray:
        present = self._one_hot.take(self._group, axis=0)
        return np.stack([present, present * self._mean()[:, None]], axis=2)

    def tabular(self) -> TabularModel:
        """Write the problem out in full; see the function `tabular` of this module."""
        return tabular(params=self.params)

    def _checked_actions(self, actions: Any) -> IntArray:
        return checked_discrete(actions, self.num_envs, 2)

    def _moment(self) -> dict[str, Any]:
        applicant = {"counts": self._counts.copy(), "qualified": self._qualified.copy()}
        return super()._moment() | applicant


def _highest_observation(params: LoanMDPParams) -> Any:
    """Return the upper bounds (3,) of alpha, beta and the group."""
    most = max(params.exploration) + params.episode_length
    if params.largest_count is not None:
        most = min(most, params.largest_count)
    alpha, beta = np.max(params.prior, axis=0) + most
    return np.array([alpha, beta, max(1, len(params.prior) - 1)], dtype=np.float32)


def tabular(
    preset: str = "discretised",
    params: LoanMDPParams | None = None,
    episode_length: int | None = None,
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
    chosen = LoanMDPVectorEnv.chosen_params(preset, params, episode_length)
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
    return _GroupPart(counts, targets, chances, reward * ~over[:, None], initial)


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


def _sparse_rows(targets: IntArray, chances: FloatArray, size: int) -> csr_array:
    """Return (S * 2, S): a row per state and action."""
    rows = np.repeat(np.arange(2 * size), 2)
    matrix = csr_array(coo_array((chances.ravel(), (rows, targets.ravel())), (2 * size, size)))
    matrix.eliminate_zeros()
    return matrix
