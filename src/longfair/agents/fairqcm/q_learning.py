r"""Tabular Q-learning with memory, and with experience of memories that did not occur (FairQCM).

The agent sees who is present, :math:`s`, and its memory :math:`m`. At every step it chooses a
person :math:`a`, sees :math:`s'` and updates its memory to :math:`m' = \mu(m, s, a, s')`. Then
Q-learning moves one entry of its table:

.. math::

    Q(\langle s, m\rangle, a) \leftarrow (1 - \alpha) Q(\langle s, m\rangle, a)
    + \alpha \big[ r + \gamma \max_{a'} Q(\langle s', m'\rangle, a') \big].

Who comes to the counter does not depend on what the agent remembers. So the same step also tells
what would have happened under any other memory :math:`\hat m`, and FairQCM (Algorithm 1 of the
paper) moves the entries of several such memories as well, each with its own
:math:`\hat m' = \mu(\hat m, s, a, s')` and the reward of the counts :math:`\hat m'`.

Implementation details, with their source

1. The memories imagined beside :math:`m` are :math:`\prod_i \{m_i, m_i + 1\}`, without those where
   a count has reached the number of doughnuts, in lexicographic order, after the real one (code).
2. The table starts at zero (code).
3. Ties, which are values within 1e-5 of the largest, are broken at random (code).
   Targets have the largest value (paper); the code's have that of the action so chosen.
4. Exploration is kept apart for every state and memory. It starts at 1 and is multiplied by 0.95
   while it is above 0.2: at every visit (paper), or only when it led to a random choice (code).
5. The step size is 0.1 and the discount 0.99 (code). Step sizes that decay, as Theorem 5.7 wants
   them, are :math:`c / n^\omega` for the n-th update of an entry, imagined ones included.
6. The code imagines that the chosen person gets the doughnut even when in truth it was wasted, so
   :math:`\hat m' = \hat m + e_a` with reward 0. That is not Equation 2 of the paper.
7. The code's set of imagined memories contains the real one, so that the real step is learned
   twice, and after a wasted doughnut in two ways that contradict each other.
8. The code's reward has 0.0001 inside the logarithm on real steps, and not on imagined ones.
9. At the end of an episode the code goes on to bootstrap from the state after it, though nothing
   comes after it; and the agent does not see how many doughnuts are left. Both can be changed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from gymnasium import Env
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.agents.learning import saving
from longfair.agents.learning.observations import observations
from longfair.agents.register import register
from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import Give, Natural, Only, Seed, shortened, validated

_SILENT = "a compiled loop reports nothing before it ends"


class EpisodeScores(NamedTuple):
    """What one greedy evaluation episode after each training episode gave."""

    reward: FloatArray
    """(E,): return, not discounted."""
    welfare: FloatArray
    """(E,): sum over steps of the Nash welfare without smoothing, wasted or not."""
    allocated: FloatArray
    """(E,): doughnuts that were taken."""


@register(
    label="tabular FairQCM",
    place=130,
    loaded_by="longfair.agents.fairqcm.q_learning:TabularQLearning",
    needs=(),
    actions=("discrete",),
    environments=("longfair/Doughnut-v0",),
)
class TabularQLearning(saving.Saved):
    """Q-learning, or FairQCM, on the doughnut problem with tables of action values.

    Parameters
    ----------
    env
        `longfair/Doughnut-v0`, batch or single. Only its parameters are used; episodes are played
        by compiled code that follows the same rules.
    settings
        What the agent remembers and how it learns.
    seed
        Seed of the training episodes, of exploration, and of `predict`.

    Attributes
    ----------
    values
        Action values (L, 2^P, (T + 1)^P, P), indexed by doughnuts handed out (always 0 unless
        the agent remembers time), code of who is present, code of the memory, and person. The
        codes are those of `longfair.envs.memory.IntegerCodes`.
    """

    name: ClassVar[str] = "fairqcm-tabular"
    revision: ClassVar[int] = QLearningSettings.revision

    @validated
    def __init__(
        self,
        env: Annotated[
            Env[Any, Any] | VectorEnv[Any, Any, Any], Give("longfair/Doughnut-v0, batch or single")
        ],
        settings: QLearningSettings | None = None,
        seed: Seed | None = None,
    ) -> None:
        if not hasattr(env.unwrapped, "compiled"):
            raise UsageError(f"{env} hands out no doughnuts: give longfair/Doughnut-v0")
        self._compiled = env.unwrapped.compiled()
        self.problem = self._compiled.problem
        self.settings = QLearningSettings() if settings is None else settings
        self._tables = self._compiled.tables(self.settings.time)
        self._world, self._choices, self._ties = (
            np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)
        )
        self.num_timesteps = 0

    @property
    def values(self) -> FloatArray:
        """Action values; see the class."""
        values: FloatArray = self._tables.values
        return values

    @property
    def updates(self) -> IntArray:
        """How often each action value was learned, in the same shape."""
        updates: IntArray = self._tables.updates
        return updates

    @validated
    def learn(
        self,
        total_timesteps: Natural,
        callback: Annotated[None, Only(None, _SILENT)] = None,
        progress_bar: Annotated[bool, Only(False, _SILENT)] = False,
    ) -> Self:
        """Play and learn whole episodes, until at least that many steps have been played.

        Parameters
        ----------
        total_timesteps
            Doughnuts to hand out.
        callback, progress_bar
            For the common signature; they must be left alone.
        """
        episodes = -(-total_timesteps // self.problem.length)
        self._play(episodes, np.zeros((3, 0)))
        return self

    @validated
    def learn_evaluated(self, episodes: Natural, seed: Seed) -> EpisodeScores:
        """Learn for some episodes and play one greedy episode after each, as the authors do.

        Parameters
        ----------
        episodes
            Number of training episodes E.
        seed
            Seed of the evaluation episodes. Who is present in them depends on nothing else, so
            agents that are given the same seed meet the same people.
        """
        scores = np.zeros((3, episodes))
        self._play(episodes, scores, seed)
        return EpisodeScores(*scores)

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, None]:
        """Return the best known person in every copy (N,).

        Parameters
        ----------
        observation
            Shape (N, 2), as from `longfair.envs.memory.IntegerCodes`: codes of who is present and
            of the memory. Agents that remember time need a third column, the doughnuts handed out.
        state, episode_start
            Not used: the memory is part of the observation.
        deterministic
            Among equally good persons choose the first. Otherwise one of them at random.

        Raises
        ------
        UsageError
            If it is not one observation per copy, or holds what is no code.
        """
        wanted = 3 if self.settings.time else 2
        given = observations(observation, (wanted,))
        codes = np.asarray(given, dtype=np.int64)
        moments, *sizes = self.values.shape[:3]
        limits = [*sizes, moments][:wanted]
        if not ((codes == given) & (codes >= 0) & (codes < limits)).all():
            raise UsageError(
                f"observations={shortened(given)}: give whole numbers, by column from 0 to "
                f"{', '.join(str(limit - 1) for limit in limits)}"
            )
        moment = codes[:, 2] if self.settings.time else np.zeros(len(codes), np.int64)
        values = self.values[moment, codes[:, 0], codes[:, 1]]
        best = values >= values.max(axis=1, keepdims=True) - self._compiled.tie
        if deterministic:
            return best.argmax(axis=1), None
        return (best * self._ties.random(best.shape)).argmax(axis=1), None

    def _to_saved(self) -> tuple[saving.Arrays, saving.Settings]:
        settings = {
            "settings": asdict(self.settings),
            "problem": {name: np.asarray(value).tolist() for name, value in self._facts.items()},
            "num_timesteps": self.num_timesteps,
        }
        return self._tables._asdict(), settings

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, /, **kwargs: Any
    ) -> Self:
        """Return the agent; learning goes on with new random numbers."""
        if env is None:
            raise UsageError("tables belong to a problem: give env, the doughnuts they are for")
        agent = cls(**{"env": env, "settings": QLearningSettings(**settings["settings"]), **kwargs})
        for name, learned in settings["problem"].items():
            if not np.array_equal(learned, agent._facts[name]):
                raise UsageError(
                    f"the environment has {name} {agent._facts[name]}, the tables were learned "
                    f"with {learned}: make the same environment"
                )
        saving.fill(agent._tables._asdict(), arrays)
        agent.num_timesteps = settings["num_timesteps"]
        return agent

    @property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = self.problem._asdict()
        return facts

    def _play(self, episodes: int, scores: FloatArray, evaluation_seed: int = 0) -> None:
        """Learn for some episodes; where `scores` (3, E) has room, evaluate after each."""
        evaluation = np.random.SeedSequence(evaluation_seed).spawn(2)
        self._compiled.learn(
            asdict(self.settings),
            self._tables,
            episodes,
            (self._world, self._choices),
            (np.random.default_rng(evaluation[0]), np.random.default_rng(evaluation[1])),
            scores,
        )
        self.num_timesteps += episodes * self.problem.length
