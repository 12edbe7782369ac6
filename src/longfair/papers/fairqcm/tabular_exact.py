"""Exact action values of small doughnut problems, and how far a learner's table is from them."""

from __future__ import annotations

import numpy as np

from longfair.agents.finite import FiniteHorizonSolution, FiniteProblem
from longfair.arrays import FloatArray
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut import tabular as written_out
from longfair.envs.tabular import TabularModel


class ExactValues:
    """Exact optimal action values of a doughnut problem, and how far a table is from them.

    Parameters
    ----------
    params
        A small problem.
    discount
        Discount of the learner.
    """

    def __init__(self, params: DoughnutParams, discount: float) -> None:
        self.model: TabularModel = written_out(params=params)
        self.discount = discount
        self.problem = FiniteProblem.of_face(self.model)
        self.solution: FiniteHorizonSolution = self.problem.backward_induction(
            self.model.horizon, discount
        )
        people = len(params.presence_probability)
        present, counts = self.model.states[:, :people], self.model.states[:, people:]
        self._presence = present @ 2 ** np.arange(people)
        self._memory = counts @ (params.episode_length + 1) ** np.arange(people)
        # After t doughnuts nobody can have had more than t together, and every way is possible.
        self.reachable = counts.sum(axis=1) <= np.arange(self.model.horizon)[:, None]
        self._best = self._start(self.solution.values[0])

    def learned(self, values: FloatArray) -> FloatArray:
        """Lay out a learner's table as the exact solver does, (H, S, A)."""
        layers = np.minimum(np.arange(self.model.horizon), len(values) - 1)
        learned: FloatArray = values[layers[:, None], self._presence, self._memory]
        return learned

    def distances(self, values: FloatArray) -> dict[str, float]:
        """Compare a learner's table `TabularQLearning.values` with the exact action values."""
        learned, exact = self.learned(values), self.solution.action_values
        difference = np.abs(learned - exact)[self.reachable]
        scale = exact[self.reachable].max()
        return {
            "relative_distance": float(difference.max() / scale),
            "mean_distance": float(difference.mean() / scale),
            "relative_loss": 1.0 - self.value_of(learned) / self._best,
        }

    def value_of(self, learned: FloatArray) -> float:
        """Return the exact value of choosing the largest of learned values (H, S, A)."""
        policy = np.eye(learned.shape[2])[learned.argmax(axis=2)]
        values = self.problem.policy_values(policy, self.model.horizon, self.discount)
        return self._start(values[0])

    def _start(self, values: FloatArray) -> float:
        return float(self.model.initial_distribution @ values)
