"""Doughnuts for a crowd that comes and goes: in batches, written out, compiled, exact."""

from __future__ import annotations

from longfair.envs.doughnut.batch import DoughnutVectorEnv
from longfair.envs.doughnut.params import DoughnutParams
from longfair.envs.doughnut.written_out import tabular

__all__ = ["DoughnutParams", "DoughnutVectorEnv", "tabular"]
