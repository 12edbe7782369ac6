"""The recurrent baseline: deep Q-learning that sees no memory and has to keep its own.

The paper feeds the observations to a gated recurrent unit and leaves it at that. The authors' code
trains it on minibatches of unrelated transitions in random order, run through the unit as if they
were one history. Both ways are here: `"episodes"` and `"shuffled"`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from longfair.agents.fairqcm.deep_q_learning import View
from longfair.agents.fairqcm.dqn import FairDQN, first_of_two
from longfair.agents.fairqcm.networks import relu_layers, unit_row_start
from longfair.agents.fairqcm.presets import LEARNING, Exploration, Learning
from longfair.agents.fairqcm.recurrent_network import RecurrentLayers, RecurrentStack
from longfair.agents.learning.seeding import NetworkSeed
from longfair.agents.learning.spaces import Learned
from longfair.agents.register import register
from longfair.arrays import Float32Array, IntArray
from longfair.errors import UsageError
from longfair.settings import Count, OneOf, validated


class RecurrentView:
    """Networks that see observations as they are, and carry a state."""

    def read(self, observation: NDArray[Any]) -> Float32Array:
        """Return the observations (N, I)."""
        return np.asarray(observation, np.float32)

    def values(
        self, network: Any, seen: Float32Array, state: Float32Array | None
    ) -> tuple[Float32Array, Float32Array]:
        """Return the values (N, A) of all actions, and the next state (N, H)."""
        values, after = network.step(seen, state)
        return values, after


@register(
    label="RNN",
    place=150,
    loaded_by="longfair.agents.fairqcm.recurrent:RecurrentDQN",
    needs=(),
    actions=("discrete",),
    environments=("longfair/Doughnut-v0", "longfair/LoanPool-v0"),
)
class RecurrentDQN(FairDQN):
    """Deep Q-learning with a recurrent network.

    Parameters
    ----------
    env
        A batch environment of one copy whose episodes all have the same length.
    learning
        As in `FairDQN`, by default the paper's for doughnuts; `hidden` are the two layers before
        the unit. `batch` counts transitions; whole episodes come closest to it.
    training
        `"episodes"`: minibatches are whole episodes, run from their first observation; learning
        uses complete episodes only. `"shuffled"`: a minibatch is unrelated transitions, run in the
        order drawn as one sequence from a state of zeros (code).
    width
        Size of the unit's state: 256 in the paper, 16 in the code.
    exploration, terminal_mask, seed
        As in `FairDQN`.

    Notes
    -----
    Acting carries the state from step to step and starts every episode with zeros (code).
    """

    name: ClassVar[str] = "recurrent-dqn"
    revision: ClassVar[int] = Learning.revision
    stack = RecurrentStack  # type: ignore[assignment]  # the recurrent counterpart
    online: RecurrentStack  # type: ignore[assignment]  # the recurrent counterpart
    target: RecurrentStack  # type: ignore[assignment]  # the recurrent counterpart

    @validated
    def __init__(
        self,
        env: Learned,
        learning: Learning | None = None,
        training: Annotated[str, OneOf("episodes", "shuffled")] = "episodes",
        width: Count = 256,
        exploration: Exploration | None = None,
        terminal_mask: bool = False,
        seed: NetworkSeed | None = None,
    ) -> None:
        self.training, self.width = training, width
        learning = LEARNING["doughnuts"]["rnn"] if learning is None else learning
        if len(learning.hidden) != 2:
            raise UsageError(f"hidden={learning.hidden}: give two layers before the unit")
        super().__init__(env, learning, None, exploration, terminal_mask, seed)

    def _view(self) -> View:
        return RecurrentView()

    def _module(self) -> nn.Module:
        before = (self.learning.hidden[0], self.learning.hidden[1])

        def make() -> nn.Module:
            # As above: the agent of the stored results made a feed-forward network first.
            relu_layers((self.observed, *before, self.actions))
            return RecurrentLayers(self.observed, self.actions, before, self.width)

        return unit_row_start(first_of_two(make))

    def _minibatch(self, target_changed: bool) -> tuple[Float32Array, IntArray, Float32Array]:
        """Return observations (L, B, I), actions (L, B) and targets (L, B)."""
        replay, size = self.replay, self.learning.batch
        if self.training == "shuffled":
            rows = replay.uniform_rows(size, self.rng)[:, None]
        else:
            length = self._episode_length()
            rows = replay.episode_rows(max(round(size / length), 1), length, self.rng)
        observations, following = replay.observations[rows], replay.next_observations[rows]
        if self.training == "shuffled":
            values = self.target.outputs(following)
        else:
            values = self.target.outputs(np.concatenate([observations[:1], following]))[1:]
        targets = replay.rewards[rows] + replay.bootstrap[rows] * values.max(axis=2)
        return observations, replay.actions[rows], targets

    def _episode_length(self) -> int:
        length = getattr(self.env.unwrapped, "episode_length", None)
        if length is None:
            raise UsageError(
                "the environment does not say its episode_length: give training='shuffled'"
            )
        return int(length)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "training": self.training, "width": self.width}
