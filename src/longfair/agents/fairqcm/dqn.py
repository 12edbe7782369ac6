r"""Deep Q-learning for fairness with memory: Stable-Baselines3's DQN with one addition.

The addition is the replay buffer, which can hold counterfactual memories next to the real one.
Everything else is the loop of the paper's experiments:

.. math::

    y = r + \gamma \max_{a'} Q_{\bar\theta}(o', a'), \qquad
    \theta \leftarrow \text{Adam step on } \operatorname{mean} (Q_\theta(o, a) - y)^2 .
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.dqn.policies import DQNPolicy
from torch import nn

from longfair.agents.fairqcm.networks import Adam, ReluStack, orthogonal_start
from longfair.agents.fairqcm.replay import CounterfactualReplayBuffer, Imagination
from longfair.agents.ppo import saving
from longfair.errors import UsageError


@dataclass(frozen=True)
class Exploration:
    """Share of random actions, lowered after every episode until it has reached a floor."""

    start: float = 1.0
    floor: float = 0.2
    factor: float = 0.999

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        for field in ("start", "floor", "factor"):
            value = getattr(self, field)
            if not 0.0 <= value <= 1.0:
                raise UsageError(f"{field}={value!r}: give a number in [0, 1]")

    def after_episode(self, rate: float) -> float:
        """Return the share for the next episode."""
        return rate * self.factor if rate > self.floor else rate

    def after_runs(self, runs: int, episodes: int) -> Exploration:
        """Return the schedule of a run that goes on where `runs` earlier ones have stopped.

        The authors' scripts keep the rate in an object that all runs share and never reset it. So
        with 1000 episodes a run, only the first run explores from 1 on, the second goes on at
        0.368, and the others keep the floor throughout.
        """
        rate = self.start
        for _ in range(runs * episodes):
            if rate <= self.floor:
                break
            rate = self.after_episode(rate)
        return Exploration(rate, self.floor, self.factor)


class SmallQPolicy(DQNPolicy):
    """Stable-Baselines3's DQN policy, started and computed as the authors' networks are.

    Notes
    -----
    Implementation details, with their source:

    1. ReLU between linear layers, orthogonal weights, zero biases (code).
    2. Adam with torch's defaults (code), over all parameters as one vector.
    3. Values and gradients by `longfair.agents.fairqcm.networks` on the module's own memory.
    """

    online: ReluStack
    """The network that learns and explores."""
    target: ReluStack
    """The network that targets and greedy episodes are computed with."""

    def _build(self, lr_schedule: Schedule) -> None:
        self.q_net, self.q_net_target = self.make_q_net(), self.make_q_net()
        orthogonal_start(self.q_net)
        self.q_net_target.load_state_dict(self.q_net.state_dict())
        self.q_net_target.set_training_mode(False)
        self.online, self.target = ReluStack(self.q_net), ReluStack(self.q_net_target)
        self.optimizer = Adam(self.online, lr_schedule(1))  # type: ignore[assignment]  # has `step`

    def set_training_mode(self, mode: bool) -> None:
        """Do nothing: no layer of these networks behaves differently while training."""


class FairDQN(DQN):
    """Deep Q-learning from real and counterfactual memories.

    Parameters
    ----------
    policy
        `"SmallQPolicy"` or a subclass of it.
    env
        A vector environment of one copy, adapted for Stable-Baselines3.
    imagination
        What the buffer adds to real experience; None for plain DQN.
    exploration
        Share of random actions by episode.
    learning_rate
        A constant.
    buffer_size
        Transitions kept. Learning starts when the buffer has been filled once.
    batch_size
        Transitions per gradient step.
    gamma
        Discount factor.
    target_update_interval
        Gradient steps between two copies to the target network, the first before the first step.
    train_freq
        Steps in the environment between two gradient steps.
    net_arch
        Sizes of the hidden layers.
    terminal_mask
        Whether nothing is expected after the end of an episode. The agent should then observe the
        time.
    n_steps
        Real steps between an observation and the one whose value stands for the rest.
    **kwargs
        Further arguments of `stable_baselines3.DQN`.

    Notes
    -----
    Implementation details, with their source:

    1. One gradient step per step of the environment; minibatches uniform with replacement (code).
    2. Mean squared error; no clipping, no double or duelling network (code).
    3. Learning waits for a full buffer, and actions are epsilon-greedy from the start (code).
    4. The exploration rate falls after an episode, not within it (code).
    5. The value of a stored transition's next observation is computed once per target network.
    6. Denormal numbers are flushed to zero while training.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"SmallQPolicy": SmallQPolicy}
    policy: SmallQPolicy
    replay_buffer: CounterfactualReplayBuffer

    def __init__(
        self,
        policy: str | type[SmallQPolicy] = "SmallQPolicy",
        env: VecEnv | None = None,
        imagination: Imagination | None = None,
        exploration: Exploration | None = None,
        learning_rate: float = 1e-4,
        buffer_size: int = 400,
        batch_size: int = 64,
        gamma: float = 0.95,
        target_update_interval: int = 1000,
        train_freq: int = 1,
        net_arch: tuple[int, ...] = (32, 16, 8),
        terminal_mask: bool = False,
        n_steps: int = 1,
        **kwargs: Any,
    ) -> None:
        if env is not None and env.num_envs != 1:
            raise UsageError(f"the environment has {env.num_envs} copies: FairDQN follows one")
        self.exploration = exploration or Exploration()
        self.terminal_mask = terminal_mask
        kwargs.setdefault("device", "cpu")
        super().__init__(
            policy,
            env,  # type: ignore[arg-type]  # None is allowed by the base of DQN, used by load
            learning_rate=learning_rate,
            buffer_size=buffer_size,
            learning_starts=0,
            batch_size=batch_size,
            gamma=gamma,
            train_freq=train_freq,
            target_update_interval=target_update_interval,
            replay_buffer_class=CounterfactualReplayBuffer,
            replay_buffer_kwargs={
                "imagination": imagination,
                "handle_timeout_termination": not terminal_mask,
                "n_steps": n_steps,
                "discount": gamma,
            },
            policy_kwargs=self._policy_kwargs(net_arch),
            **kwargs,
        )
        self.n_steps = n_steps

    def _policy_kwargs(self, net_arch: tuple[int, ...]) -> dict[str, Any]:
        return {"net_arch": list(net_arch), "activation_fn": nn.ReLU}

    def _setup_model(self) -> None:
        super()._setup_model()
        # The environment's generator starts from the seed itself: this must be another stream.
        self.rng = np.random.default_rng(None if self.seed is None else (self.seed, 1))
        self.exploration_rate = self.exploration.start

    # Acting -------------------------------------------------------------------------------------

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Return one action per observation (N, I), epsilon-greedy unless `deterministic`."""
        greedy = self.policy.online.outputs(np.asarray(observation)).argmax(axis=1)
        return self._explored(greedy, deterministic), state

    def _explored(self, greedy: NDArray[Any], deterministic: bool) -> NDArray[Any]:
        if not deterministic and self.rng.random() < self.exploration_rate:
            return self.rng.integers(self.action_space.n, size=len(greedy))  # type: ignore[attr-defined]  # a Discrete, as DQN requires
        return greedy

    # Learning -----------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = None,
        tb_log_name: str = "FairDQN",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> FairDQN:
        """Learn for a number of steps; arguments as in Stable-Baselines3."""
        torch.set_flush_denormal(True)
        return super().learn(
            total_timesteps,
            callback,
            log_interval,  # type: ignore[arg-type]  # as above
            tb_log_name,
            reset_num_timesteps,
            progress_bar,
        )

    def _on_step(self) -> None:
        """Leave exploration and target network to the ends of episodes and to `train`."""

    def _update_info_buffer(self, infos: Any, dones: Any = None) -> None:
        """Lower the exploration rate at the end of an episode; keep no further statistics."""
        if dones is not None and dones[0]:
            self.exploration_rate = self.exploration.after_episode(self.exploration_rate)

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Make gradient steps on minibatches of the buffer, if it has been filled once."""
        if not self.replay_buffer.full:
            return
        for _ in range(gradient_steps):
            self._value_next_observations()
            rows = self.replay_buffer.uniform_rows(batch_size, self.rng)
            self.policy.online.descend(*self.replay_buffer.batch(rows))
            self.policy.optimizer.step()
            self._n_updates += 1

    def _value_next_observations(self) -> None:
        """Copy the network to the target when due, and value what has no value under it yet."""
        buffer, target = self.replay_buffer, self.policy.target
        rows = buffer.unvalued()
        if self._n_updates % self.target_update_interval == 0:
            target.copy_from(self.policy.online)
            rows = np.arange(buffer.size())
        if len(rows):
            observations = buffer.next_observations[:, 0].take(rows, axis=0)
            buffer.next_values[rows] = target.outputs(observations).max(axis=1)

    # Saving -------------------------------------------------------------------------------------

    def save(self, path: Any, exclude: Any = None, include: Any = None) -> None:
        """Save parameters and settings without pickling anything.

        Parameters
        ----------
        path
            File to write.
        exclude, include
            Arguments of Stable-Baselines3 that choose attributes to pickle; give none.
        """
        if exclude is not None or include is not None:
            raise UsageError("exclude and include choose what to pickle: nothing is pickled here")
        parameters = {name: value.numpy() for name, value in self.policy.state_dict().items()}
        settings = {name: getattr(self, name) for name in _SAVED} | {
            "policy_kwargs": _plain(self.policy_kwargs),
            "exploration": vars(self.exploration),
            "train_freq": self.train_freq.frequency,  # type: ignore[union-attr]  # converted in _setup_model
            "observation_space": saving.space_to_json(self.observation_space),
            "action_space": saving.space_to_json(self.action_space),
        }
        saving.write(Path(path), parameters, settings)

    @classmethod
    def load(  # type: ignore[override]  # fewer options than Stable-Baselines3: nothing is pickled
        cls, path: Any, env: VecEnv | None = None, **kwargs: Any
    ) -> FairDQN:
        """Load an agent saved by `save`.

        Parameters
        ----------
        path
            File to read.
        env
            Environment to go on learning in; none is needed to predict.
        **kwargs
            Settings to replace. An agent that goes on learning from counterfactuals needs its
            `imagination` again.

        Notes
        -----
        Neither the buffer nor the optimiser's moments are saved: learning goes on with fresh ones.
        """
        parameters, settings = saving.read(Path(path))
        observation_space = saving.space_from_json(settings.pop("observation_space"))
        action_space = saving.space_from_json(settings.pop("action_space"))
        counters = {name: settings.pop(name) for name in _COUNTERS}
        settings["exploration"] = Exploration(**settings["exploration"])
        settings.update(settings.pop("policy_kwargs"))
        model = cls(env=env, **{**settings, **kwargs}, _init_setup_model=False)
        if env is None:
            model.observation_space, model.action_space = observation_space, action_space
            model.n_envs = 1
        elif (env.observation_space, env.action_space) != (observation_space, action_space):
            raise UsageError(
                f"{path} was trained on {observation_space} and {action_space}, the environment "
                f"has {env.observation_space} and {env.action_space}"
            )
        model._setup_model()
        model.policy.load_state_dict({k: torch.from_numpy(v) for k, v in parameters.items()})
        for name, value in counters.items():
            setattr(model, name, value)
        return model


_COUNTERS = ("num_timesteps", "exploration_rate")
_SAVED = (
    "learning_rate",
    "buffer_size",
    "batch_size",
    "gamma",
    "target_update_interval",
    "terminal_mask",
    "n_steps",
    "seed",
    *_COUNTERS,
)
"""Plain settings that are saved as they are."""


def _plain(policy_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keep the settings of the policy that are numbers."""
    return {name: value for name, value in policy_kwargs.items() if name != "activation_fn"}
