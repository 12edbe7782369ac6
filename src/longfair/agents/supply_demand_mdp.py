r"""Exact returns, advantages and gradients in a small tabular supply-demand problem.

A finite decision problem with states s and actions a, and several signals: the reward, the supply
and the demand of every group. For a policy :math:`\pi` with state transitions :math:`P_\pi` the
value of any signal x solves a linear system,

.. math:: V^x_\pi = (I - \gamma P_\pi)^{-1} x_\pi,\qquad
          A^x_\pi(s, a) = x(s, a) + \gamma \sum_{s'} P(s' \mid s, a) V^x_\pi(s') - V^x_\pi(s),

and with discounted visits :math:`d_\pi` the gradient of its expected total is
:math:`\sum_s d_\pi(s) \sum_a \nabla\pi(a \mid s) A^x_\pi(s, a)`. Nothing is sampled, so ELBERT's
Propositions 3.1 and 3.2 can be held against finite differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from longfair.agents.ppo.elbert_po import advantage_weights
from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics.benefit import benefit_rate, bias, soft_bias


@dataclass(frozen=True)
class SupplyDemandMDP:
    """A finite problem with S states, A actions and G groups.

    Parameters
    ----------
    transition
        (S, A, S): probabilities of the next state.
    signals
        (1 + 2G, S, A): reward, then supplies, then demands.
    start
        (S,): distribution of the first state.
    discount
        Factor in [0, 1).
    """

    transition: FloatArray
    signals: FloatArray
    start: FloatArray
    discount: float

    def __post_init__(self) -> None:
        """Raise `UsageError` when the arrays do not describe a problem."""
        states, actions = self.transition.shape[:2]
        if self.transition.shape != (states, actions, states):
            raise UsageError(f"transition has shape {self.transition.shape}: give (S, A, S)")
        if self.signals.shape[1:] != (states, actions) or len(self.signals) % 2 == 0:
            raise UsageError(
                f"signals have shape {self.signals.shape}: give (1 + 2G, {states}, {actions})"
            )
        if not np.allclose(self.transition.sum(axis=2), 1.0):
            raise UsageError("transition probabilities do not sum to 1 for every state and action")
        if not 0.0 <= self.discount < 1.0:
            raise UsageError(f"discount={self.discount}: give a number in [0, 1)")

    @classmethod
    def random(
        cls, states: int, actions: int, groups: int, rng: np.random.Generator, discount: float = 0.9
    ) -> SupplyDemandMDP:
        """Draw a problem in which every group has a positive demand and a supply within it."""
        demand = rng.uniform(0.2, 1.0, (groups, states, actions))
        supply = demand * rng.uniform(0.0, 1.0, demand.shape)
        reward = rng.normal(size=(1, states, actions))
        return cls(
            transition=rng.dirichlet(np.ones(states), (states, actions)),
            signals=np.concatenate([reward, supply, demand]),
            start=rng.dirichlet(np.ones(states)),
            discount=discount,
        )

    def totals(self, policy: FloatArray) -> FloatArray:
        """Return (1 + 2G,): expected discounted total of every signal under a policy (S, A)."""
        return self._values(policy) @ self.start

    def advantages(self, policy: FloatArray) -> FloatArray:
        """Return (1 + 2G, S, A): advantage of every signal."""
        values = self._values(policy)
        ahead: FloatArray = self.discount * np.einsum("sat,kt->ksa", self.transition, values)
        return self.signals + ahead - values[:, :, None]

    def visits(self, policy: FloatArray) -> FloatArray:
        """Return (S,): expected discounted number of visits."""
        matrix = np.eye(len(self.start)) - self.discount * self._state_transition(policy)
        visits = np.linalg.solve(matrix.T, self.start)
        return visits.astype(np.float64, copy=False)

    def _values(self, policy: FloatArray) -> FloatArray:
        matrix = np.eye(len(self.start)) - self.discount * self._state_transition(policy)
        rewards = np.einsum("sa,ksa->sk", policy, self.signals)
        values = np.linalg.solve(matrix, rewards).T
        return values.astype(np.float64, copy=False)

    def _state_transition(self, policy: FloatArray) -> FloatArray:
        result: FloatArray = np.einsum("sa,sat->st", policy, self.transition)
        return result


def softmax_policy(logits: FloatArray) -> FloatArray:
    """Return probabilities (S, A) from logits (S, A)."""
    return np.asarray(softmax(logits, axis=1))


def objective(problem: SupplyDemandMDP, logits: FloatArray, alpha: float, beta: float) -> float:
    """Return ELBERT's objective: reward total minus `alpha` times the squared bias.

    The exact bias is used with two groups, the soft one with more.
    """
    totals = problem.totals(softmax_policy(logits))
    reward, supply, demand = totals[0], *np.split(totals[1:], 2)
    rates = benefit_rate(supply, demand)
    unfairness = bias(rates) if len(rates) == 2 else soft_bias(rates, beta)
    return float(reward - alpha * unfairness**2)


def policy_gradient(
    problem: SupplyDemandMDP, logits: FloatArray, alpha: float, beta: float
) -> FloatArray:
    """Return (S, A): Proposition 3.2's gradient of `objective` by the logits.

    It uses the weights that ELBERT-PO uses in training, on exact advantages.
    """
    policy = softmax_policy(logits)
    totals = problem.totals(policy)
    supply, demand = np.split(totals[1:], 2)
    weights = advantage_weights(supply, demand, alpha, beta)
    fair_advantage: FloatArray = np.tensordot(weights, problem.advantages(policy), axes=1)
    mean = (policy * fair_advantage).sum(axis=1, keepdims=True)
    gradient: FloatArray = problem.visits(policy)[:, None] * policy * (fair_advantage - mean)
    return gradient


def finite_differences(
    problem: SupplyDemandMDP,
    logits: FloatArray,
    alpha: float,
    beta: float,
    step: float = 1e-5,
) -> FloatArray:
    """Return (S, A): central differences of `objective` by the logits."""
    gradient = np.zeros_like(logits)
    for index in np.ndindex(*logits.shape):
        shift = np.zeros_like(logits)
        shift[index] = step
        above = objective(problem, logits + shift, alpha, beta)
        below = objective(problem, logits - shift, alpha, beta)
        gradient[index] = (above - below) / (2.0 * step)
    return gradient
