"""One applicant who comes back: in batches, written out, exact values of many policies."""

from __future__ import annotations

from longfair.envs.loan_mdp.batch import LoanMDPVectorEnv
from longfair.envs.loan_mdp.model import LoanModel
from longfair.envs.loan_mdp.params import LoanMDPParams
from longfair.envs.loan_mdp.written_out import tabular

__all__ = ["LoanMDPParams", "LoanMDPVectorEnv", "LoanModel", "tabular"]
