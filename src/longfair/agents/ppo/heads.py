"""What the outputs of a policy network mean: log-probability, entropy, and their slopes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Head(ABC):
    """A family of action distributions."""

    @abstractmethod
    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        """Return the log-probability (B,) of actions given policy outputs (B, A)."""

    @abstractmethod
    def backward(
        self, outputs: Tensor, actions: Tensor, by_log_prob: Tensor, by_entropy: float
    ) -> Tensor:
        """Return the gradient (B, A) by the outputs, and write that of the head's parameters.

        Parameters
        ----------
        outputs, actions
            Of a minibatch.
        by_log_prob
            (B,): slope of the loss by the log-probability of every action.
        by_entropy
            Slope of the loss by the entropy of every sample.
        """


class CategoricalHead(Head):
    """A choice among A actions, from logits."""

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        """Return the log-probability (B,) of integer actions (B,)."""
        return torch.log_softmax(outputs, dim=1).gather(1, actions[:, None])[:, 0]

    def backward(
        self, outputs: Tensor, actions: Tensor, by_log_prob: Tensor, by_entropy: float
    ) -> Tensor:
        """Return the gradient (B, A) by the logits."""
        log_probs = torch.log_softmax(outputs, dim=1)
        probs = log_probs.exp()
        gradient = -probs * by_log_prob[:, None]
        gradient.scatter_add_(1, actions[:, None], by_log_prob[:, None])
        if by_entropy:
            entropy = -(probs * log_probs).sum(dim=1, keepdim=True)
            gradient -= by_entropy * probs * (log_probs + entropy)
        return gradient


class GaussianHead(Head):
    """Independent normal distributions with state-independent deviations.

    Parameters
    ----------
    log_std
        (A,): logarithms of the standard deviations, a parameter of the policy.
    """

    def __init__(self, log_std: nn.Parameter) -> None:
        self.log_std = log_std

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        """Return the log-density (B,) of actions (B, A)."""
        scaled = (actions - outputs) * torch.exp(-self.log_std)
        return (-0.5 * scaled.square() - self.log_std - _HALF_LOG_TWO_PI).sum(dim=1)

    def backward(
        self, outputs: Tensor, actions: Tensor, by_log_prob: Tensor, by_entropy: float
    ) -> Tensor:
        """Return the gradient (B, A) by the means; write that of the log deviations."""
        inverse = torch.exp(-self.log_std)
        scaled = (actions - outputs) * inverse
        assert self.log_std.grad is not None
        torch.mv((scaled.square() - 1.0).t(), by_log_prob, out=self.log_std.grad)
        self.log_std.grad += by_entropy * len(outputs)
        return by_log_prob[:, None] * scaled * inverse
