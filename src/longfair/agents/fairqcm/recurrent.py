"""The recurrent baseline: deep Q-learning that sees no memory and has to keep its own.

The paper feeds the observations to a gated recurrent unit and leaves it at that. The authors' code
trains it on minibatches of unrelated transitions in random order, run through the unit as if they
were one history. Both ways are here: `"episodes"` and `"shuffled"`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.dqn.policies import QNetwork
from torch import Tensor, nn

from longfair.agents.fairqcm import gru
from longfair.agents.fairqcm.dqn import FairDQN, SmallQPolicy
from longfair.agents.fairqcm.networks import (
    Adam,
    Float32Array,
    IntArray,
    SharedParameters,
    error_slope,
    rectified,
    relu_backward,
    unit_row_start,
)
from longfair.errors import UsageError, near_misses

TRAINING = ("episodes", "shuffled")


class RecurrentLayers(nn.Module):
    """Two linear layers with ReLU, a gated recurrent unit, and a linear layer.

    Parameters
    ----------
    inputs, outputs
        Sizes of the observation and of the action values.
    hidden
        Sizes of the two layers before the unit.
    width
        Size of the unit's state.
    """

    def __init__(self, inputs: int, outputs: int, hidden: tuple[int, int], width: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden[0])
        self.second = nn.Linear(hidden[0], hidden[1])
        self.unit = nn.GRU(hidden[1], width)
        self.head = nn.Linear(width, outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map sequences (L, B, I) to action values (L, B, A), each from a state of zeros."""
        states, _ = self.unit(self.second(self.first(inputs).relu()).relu())
        values: Tensor = self.head(states)
        return values


class RecurrentStack(SharedParameters):
    """`RecurrentLayers` computed by NumPy and numba.

    Parameters
    ----------
    module
        A module whose parameters are those of one `RecurrentLayers`.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        self.width = self.arrays[5].shape[1]

    def outputs(self, inputs: Float32Array) -> Float32Array:
        """Map sequences (L, B, I) to action values (L, B, A), each from a state of zeros."""
        start = np.zeros((inputs.shape[1], self.width), np.float32)
        return recurrent_values(self.arrays, inputs, start)[0]

    def step(
        self, observation: Float32Array, state: Float32Array | None
    ) -> tuple[Float32Array, Float32Array]:
        """Return values (B, A) and the next state (B, H) for one observation (B, I) each."""
        return recurrent_step(self.arrays, observation, state)

    def descend(self, inputs: Float32Array, actions: IntArray, targets: Float32Array) -> None:
        """Write the gradient of the mean squared error of the chosen actions' values.

        Parameters
        ----------
        inputs
            (L, B, I): sequences from their start.
        actions, targets
            (L, B): actions whose values have targets, and these.
        """
        first, second, unit, head = self._layers(self.arrays)
        by_first, by_second, by_unit, by_head = self._layers(self.gradients)
        start = np.zeros((inputs.shape[1], self.width), np.float32)
        values, hidden, done = recurrent_values(self.arrays, inputs, start)
        slope = error_slope(values.reshape(actions.size, -1), actions.ravel(), targets.ravel())
        states = done.states[1:].reshape(-1, self.width)
        relu_backward([head], [by_head], [states], slope)
        by_output = (slope @ head[0]).reshape(done.states[1:].shape)
        by_input, by_state = gru.slopes(done, unit[1], by_output)
        by_input, by_state = (part.reshape(len(states), -1) for part in (by_input, by_state))
        np.matmul(by_state.T, done.states[:-1].reshape(-1, self.width), out=by_unit[1])
        np.sum(by_state, axis=0, out=by_unit[3])
        # The unit's input weights are a linear layer after two with ReLU.
        relu_backward(
            [first, second, (unit[0], unit[2])],
            [by_first, by_second, (by_unit[0], by_unit[2])],
            hidden,
            by_input,
        )

    def snapshot(self) -> GreedyRecurrent:
        """Return a copy that acts greedily and no longer changes."""
        return GreedyRecurrent([array.copy() for array in self.arrays])

    @staticmethod
    def _layers(arrays: list[Float32Array]) -> tuple[Any, Any, list[Float32Array], Any]:
        """Return first and second layer, the unit's four arrays, and the head."""
        return (arrays[0], arrays[1]), (arrays[2], arrays[3]), arrays[4:8], (arrays[8], arrays[9])


