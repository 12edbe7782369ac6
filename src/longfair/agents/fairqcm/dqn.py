"""Deep Q-learning for fairness with memory, from real and counterfactual experience.

The addition to deep Q-learning is the replay buffer, which can hold counterfactual memories next to
the real one. The loop is that of `longfair.agents.fairqcm.deep_q_learning`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from longfair.agents.fairqcm.deep_q_learning import DeepQLearning, Pace, View, sizes_of
from longfair.agents.fairqcm.networks import ReluStack, orthogonal_start, relu_layers
from longfair.agents.fairqcm.presets import Exploration, Learning
from longfair.agents.fairqcm.replay import CounterfactualReplayBuffer, Imagination, Step
from longfair.agents.learning.seeding import NetworkSeed
from longfair.agents.learning.spaces import Learned, OnlySpaces
from longfair.agents.register import register
from longfair.arrays import Float32Array, IntArray
from longfair.errors import UsageError
from longfair.settings import validated


class PlainView:
    """Networks that see observations as they are."""

    def read(self, observation: NDArray[Any]) -> Float32Array:
        """Return the observations (N, I)."""
        return np.asarray(observation, np.float32)

    def values(self, network: Any, seen: Float32Array, state: Any) -> tuple[Float32Array, Any]:
        """Return the values (N, A) of all actions; there is no state."""
        return network.outputs(seen), None


@register(
    label="FairQCM",
    place=140,
    loaded_by="longfair.agents.fairqcm.dqn:FairDQN",
    needs=(),
    actions=("discrete",),
    environments=("longfair/Doughnut-v0", "longfair/LoanPool-v0"),
)
class FairDQN(DeepQLearning):
    """Deep Q-learning from real and counterfactual memories.

    Parameters
    ----------
    env
        A batch environment of one copy, with flat observations and discrete actions.
    learning
        Learning rate, buffer, networks and the like.
    imagination
        What the buffer adds to real experience; None for plain DQN.
    exploration
        Share of random actions by episode; by default that of `learning`, from 1 on.
    terminal_mask
        Whether nothing is expected after the end of an episode. The agent should then observe the
        time.
    seed
        Seed of the network, of exploration and minibatches, and of the environment.

    Notes
    -----
    Implementation details, with their source, beyond those of the loop:

    1. ReLU between linear layers, orthogonal weights, zero biases (code).
    2. Learning starts when the buffer has been filled once (code).
    3. The value of a stored transition's next observation is computed once per target network.
    """

    name: ClassVar[str] = "fairqcm-dqn"
    revision: ClassVar[int] = Learning.revision
    stack = ReluStack
    online: ReluStack
    target: ReluStack

    @validated
    def __init__(
        self,
        env: Learned,
        learning: Learning | None = None,
        imagination: Imagination | None = None,
        exploration: Exploration | None = None,
        terminal_mask: bool = False,
        seed: NetworkSeed | None = None,
    ) -> None:
        if env.num_envs != 1:
            raise UsageError(f"the environment has {env.num_envs} copies: this agent follows one")
        self.learning = learning = Learning() if learning is None else learning
        self.observed, self.actions = sizes_of(env)
        if imagination is not None:
            _require_memory_of(env, imagination)
        super().__init__(
            env,
            self._view(),
            Pace(
                learning.learning_rate,
                train_every=learning.train_every,
                target_every=learning.target_every,
            ),
            learning.exploration if exploration is None else exploration,
            seed,
        )
        self.replay = CounterfactualReplayBuffer(
            learning.buffer,
            self.observed,
            learning.discount,
            imagination,
            learning.n_steps,
            terminal_mask,
        )

    def _view(self) -> View:
        return PlainView()

    def _module(self) -> nn.Module:
        sizes = (self.observed, *self.learning.hidden, self.actions)
        return orthogonal_start(first_of_two(lambda: relu_layers(sizes)))

    def _keep(self, step: Step) -> None:
        self.replay.add(step)

    def _ready(self) -> bool:
        return self.replay.full

    def _minibatch(self, target_changed: bool) -> tuple[Float32Array, IntArray, Float32Array]:
        self._value_next_observations(target_changed)
        return self.replay.batch(self.replay.uniform_rows(self.learning.batch, self.rng))

    def _value_next_observations(self, target_changed: bool) -> None:
        """Value what has no value under the target network yet."""
        replay = self.replay
        rows = replay.unvalued()
        if target_changed:
            rows = np.arange(replay.filled)
        if len(rows):
            following = replay.next_observations.take(rows, axis=0)
            replay.next_values[rows] = self.target.outputs(following).max(axis=1)

    def _settings(self) -> dict[str, Any]:
        return {
            "learning": asdict(self.learning),
            "exploration": asdict(self.exploration),
            "terminal_mask": self.replay.terminal_mask,
            "seed": self.seed,
        }

    @classmethod
    def _arguments(cls, settings: dict[str, Any]) -> dict[str, Any]:
        learning, exploration = settings["learning"], settings["exploration"]
        records = {"learning": Learning(**learning), "exploration": Exploration(**exploration)}
        return {**settings, **records}


def _require_memory_of(env: Any, imagination: Imagination) -> None:
    """Refuse to imagine memories that are not those which an environment shows."""
    if isinstance(env, OnlySpaces):
        return
    layer, memory = env, imagination.memory
    while layer is not None and layer is not memory:
        layer = getattr(layer, "env", None)
    if layer is None:
        raise UsageError(
            f"imagination has the memory {memory}, which is not around {env}: give the wrapper of "
            "the environment that is learned from"
        )
    wrapper: Any = memory
    below, shown = (part.single_observation_space.shape[0] for part in (wrapper.env, wrapper))
    if imagination.columns != (below, shown):
        raise UsageError(
            f"imagination has columns {imagination.columns}, the memory is in columns "
            f"{(below, shown)} of an observation: give these"
        )


def first_of_two(make: Callable[[], nn.Module]) -> nn.Module:
    """Make two modules and return the first.

    The results in the store come from an agent that made the online and the target network before
    it set the weights of the first. This leaves torch's generator at the same place.
    """
    first, _ = make(), make()
    return first
