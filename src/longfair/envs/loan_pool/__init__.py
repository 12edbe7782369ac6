"""A bank with the same few customers at every step: in batches, written out, exact."""

from __future__ import annotations

from longfair.envs.loan_pool.batch import LoanPoolVectorEnv
from longfair.envs.loan_pool.params import LoanPoolParams
from longfair.envs.loan_pool.written_out import tabular

__all__ = ["LoanPoolParams", "LoanPoolVectorEnv", "tabular"]
