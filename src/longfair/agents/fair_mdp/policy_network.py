"""Many small policy networks at once, each a row of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longfair.agents.fair_mdp.applicants import Applicants, LoanProblem
from longfair.agents.fair_mdp.cross_entropy import Gaussians
from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import Count, validate

Single = NDArray[np.float32]


@dataclass(frozen=True)
class PolicyNetwork:
    r"""A network that maps a belief and a group to the chance of a loan.

    Parameters
    ----------
    hidden
        Sizes of the hidden layers.
    race_blind
        Show 0 in place of the group, so that groups cannot be told apart.

    Notes
    -----
    Implementation details, with their source:

    1. Inputs :math:`\alpha/(\alpha+\beta)`, :math:`\alpha-\beta` and :math:`z`, not scaled (code).
       The second reaches tens, so that a network of random weights is nearly deterministic.
    2. Two hidden layers of 25 rectified units and two outputs with softmax, 802 numbers (code).
       The difference of the two outputs decides.
    3. Single precision (the default of the code's library).
    4. The step is not an input (code): the policy is stationary.
    """

    hidden: tuple[Count, ...] = (25, 25)
    race_blind: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of every layer."""
        return tuple(pairwise((3, *self.hidden, 2)))

    @property
    def size(self) -> int:
        """How many numbers make a network."""
        return sum((before + 1) * after for before, after in self.layers)

    def start(self) -> Gaussians:
        """Return the distribution with which the search begins: standard Gaussians (code)."""
        return Gaussians.standard(self.size)

    def chances(self, problem: LoanProblem, parameters: ArrayLike) -> list[Single]:
        """Return for each group the chance of a loan, (P, B).

        Parameters
        ----------
        problem
            Its distinct beliefs are the inputs.
        parameters
            (P, size): one network per row, layer by layer, weights before biases.

        Raises
        ------
        UsageError
            If rows have another length.
        """
        rows = self.checked(parameters)
        return [self._chances_of_group(inputs, rows) for inputs in self.inputs(problem)]

    def inputs(self, problem: LoanProblem) -> list[Single]:
        """Return for each group what a network sees, (B, 3)."""
        return [
            inputs_of(group, 0 if self.race_blind else number)
            for number, group in enumerate(problem.applicants)
        ]

    def checked(self, parameters: ArrayLike) -> Single:
        """Return parameters (P, size) in single precision, or say what is wrong with them."""
        rows = np.asarray(parameters, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.size:
            raise UsageError(f"parameters have shape {rows.shape}: give (policies, {self.size})")
        return rows

    def _chances_of_group(self, inputs: Single, rows: Single) -> Single:
        found = np.empty((len(rows), len(inputs)), dtype=np.float32)
        for place, (signal, last) in enumerate(self.last_layers(inputs, rows)):
            found[place] = signal @ (last[:, 1] - last[:, 0])
        # The logistic function, in the form that cannot overflow.
        chances: Single = np.tanh(found * np.float32(0.5)) * np.float32(0.5) + np.float32(0.5)
        return chances

    def last_layers(self, inputs: Single, rows: Single) -> Iterator[tuple[Single, Single]]:
        """Yield what enters the last layer (B, inputs + 1), and its matrix, network by network.

        Parameters
        ----------
        inputs
            (B, 3), as from `inputs_of`.
        rows
            (P, size): one network per row. What enters is overwritten for the next of them.
        """
        # A last input of 1 carries the biases, so that a layer is a single product.
        signals = [np.ones((len(inputs), before + 1), np.float32) for before, _ in self.layers]
        signals[0][:, :-1] = inputs
        for row in rows:
            *hidden, last = self._unpacked(row)
            for layer, matrix in enumerate(hidden):
                after = signals[layer + 1]
                np.matmul(signals[layer], matrix, out=after[:, :-1])
                np.maximum(after, 0.0, out=after)
            yield signals[-1], last

    def _unpacked(self, row: Single) -> list[Single]:
        """Cut one network into the matrices (inputs + 1, outputs) of its layers, biases last."""
        sizes = [(before + 1) * after for before, after in self.layers]
        parts = np.split(row, np.cumsum(sizes)[:-1])
        return [
            part.reshape(before + 1, after)
            for part, (before, after) in zip(parts, self.layers, strict=True)
        ]


def inputs_of(group: Applicants, shown: int) -> Single:
    """Return the inputs (B, 3) of a group's beliefs: mean, alpha minus beta, group shown."""
    alpha, beta = group.beliefs.T
    inputs: FloatArray = np.stack(
        [alpha / (alpha + beta), alpha - beta, np.full(len(alpha), float(shown))], axis=1
    )
    return inputs.astype(np.float32)
