r"""Finite decision problems, and one class that carries all their solvers.

A problem has states s, actions a, rewards :math:`r_{s,a}`, transitions, and for every group a
value that actions add to. It is written out by hand, or taken from an environment's `tabular` face
(`FiniteProblem.of_face`), and then solved in one of three forms:

* as it is, over a finite horizon: `backward_induction`, `policy_values`;
* `discounted`, over an infinite horizon: policy iteration (`best_actions`), and with a bound on the
  gap between groups `linear_program`, `column_generation`, `lagrangian`, `cross_entropy`;
* `unrolled` in time, so that the step is part of the state: the same solvers.

A lender as the example. Two groups of applicants, each with poor (0, 2) or good credit (1, 3); a
loan earns 1 with good credit and loses 0.6 with poor, and a loan to poor credit mends it half of
the time. A group's value is the loans it gets. Group 1 starts with good credit, group 0 with poor.

>>> poor, mended, good = [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]
>>> credit = np.array([[poor, mended], [good, good]])
>>> transition = np.kron(np.eye(2), credit.transpose(1, 0, 2)).reshape(2, 4, 4).transpose(1, 0, 2)
>>> reward = np.array([[0.0, -0.6], [0.0, 1.0]] * 2)
>>> loans = 2 * np.repeat(np.eye(2), 2, axis=1)[:, :, None] * [0.0, 1.0]
>>> lender = FiniteProblem.of(transition, reward, [0.5, 0.0, 0.0, 0.5], loans)

Over a finite horizon it pays to mend credit while three steps are left:

>>> lender.backward_induction(horizon=3).values[:, :2].tolist()
[[0.4, 3.0], [0.0, 2.0], [0.0, 1.0], [0.0, 0.0]]
>>> lender.policy_values(np.full((4, 2), 0.5), horizon=3)[0, :2].tolist()
[-0.35, 1.5]

With a discount of 0.5 mending does not pay, and only the group with good credit gets loans. Four
ways to the best policy whose groups get equally many loans within 0.2:

>>> discounted = lender.discounted(0.5)
>>> discounted.best_actions().tolist()
[0, 1, 0, 1]
>>> discounted.evaluate(np.eye(2)[[0, 1, 0, 1]]).group_values.tolist()
[0.0, 1.0]
>>> ways = [discounted.linear_program(0.2), discounted.column_generation(0.2)]
>>> ways += [discounted.lagrangian(0.2), discounted.solve(0.2)]
>>> [round(way.value.reward, 6) for way in ways]
[0.473333, 0.473333, 0.473333, 0.473333]
>>> round(discounted.frontier().at(0.2), 6)
0.473333
>>> from longfair.agents.fair_mdp.cross_entropy import CrossEntropy
>>> twenty = CrossEntropy(iterations=20)
>>> found = discounted.cross_entropy(0.2, np.random.default_rng(0), twenty)
>>> round(found.value.reward, 3), round(found.value.gap, 3)
(0.473, 0.2)

Unrolled over three steps, without any bound, the answer of backward induction again:

>>> round(lender.unrolled(3).linear_program().value.reward, 6)
1.7
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array, issparse

from longfair.agents.finite.linear_systems import fixed_point, require_end
from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import Count, Discount, Probability, shortened, validated

if TYPE_CHECKING:
    from longfair.agents.fair_mdp.cross_entropy import CrossEntropy
    from longfair.agents.finite.lagrangian import Frontier
    from longfair.agents.finite.solution import FairSolution


ROUNDING = 1e-9
"""By how much probabilities may miss one."""


class TabularFace(Protocol):
    """An environment written out in full, as `tabular()` of finite environments returns it."""

    @property
    def transition(self) -> csr_array:
        """(S * A, S), sparse: row `state * A + action`."""

    @property
    def reward(self) -> FloatArray:
        """(S, A)."""

    @property
    def initial_distribution(self) -> FloatArray:
        """(S,)."""

    @property
    def supply(self) -> FloatArray:
        """(G, S, A): what each group is expected to receive."""


@dataclass(frozen=True)
class FiniteHorizonSolution:
    """Optimal values and actions at every step of a finite horizon H."""

    values: FloatArray
    """(H + 1, S): row t is the value from step t on; the last row is zero."""
    action_values: FloatArray
    """(H, S, A): expected return of an action at step t and optimal play after it."""

    @property
    def actions(self) -> IntArray:
        """(H, S): an optimal action at every step; of equally good ones the lowest."""
        best: IntArray = self.action_values.argmax(axis=2)
        return best


@dataclass(frozen=True)
class FiniteProblem:
    r"""States, actions and where they lead, for every solver of this folder.

    Rewards and the values of groups are linear in the occupancy.

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

    origin: IntArray | None = None
    """(S,): in a problem unrolled in time, the state of the original behind each state."""

    @classmethod
    def of(
        cls,
        transition: Any,
        reward: ArrayLike,
        start: ArrayLike | None = None,
        group_values: ArrayLike | None = None,
    ) -> FiniteProblem:
        """Take a problem without a discount from arrays.

        Parameters
        ----------
        transition
            Shape (S * A, S), SciPy sparse or dense, row `state * A + action`; or dense (S, A, S).
        reward
            Shape (S, A): expected reward.
        start
            Shape (S,): distribution of the first state; uniform when not given.
        group_values
            Shape (G, S, A): what an action adds to the value of each group; no groups when not
            given.

        Raises
        ------
        UsageError
            When shapes do not fit, a reward or a group's value is not finite, or rows are no
            probability distributions.
        """
        expected = np.asarray(reward, dtype=np.float64)
        if expected.ndim != 2 or not expected.size:
            raise UsageError(f"reward has shape {expected.shape}: give (states, actions)")
        states, actions = expected.shape
        rows = checked_rows(transition, states, actions)
        first = np.full(states, 1.0 / states) if start is None else np.asarray(start, np.float64)
        values = np.zeros((0, states, actions)) if group_values is None else group_values
        groups = np.asarray(values, dtype=np.float64)
        if first.shape != (states,) or groups.ndim != 3 or groups.shape[1:] != expected.shape:
            raise UsageError(
                f"start has shape {first.shape} and group_values {groups.shape}: "
                f"give ({states},) and (groups, {states}, {actions})"
            )
        require_finite("reward", expected)
        require_finite("group_values", groups)
        require_distribution("start", abs(float(first.sum()) - 1.0), float(first.min()))
        return cls(rows, first, expected, groups)

    @classmethod
    def of_face(cls, face: TabularFace) -> FiniteProblem:
        """Take a problem without a discount from the `tabular` face of an environment.

        The value of a group is what it is expected to receive: the sum of its supply.
        """
        return cls.of(face.transition, face.reward, face.initial_distribution, face.supply)

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

    # Other forms of the problem -----------------------------------------------------------------

    @validated
    def discounted(self, discount: Discount) -> FiniteProblem:
        """Return the problem with an infinite horizon, its occupancies normalised to one.

        Raises
        ------
        UsageError
            If it is discounted or unrolled already.
        """
        if self.stages is not None or abs(float(self.inflow.sum()) - 1.0) > ROUNDING:
            raise UsageError(
                "the problem is discounted or unrolled in time already: take the discount of the "
                "original one, or unrolled(steps, discount)"
            )
        return FiniteProblem(
            continuation=csr_array(discount * self.continuation),
            inflow=(1.0 - discount) * self.inflow,
            reward=self.reward,
            group_values=self.group_values,
        )

    @validated
    def unrolled(self, horizon: Count, discount: Probability = 1.0) -> FiniteProblem:
        """Return the problem of episodes: states are pairs of a step and a state reached by then.

        Parameters
        ----------
        horizon
            Steps of an episode, at least 1.
        discount
            Factor by which every step counts less than the one before, for reward and groups.
        """
        reached = [np.flatnonzero(self.inflow)]
        for _ in range(1, horizon):
            reached.append(np.unique(self.continuation[self._pairs(reached[-1])].indices))
        cuts = np.cumsum([0, *map(len, reached)])
        rows, columns, weights = [], [], []
        for step, (here, there) in enumerate(pairwise(reached)):
            block = self.continuation[self._pairs(here)][:, there].tocoo()
            rows.append(block.row + self.actions * cuts[step])
            columns.append(block.col + cuts[step + 1])
            weights.append(block.data)
        origin = np.concatenate(reached)
        worth = discount ** np.repeat(np.arange(horizon), np.diff(cuts))[:, None]
        shape = (len(origin) * self.actions, len(origin))
        inflow = np.zeros(len(origin))
        inflow[: cuts[1]] = self.inflow[reached[0]]
        return FiniteProblem(
            continuation=_joined(weights, rows, columns, shape),
            inflow=inflow,
            reward=worth * self.reward[origin],
            group_values=worth * self.group_values[:, origin],
            stages=tuple(cuts.tolist()),
            origin=origin,
        )

    def _pairs(self, states: IntArray) -> IntArray:
        """Return the rows of all actions in some states."""
        return (states[:, None] * self.actions + np.arange(self.actions)).ravel()

    # Exact values -------------------------------------------------------------------------------

    @validated
    def backward_induction(
        self, horizon: Count, discount: Probability = 1.0
    ) -> FiniteHorizonSolution:
        r"""Solve the problem over a finite horizon.

        With h steps to go,
        :math:`Q_h(s, a) = r(s, a) + \gamma \sum_{s'} P(s' \mid s, a) V_{h-1}(s')`,
        :math:`V_h(s) = \max_a Q_h(s, a)` and :math:`V_0 = 0`.

        Parameters
        ----------
        horizon
            Number of steps H, at least 1.
        discount
            Factor in [0, 1] by which every step's reward counts less than the one before.
        """
        values = np.zeros((horizon + 1, self.states))
        action_values = np.empty((horizon, *self.reward.shape))
        for step in reversed(range(horizon)):
            action_values[step] = self._ahead(values[step + 1], discount)
            values[step] = action_values[step].max(axis=1)
        return FiniteHorizonSolution(values, action_values)

    @validated
    def policy_values(self, policy: Any, horizon: Count, discount: Probability = 1.0) -> FloatArray:
        """Return the exact value of a policy from every step on, shape (H + 1, S).

        Parameters
        ----------
        policy
            Shape (S, A), or (H, S, A) when it depends on the step: probability of every action.
        horizon, discount
            As in `backward_induction`.
        """
        values = np.zeros((horizon + 1, self.states))
        given = numbers("policy", policy)
        if given.shape not in (self.reward.shape, (horizon, *self.reward.shape)):
            raise UsageError(
                f"policy has shape {given.shape}: give {self.reward.shape}, "
                f"or {(horizon, *self.reward.shape)} where it depends on the step"
            )
        chances = np.broadcast_to(given, (horizon, *self.reward.shape))
        worst = float(np.abs(chances.sum(axis=2) - 1.0).max())
        require_distribution("policy", worst, float(chances.min()))
        for step in reversed(range(horizon)):
            values[step] = (self._ahead(values[step + 1], discount) * chances[step]).sum(axis=1)
        return values

    def _ahead(self, later: FloatArray, discount: float) -> FloatArray:
        """Return (S, A): reward, and what comes after it."""
        future = (self.continuation @ later).reshape(self.reward.shape)
        ahead: FloatArray = self.reward + discount * future
        return ahead

    def occupancy(self, policy: ArrayLike) -> FloatArray:
        """Return how often a policy (S, A) is in a state and takes an action; see `occupancy`."""
        return occupancy(self, policy)

    def evaluate(self, policy: ArrayLike) -> PolicyValue:
        """Return the exact reward and group values of a policy (S, A)."""
        return evaluate(self, policy)

    # Solvers ------------------------------------------------------------------------------------

    def best_actions(self, reward: FloatArray | None = None) -> IntArray:
        """Return the best action (S,) in every state, by dynamic programming, without any bound."""
        from longfair.agents.finite.dynamic_programs import best_actions

        return best_actions(self, self.reward if reward is None else reward)

    def solve(self, tolerance: float | None = None) -> FairSolution:
        """Return the best policy within a gap, by the form of the linear program for its size."""
        direct = self.reward.size <= LARGEST_DIRECT
        return self.linear_program(tolerance) if direct else self.column_generation(tolerance)

    def linear_program(self, tolerance: float | None = None) -> FairSolution:
        """Return the best policy within a gap, by one linear program; see `linear_program`."""
        from longfair.agents.finite import linear_program

        return linear_program.solve(self, tolerance)

    def column_generation(self, tolerance: float | None = None) -> FairSolution:
        """Return the same for problems of any size; see `column_generation`."""
        from longfair.agents.finite import column_generation

        return column_generation.solve(self, tolerance)

    def lagrangian(self, tolerance: float | None = None) -> FairSolution:
        """Return the same for two groups, by a price on the gap; see `lagrangian`."""
        from longfair.agents.finite import lagrangian

        return lagrangian.solve(self, tolerance)

    def frontier(self, resolution: float = 0.0) -> Frontier:
        """Return the best reward for every gap between two groups; see `lagrangian`."""
        from longfair.agents.finite import lagrangian

        return lagrangian.frontier(self, resolution)

    def cross_entropy(
        self,
        tolerance: float,
        generator: np.random.Generator,
        settings: CrossEntropy | None = None,
    ) -> FairSolution:
        """Return the best policy within a gap that sampling finds; see `table_search`."""
        from longfair.agents.finite import table_search

        return table_search.solve(self, tolerance, generator, settings)


