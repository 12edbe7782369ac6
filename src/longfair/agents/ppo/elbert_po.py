r"""ELBERT-PO: policy optimisation towards an equal long-term benefit rate.

The objective (Equation 3) is :math:`J = \eta - \alpha\,h(z)`, where :math:`\eta` is the return,
:math:`z_g = \eta^S_g / \eta^D_g` the benefit rate of group g (expected supply over expected
demand of an episode) and :math:`h = b^2` the squared bias. By the chain rule its policy gradient
is an ordinary policy gradient with another advantage (Xu et al. 2024, Proposition 3.2):

.. math::

    A^{fair}_t = A_t - \alpha \sum_g \frac{\partial h}{\partial z_g}
        \left[\frac{1}{\eta^D_g} A^{S}_{g,t}
        - \frac{\eta^S_g}{(\eta^D_g)^2} A^{D}_{g,t}\right]

So every group's supply and demand gets a critic, and PPO's clipped objective does the rest
(Algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from longfair.agents.ppo.strategy import Plan, Rollout, Strategy, standardised, supply_and_demand
from longfair.agents.register import FAIR_PPO, Style, register
from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics.benefit import squared_bias_gradient
from longfair.settings import NonNegative, OneOf, Positive

if TYPE_CHECKING:
    from torch import Tensor


@register(
    label="ELBERT-PO",
    place=30,
    style=Style("#0072B2", "o"),
    loaded_by=FAIR_PPO,
)
@dataclass(frozen=True)
class ElbertPO(Strategy):
    r"""Equal long-term benefit rate by a regularised objective.

    Parameters
    ----------
    alpha
        Weight of the squared bias, at least 0.
    beta
        Sharpness of the soft bias, used with more than two groups; with two the exact bias is
        used, in the paper's experiments as in the code.
    standardise
        `"signals"`: every one of the 1 + 2M advantages is standardised over the minibatch before
        the chain rule combines them (the authors' code; the paper does not say so, and the
        relative weights are then no longer those of Proposition 3.2). `"combined"`: the raw
        advantages are combined, then standardised once, as PPO commonly does. `"none"`: raw, as
        the paper's text has it.
    discounted_totals
        Whether :math:`\eta^S, \eta^D` are discounted sums or plain sums over the episode. The
        code has plain sums. So has the paper where it names the criteria of its environments
        (Section 5.1); its general Definition 2.2 carries a discount to which no value is given.

    Notes
    -----
    Implementation details, with their source:

    1. Totals are averaged over the episodes of the rollout and fixed for the update (code).
    2. No smoothing of the denominator in training (code); the evaluation adds 1 per episode.
    3. Parts of episodes that the rollout cuts off do not count; without a whole episode there are
       no totals.
    4. A group without any demand in the rollout has no benefit rate: its terms are left out.
       The code would divide by zero.
    """

    name: ClassVar[str] = "elbert-po"
    revision: ClassVar[int] = 1
    alpha: NonNegative = 2e5
    beta: Positive = 20.0
    standardise: Annotated[str, OneOf("signals", "combined", "none")] = "signals"
    discounted_totals: bool = False

    @classmethod
    def as_coded(cls, alpha: float, beta: float = 20.0) -> ElbertPO:
        """Return what the authors' scripts ran."""
        return cls(alpha=alpha, beta=beta, standardise="signals", discounted_totals=False)

    @classmethod
    def as_published(cls, alpha: float, beta: float = 20.0) -> ElbertPO:
        """Return the paper's text: raw advantages as in Proposition 3.2, plain totals."""
        return cls(alpha=alpha, beta=beta, standardise="none", discounted_totals=False)

    def discounted(self) -> ElbertPO:
        """Return the same with discounted totals, the advantage standardised after combining.

        Definition 2.2 discounts, and the code's learner has a discount; together they make the
        weight of the bias about twenty times as heavy in lending. An ablation, not a variant.
        """
        return replace(self, standardise="combined", discounted_totals=True)

    @property
    def standardises(self) -> bool:
        """Whether `advantage` divides by a deviation over the minibatch."""
        return self.standardise != "none"

    def num_signals(self, num_groups: int) -> int:
        """Return 2M: the supply and the demand of every group."""
        return 2 * num_groups

    def plan(self, rollout: Rollout) -> Plan:
        """Fix the totals, and with them the weight of every advantage."""
        supply = self._total(rollout.supply, rollout)
        demand = self._total(rollout.demand, rollout)
        weights = advantage_weights(supply, demand, self.alpha, self.beta)
        steps, copies = rollout.rewards.shape
        return Plan(
            rollout.rewards,
            supply_and_demand(rollout),
            np.zeros((steps, copies, 0)),
            weights.astype(np.float32),
        )

    def advantage(self, advantages: Tensor, features: Tensor, plan: Plan) -> Tensor:
        """Combine the 1 + 2M advantages by the chain rule."""
        if self.standardise == "signals":
            advantages = standardised(advantages)
        combined = advantages @ advantages.new_tensor(plan.weights)
        if self.standardise == "combined":
            combined = standardised(combined[..., None])[..., 0]
        return combined

    def _total(self, signal: FloatArray, rollout: Rollout) -> FloatArray:
        """Return (G,): mean over the episodes of the rollout of the sum of a signal."""
        whole = _in_whole_episodes(rollout)
        episodes = int((rollout.ends & whole).sum())
        if not episodes:
            raise UsageError(
                f"no episode begins and ends within a rollout of {len(whole)} steps, and ELBERT-PO "
                "needs totals of whole episodes: use whole_episodes=True, or more n_steps"
            )
        signal = signal * whole[..., None]
        if self.discounted_totals:
            steps = _steps_since_start(rollout.starts)
            signal = signal * (rollout.discount**steps)[..., None]
        total: FloatArray = signal.sum(axis=(0, 1)) / episodes
        return total


def advantage_weights(
    supply: FloatArray, demand: FloatArray, alpha: float, beta: float
) -> FloatArray:
    """Return (1 + 2G,): weights of the reward, supply and demand advantages.

    Parameters
    ----------
    supply, demand
        Shape (G,): totals per episode.
    alpha, beta
        Weight of the squared bias, and sharpness of the soft bias with more than two groups.
    """
    known = demand > 0
    by_supply, by_demand = np.zeros_like(supply), np.zeros_like(demand)
    if known.sum() >= 2:
        sharpness = None if len(demand) == 2 else beta
        slope = squared_bias_gradient(supply[known], demand[known], beta=sharpness)
        by_supply[known], by_demand[known] = slope.supply, slope.demand
    return np.concatenate([[1.0], -alpha * by_supply, -alpha * by_demand])


def _in_whole_episodes(rollout: Rollout) -> NDArray[np.bool_]:
    """Return (T, N): whether a step's episode both begins and ends in the rollout."""
    begun = np.logical_or.accumulate(rollout.starts, axis=0)
    ending: NDArray[np.bool_] = np.logical_or.accumulate(rollout.ends[::-1], axis=0)[::-1]
    return begun & ending


def _steps_since_start(starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return (T, N): how many steps ago the episode (or the rollout) began."""
    step = np.arange(len(starts))[:, None]
    return step - np.maximum.accumulate(np.where(starts, step, 0), axis=0)