class GreedyRecurrent:
    """The greedy policy of a recurrent network.

    Parameters
    ----------
    arrays
        The parameters of `RecurrentLayers`, in its order.
    """

    def __init__(self, arrays: list[Float32Array]) -> None:
        self._arrays = arrays

    def act(
        self, observation: Float32Array, state: Float32Array | None
    ) -> tuple[IntArray, Float32Array]:
        """Return the best action (B,) and the next state; a state of None is all zeros."""
        values, after = recurrent_step(self._arrays, observation, state)
        return values.argmax(axis=1), after


def recurrent_values(
    arrays: list[Float32Array], inputs: Float32Array, start: Float32Array
) -> tuple[Float32Array, list[Float32Array], gru.Run]:
    """Return action values (L, B, A), the layers before the unit (L * B, size), and its run."""
    hidden = [np.ascontiguousarray(inputs).reshape(-1, inputs.shape[2])]
    for weight, bias in ((arrays[0], arrays[1]), (arrays[2], arrays[3])):
        hidden.append(rectified(hidden[-1] @ weight.T, bias))
    from_input = hidden[-1] @ arrays[4].T + arrays[6]
    done = gru.run(from_input.reshape(*inputs.shape[:2], -1), arrays[5], arrays[7], start)
    return done.states[1:] @ arrays[8].T + arrays[9], hidden, done


def recurrent_step(
    arrays: list[Float32Array], observation: Float32Array, state: Float32Array | None
) -> tuple[Float32Array, Float32Array]:
    """Return values (B, A) and the next state (B, H) for one observation (B, I) each."""
    if state is None:
        state = np.zeros((len(observation), arrays[5].shape[1]), np.float32)
    values, _, done = recurrent_values(arrays, observation[None], state)
    return values[0], done.states[1]


class RecurrentQNetwork(QNetwork):
    """Stable-Baselines3's action-value network with a recurrent unit in place of its layers."""

    def __init__(
        self,
        observation_space: Any,
        action_space: Any,
        features_extractor: BaseFeaturesExtractor,
        features_dim: int,
        net_arch: list[int],
        recurrent_width: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            observation_space, action_space, features_extractor, features_dim, net_arch, **kwargs
        )
        actions = int(self.action_space.n)
        layers = RecurrentLayers(
            self.features_dim, actions, (net_arch[0], net_arch[1]), recurrent_width
        )
        self.q_net = layers  # type: ignore[assignment]  # a Sequential in Stable-Baselines3


