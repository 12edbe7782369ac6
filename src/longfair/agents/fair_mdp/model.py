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
`FairProblem`, the form that the solvers of this folder read: only that everything is linear in the
occupancy counts there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_diag, csr_array, issparse

from longfair.agents.fair_mdp.linear_systems import fixed_point
from longfair.errors import UsageError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_ROUNDING = 1e-9


@dataclass(frozen=True)
class SeparableMDP:
    """A finite decision problem whose states belong to groups that never mix.

    Raises
    ------
    UsageError
        If shapes do not fit, rows are no probabilities, a transition leaves its group, a group has
        no chance to start, or the discount is not in [0, 1).
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
        reward = _array("reward", self.reward, 2)
        states, actions = reward.shape
        object.__setattr__(self, "reward", reward)
        object.__setattr__(self, "transition", _rows(self.transition, states, actions))
        for field in ("individual_reward", "initial_distribution", "group"):
            shape = (states, actions) if field == "individual_reward" else (states,)
            kind = np.int64 if field == "group" else np.float64
            found = np.asarray(getattr(self, field), dtype=kind)
            if found.shape != shape:
                raise UsageError(f"{field} has shape {found.shape}: give {shape} as reward does")
            object.__setattr__(self, field, found)
        _require_distribution(
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
        share: FloatArray = np.bincount(
            np.maximum(self.group, 0), weights=self.initial_distribution
        ).astype(np.float64)
        return share


@dataclass(frozen=True)
class FairProblem:
    r"""A decision problem in which reward and group values are linear in the occupancy.

    An occupancy :math:`\lambda` is a solution of the flow equations

    .. math::

        \sum_a \lambda_{s,a} = \mathrm{inflow}_s
            + \sum_{s',a'} \lambda_{s',a'} \, \mathrm{continuation}_{(s',a'),s}.

    With a discount, the inflow is :math:`(1-\gamma) D` and the continuation :math:`\gamma P`, so
    the occupancy sums to one. In episodes of fixed length the step is part of the state, the inflow
    is :math:`D`, the continuation is :math:`P`, and the last step leads nowhere.
    """

    continuation: csr_array
    """(S * A, S), sparse: row `state * A + action` leads to the next state; its sum is the weight
    that goes on, at most 1."""
    inflow: FloatArray
    """(S,): weight that enters the problem in each state."""
    reward: FloatArray
    """(S, A): reward of one unit of occupancy."""
    group_values: FloatArray
    """(G, S, A): what one unit of occupancy adds to the value of each group."""
    stages: tuple[int, ...] | None = None
    """For episodes, H + 1 offsets: the states of step t are those from `stages[t]` up to, not
    including, `stages[t + 1]`, and lead to step t + 1 only. None when steps do not matter."""

    @property
    def states(self) -> int:
        """Number of states S."""
        return len(self.inflow)

    @property
    def actions(self) -> int:
        """Number of actions A."""
        return int(self.reward.shape[1])

    @cached_property
    def of_stage(self) -> tuple[csr_array, ...]:
        """For each step but the last, rows of its states and actions, columns of the next step."""
        assert self.stages is not None
        cuts, width = self.stages, self.actions
        return tuple(
            self.continuation[width * cuts[step] : width * cuts[step + 1]][
                :, cuts[step + 1] : cuts[step + 2]
            ]
            for step in range(len(cuts) - 2)
        )


@dataclass(frozen=True)
class PolicyValue:
    """What a policy is worth to the decision maker and to the groups, exactly."""

    reward: float
    """In the units of the problem: normalised by 1 - discount, or a sum over an episode."""
    group_values: FloatArray
    """(G,)."""

    @property
    def gap(self) -> float:
        """Largest difference between the values of two groups."""
        return float(np.ptp(self.group_values))


def demographic_parity(mdp: SeparableMDP) -> FairProblem:
    r"""Ask for equal values :math:`\rho_z` of the groups (Definition 2.2, in the form of eq. 3).

    Parameters
    ----------
    mdp
        The problem.

    Returns
    -------
    FairProblem
        Same states. Its occupancies are normalised to one.
    """
    return FairProblem(
        continuation=csr_array(mdp.discount * mdp.transition),
        inflow=(1.0 - mdp.discount) * mdp.initial_distribution,
        reward=mdp.reward,
        group_values=_per_member(mdp.individual_reward, mdp.group, mdp.group_share),
    )


def equal_opportunity(mdp: SeparableMDP, qualified: ArrayLike) -> FairProblem:
    r"""Ask for equal values of those who start qualified, :math:`\rho_{z | Q}`.

    Parameters
    ----------
    mdp
        The problem.
    qualified
        Shape (S,), boolean: whether a person who starts in the state is qualified.

    Returns
    -------
    FairProblem
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
    values = _per_member(mdp.individual_reward, mdp.group, share)
    part = csr_array(mdp.discount * mdp.transition)
    return FairProblem(
        continuation=csr_array(block_diag([part, part], format="csr")),
        inflow=(1.0 - mdp.discount) * starts.ravel(),
        reward=np.concatenate([mdp.reward, mdp.reward]),
        group_values=np.concatenate([np.zeros_like(values), values], axis=1),
    )


