r"""The loop of deep Q-learning that all deep agents of FairQCM share.

An agent acts epsilon-greedily, keeps what happened, and learns from what it kept, as it was and as
it would have been with other memories,

.. math::

    y = R(\langle s_{t+1}, \hat m_{t+1} \rangle) + \gamma \max_{a'} Q_{\bar\theta}
    (\langle s_{t+1}, \hat m_{t+1} \rangle, a'), \qquad
    \theta \leftarrow \text{Adam step on } \operatorname{mean} (Q_\theta(o, a) - y)^2 .

`DeepQLearning` holds the loop. An agent says how a network looks at an observation (`View`), what
is kept of a step, and which minibatch is learned from.

Implementation details, with their source:

1. Minibatches are uniform with replacement (code).
2. Mean squared error; no clipping, no duelling network (code).
3. Adam with torch's defaults (code), over all parameters as one vector.
4. Learning waits until enough has been kept; actions are epsilon-greedy from the start (code).
5. The exploration rate falls after an episode, not within it (code).
6. The target network is a copy, taken before the first gradient step and every so many (code).
7. A single copy of the environment draws a random action only where one is taken (code); several
   copies draw as many random actions as there are copies at every step (ours).
8. Denormal numbers are flushed to zero from the first learning on, in the whole thread and for
   good (ours).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import nn

from longfair.agents.fairqcm.networks import ReluStack
from longfair.agents.fairqcm.presets import Exploration
from longfair.agents.fairqcm.recurrent_network import RecurrentStack
from longfair.agents.fairqcm.replay import Step
from longfair.agents.learning import saving
from longfair.agents.learning.adam import Adam
from longfair.agents.learning.observations import observations
from longfair.agents.learning.seeding import NetworkSeed, seeded
from longfair.agents.learning.spaces import (
    Learned,
    fitting,
    require_restarts,
    spaces_of,
    spaces_to_json,
)
from longfair.arrays import Float32Array, IntArray
from longfair.errors import UsageError
from longfair.settings import Natural, Seed, validated


class View(Protocol):
    """How a network looks at observations, and values every action."""

    def read(self, observation: NDArray[Any]) -> Any:
        """Return what is seen of observations (N, ...)."""

    def values(self, network: Any, seen: Any, state: Any) -> tuple[Float32Array, Any]:
        """Return the values (N, A) of all actions, and the state after the observations."""


class Pace(NamedTuple):
    """How often and how far the networks move."""

    learning_rate: float
    last_rate: float = 1.0
    """What the learning rate is multiplied by at the end; it falls linearly until then."""
    train_every: int = 1
    """Steps of all copies between two rounds of gradient steps."""
    updates: int = 1
    """Gradient steps in a round."""
    target_every: int = 1000
    """Gradient steps between two copies to the target network."""


class GreedyPolicy:
    """A network as it was, acting greedily.

    Parameters
    ----------
    view
        How the network looks at an observation.
    network
        A copy that no longer changes.
    """

    def __init__(self, view: View, network: Any) -> None:
        self._view, self._network = view, network

    def act(self, observation: NDArray[Any], state: Any = None) -> tuple[IntArray, Any]:
        """Return the best action (B,) for observations (B, ...), and the state after them.

        Hand the state back at the next step; None starts an episode.
        """
        values, after = self._view.values(self._network, self._view.read(observation), state)
        return values.argmax(axis=1), after


Callback = Callable[[Any], bool | None]
"""Called with the agent; returning False ends the learning."""


class DeepQLearning(saving.Saved, ABC):
    """Deep Q-learning on a batch environment.

    Parameters
    ----------
    env
        A batch environment with discrete actions. Every copy's step counts as one.
    view
        How a network looks at an observation.
    pace
        How often and how far the networks move.
    exploration
        Share of random actions by episode.
    seed
        Seed of the network, of exploration and minibatches, and of the environment.

    Attributes
    ----------
    online
        The network that learns and explores.
    target
        The network that targets are computed with.
    num_timesteps
        Real steps taken.
    num_updates
        Gradient steps made.
    exploration_rate
        Share of random actions.
    """

    revision: ClassVar[int] = 1
    stack: ClassVar[type[ReluStack] | type[RecurrentStack]]
    """Puts arrays around a module: values, gradients, copies."""

    def __init__(
        self,
        env: Learned,
        view: View,
        pace: Pace,
        exploration: Exploration,
        seed: NetworkSeed | None,
    ) -> None:
        self.env: Any = env
        self.view, self.pace, self.exploration = view, pace, exploration
        self.seed = seed
        module = seeded(seed, self._module)
        self.online: Any = self.stack(copy.deepcopy(module))
        self.target: Any = self.stack(module)
        self.exploration_rate = exploration.start
        self.num_timesteps = 0
        self.num_updates = 0
        # The environment's generator starts from the seed itself: this must be another stream.
        self.rng = np.random.default_rng(None if seed is None else (seed, 1))
        self._shown = np.random.default_rng(None if seed is None else (seed, 2))
        self._adam = Adam(self.online.vector, self.online.gradient, pace.learning_rate)
        self._unused_seed = seed
        self._seen: Any = None
        self._state: Any = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy, whose networks are views of vectors of their own."""
        vars(self).update(state)
        before = self._adam
        self.online, self.target = (
            self.stack(nn.ParameterList(map(torch.tensor, network.arrays)))
            for network in (self.online, self.target)
        )
        self._adam = Adam(self.online.vector, self.online.gradient, before.learning_rate)
        self._adam.load_state_dict(before.state_dict())

    # What an agent says of itself ---------------------------------------------------------------

    @abstractmethod
    def _module(self) -> nn.Module:
        """Make a network with the weights it starts with."""

    @abstractmethod
    def _keep(self, step: Step) -> None:
        """Keep what happened in one step of all copies."""

    @abstractmethod
    def _ready(self) -> bool:
        """Return whether enough has been kept to learn from."""

    @abstractmethod
    def _minibatch(self, target_changed: bool) -> tuple[Float32Array, IntArray, Float32Array]:
        """Return inputs of the network, the outputs that have targets, and the targets."""

    # Acting -------------------------------------------------------------------------------------

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, Any]:
        """Choose an action in every copy, epsilon-greedily unless `deterministic`.

        Parameters
        ----------
        observation
            (N, ...).
        state
            What the call before returned; None at the start.
        episode_start
            (N,): where an episode starts, the state counts as zero.
        deterministic
            Always choose the best action.

        Returns
        -------
        actions, state
            (N,), and the state after the observations; None for networks without one.

        Raises
        ------
        UsageError
            If it is not one observation per copy, or holds what is no finite number.
        """
        if state is not None and episode_start is not None:
            state = np.where(np.asarray(episode_start)[:, None], np.float32(0.0), state)
        seen = observations(observation, self.env.single_observation_space.shape)
        rng = None if deterministic else self._shown
        return self._choose(self.view.read(seen), state, rng)

    @validated
    def set_random_seed(self, seed: Seed | None = None) -> None:
        """Start the draws of `predict` anew; what is learned does not depend on them."""
        self._shown = np.random.default_rng(seed)

    def _choose(
        self, seen: Any, state: Any, rng: np.random.Generator | None
    ) -> tuple[IntArray, Any]:
        """Choose epsilon-greedily with draws from a generator; without one greedily."""
        values, after = self.view.values(self.online, seen, state)
        greedy: IntArray = values.argmax(axis=1)
        if rng is None:
            return greedy, after
        explores = rng.random(len(greedy)) < self.exploration_rate
        if len(greedy) == 1 and not explores[0]:
            return greedy, after
        anything = rng.integers(values.shape[1], size=len(greedy))
        return np.where(explores, anything, greedy), after

    def greedy_policy(self, network: str = "online") -> GreedyPolicy:
        """Return a copy of the `"online"` or the `"target"` network that acts greedily."""
        return GreedyPolicy(self.view, getattr(self, network).frozen())

    # Learning -----------------------------------------------------------------------------------

    @validated
    def learn(
        self,
        total_timesteps: Natural,
        callback: Callback | None = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
    ) -> Self:
        """Play and learn.

        Parameters
        ----------
        total_timesteps
            Real steps, of all copies together; rounded up to whole steps of all copies. A learning
            rate that falls does so over these.
        callback
            Called with the agent whenever episodes have ended and the gradient steps that belong
            to their last step are made. Returning False ends the learning.
        progress_bar
            Show how far the learning is.
        reset_num_timesteps
            Start from fresh episodes and count steps from zero; else go on.
        """
        torch.set_flush_denormal(True)
        if reset_num_timesteps or self._seen is None:
            self._begin(reset_num_timesteps)
        rounds = -(-total_timesteps // self.env.num_envs)
        for played in _counted(rounds, progress_bar):
            ended = self._play()
            if (played + 1) % self.pace.train_every == 0 and self._ready():
                self._adam.learning_rate = self._rate(played / rounds)
                for _ in range(self.pace.updates):
                    self._update()
            if ended and callback is not None and callback(self) is False:
                break
        return self

    def _begin(self, anew: bool) -> None:
        """Start an episode in every copy; the seed is used the first time only."""
        require_restarts(self.env)
        if anew:
            self.num_timesteps = 0
        observation, _ = self.env.reset(seed=self._unused_seed)
        self._unused_seed = None
        self._seen, self._state = self.view.read(observation), None

    def _rate(self, progress: float) -> float:
        """Return the learning rate at the moment `progress` in [0, 1]."""
        return self.pace.learning_rate * (1.0 - progress * (1.0 - self.pace.last_rate))

    def _play(self) -> bool:
        """Take one step in all copies, keep it, and return whether an episode ended."""
        actions, self._state = self._choose(self._seen, self._state, self.rng)
        observation, rewards, terminated, truncated, info = self.env.step(actions)
        ended = terminated | truncated
        after = seen = self.view.read(observation)
        if any_ended := bool(ended.any()):
            last = np.where(ended[:, None], info["final_obs"], observation)
            after = self.view.read(last)
            if self._state is not None:
                self._state = np.where(ended[:, None], np.float32(0.0), self._state)
        self._keep(Step(self._seen, actions, rewards.astype(np.float32), after, ended, info))
        self._seen = seen
        self.num_timesteps += len(actions)
        for _ in range(int(ended.sum())):
            self.exploration_rate = self.exploration.after_episode(self.exploration_rate)
        return any_ended

    def _update(self) -> None:
        """Make one gradient step, after copying the target network if that is due."""
        due = self.num_updates % self.pace.target_every == 0
        if due:
            self.target.copy_from(self.online)
        self.online.descend(*self._minibatch(due))
        self._adam.step()
        self.num_updates += 1

    # Saving -------------------------------------------------------------------------------------

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """Return the arguments of the class besides the environment, as plain data."""

    @classmethod
    @abstractmethod
    def _arguments(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Return arguments from what `_settings` returned."""

    def _to_saved(self) -> tuple[saving.Arrays, saving.Settings]:
        settings = {
            "arguments": self._settings(),
            "counters": {name: getattr(self, name) for name in _COUNTERS},
            "spaces": spaces_to_json(self.env),
        }
        return {"online": self.online.vector, "target": self.target.vector}, settings

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, /, **kwargs: Any
    ) -> Self:
        """Return the agent; one that learns from counterfactuals needs its `imagination` again."""
        env = fitting(env, settings["spaces"])
        agent = cls(**{"env": env, **cls._arguments(settings["arguments"]), **kwargs})
        saving.fill({"online": agent.online.vector, "target": agent.target.vector}, arrays)
        for name in _COUNTERS:
            setattr(agent, name, settings["counters"][name])
        return agent


_COUNTERS = ("num_timesteps", "num_updates", "exploration_rate")


def sizes_of(env: Learned) -> tuple[int, int]:
    """Return how many numbers are observed of an environment, and its number of actions.

    Raises
    ------
    UsageError
        When observations are not flat, or actions not numbered.
    """
    observed, actions = spaces_of(env)
    if not isinstance(actions, spaces.Discrete):
        raise UsageError(f"actions are {actions}: deep Q-learning needs a Discrete space")
    if not isinstance(observed, spaces.Box) or len(observed.shape) != 1:
        raise UsageError(f"observations are {observed}: give a Box of one axis")
    return observed.shape[0], int(actions.n)


def _counted(rounds: int, shown: bool) -> Iterable[int]:
    """Count rounds, with a progress bar if it is to be shown."""
    if not shown:
        return range(rounds)
    from rich.progress import track

    return track(range(rounds), "Learning")
