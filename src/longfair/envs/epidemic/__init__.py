"""Epidemic control: one vaccine per step on a network of people who infect each other."""

from __future__ import annotations

from longfair.envs.epidemic.batch import (
    INFECTED,
    RECOVERED,
    SUSCEPTIBLE,
    EpidemicParams,
    EpidemicVectorEnv,
)

__all__ = ["INFECTED", "RECOVERED", "SUSCEPTIBLE", "EpidemicParams", "EpidemicVectorEnv"]
