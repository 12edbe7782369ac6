"""What a rollout leaves behind: rewards, group signals, and advantages for each of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.type_aliases import RolloutBufferSamples
from torch import Tensor

from longfair.agents.ppo.compiled_update import Batch
from longfair.arrays import FloatArray
from longfair.errors import UsageError


class Samples(NamedTuple):
    """All samples of a rollout, S = T * N of them."""

    observations: Tensor
    """(S, input)."""
    actions: Tensor
    """(S, A) real numbers, or (S, 1) the number of the choice."""
    old_log_prob: Tensor
    """(S,)."""
    returns: Tensor
    """(S, 1 + K): targets of the critics."""
    advantages: Tensor
    """(S, 1 + K): reward first, then the signals."""
    features: Tensor
    """(S, F): per-step numbers that a strategy asked to keep."""


Combine = Callable[[Tensor, Tensor], Tensor]
"""Makes one advantage (..., B) of advantages (..., B, 1 + K) and features (..., B, F)."""


class SignalRolloutBuffer(RolloutBuffer):
    """A rollout of T steps in N copies with the supply and demand of every group.

    The first axis of all arrays is time, the second the copy. Advantages and returns have one
    column per critic: reward first, then the signals of the strategy.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: torch.device | str = "auto",
        gae_lambda: float = 1.0,
        gamma: float = 0.99,
        n_envs: int = 1,
        num_groups: int = 1,
    ) -> None:
        self.num_groups = num_groups
        super().__init__(
            buffer_size, observation_space, action_space, device, gae_lambda, gamma, n_envs
        )

    def reset(self) -> None:
        """Empty the buffer; the arrays are reused."""
        self.pos, self.full = 0, False
        if hasattr(self, "supply"):
            return
        steps, copies = self.buffer_size, self.n_envs
        self.observations = np.zeros((steps, copies, *self.obs_shape), np.float32)
        discrete = isinstance(self.action_space, spaces.Discrete)
        action_shape = () if discrete else (self.action_dim,)
        kind = np.int64 if discrete else np.float32
        self.actions = np.zeros((steps, copies, *action_shape), kind)
        self.rewards = np.zeros((steps, copies))
        self.episode_starts = np.zeros((steps, copies), np.bool_)
        self.info: dict[str, NDArray[Any]] = {}
        self.supply = np.zeros((steps, copies, self.num_groups))
        self.demand = np.zeros((steps, copies, self.num_groups))

    def record(
        self,
        observation: NDArray[Any],
        action: NDArray[Any],
        reward: NDArray[Any],
        episode_start: NDArray[np.bool_],
        supply: NDArray[Any],
        demand: NDArray[Any],
        info: Mapping[str, NDArray[Any]],
    ) -> None:
        """Keep one step of all copies."""
        position = self.pos
        for name, array in info.items():
            if name not in self.info:
                self.info[name] = np.zeros((self.buffer_size, *array.shape), array.dtype)
            self.info[name][position] = array
        self.observations[position] = observation
        self.actions[position] = action
        self.rewards[position] = reward
        self.episode_starts[position] = episode_start
        self.supply[position] = supply
        self.demand[position] = demand
        self.pos = position + 1
        self.full = self.pos == self.buffer_size

    def keep(
        self,
        values: NDArray[Any],
        log_probs: NDArray[Any],
        advantages: FloatArray,
        returns: FloatArray,
    ) -> None:
        """Keep what the rollout says of the reward, under the names of Stable-Baselines3.

        Parameters
        ----------
        values, advantages, returns
            (T, N, 1 + K): of the reward, then of the signals.
        log_probs
            (T * N,).
        """
        shape = self.rewards.shape
        self.values, self.advantages, self.returns, self.log_probs = (
            _frozen(array)
            for array in (
                values[..., 0],
                advantages[..., 0],
                returns[..., 0],
                log_probs.reshape(shape),
            )
        )

    def get(self, batch_size: int | None = None) -> Generator[RolloutBufferSamples, None, None]:
        """Return shuffled minibatches as in Stable-Baselines3.

        Values, advantages and returns are those of the reward, before a strategy has combined them
        with those of its signals. The buffer stays as it is.

        Parameters
        ----------
        batch_size
            Samples of a minibatch; None for all in one.

        Raises
        ------
        UsageError
            Before a rollout is complete.
        """
        if not self.full:
            raise UsageError("the rollout is not complete: call get after one, or at its end")
        flattened = copy.copy(self)  # Stable-Baselines3 flattens the arrays of the buffer it reads
        flattened.generator_ready = False
        return RolloutBuffer.get(flattened, batch_size)

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: a step without supply and demand is not enough."""
        raise UsageError("the buffer keeps the fairness signals too: use record")

    def compute_returns_and_advantage(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: what a policy learns from is decided elsewhere."""
        raise UsageError("advantages come from the strategy: override Strategy.plan or advantage")

    def ends(self, last_dones: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return (T, N): whether an episode ended with that step."""
        return np.concatenate([self.episode_starts[1:], last_dones[None]]).astype(np.bool_)

    def minibatches(
        self, samples: Samples, batch_size: int, rng: np.random.Generator, combine: Combine
    ) -> Iterator[Batch]:
        """Shuffle the samples once and cut them into minibatches; the last may be short.

        The advantages of all minibatches are combined in one go, each minibatch on its own.
        """
        order = torch.from_numpy(rng.permutation(len(samples.returns)))
        *kept, advantages, features = (tensor[order] for tensor in samples)
        advantage = _by_minibatch(advantages, features, batch_size, combine)
        shuffled = Batch(*(tensor.numpy() for tensor in (*kept, advantage)))
        starts = range(0, len(order), batch_size)
        return (Batch(*(a[start : start + batch_size] for a in shuffled)) for start in starts)


def _frozen(array: NDArray[Any]) -> NDArray[np.float32]:
    """Return a copy in single precision in which nothing can be changed without effect."""
    kept = array.astype(np.float32)
    kept.flags.writeable = False
    return kept


def _by_minibatch(
    advantages: Tensor, features: Tensor, batch_size: int, combine: Combine
) -> Tensor:
    """Return the combined advantage (S,), where every minibatch is combined on its own."""
    count = len(advantages) // batch_size
    whole = count * batch_size
    parts = []
    if count:
        stacks = [
            torch.unflatten(t[:whole], 0, (count, batch_size)) for t in (advantages, features)
        ]
        parts.append(combine(*stacks).flatten())
    if whole < len(advantages):
        parts.append(combine(advantages[whole:], features[whole:]))
    return torch.cat(parts)


def generalised_advantages(
    rewards: FloatArray,
    values: FloatArray,
    last_values: FloatArray,
    ends: NDArray[np.bool_],
    discount: float,
    decay: float,
) -> tuple[FloatArray, FloatArray]:
    r"""Compute generalised advantage estimates for several signals at once.

    .. math:: A_t = \delta_t + \gamma\lambda\,(1 - e_t)\,A_{t+1},\qquad
              \delta_t = r_t + \gamma\,(1 - e_t)\,V_{t+1} - V_t

    Parameters
    ----------
    rewards, values
        Shape (T, N, K).
    last_values
        Shape (N, K): values of the observations after the last step.
    ends
        Shape (T, N): whether an episode ended with the step.
    discount, decay
        :math:`\gamma` and :math:`\lambda`.

    Returns
    -------
    advantages, returns
        Shape (T, N, K) each; returns are advantages plus values.

    Notes
    -----
    Schulman et al. (2016), with one recursion for all K signals.
    """
    going_on = (float(discount) * ~ends)[..., None]
    next_values = np.concatenate([values[1:], last_values[None]])
    advantages = rewards + going_on * next_values - values
    going_on *= decay
    for step in range(len(rewards) - 2, -1, -1):
        advantages[step] += going_on[step] * advantages[step + 1]
    return advantages, advantages + values
