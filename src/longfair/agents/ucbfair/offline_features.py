r"""Features for L-UCBFair that a network learns beforehand from random play.

The paper fits its feature map offline and gives no details. The released script fits a network
whose softmax output predicts rewards; nothing ties it to the next state, though a linear problem
needs that too. Here the same output predicts, linearly, the reward, the fairness and a basis of
functions of the next state, so that the assumption is approached as well as such a network can.

Learning from random play means that the dynamics are not unknown: the agent has seen them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from longfair.agents.policies.notions import NOTIONS, Notion
from longfair.agents.ucbfair.features import LearnedFeatures
from longfair.arrays import FloatArray
from longfair.settings import Count, Positive, validate


@dataclass(frozen=True)
class OfflineLearning:
    """How features are learned."""

    size: Count = 40
    """Number of features d."""
    hidden: Count = 128
    """Units of each of the two hidden layers."""
    transitions: Count = 100_000
    epochs: Count = 20
    batch_size: Count = 128
    learning_rate: Positive = 5e-3
    notion: Notion = "demographic-parity"

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def shortened(self) -> OfflineLearning:
        """Return the same for a look."""
        return replace(self, transitions=2_000, epochs=1)


class Transitions(NamedTuple):
    """Random play: n steps."""

    states: FloatArray
    """(n, 2)."""
    actions: FloatArray
    """(n, 2)."""
    signals: FloatArray
    """(n, 2): reward and fairness."""
    following: FloatArray
    """(n, 2): states after the steps."""


class Fit(NamedTuple):
    """What was learned, and how much of every signal it explains on transitions kept back."""

    features: LearnedFeatures
    explained: FloatArray
    """(2 + B,): share of the variance of reward, fairness and the basis of the next state."""


def random_play(env: Any, transitions: int, notion: str, seed: int) -> Transitions:
    """Play with uniform random thresholds.

    Parameters
    ----------
    env
        A batch of `longfair/Population-v0` whose observation begins with the two rates.
    transitions
        Steps of all copies together, rounded up.
    notion
        Key of `NOTIONS`.
    seed
        Seed of the environment and of the thresholds.
    """
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    columns: list[tuple[Any, ...]] = []
    for _ in range(-(-transitions // env.num_envs)):
        actions = rng.random((env.num_envs, 2))
        before = np.asarray(observation[:, :2], np.float64)
        observation, reward, terminated, truncated, info = env.step(actions)
        ended = (terminated | truncated)[:, None]
        reached = np.where(ended, info["final_obs"], observation) if ended.any() else observation
        fairness = 1.0 - info["disparity"][:, NOTIONS[notion]]
        columns.append((before, actions, np.stack([reward, fairness], axis=1), reached[:, :2]))
    return Transitions(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def basis(states: FloatArray, per_rate: int = 4, width: float = 0.25) -> FloatArray:
    """Return bells (n, B) of states (n, 2) around the points of a square grid."""
    axis = (np.arange(per_rate) + 0.5) / per_rate
    centres = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    distances = ((states[:, None, :] - centres) ** 2).sum(axis=2)
    bells: FloatArray = np.exp(-distances / (2.0 * width**2))
    return bells


def fit(played: Transitions, learning: OfflineLearning, seed: int) -> Fit:
    """Fit a network to random play; a tenth of the transitions is kept back.

    Parameters
    ----------
    played
        Random play.
    learning
        Settings.
    seed
        Seed of the network and of the order of transitions.
    """
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.as_tensor(np.concatenate([played.states, played.actions], axis=1)).float()
    targets = torch.as_tensor(
        np.concatenate([played.signals, basis(played.following)], axis=1)
    ).float()
    scale = targets.std(dim=0).clamp_min(1e-6)
    shuffled = torch.randperm(len(inputs), generator=generator)
    kept, used = shuffled[: len(inputs) // 10], shuffled[len(inputs) // 10 :]
    network, head = _network(learning, targets.shape[1], generator)
    optimiser = torch.optim.Adam(
        [*network.parameters(), *head.parameters()], learning.learning_rate
    )
    rounds = learning.epochs * -(-len(used) // learning.batch_size)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rounds)
    for _ in range(learning.epochs):
        order = used[torch.randperm(len(used), generator=generator)]
        for rows in torch.split(order, learning.batch_size):
            error = (head(network(inputs[rows])) - targets[rows]) / scale
            optimiser.zero_grad()
            (error**2).mean().backward()
            optimiser.step()
            falling.step()
    with torch.no_grad():
        missed = ((head(network(inputs[kept])) - targets[kept]) ** 2).mean(dim=0)
    explained = 1.0 - (missed / targets[kept].var(dim=0)).double().numpy()
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    weights = [layer.weight.detach().double().numpy().T for layer in layers]
    biases = [layer.bias.detach().double().numpy() for layer in layers]
    return Fit(LearnedFeatures(weights, biases), explained)


def _network(
    learning: OfflineLearning, outputs: int, generator: torch.Generator
) -> tuple[nn.Sequential, nn.Linear]:
    """Return a network whose softmax is the features, and a linear head without bias."""
    sizes = (4, learning.hidden, learning.hidden, learning.size)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    layers[-1] = nn.Softmax(dim=-1)
    head = nn.Linear(learning.size, outputs, bias=False)
    for part in (*layers, head):
        if isinstance(part, nn.Linear):
            # Features are shares of about 1/d, so the head begins d times as large as is usual.
            bound = part.in_features**-0.5 if part is not head else part.in_features**0.5
            nn.init.uniform_(part.weight, -bound, bound, generator=generator)
            if part.bias is not None:
                nn.init.uniform_(part.bias, -bound, bound, generator=generator)
    return nn.Sequential(*layers), head
