"""The individual loan problem without episodes: beliefs, profits, first situations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray, IntArray
from longfair.envs.loan_mdp.params import LoanMDPParams
from longfair.settings import validated


class LoanModel:
    r"""The decision problem without episodes: beliefs, rewards and where applicants start.

    Parameters
    ----------
    params
        The parameters.
    """

    @validated
    def __init__(self, params: LoanMDPParams) -> None:
        self.params = params
        self._prior = np.array(params.prior)
        # Without a bound on counts a denial moves beta itself, with one it moves the count.
        self._beta_per_denial = params.denial_drift if params.largest_count is None else 0.0

    def belief(self, group: IntArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return alpha and beta (...).

        Parameters
        ----------
        group
            Shape (...).
        counts
            Shape (..., 3): repayments, defaults, denials.
        """
        prior = self._prior.take(group, axis=0)
        alpha: FloatArray = prior[..., 0] + counts[..., 0]
        beta: FloatArray = prior[..., 1] + counts[..., 1] + self._beta_per_denial * counts[..., 2]
        return alpha, beta

    def profit(self, alpha: ArrayLike, beta: ArrayLike) -> FloatArray:
        """Return the expected profit of a loan (...) minus the price of its risk.

        Parameters
        ----------
        alpha, beta
            Beliefs (...).
        """
        params = self.params
        first, second = np.asarray(alpha, np.float64), np.asarray(beta, np.float64)
        total = first + second
        stake = params.interest + params.principal
        variance = first * second / (total * (total + 1.0))
        if params.risk_measure == "standard_deviation":
            variance = variance / total
        risk = params.risk_aversion * stake * np.sqrt(variance)
        return stake * first / total - params.principal - risk

    def initial_law(self) -> FloatArray:
        """Return the law (G, H + 1) of the repayments during exploration, H being its longest.

        Whether a loan is repaid is drawn from the current belief each time, so the number is
        beta-binomial. Entries beyond a group's own number of loans are 0.
        """
        from scipy.stats import betabinom  # a second of imports that few need

        repayments = np.arange(max(self.params.exploration) + 1)
        return np.stack(
            [
                betabinom.pmf(repayments, loans, *pair)
                for loans, pair in zip(self.params.exploration, self.params.prior, strict=True)
            ]
        )
