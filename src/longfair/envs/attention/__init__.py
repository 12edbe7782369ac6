"""Attention allocation: a few inspectors, several sites, and incidents that follow neglect."""

from __future__ import annotations

from longfair.envs.attention.batch import (
    AttentionParams,
    AttentionVectorEnv,
    allocate_units,
    largest_remainders,
)

__all__ = ["AttentionParams", "AttentionVectorEnv", "allocate_units", "largest_remainders"]
