"""Compare whole episodes with published or recomputed values, within their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from longfair.agents.evaluation import EpisodeTotals, acting, play_episodes

# A correct environment fails a comparison at four standard errors once in 16,000 times.
WIDTH = 4.0


@dataclass(frozen=True)
class Reference:
    """Values of one policy, from `episodes` episodes of somebody else's simulator."""

    episodes: int
    reward: float
    bias: float
    supply: tuple[float, ...] = ()
    demand: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()
    digits: tuple[int, int, int] = (4, 3, 2)
    """Decimals given for the reward, for the bias and rates, for supply and demand."""


def play(agent: Any, env: Any, seed: int = 3) -> EpisodeTotals:
    return play_episodes(acting(agent), env, seed)


def pooled_rates(totals: EpisodeTotals) -> Any:
    """Total supply over total demand plus one per episode."""
    return totals.supply.sum(axis=0) / (totals.demand.sum(axis=0) + len(totals.steps))


def assert_agrees(totals: EpisodeTotals, reference: Reference) -> None:
    reward, rates, counts = reference.digits
    ours = totals.reward / totals.steps
    _assert_mean("reward", ours, reference.reward, reference.episodes, reward)
    z = pooled_rates(totals)
    # The influence of one episode on a ratio of means gives the error of the ratio.
    influence = (totals.supply - z * (totals.demand + 1.0)) / (totals.demand.mean(axis=0) + 1.0)
    high, low = z.argmax(), z.argmin()
    gap = z[high] - z[low] + influence[:, high] - influence[:, low]
    _assert_mean("bias", gap, reference.bias, reference.episodes, rates)
    for group, value in enumerate(reference.rates):
        around = z[group] + influence[:, group]
        _assert_mean(f"rate {group}", around, value, reference.episodes, rates)
    for group, value in enumerate(reference.supply):
        _assert_mean(f"supply {group}", totals.supply[:, group], value, reference.episodes, counts)
    for group, value in enumerate(reference.demand):
        _assert_mean(f"demand {group}", totals.demand[:, group], value, reference.episodes, counts)


def _assert_mean(name: str, sample: Any, value: float, episodes: int, digits: int) -> None:
    error = sample.std() * np.sqrt(1.0 / len(sample) + 1.0 / episodes)
    tolerance = WIDTH * error + 0.5 * 10.0**-digits
    assert abs(sample.mean() - value) <= tolerance, (
        f"{name}: {sample.mean():.4f}, expected {value} within {tolerance:.4f}"
    )
