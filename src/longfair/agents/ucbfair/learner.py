r"""L-UCBFair: optimistic least-squares value iteration with a price on unfairness.

Yin et al. (2023), Algorithm 1. With the reward and the fairness :math:`g = 1 - \Delta` of every
step, the problem (Equation 1) is

.. math::

    \max_\pi V^\pi_{r,1}(s) \quad \text{subject to} \quad V^\pi_{g,1}(s) \ge \tilde c ,

and its Lagrangian (Equation 4) has one price :math:`\nu`. Implementation details, with sources:

1. Actions are cut into M Voronoi cells; a softmax over their centres chooses the cell, and the
   action is uniform within it (Section 3).
2. Values are linear in features, fitted by ridge regression for every step of the horizon, and
   raised by a bonus for uncertainty (Algorithm 1; `memory` has the equations).
3. Features of the regressions are those of the actions played; features of values and policies are
   those of the centres (Algorithm 1).
4. After an episode the price takes a step, :math:`\nu \leftarrow \operatorname{clip}(\nu + \eta\,
   (\tilde c - V_{g,1}(s_1)), 0, \bar\nu)`; the promised value is used, not what came (Algorithm 1).
5. N copies of the environment play N episodes with one policy, and the price takes their N steps at
   once. Algorithm 1 has N = 1. The batch is ours.
6. The policy depends on the step, so the environment must show the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from longfair.agents.learning import saving
from longfair.agents.learning.observations import observations
from longfair.agents.learning.spaces import Batch, require_restarts
from longfair.agents.policies.notions import NOTIONS
from longfair.agents.register import Style, register
from longfair.agents.ucbfair.cells import Cells
from longfair.agents.ucbfair.draws import OwnDraws, SharedDraws
from longfair.agents.ucbfair.features import (
    Features,
    RadialFeatures,
    features_from_saved,
    require_bounded,
)
from longfair.agents.ucbfair.memory import MEMORIES, Episodes, Estimates
from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import Give, Natural, Range, Seed, checked, validated

Callback = Callable[[Any], bool | None]


class History(NamedTuple):
    """What happened in training, one number per episode."""

    loss: list[float]
    """Mean of 1 minus the reward."""
    disparity: list[float]
    price: list[float]
    """Nu while the episode was played."""
    promised: list[float]
    """Fairness that the agent expected of the whole episode."""


@register(
    label="L-UCBFair",
    place=180,
    style=Style("#999933", "d"),
    loaded_by="longfair.agents.ucbfair.learner:LUCBFair",
    needs=("disparity",),
    actions=("continuous",),
    environments=("longfair/Population-v0",),
)
class LUCBFair(saving.Saved):
    """Learn thresholds that are fair in the long run, without a model of the population.

    Parameters
    ----------
    env
        A batch of `longfair/Population-v0` within `longfair.envs.elapsed.ElapsedTime`. Its copies
        play with one policy, and it is worked out anew when all their episodes have ended.
    settings
        Settings.
    features
        The feature map; by default 40 radial ones.
    seed
        Seed of the environment and of the agent's draws.

    Attributes
    ----------
    price
        Nu.
    history
        What happened in training.
    num_timesteps
        Steps of all copies together.
    """

    name: ClassVar[str] = LUCBFairSettings.name
    revision: ClassVar[int] = LUCBFairSettings.revision

    @validated
    def __init__(
        self,
        env: Batch,
        settings: LUCBFairSettings | None = None,
        features: Annotated[Features, Give("a feature map")] | None = None,
        seed: Seed | None = None,
    ) -> None:
        self.env = env
        given = LUCBFairSettings() if settings is None else settings
        self.features = RadialFeatures.spread(40) if features is None else features
        _require_two_rates_and_actions(self.features)
        self.horizon = _horizon(env)
        self.settings = given.resolved(self.horizon, self.features.size)
        self.cells = Cells(self.settings.cells)
        self.price = 0.0
        self.history = History([], [], [], [])
        self.num_timesteps = 0
        self._memory = MEMORIES[self.settings.data](
            self.settings, self.features, self.cells, self.horizon
        )
        own, world, shown = np.random.SeedSequence(seed).spawn(3)
        kind = SharedDraws if self.settings.shared_draws else OwnDraws
        self._draws = kind(self.cells, np.random.default_rng(own))
        self._shown = kind(self.cells, np.random.default_rng(shown))
        self._unused_seed: int | None = int(world.generate_state(1)[0])

    @property
    def estimates(self) -> Estimates:
        """What was fitted last."""
        return self._memory.estimates

    @validated
    def learn(
        self,
        total_timesteps: Natural,
        callback: Callback | None = None,
        progress_bar: bool = False,
    ) -> Self:
        """Play and learn whole episodes, until at least that many steps have been played.

        Parameters
        ----------
        total_timesteps
            Steps of all copies together.
        callback
            Called with the agent after every fit. Returning False ends the learning.
        progress_bar
            Show how far the learning is.

        Raises
        ------
        UsageError
            If these are more episodes than the settings plan for and the regressions are of a kind
            that keeps them all. It is raised before any is played, or when they have been, if a
            callback may end the learning.
        """
        from rich.progress import track

        steps = self.horizon * self.env.num_envs
        rounds = range(-(-total_timesteps // steps))
        if callback is None:
            self._memory.require_room(len(rounds) * self.env.num_envs)
        for _ in track(rounds, "Learning", disable=not progress_bar):
            episodes = self._play()
            self._memory.add(episodes)
            self._raise_price(episodes)
            self._memory.fit(self.price)
            self.num_timesteps += steps
            if callback is not None and callback(self) is False:
                break
        return self

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[FloatArray, None]:
        """Choose thresholds.

        Parameters
        ----------
        observation
            (N, 3): rates, and the share of the episode that has passed. All copies must be at the
            same step.
        state, episode_start
            Not used.
        deterministic
            Take the centre of the most likely cell instead of drawing.

        Raises
        ------
        UsageError
            If it is not one observation per copy, a number is outside [0, 1], or the copies are
            not at the same step.
        """
        seen = np.asarray(observations(observation, (3,)), np.float64)
        if np.ptp(seen[:, 2]) > 0:
            raise UsageError(
                f"observations are of times from {seen[:, 2].min():.3g} to "
                f"{seen[:, 2].max():.3g}: give rates and one time for all"
            )
        if not np.all((seen >= 0.0) & (seen <= 1.0)):
            raise UsageError(
                f"observations from {seen.min():.3g} to {seen.max():.3g}: give rates and the share "
                "of the episode that has passed, from 0 to 1"
            )
        step = min(int(np.rint(seen[0, 2] * self.horizon)), self.horizon - 1)
        chances, _ = self._policy_at(step, seen[:, :2])
        if deterministic:
            return self.cells.centres[chances.argmax(axis=1)], None
        return self._shown.actions(step, chances), None

    @validated
    def set_random_seed(self, seed: Seed | None = None) -> None:
        """Start the draws of `predict` anew; what is learned does not depend on them."""
        self._shown.rng = np.random.default_rng(seed)

    def policy_at(self, step: int, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return chances of the cells (N, M) and values (2, N) of states (N, S) at a step.

        The step is counted from 0.

        Raises
        ------
        UsageError
            If there is no such step, or the states are no rows of numbers.
        """
        step = checked("step", step, Annotated[int, Range(0, self.horizon - 1)])
        return self._policy_at(step, observations(states, (2,)))

    def _policy_at(self, step: int, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._memory.policy(step, self._memory.at_centres(states), self.price)

    def _play(self) -> Episodes:
        """Play one episode in every copy."""
        observation, _ = self.env.reset(seed=self._unused_seed)
        self._unused_seed = None
        copies = self.env.num_envs
        notion = NOTIONS[self.settings.notion]
        states = np.empty((self.horizon + 1, copies, 2))
        actions = np.empty((self.horizon, copies, 2))
        signals, promised = np.empty((2, self.horizon, 2, copies))
        for step in range(self.horizon):
            states[step] = observation[:, :2]
            chances, promised[step] = self._policy_at(step, states[step])
            actions[step] = self._draws.actions(step, chances)
            observation, reward, _, truncated, info = self.env.step(actions[step])
            signals[step] = reward, 1.0 - info["disparity"][:, notion]
        assert truncated.all()
        states[-1] = info["final_obs"][:, :2]
        self.history.loss.extend(1.0 - signals[:, 0].mean(axis=0))
        self.history.disparity.extend(1.0 - signals[:, 1].mean(axis=0))
        self.history.price.extend([self.price] * copies)
        self.history.promised.extend(promised[0, 1])
        return Episodes(states[:-1], actions, signals, promised, states[-1])

    def _raise_price(self, episodes: Episodes) -> None:
        """Move the price by how much less fairness was promised than is wanted."""
        wanted = (1.0 - self.settings.budget) * self.horizon
        missing = (wanted - episodes.promised[0, 1]).sum()
        self.price = self.settings.raised(self.price, missing)

    def _to_saved(self) -> tuple[saving.Arrays, saving.Settings]:
        arrays = {**self.estimates._asdict(), **self.features.to_saved()}
        return arrays, {
            "settings": asdict(self.settings),
            "features": type(self.features).kind,  # type: ignore[attr-defined]  # of this package
            "price": self.price,
            "num_timesteps": self.num_timesteps,
            "horizon": self.horizon,
        }

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, /, **kwargs: Any
    ) -> Self:
        """Return the agent. Its episodes are not saved, so it acts and learns from new ones."""
        if env is None:
            raise UsageError("a policy has as many steps as an episode: give env")
        own = {name: arrays.pop(name) for name in Estimates._fields}
        agent = cls(
            **{
                "env": env,
                "settings": LUCBFairSettings(**settings["settings"]),
                "features": features_from_saved(settings["features"], arrays),
                **kwargs,
            }
        )
        if agent.horizon != settings["horizon"]:
            raise UsageError(
                f"episodes of the environment have {agent.horizon} steps, the agent's had "
                f"{settings['horizon']}: make an environment with episode_length="
                f"{settings['horizon']}"
            )
        saving.fill(agent.estimates._asdict(), own)
        agent.price, agent.num_timesteps = settings["price"], settings["num_timesteps"]
        return agent


def _horizon(env: Any) -> int:
    """Return the steps of an episode of an environment that fits."""
    length = getattr(env.unwrapped, "episode_length", None)
    space = getattr(env, "single_observation_space", None)
    if length is None or not isinstance(space, spaces.Box) or space.shape != (3,):
        raise UsageError(
            f"{env} does not show two rates and the time: give a batch of longfair/Population-v0 "
            "within longfair.envs.elapsed.ElapsedTime"
        )
    require_restarts(env)
    return int(length)


def _require_two_rates_and_actions(features: Features) -> None:
    """Raise `UsageError` unless a feature map gives numbers for two rates and two thresholds."""
    middle = np.full((1, 2), 0.5)
    shape = require_bounded(features(middle, middle)).shape
    if shape != (1, features.size):
        raise UsageError(
            f"features of two rates and two actions have shape {shape}: give (1, {features.size})"
        )
