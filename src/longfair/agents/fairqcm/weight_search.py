r"""Search for the weights of a linear rule on the inputs of the ledger agent, without values.

Whoever has the highest score is chosen,

.. math::

    a_t = \arg\max_i \sum_k w_k\, x_{ik},

where :math:`x_{ik}` are numbers about person :math:`i` from the ledger, such as whether they are
there and by how much they are ahead. Weights are drawn from a normal distribution, tried in a few
episodes side by side, and judged by their mean return. Either the best so far stay (random search),
or the next ones are drawn around the best of each round (cross-entropy method).

How far such a rule gets says how much the inputs give away, and what a network is needed for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from longfair.agents.fairqcm.ledgers import Ledger
from longfair.agents.fairqcm.presets import WeightSearch
from longfair.agents.learning.spaces import Batch
from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import Natural, Seed, validated


class LinearRule:
    """Choose whoever has the highest weighted sum.

    Parameters
    ----------
    ledger
        The problem's bookkeeping.
    columns
        Which of the numbers of `Ledger.by_person` count, K of them.
    weights
        (K,), or (N, K) with a row for every situation.
    """

    def __init__(self, ledger: Ledger, columns: tuple[int, ...], weights: FloatArray) -> None:
        self.ledger, self.columns, self.weights = ledger, columns, weights

    def act(self, observation: NDArray[Any], state: Any = None) -> tuple[IntArray, Any]:
        """Return whom to choose (B,) for observations (B, I); there is no state."""
        numbers = self.ledger.by_person(self.ledger.read(observation), clock=False)
        scores = (numbers[:, :, list(self.columns)] * self.weights[..., None, :]).sum(axis=2)
        return scores.argmax(axis=1), None


class LinearSearch:
    """Search for weights, several candidates side by side.

    Parameters
    ----------
    env
        A batch environment of `search.candidates * search.episodes` copies, whose observation
        `ledger` can read, with episodes of the ledger's length. Every copy's step counts as one.
    ledger
        The problem's bookkeeping.
    search
        Which numbers count, and how the weights are searched for.
    seed
        Seed of the candidates and of the environment.

    Attributes
    ----------
    weights
        (K,): the best so far, or the mean of the distribution that candidates are drawn from.
    """

    @validated
    def __init__(self, env: Batch, ledger: Ledger, search: WeightSearch, seed: Seed = 0) -> None:
        if env.num_envs != search.candidates * search.episodes:
            raise UsageError(
                f"the environment has {env.num_envs} copies: give {search.candidates} candidates "
                f"times {search.episodes} episodes"
            )
        self.env, self.ledger, self.search = env, ledger, search
        self.weights: FloatArray = np.zeros(len(search.columns))
        self._deviation: FloatArray = np.ones(len(search.columns))
        self._best = -np.inf
        # The environment's generator starts from the seed itself: this must be another stream.
        self._rng = np.random.default_rng((seed, 1))
        self._observation, _ = env.reset(seed=seed)

    @validated
    def learn(
        self, total_timesteps: Natural, callback: Callable[[Any], object] | None = None
    ) -> Self:
        """Try candidates in whole rounds, as many as fit, and call back after each."""
        for _ in range(total_timesteps // (self.env.num_envs * self.ledger.length)):
            centre = self.weights if self.search.elites else np.zeros_like(self.weights)
            draws = self._rng.standard_normal((self.search.candidates, len(centre)))
            tried = centre + self._deviation * draws
            self._judge(tried, self._returns(tried))
            if callback is not None:
                callback(self)
        return self

    def greedy_policy(self) -> LinearRule:
        """Return the rule with the weights found so far."""
        return LinearRule(self.ledger, self.search.columns, self.weights.copy())

    def _returns(self, tried: FloatArray) -> FloatArray:
        """Play all candidates (C, K) and return the mean return of each, (C,)."""
        rows = np.repeat(tried, self.search.episodes, axis=0)
        rule, total = LinearRule(self.ledger, self.search.columns, rows), np.zeros(len(rows))
        for _ in range(self.ledger.length):
            actions, _ = rule.act(self._observation)
            self._observation, rewards, _, _, _ = self.env.step(actions)
            total += rewards
        mean: FloatArray = total.reshape(len(tried), -1).mean(axis=1)
        return mean

    def _judge(self, tried: FloatArray, returns: FloatArray) -> None:
        """Keep the best candidate, or move the distribution to the best ones."""
        if self.search.elites:
            best = tried[np.argsort(-returns, kind="stable")[: self.search.elites]]
            self.weights, self._deviation = best.mean(axis=0), best.std(axis=0)
        elif returns.max() > self._best:
            self._best, self.weights = float(returns.max()), tried[returns.argmax()]
