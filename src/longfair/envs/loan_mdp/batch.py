"""One applicant who comes back: the individual loan problem of Wen, Bastani and Topcu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.envs.loan_mdp.model import LoanModel
from longfair.envs.loan_mdp.params import LoanMDPParams
from longfair.envs.loan_mdp.written_out import tabular
from longfair.envs.tabular import TabularModel
from longfair.envs.vector import FairVectorEnv, Restart, Transition
from longfair.settings import Count, validated

if TYPE_CHECKING:
    from longfair.envs.loan_mdp.exact import LoanProblem


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
    can be reproduced; the text that we have has lost the paper's own, a table of Appendix G. The
    code's comments price risk otherwise than the code does, see `risk_measure`.
    """

    params_class = LoanMDPParams
    rates_within_episode = False
    finite = True

    @validated
    def __init__(
        self,
        num_envs: Count = 1,
        params: LoanMDPParams | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
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
        """Write the problem out in full; see `longfair.envs.loan_mdp.tabular`."""
        return tabular(params=self.params)

    def exact(self) -> LoanProblem:
        """Return all situations, for exact values of policies; see `loan_mdp.exact`."""
        # Imported when asked for: loading machine code takes longer than all the rest.
        from longfair.envs.loan_mdp.exact import LoanProblem

        return LoanProblem.of(self.model)

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
