"""A population whose qualification follows the decisions made about it."""

from __future__ import annotations

from longfair.envs.population.batch import PopulationVectorEnv
from longfair.envs.population.model import (
    DISPARITIES,
    GaussianAcceptance,
    Outcome,
    PopulationModel,
    Slopes,
    SurvivalTable,
    adult_table,
)
from longfair.envs.population.params import FitnessTable, PopulationParams, start_grid

__all__ = [
    "DISPARITIES",
    "FitnessTable",
    "GaussianAcceptance",
    "Outcome",
    "PopulationModel",
    "PopulationParams",
    "PopulationVectorEnv",
    "Slopes",
    "SurvivalTable",
    "adult_table",
    "start_grid",
]