class RecurrentQPolicy(SmallQPolicy):
    """The recurrent policy: linear layers with rows of length one, torch's start of the unit.

    Parameters
    ----------
    *args
        Arguments of Stable-Baselines3's DQN policy.
    recurrent_width
        Size of the unit's state.
    **kwargs
        Further arguments of Stable-Baselines3's DQN policy.
    """

    online: RecurrentStack  # type: ignore[assignment]  # the recurrent counterpart
    target: RecurrentStack  # type: ignore[assignment]  # the recurrent counterpart

    def __init__(self, *args: Any, recurrent_width: int = 16, **kwargs: Any) -> None:
        self.recurrent_width = recurrent_width
        super().__init__(*args, **kwargs)

    def make_q_net(self) -> RecurrentQNetwork:
        """Make one network."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return RecurrentQNetwork(**arguments, recurrent_width=self.recurrent_width)

    def _build(self, lr_schedule: Schedule) -> None:
        self.q_net, self.q_net_target = self.make_q_net(), self.make_q_net()
        unit_row_start(self.q_net)
        self.q_net_target.load_state_dict(self.q_net.state_dict())
        self.online, self.target = RecurrentStack(self.q_net), RecurrentStack(self.q_net_target)
        self.optimizer = Adam(self.online, lr_schedule(1))  # type: ignore[assignment]  # has `step`


class RecurrentDQN(FairDQN):
    """Deep Q-learning with a recurrent network.

    Parameters
    ----------
    policy
        `"RecurrentQPolicy"`.
    env
        A vector environment of one copy whose episodes all have the same length.
    training
        `"episodes"`: minibatches are whole episodes, run from their first observation; learning
        uses complete episodes only. `"shuffled"`: a minibatch is unrelated transitions, run in the
        order drawn as one sequence from a state of zeros (code).
    recurrent_width
        Size of the unit's state: 256 in the paper, 16 in the code.
    net_arch
        Sizes of the two layers before the unit.
    **kwargs
        Arguments of `FairDQN`. `batch_size` counts transitions; whole episodes come closest to it.

    Notes
    -----
    Acting carries the state from step to step and starts every episode with zeros (code).
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"RecurrentQPolicy": RecurrentQPolicy}
    policy: RecurrentQPolicy

    def __init__(
        self,
        policy: str | type[RecurrentQPolicy] = "RecurrentQPolicy",
        env: VecEnv | None = None,
        training: str = "episodes",
        recurrent_width: int = 256,
        net_arch: tuple[int, int] = (32, 16),
        **kwargs: Any,
    ) -> None:
        if training not in TRAINING:
            raise UsageError(f"training {training!r}: {near_misses(training, TRAINING)}")
        self.training = training
        self.recurrent_width = recurrent_width
        self._hidden: Float32Array | None = None
        super().__init__(policy, env, net_arch=net_arch, **kwargs)

    def _policy_kwargs(self, net_arch: tuple[int, ...]) -> dict[str, Any]:
        return {**super()._policy_kwargs(net_arch), "recurrent_width": self.recurrent_width}

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Return one action per observation (N, I), and the state (N, H) after it."""
        if state is not None and episode_start is not None:
            state = np.where(np.asarray(episode_start)[:, None], np.float32(0.0), state)
        values, after = self.policy.online.step(np.asarray(observation), state)
        return self._explored(values.argmax(axis=1), deterministic), after

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        actions, self._hidden = self.predict(self._last_obs, self._hidden)
        return actions, actions

    def _update_info_buffer(self, infos: Any, dones: Any = None) -> None:
        super()._update_info_buffer(infos, dones)
        if dones is not None and dones[0]:
            self._hidden = None

    def _setup_learn(
        self,
        total_timesteps: int,
        callback: Any = None,
        reset_num_timesteps: bool = True,
        tb_log_name: str = "run",
        progress_bar: bool = False,
    ) -> Any:
        if reset_num_timesteps:
            self._hidden = None
        return super()._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )

    def train(self, gradient_steps: int, batch_size: int = 256) -> None:
        """Make gradient steps on sequences from the buffer, if it has been filled once."""
        if not self.replay_buffer.full:
            return
        for _ in range(gradient_steps):
            if self._n_updates % self.target_update_interval == 0:
                self.policy.target.copy_from(self.policy.online)
            self.policy.online.descend(*self._sequences(batch_size))
            self.policy.optimizer.step()
            self._n_updates += 1

    def _sequences(self, size: int) -> tuple[Float32Array, IntArray, Float32Array]:
        """Return observations (L, B, I), actions (L, B) and targets (L, B)."""
        buffer = self.replay_buffer
        if self.training == "shuffled":
            rows = buffer.uniform_rows(size, self.rng)[:, None]
        else:
            length = self._episode_length()
            number = max(round(size / length), 1)
            rows = buffer.episode_rows(number, length, self.rng)
        observations = buffer.observations[rows, 0]
        following = buffer.next_observations[rows, 0]
        if self.training == "shuffled":
            values = self.policy.target.outputs(following)
        else:
            whole = np.concatenate([observations[:1], following])
            values = self.policy.target.outputs(whole)[1:]
        targets = buffer.rewards[rows, 0] + buffer.bootstrap[rows] * values.max(axis=2)
        return observations, buffer.actions[rows, 0, 0], targets

    def _episode_length(self) -> int:
        assert self.env is not None
        return int(self.env.get_attr("episode_length")[0])
