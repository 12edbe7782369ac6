"""Lending with scores that move: the bank-loan problem of the ELBERT and F-PPO papers."""

from __future__ import annotations

from longfair.envs.lending.batch import LendingParams, LendingVectorEnv

__all__ = ["LendingParams", "LendingVectorEnv"]
