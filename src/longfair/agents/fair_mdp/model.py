r"""Decision problems whose groups have values of their own (Wen, Bastani, Topcu 2021, Section 2).

A *separable* problem has states :math:`s = (z, \tilde s)`: the group :math:`z` never changes. Next
to the decision maker's reward :math:`R_{s,a}` there is an individual reward
:math:`\rho_{s,a}`: what the decision is worth to the person concerned. The **occupancy** of a
policy says how often it is in a state and takes an action there,

.. math::

    \Lambda^{(\pi)}_{s,a} = (1 - \gamma) \sum_t \gamma^t \Pr[s_t = s, a_t = a],

and both the reward of a policy and the value of a group are linear in it:

.. math::

    R^{(\pi)} = \sum_{s,a} R_{s,a} \Lambda^{(\pi)}_{s,a}, \qquad
    \rho^{(\pi)}_z = \frac{1}{p_z} \sum_{\tilde s,a}
        \rho_{(z,\tilde s),a} \Lambda^{(\pi)}_{(z,\tilde s),a},
    \qquad p_z = \Pr[z_0 = z].

A policy is fair when the values of any two groups differ by at most a tolerance
:math:`\epsilon`. This is demographic parity. Equal opportunity asks the same of those who were
*qualified in the first state*. That is not a function of the present state, so it becomes a second
component that never changes.

`SeparableMDP` holds such a problem. `demographic_parity` and `equal_opportunity` turn it into a
`FiniteProblem`, which has the solvers. Only that all is linear in the occupancy counts there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import block_diag, csr_array

from longfair.agents.finite.problem import (
    FiniteProblem,
    checked_rows,
    require_distribution,
    require_finite,
)
from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError


@dataclass(frozen=True)
class SeparableMDP:
    """A finite decision problem whose states belong to groups that never mix.

    Raises
    ------
    UsageError
        If shapes do not fit, a reward is not finite, rows are no probabilities, a transition leaves
        its group, a group has no chance to start, or the discount is not in [0, 1).
    """

    transition: csr_array
    """(S * A, S), sparse: row `state * A + action` holds the probabilities of the next state."""
    reward: FloatArray
    """(S, A): the decision maker's expected reward."""
    individual_reward: FloatArray
    """(S, A): what the decision is worth to the person concerned."""
    group: IntArray
    """(S,): group of each state, 0 to G - 1."""
    initial_distribution: FloatArray
    """(S,): probability of starting in each state."""
    discount: float
    """In [0, 1)."""

    def __post_init__(self) -> None:
        """Bring the arrays into their types and check them."""
        reward = np.asarray(self.reward, dtype=np.float64)
        if reward.ndim != 2:
            raise UsageError(f"reward has shape {reward.shape}: give (states, actions)")
        states, actions = reward.shape
        object.__setattr__(self, "reward", reward)
        object.__setattr__(self, "transition", checked_rows(self.transition, states, actions))
        for field in ("individual_reward", "initial_distribution", "group"):
            shape = (states, actions) if field == "individual_reward" else (states,)
            kind = np.int64 if field == "group" else np.float64
            found = np.asarray(getattr(self, field), dtype=kind)
            if found.shape != shape:
                raise UsageError(f"{field} has shape {found.shape}: give {shape} as reward does")
            object.__setattr__(self, field, found)
        require_finite("reward", self.reward)
        require_finite("individual_reward", self.individual_reward)
        require_distribution(
            "initial_distribution",
            float(np.abs(self.initial_distribution.sum() - 1.0)),
            float(self.initial_distribution.min()),
        )
        if not 0.0 <= self.discount < 1.0:
            raise UsageError(f"discount={self.discount}: give a number in [0, 1)")
        self._require_separable()

    def _require_separable(self) -> None:
        entries = self.transition.tocoo()
        origin = entries.row // self.reward.shape[1]
        leaves = self.group[origin] != self.group[entries.col]
        if leaves.any():
            first = int(np.flatnonzero(leaves)[0])
            raise UsageError(
                f"state {origin[first]} of group {self.group[origin[first]]} leads to state "
                f"{entries.col[first]} of group {self.group[entries.col[first]]}: "
                "groups must not mix"
            )
        empty = np.flatnonzero(self.group_share <= 0)
        if len(empty) or len(self.group_share) < 2 or self.group.min() < 0:
            raise UsageError(
                f"the groups start with probabilities {self.group_share.tolist()}: number groups "
                "from 0, give at least two, and a chance to each"
            )

    @property
    def group_share(self) -> FloatArray:
        """(G,): probability of starting in each group."""
        return np.bincount(np.maximum(self.group, 0), weights=self.initial_distribution).astype(
            np.float64
        )


def demographic_parity(mdp: SeparableMDP) -> FiniteProblem:
    r"""Ask for equal values :math:`\rho_z` of the groups (Definition 2.2, in the form of eq. 3).

    Parameters
    ----------
    mdp
        The problem.

    Returns
    -------
    FiniteProblem
        Same states. Its occupancies are normalised to one.
    """
    return FiniteProblem(
        continuation=csr_array(mdp.discount * mdp.transition),
        inflow=(1.0 - mdp.discount) * mdp.initial_distribution,
        reward=mdp.reward,
        group_values=per_member(mdp.individual_reward, mdp.group, mdp.group_share),
    )


def equal_opportunity(mdp: SeparableMDP, qualified: ArrayLike) -> FiniteProblem:
    r"""Ask for equal values of those who start qualified, :math:`\rho_{z | Q}`.

    Parameters
    ----------
    mdp
        The problem.
    qualified
        Shape (S,), boolean: whether a person who starts in the state is qualified.

    Returns
    -------
    FiniteProblem
        It has 2 S states: first those of people who started unqualified, then those of people who
        started qualified. A policy for it may treat the two differently in one and the same state.

    Raises
    ------
    UsageError
        If the shape does not fit, or a group has nobody who could start qualified.
    """
    chosen = np.asarray(qualified, dtype=np.bool_)
    if chosen.shape != mdp.group.shape:
        raise UsageError(f"qualified has shape {chosen.shape}: give {mdp.group.shape}")
    starts = mdp.initial_distribution * np.stack([~chosen, chosen])
    share = np.bincount(mdp.group, weights=starts[1]).astype(np.float64)
    if share.min() <= 0:
        raise UsageError(
            f"group {int(share.argmin())} has nobody who starts qualified: "
            "qualify a first state of every group"
        )
    values = per_member(mdp.individual_reward, mdp.group, share)
    part = csr_array(mdp.discount * mdp.transition)
    return FiniteProblem(
        continuation=csr_array(block_diag([part, part], format="csr")),
        inflow=(1.0 - mdp.discount) * starts.ravel(),
        reward=np.concatenate([mdp.reward, mdp.reward]),
        group_values=np.concatenate([np.zeros_like(values), values], axis=1),
    )


def per_member(individual_reward: FloatArray, group: IntArray, share: FloatArray) -> FloatArray:
    """Divide individual rewards (S, A) by the probability of the group: (G, S, A)."""
    member = group == np.arange(len(share))[:, None]
    values: FloatArray = member[:, :, None] * individual_reward / share[:, None, None]
    return values
