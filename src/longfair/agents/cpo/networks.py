"""The policy of constrained policy optimisation, and its critics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Independent, Normal, kl_divergence
from torch.nn.utils import parameters_to_vector


class GaussianPolicy(nn.Module):
    """A diagonal Gaussian whose mean a network tells, and whose deviation is the same everywhere.

    Parameters
    ----------
    sizes
        Sizes of all layers, input and output included.

    Notes
    -----
    Linear layers start as torch makes them; the last one's weights are then a tenth, its biases 0,
    and all deviations 1 (code).
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = tanh_layers(sizes)
        last = self.layers[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(0.1)
            last.bias.zero_()
        self.log_std = nn.Parameter(torch.zeros(sizes[-1]))

    def forward(self, observations: Tensor) -> Independent[Normal]:
        """Return the distribution of actions (B, A) at observations (B, input)."""
        return gaussian(self.layers(observations), self.log_std.exp())


def gaussian(mean: Tensor, deviation: Tensor) -> Independent[Normal]:
    """Return a diagonal Gaussian.

    Nothing is checked: a line search may try a deviation of 0, whose divergence it then refuses.
    """
    return Independent(Normal(mean, deviation, validate_args=False), 1, validate_args=False)


def tanh_layers(sizes: Sequence[int]) -> nn.Sequential:
    """Return linear layers with tanh between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def divergence(before: Independent[Normal], after: Independent[Normal]) -> Tensor:
    """Return the mean Kullback-Leibler divergence of policies (B,) from those before, a scalar."""
    return kl_divergence(before, after).mean()


def gradient_of(value: Tensor, module: nn.Module) -> Tensor:
    """Return the gradient (P,) of a scalar."""
    gradients = torch.autograd.grad(value, list(module.parameters()), retain_graph=True)
    return parameters_to_vector(gradients)


class Critic:
    """A network that tells what is still to come, fitted by L-BFGS.

    Parameters
    ----------
    layers
        The network, with one output.
    learning_rate, steps
        Of L-BFGS, which goes on with what it knows of the curvature from batch to batch (code).
    penalty
        Weight of the squared parameters in the loss.
    searching
        Whether every step is followed by a search along its line, from `learning_rate` on. Without
        one the loss can rise, and far.
    """

    def __init__(
        self,
        layers: nn.Sequential,
        learning_rate: float,
        steps: int,
        penalty: float,
        searching: bool = False,
    ) -> None:
        self.layers, self.penalty = layers, penalty
        search = "strong_wolfe" if searching else None
        self._arguments: dict[str, Any] = {
            "lr": learning_rate,
            "max_iter": steps,
            "line_search_fn": search,
        }
        self.optimiser = self._made_optimiser()

    def _made_optimiser(self) -> torch.optim.LBFGS:
        return torch.optim.LBFGS(self.layers.parameters(), **self._arguments)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made from: torch's L-BFGS would not know its parameters."""
        return {**vars(self), "optimiser": None, "memory": self.memory()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy, with an optimiser of its own that remembers the same."""
        memory = state.pop("memory")
        vars(self).update(state)
        self.optimiser = self._made_optimiser()
        self.remember(memory)

    def values(self, inputs: Tensor) -> Tensor:
        """Return values (B,) of inputs (B, input), without gradients."""
        with torch.no_grad():
            values: Tensor = self.layers(inputs)[:, 0]
        return values

    def fit(self, inputs: Tensor, targets: Tensor) -> None:
        """Lower the mean squared error on inputs (B, input) and targets (B,)."""

        def loss() -> Tensor:
            self.optimiser.zero_grad()
            error = nn.functional.mse_loss(self.layers(inputs)[:, 0], targets)
            size = parameters_to_vector(self.layers.parameters()).square().sum()
            whole = error + self.penalty * size
            whole.backward()  # type: ignore[no-untyped-call]  # torch
            return whole

        self.optimiser.step(loss)  # type: ignore[no-untyped-call]  # torch

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return what L-BFGS remembers, as arrays; empty before the first fit."""
        state = self.optimiser.state_dict()["state"].get(0, {})
        found = {
            name: np.array(value.numpy() if isinstance(value, Tensor) else value)
            for name, value in state.items()
            if name in _SINGLE
        }
        for name in _LISTS:
            if state.get(name):
                found[name] = torch.stack(state[name]).numpy()
        return found

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `memory` returned.

        Every tensor gets memory of its own, aligned as torch does it: sums depend on it.
        """
        if not memory:
            return
        state: dict[str, Any] = {name: [] for name in _LISTS}
        for name, array in memory.items():
            if name in _LISTS:
                state[name] = [torch.tensor(row) for row in array]
            else:
                plain = _PLAIN.get(name)
                state[name] = torch.tensor(array) if plain is None else plain(array)
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": {0: state}, "param_groups": groups})


_SINGLE = ("n_iter", "func_evals", "d", "t", "prev_flat_grad", "prev_loss", "H_diag")
_LISTS = ("old_dirs", "old_stps", "ro")
"""What `torch.optim.LBFGS` keeps from step to step."""

_PLAIN: dict[str, Callable[[Any], Any]] = {
    "n_iter": int,
    "func_evals": int,
    "t": float,
    "prev_loss": float,
}
"""What of it is no tensor."""
