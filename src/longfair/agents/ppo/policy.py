"""The actor-critic of the PPO family: one policy, one reward critic, one critic per signal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import (
    CategoricalDistribution,
    DiagGaussianDistribution,
    Distribution,
)
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from longfair.agents.learning.actor import Actor
from longfair.agents.learning.adam import Adam
from longfair.agents.learning.flat import FlatParameters
from longfair.agents.ppo.compiled_update import (
    Batch,
    Coefficients,
    FloatArray,
    Networks,
    evaluate,
    write_gradient,
)
from longfair.agents.ppo.networks import StackedActorCritic
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

    optimizer: Adam  # type: ignore[assignment]  # has what Stable-Baselines3 asks of an optimiser

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
        self.networks = self._made_networks(self.net_arch, num_outputs)
        if isinstance(self.action_space, spaces.Box):
            self.log_std = nn.Parameter(torch.full((num_outputs,), self.log_std_init))
        self._lay_out(lr_schedule(1))

    def _lay_out(self, learning_rate: float) -> None:
        """Make one vector of all parameters, and what moves it: anew in a copy of the policy."""
        self.flat = FlatParameters(self)
        self.optimizer = Adam(
            self.flat.vector,
            self.flat.gradient,
            learning_rate,
            self.optimizer_kwargs.get("betas", (0.9, 0.999)),
            self.optimizer_kwargs["eps"],
            reordered=True,
        )

    def move(self, max_norm: float) -> None:
        """Move all parameters by a step of the optimiser, the gradient clipped to a norm."""
        self.optimizer.step(self.flat.clipping(max_norm))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy, whose parameters are views of its own vector."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]  # torch
        before = self.optimizer
        self._lay_out(before.learning_rate)
        self.optimizer.load_state_dict(before.state_dict())

    def _made_networks(self, hidden_sizes: list[int], num_outputs: int) -> Any:
        return StackedActorCritic(
            self.features_dim, hidden_sizes, num_outputs, num_critics=1 + self.num_signals
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        return {**parameters, "num_signals": self.num_signals}

    def arrays(self) -> tuple[Networks, Networks]:
        """Return views of all parameters, and of their gradients, for compiled code."""
        return self._arrays(self.networks, values_of), self._arrays(self.networks, gradient_of)

    def _arrays(self, networks: Any, view: Callable[[Tensor], FloatArray]) -> Networks:
        return Networks(
            weights=tuple(view(weight) for weight in networks.weights),
            biases=tuple(view(bias) for bias in networks.biases),
            policy_weight=view(networks.policy_weight),
            policy_bias=view(networks.policy_bias),
            value_weight=view(networks.value_weight),
            value_bias=view(networks.value_bias),
            log_std=view(self.log_std) if hasattr(self, "log_std") else np.zeros(0, np.float32),
        )

    def evaluated(self, observations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Map observations (S, input) to outputs of the policy (S, A) and values (S, C)."""
        found: tuple[FloatArray, FloatArray] = evaluate(self.arrays()[0], observations)
        return found

    def gradient_writer(self, coefficients: Coefficients) -> Callable[[Batch], float]:
        """Return what writes the gradient of PPO's loss on a minibatch.

        It returns an estimate of the divergence from the policy that acted.
        """
        networks, gradients = self.arrays()
        return lambda batch: write_gradient(networks, gradients, batch, coefficients)[0]

    def distribution(self, outputs: Tensor) -> Distribution:
        """Return the action distribution that outputs (B, A) of the policy network stand for."""
        try:
            if isinstance(self.action_dist, DiagGaussianDistribution):
                return self.action_dist.proba_distribution(outputs, self.log_std)
            assert isinstance(self.action_dist, CategoricalDistribution)
            return self.action_dist.proba_distribution(action_logits=outputs)
        except ValueError as error:  # torch tells all numbers, on many lines
            raise UsageError(
                "the policy's outputs are no longer finite: train with a lower learning_rate, or "
                "intervene with actions nearer to the chosen ones"
            ) from error

    def as_taken(self, actions: Tensor) -> Tensor:
        """Return the actions (B, A) of a minibatch as a distribution takes them."""
        return actions[:, 0].long() if isinstance(self.action_space, spaces.Discrete) else actions

    def get_distribution(self, obs: Any) -> Distribution:
        """Return the action distribution, evaluating the policy network only."""
        return self.distribution(self.networks.policy(obs.float()))

    def predict_values(self, obs: Any) -> Tensor:
        """Return the values (B, 1 + num_signals): of the reward, then of the signals."""
        values: Tensor = self.networks(obs.float())[1]
        return values

    def forward(self, obs: Any, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions, values (B, 1 + num_signals) and log-probabilities (B,)."""
        outputs, values = self.networks(obs.float())
        distribution = self.distribution(outputs)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(self, obs: Any, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values (B, 1 + num_signals), log-probabilities (B,) and entropy (B,)."""
        outputs, values = self.networks(obs.float())
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


def values_of(parameter: Tensor) -> FloatArray:
    """Return a view of the values of a parameter."""
    array: FloatArray = parameter.detach().numpy()
    return array


def gradient_of(parameter: Tensor) -> FloatArray:
    """Return a view of the gradient of a parameter."""
    assert parameter.grad is not None
    array: FloatArray = parameter.grad.numpy()
    return array


def _num_outputs(action_space: spaces.Space[Any]) -> int:
    if isinstance(action_space, spaces.Discrete):
        return int(action_space.n)
    if isinstance(action_space, spaces.Box) and len(action_space.shape) == 1:
        return action_space.shape[0]
    raise UsageError(f"action space {action_space}: give a Discrete, or a Box of one axis")