LARGEST_DIRECT = 4000
"""Pairs of state and action up to which the whole linear program is handed to the solver."""


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
        if not len(self.group_values):
            raise UsageError("the problem has 0 groups: a gap needs two; give group_values")
        return float(np.ptp(self.group_values))


def occupancy(problem: FiniteProblem, policy: ArrayLike) -> FloatArray:
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
    require_end(moved)
    visits = fixed_point(csr_array(moved.T), problem.inflow)
    return visits[:, None] * chances


def evaluate(problem: FiniteProblem, policy: ArrayLike) -> PolicyValue:
    """Return the exact reward and group values of a policy; arguments as for `occupancy`."""
    return value_of(problem, occupancy(problem, policy))


def value_of(problem: FiniteProblem, visited: FloatArray) -> PolicyValue:
    """Return what an occupancy (S, A) is worth."""
    return PolicyValue(
        reward=float((problem.reward * visited).sum()),
        group_values=np.tensordot(problem.group_values, visited, axes=2),
    )


def deterministic(problem: FiniteProblem, actions: ArrayLike) -> FloatArray:
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


def numbers(name: str, values: Any) -> FloatArray:
    """Return values as an array of numbers, or raise `UsageError` with their name."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name}={shortened(values)}: give an array of numbers") from None


def checked_policy(problem: FiniteProblem, policy: ArrayLike) -> FloatArray:
    """Return a policy as probabilities (S, A), or raise `UsageError`."""
    chances = numbers("policy", policy)
    if chances.shape != problem.reward.shape:
        raise UsageError(f"policy has shape {chances.shape}: give {problem.reward.shape}")
    worst = float(np.abs(chances.sum(axis=1) - 1.0).max())
    require_distribution("policy", worst, float(chances.min()))
    return chances


def _occupancy_of_episode(problem: FiniteProblem, chances: FloatArray) -> FloatArray:
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


def _joined(
    weights: list[FloatArray], rows: list[IntArray], columns: list[IntArray], shape: tuple[int, int]
) -> csr_array:
    """Return the sparse matrix of some entries, given in parts."""
    if not weights:
        return csr_array(shape)
    entries = np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(coo_array(entries, shape))


def checked_rows(transition: Any, states: int, actions: int) -> csr_array:
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
    require_distribution("transition", worst, float(rows.data.min(initial=0.0)))
    return rows


def require_finite(name: str, values: FloatArray) -> None:
    """Raise `UsageError` unless all values are finite."""
    if not np.isfinite(values).all():
        raise UsageError(f"{name} has a value that is not finite: give numbers")


def require_groups(problem: FiniteProblem) -> None:
    """Raise `UsageError` unless there are two groups, whose values a tolerance can compare."""
    if len(problem.group_values) < 2:
        raise UsageError(
            f"the problem has {len(problem.group_values)} groups: a tolerance needs two; "
            "give group_values"
        )


def require_distribution(name: str, error: float, least: float) -> None:
    """Raise `UsageError` unless rows miss one by little and have no entry below zero."""
    if least < 0:
        raise UsageError(f"{name} has an entry {least:g}: give probabilities")
    if not error <= ROUNDING:
        raise UsageError(f"{name} has a row that misses 1 by {error:g}: give probabilities")
