"""The policy networks of the authors' code, with both of their outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from longfair.agents.fair_mdp.applicants import LoanProblem
from longfair.agents.fair_mdp.floored_gaussians import FlooredGaussians
from longfair.agents.fair_mdp.policy_network import PolicyNetwork, Single


@dataclass(frozen=True)
class SoftmaxNetwork(PolicyNetwork):
    r"""A network that says what denying and what lending weigh, both in single precision.

    For a `PolicyNetwork` the two are chances that sum to one, and small ones are known to 3e-8.
    Here a weight can be as small as single precision allows. Both are rounded one by one, so that
    they can sum to a little more than one: a loan of chance 4e-8 leaves a denial of chance 1.

    Notes
    -----
    Implementation details, with their source:

    1. With :math:`o` the outputs of the last layer, a weight is
       :math:`e^{o_a - \max o} / \sum_{a'} e^{o_{a'} - \max o}`, by the inverse of the sum (the
       code's library). The larger of the two exponentials is 1, and a smaller one below the
       normal numbers of single precision is 0.
    2. The recursion over an episode takes both (``evaluate_policy`` of the code, which is
       `longfair.envs.loan_mdp.two_outputs` here).
    3. Who acts looks at the first alone: it lends where a uniform number is above the weight of a
       denial (``get_action`` of the code).
    4. The search begins with standard Gaussians whose second moments have a floor (code).
    """

    revision: ClassVar[int] = 1

    def start(self) -> FlooredGaussians:
        """Return the distribution with which the search begins."""
        return FlooredGaussians.standard(self.size)

    def outputs(self, problem: LoanProblem, parameters: ArrayLike) -> list[Single]:
        """Return for each group what denying and lending weigh, (P, B, 2).

        Parameters
        ----------
        problem
            Its distinct beliefs are the inputs.
        parameters
            (P, size): one network per row, as for `PolicyNetwork.chances`.

        Raises
        ------
        UsageError
            If rows have another length.
        """
        rows = self.checked(parameters)
        return [self._outputs_of_group(inputs, rows) for inputs in self.inputs(problem)]

    def _outputs_of_group(self, inputs: Single, rows: Single) -> Single:
        found = np.empty((len(rows), len(inputs), 2), dtype=np.float32)
        for place, (signal, last) in enumerate(self.last_layers(inputs, rows)):
            found[place] = softmax_of_two(signal @ last)
        return found

    def _chances_of_group(self, inputs: Single, rows: Single) -> Single:
        """Return the chances (P, B) with which a policy that acts lends."""
        chances: Single = np.float32(1.0) - self._outputs_of_group(inputs, rows)[:, :, 0]
        return chances


def softmax_of_two(values: Single) -> Single:
    """Return the softmax (B, 2) of pairs of values (B, 2), both rounded to single precision."""
    lead = values[:, 1] - values[:, 0]
    smaller = np.exp(-np.abs(lead))
    smaller *= smaller >= _LEAST_NORMAL
    larger = np.float32(1.0) / (np.float32(1.0) + smaller)
    smaller *= larger
    lends = lead > 0
    outputs = np.empty_like(values)
    outputs[:, 0] = np.where(lends, smaller, larger)
    outputs[:, 1] = np.where(lends, larger, smaller)
    return outputs


_LEAST_NORMAL = np.finfo(np.float32).tiny
