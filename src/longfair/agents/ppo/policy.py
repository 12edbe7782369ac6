"""The actor-critic of the PPO family: one policy, one reward critic, one critic per signal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.distributions import (
    CategoricalDistribution,
    DiagGaussianDistribution,
    Distribution,
)
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from longfair.agents.ppo.compiled_policy import choices, policy_outputs
from longfair.agents.ppo.compiled_update import FloatArray, Networks, adam_step
from longfair.agents.ppo.networks import FlatParameters, StackedActorCritic
from longfair.errors import UsageError


class FairActorCriticPolicy(ActorCriticPolicy):
    """A policy and `1 + num_signals` critics, all separate networks of the same shape.

    Parameters
    ----------
    observation_space
        A flat `Box`.
    action_space
        `Discrete` (categorical policy) or `Box` (diagonal Gaussian, state-independent deviation).
    lr_schedule
        Learning rate as a function of the remaining progress.
    net_arch
        Sizes of the hidden layers of every network.
    num_signals
        Number of fairness signals that get a critic of their own.
    **kwargs
        Further arguments of `ActorCriticPolicy`.

    Notes
    -----
    Implementation details, with their source:

    1. Fully separate networks, no shared trunk (ELBERT's code).
    2. ReLU, orthogonal initialisation with gain sqrt(2), 0.01 for the policy's head and 1 for the
       critics' heads, zero biases (Stable-Baselines3 and ELBERT's code).
    3. One Adam optimiser over everything, epsilon 1e-5 (Stable-Baselines3 and ELBERT's code).
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        net_arch: list[int] | None = None,
        num_signals: int = 0,
        **kwargs: Any,
    ) -> None:
        self.num_signals = num_signals
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=[64, 64] if net_arch is None else net_arch,
            activation_fn=nn.ReLU,
            optimizer_kwargs={"eps": 1e-5},
            **kwargs,
        )

    def _build(self, lr_schedule: Schedule) -> None:
        assert isinstance(self.net_arch, list)
        num_outputs = _num_outputs(self.action_space)
        self.networks = StackedActorCritic(
            self.features_dim, self.net_arch, num_outputs, num_critics=1 + self.num_signals
        )
        if isinstance(self.action_space, spaces.Box):
            self.log_std = nn.Parameter(torch.full((num_outputs,), self.log_std_init))
        self.flat = FlatParameters(self)
        self.optimizer = torch.optim.Adam(
            [self.flat.values], lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        return {**parameters, "num_signals": self.num_signals}

    def arrays(self) -> tuple[Networks, Networks]:
        """Return views of all parameters, and of their gradients, for compiled code."""
        return self._arrays(_values), self._arrays(_gradient)

    def _arrays(self, view: Callable[[Tensor], FloatArray]) -> Networks:
        networks = self.networks
        return Networks(
            weights=tuple(view(weight) for weight in networks.weights),
            biases=tuple(view(bias) for bias in networks.biases),
            policy_weight=view(networks.policy_weight),
            policy_bias=view(networks.policy_bias),
            value_weight=view(networks.value_weight),
            value_bias=view(networks.value_bias),
            log_std=view(self.log_std) if hasattr(self, "log_std") else np.zeros(0, np.float32),
        )

    def step(self) -> None:
        """Move all parameters by one step of the optimiser, which is Adam."""
        values = self.flat.values
        group, state = self.optimizer.param_groups[0], self.optimizer.state[values]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros(2, len(values))
        state["step"] += 1
        adam_step(
            _values(values),
            _gradient(values),
            state["exp_avg"].numpy(),
            state["exp_avg_sq"].numpy(),
            int(state["step"]),
            group["lr"],
            group["betas"],
            group["eps"],
        )

    def distribution(self, outputs: Tensor) -> Distribution:
        """Return the action distribution that outputs (B, A) of the policy network stand for."""
        if isinstance(self.action_dist, DiagGaussianDistribution):
            return self.action_dist.proba_distribution(outputs, self.log_std)
        assert isinstance(self.action_dist, CategoricalDistribution)
        return self.action_dist.proba_distribution(action_logits=outputs)

    def get_distribution(self, obs: Any) -> Distribution:
        """Return the action distribution, evaluating the policy network only."""
        return self.distribution(self.networks.policy(obs))

    def predict_values(self, obs: Any) -> Tensor:
        """Return the values (B, 1 + num_signals): of the reward, then of the signals."""
        values: Tensor = self.networks(obs)[1]
        return values

    def forward(self, obs: Any, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions, values (B, 1 + num_signals) and log-probabilities (B,)."""
        outputs, values = self.networks(obs)
        distribution = self.distribution(outputs)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(self, obs: Any, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values (B, 1 + num_signals), log-probabilities (B,) and entropy (B,)."""
        outputs, values = self.networks(obs)
        distribution = self.distribution(outputs)
        return values, distribution.log_prob(actions), distribution.entropy()

    def actor(self) -> Actor:
        """Return a copy of the present policy that acts through NumPy."""
        arrays = [
            (weight.detach().numpy().copy(), bias.detach().numpy().copy())
            for weight, bias in self.networks.policy_layers()
        ]
        if isinstance(self.action_space, spaces.Box):
            deviation = self.log_std.detach().exp().numpy().copy()
            return Actor(arrays, deviation)
        return Actor(arrays, None)


def _values(parameter: Tensor) -> FloatArray:
    array: FloatArray = parameter.detach().numpy()
    return array


def _gradient(parameter: Tensor) -> FloatArray:
    assert parameter.grad is not None
    array: FloatArray = parameter.grad.numpy()
    return array


def _num_outputs(action_space: spaces.Space[Any]) -> int:
    if isinstance(action_space, spaces.Discrete):
        return int(action_space.n)
    if isinstance(action_space, spaces.Box) and len(action_space.shape) == 1:
        return action_space.shape[0]
    raise UsageError(f"action space {action_space}: give a Discrete, or a Box of one axis")


class Actor:
    """One policy, or a stack of P policies, sampling actions without torch.

    A stack evaluates P snapshots of a policy side by side, which is how learning curves are
    evaluated.

    Parameters
    ----------
    layers
        Weights (..., before, after) and biases (..., after) of every layer, head included.
    deviation
        Standard deviations (..., actions) of a Gaussian policy; None for a categorical one.
    """

    def __init__(
        self,
        layers: list[tuple[NDArray[Any], NDArray[Any]]],
        deviation: FloatArray | None,
    ) -> None:
        self.layers = layers
        self.deviation = deviation
        self._weights = tuple(_stacked(weight, weight.shape[-2]) for weight, _ in layers)
        self._biases = tuple(_stacked(bias, 1) for _, bias in layers)

    @staticmethod
    def stack(actors: list[Actor]) -> Actor:
        """Return one actor for observations (P, B, ...) from P actors of one shape."""
        layers = [
            (np.stack([w for w, _ in pairs]), np.stack([b for _, b in pairs])[:, None])
            for pairs in zip(*(actor.layers for actor in actors), strict=True)
        ]
        deviations = [actor.deviation for actor in actors if actor.deviation is not None]
        return Actor(layers, np.stack(deviations)[:, None] if deviations else None)

    def output(self, observations: NDArray[Any]) -> FloatArray:
        """Map observations (..., B, input) to logits or means (..., B, actions)."""
        rows = np.ascontiguousarray(observations, np.float32)
        stacked = rows.reshape(len(self._weights[0]), -1, rows.shape[-1])
        output = policy_outputs(self._weights, self._biases, stacked)
        return output.reshape(*observations.shape[:-1], output.shape[-1])

    def sample(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw actions: integers (..., B), or real numbers (..., B, actions), unclipped."""
        output = self.output(observations)
        if self.deviation is not None:
            noise = rng.standard_normal(output.shape, dtype=np.float32)
            sample: FloatArray = output + self.deviation * noise
            return sample
        uniform = rng.random(output.shape[:-1])
        chosen = choices(output.reshape(-1, output.shape[-1]), uniform.reshape(-1))
        return chosen.reshape(uniform.shape)

    def mode(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the most likely actions."""
        output = self.output(observations)
        if self.deviation is not None:
            return output
        choice: NDArray[np.int64] = np.argmax(output, axis=-1)
        return choice


def _stacked(array: NDArray[Any], rows: int) -> FloatArray:
    """Return weights or biases (P, rows, after) for compiled code, P being 1 for one policy."""
    contiguous = np.ascontiguousarray(array, np.float32)
    return contiguous.reshape(-1, rows, array.shape[-1])