def occupancy(problem: FairProblem, policy: ArrayLike) -> FloatArray:
    r"""Return the occupancy :math:`\Lambda^{(\pi)}` of a policy, shape (S, A).

    Parameters
    ----------
    problem
        The problem.
    policy
        Shape (S, A): probability of every action in every state.

    Raises
    ------
    UsageError
        If the shape does not fit or a row is no probability distribution.
    """
    chances = checked_policy(problem, policy)
    if problem.stages is not None:
        return _occupancy_of_episode(problem, chances)
    moved = policy_rows(problem.continuation, chances)
    visits = fixed_point(csr_array(moved.T), problem.inflow)
    visited: FloatArray = visits[:, None] * chances
    return visited


def evaluate(problem: FairProblem, policy: ArrayLike) -> PolicyValue:
    """Return the exact reward and group values of a policy; arguments as for `occupancy`."""
    return value_of(problem, occupancy(problem, policy))


def value_of(problem: FairProblem, visited: FloatArray) -> PolicyValue:
    """Return what an occupancy (S, A) is worth."""
    return PolicyValue(
        reward=float((problem.reward * visited).sum()),
        group_values=np.tensordot(problem.group_values, visited, axes=2),
    )


def deterministic(problem: FairProblem, actions: ArrayLike) -> FloatArray:
    """Write a policy that takes one action (S,) per state as probabilities (S, A)."""
    return np.asarray(np.eye(problem.actions)[np.asarray(actions, dtype=np.int64)])


def policy_rows(continuation: csr_array, chances: FloatArray) -> csr_array:
    """Average the rows of the actions with the chances (S, A): where a policy leads, (S, S)."""
    states, actions = chances.shape
    pointers = np.arange(0, states * actions + 1, actions)
    average = csr_array(
        (chances.ravel(), np.arange(states * actions), pointers), (states, states * actions)
    )
    return csr_array(average @ continuation)


def checked_policy(problem: FairProblem, policy: ArrayLike) -> FloatArray:
    """Return a policy as probabilities (S, A), or raise `UsageError`."""
    chances = np.asarray(policy, dtype=np.float64)
    if chances.shape != problem.reward.shape:
        raise UsageError(f"policy has shape {chances.shape}: give {problem.reward.shape}")
    worst = float(np.abs(chances.sum(axis=1) - 1.0).max())
    _require_distribution("policy", worst, float(chances.min()))
    return chances


def _occupancy_of_episode(problem: FairProblem, chances: FloatArray) -> FloatArray:
    assert problem.stages is not None
    visited = np.empty_like(chances)
    arriving = np.zeros(0)
    cuts = problem.stages
    for step, (first, end) in enumerate(pairwise(cuts)):
        if step:
            before = visited[cuts[step - 1] : first].ravel()
            arriving = problem.of_stage[step - 1].T @ before
        here = problem.inflow[first:end] + (arriving if step else 0.0)
        visited[first:end] = here[:, None] * chances[first:end]
    return visited


def _per_member(individual_reward: FloatArray, group: IntArray, share: FloatArray) -> FloatArray:
    """Divide individual rewards (S, A) by the probability of the group: (G, S, A)."""
    member = group == np.arange(len(share))[:, None]
    values: FloatArray = member[:, :, None] * individual_reward / share[:, None, None]
    return values


def _array(name: str, given: ArrayLike, dimensions: int) -> FloatArray:
    found = np.asarray(given, dtype=np.float64)
    if found.ndim != dimensions:
        raise UsageError(f"{name} has shape {found.shape}: give (states, actions)")
    return found


def _rows(transition: Any, states: int, actions: int) -> csr_array:
    """Return transitions as (S * A, S), from that shape or dense (S, A, S)."""
    given = transition
    if not issparse(given):
        dense = np.asarray(given, dtype=np.float64)
        given = dense.reshape(-1, dense.shape[-1]) if dense.ndim == 3 else dense
    if given.shape != (states * actions, states):
        raise UsageError(
            f"transition has shape {given.shape}: give ({states} * {actions}, {states})"
        )
    rows = csr_array(given)
    worst = float(np.abs(rows.sum(axis=1) - 1.0).max())
    _require_distribution("transition", worst, float(rows.data.min()))
    return rows


def _require_distribution(name: str, error: float, least: float) -> None:
    if least < 0:
        raise UsageError(f"{name} has an entry {least:g}: give probabilities")
    if not error <= _ROUNDING:
        raise UsageError(f"{name} has a row that misses 1 by {error:g}: give probabilities")
