"""The actor-critic of the PPO family: one policy, one reward critic, one critic per signal."""

from __future__ import annotations

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

from longfair.agents.ppo.heads import CategoricalHead, GaussianHead, Head
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
            optimizer_kwargs={"eps": 1e-5, "fused": True},
            **kwargs,
        )

    def _build(self, lr_schedule: Schedule) -> None:
        assert isinstance(self.net_arch, list)
        num_outputs = _num_outputs(self.action_space)
        self.networks = StackedActorCritic(
            self.features_dim, self.net_arch, num_outputs, num_critics=1 + self.num_signals
        )
        self.head: Head = CategoricalHead()
        if isinstance(self.action_space, spaces.Box):
            self.log_std = nn.Parameter(torch.full((num_outputs,), self.log_std_init))
            self.head = GaussianHead(self.log_std)
        self.flat = FlatParameters(self)
        self.optimizer = torch.optim.Adam(
            [self.flat.values], lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        return {**parameters, "num_signals": self.num_signals}

    def _distribution(self, outputs: Tensor) -> Distribution:
        if isinstance(self.action_dist, DiagGaussianDistribution):
            return self.action_dist.proba_distribution(outputs, self.log_std)
        assert isinstance(self.action_dist, CategoricalDistribution)
        return self.action_dist.proba_distribution(action_logits=outputs)

    def get_distribution(self, obs: Any) -> Distribution:
        """Return the action distribution, evaluating the policy network only."""
        return self._distribution(self.networks.policy(obs))

    def predict_values(self, obs: Any) -> Tensor:
        """Return the values (B, 1 + num_signals): of the reward, then of the signals."""
        values: Tensor = self.networks(obs)[1]
        return values

    def forward(self, obs: Any, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions, values (B, 1 + num_signals) and log-probabilities (B,)."""
        outputs, values = self.networks(obs)
        distribution = self._distribution(outputs)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(self, obs: Any, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values (B, 1 + num_signals), log-probabilities (B,) and entropy (B,)."""
        outputs, values = self.networks(obs)
        distribution = self._distribution(outputs)
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


def _num_outputs(action_space: spaces.Space[Any]) -> int:
    if isinstance(action_space, spaces.Discrete):
        return int(action_space.n)
    if isinstance(action_space, spaces.Box) and len(action_space.shape) == 1:
        return action_space.shape[0]
    raise UsageError(f"action space {action_space}: give a Discrete, or a Box of one axis")


class Actor:
    """One policy, or a stack of P policies, sampling actions through NumPy.

    Stepping an environment asks for one tiny network evaluation at a time, where the overhead of
    a call outweighs its arithmetic; NumPy's is the smaller one. A stack evaluates P snapshots of a
    policy side by side, which is how learning curves are evaluated.

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
        deviation: NDArray[np.float32] | None,
    ) -> None:
        self.layers = layers
        self.deviation = deviation

    @staticmethod
    def stack(actors: list[Actor]) -> Actor:
        """Return one actor for observations (P, B, ...) from P actors of one shape."""
        layers = [
            (np.stack([w for w, _ in pairs]), np.stack([b for _, b in pairs])[:, None])
            for pairs in zip(*(actor.layers for actor in actors), strict=True)
        ]
        deviations = [actor.deviation for actor in actors if actor.deviation is not None]
        return Actor(layers, np.stack(deviations)[:, None] if deviations else None)

    def output(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Map observations (..., B, input) to logits or means (..., B, actions)."""
        hidden = observations
        for weight, bias in self.layers[:-1]:
            hidden = hidden @ weight
            hidden += bias
            np.maximum(hidden, 0.0, out=hidden)
        weight, bias = self.layers[-1]
        output: NDArray[np.float32] = hidden @ weight
        output += bias
        return output

    def sample(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw actions: integers (..., B), or real numbers (..., B, actions), unclipped."""
        output = self.output(observations)
        if self.deviation is not None:
            noise = rng.standard_normal(output.shape, dtype=np.float32)
            sample: NDArray[np.float32] = output + self.deviation * noise
            return sample
        if output.shape[-1] == 2:
            # With two actions the difference of the logits against logistic noise decides.
            uniform = rng.random(output.shape[:-1])
            return (output[..., 1] - output[..., 0] > np.log(1.0 / uniform - 1.0)).astype(np.int64)
        gumbel = -np.log(rng.standard_exponential(output.shape))
        choice: NDArray[np.int64] = np.argmax(output + gumbel, axis=-1)
        return choice

    def mode(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the most likely actions."""
        output = self.output(observations)
        if self.deviation is not None:
            return output
        choice: NDArray[np.int64] = np.argmax(output, axis=-1)
        return choice
