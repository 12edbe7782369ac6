"""Measure by simulation how often intervals hold the truth: `book/coverage.csv`.

The intervals are those of `longfair.runs.statistics`, beside the two that they replaced. The page
*Coverage* of the book shows the numbers. Some ten minutes of one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from scipy.stats import bootstrap, trim_mean

from longfair.runs import statistics
from longfair.runs.rules.earliest import first_reached
from longfair.runs.rules.trade_offs import frontier, hypervolume
from longfair.runs.statistics import (
    Effect,
    Estimate,
    Floats,
    Kind,
    estimate,
    mean_effect,
    reduction_effect,
    resampled,
    share,
    share_difference,
    smallest,
    smallest_percentile,
)

FILE = Path(__file__).parents[1] / "book" / "coverage.csv"
SEEDS = (5, 10, 20, 30)
REPEATS = 1_000
RESAMPLES = 2_000
FAILING = 1 / 7
"""How often a run fails in the distribution of two kinds, and the share that is estimated."""


Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]
"""Draws runs of a shape, the first axis seeds and the second methods."""


def normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw runs that are normal."""
    return generator.normal(size=shape)


def lognormal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw runs that are skewed."""
    return np.exp(generator.normal(size=shape))


def outliers(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw runs of which 15 % spread ten times as wide."""
    wide = generator.random(shape) < 0.15
    return generator.normal(size=shape) * np.where(wide, 10.0, 1.0)


def bimodal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw runs of which one in seven fails."""
    fails = generator.random(shape) < FAILING
    return generator.normal(size=shape) - np.where(fails, 20.0, 0.0)


def beside_normal(draw: Draw, centre: float) -> Draw:
    """Draw runs of which the first method is like this and the others are normal, of one mean."""

    def drawn(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        first = draw(generator, shape[:1])
        if len(shape) == 1:
            return first
        runs = generator.normal(size=shape) + centre
        runs[:, 0] = first
        return runs

    return drawn


ALIKE: dict[str, Draw] = {
    "normal": normal,
    "lognormal": lognormal,
    "85/15 outliers": outliers,
    "one in seven fails": bimodal,
}
OF_ONE_METHOD: dict[str, Draw] = {
    "lognormal, the other normal": beside_normal(lognormal, float(np.exp(0.5))),
    "one in seven fails, of one method": beside_normal(bimodal, -20.0 * FAILING),
}
DISTRIBUTIONS = ALIKE | OF_ONE_METHOD
COMPARISONS = (
    "paired difference",
    "reduction",
    "difference of shares",
    "smallest of three differences",
)
"""What is measured where only one method is skewed or fails; all else is as where both are."""


def of_effects(effects: list[Effect], point: Callable[[Floats], Floats]) -> dict[str, Estimate]:
    """Return the intervals of every kind, and the two that were used before."""
    kinds = ("both", "studentised", "t")
    found = {kind: smallest(effects, kind=cast(Kind, kind)) for kind in kinds}
    seeds = effects[0].residuals.size
    found["percentile"] = _percentile(point, seeds)
    return found if len(effects) > 1 else {**found, "BCa": _bca(point, seeds)}


def _percentile(point: Callable[[Floats], Floats], seeds: int) -> Estimate:
    low, high = np.quantile(point(statistics._resamples(seeds)), [0.025, 0.975])
    return Estimate(np.nan, float(low), float(high), seeds, "percentile")


def _bca(point: Callable[[Floats], Floats], seeds: int) -> Estimate:
    def of_chosen(chosen: Floats, axis: int = -1) -> Floats:
        return point((chosen[..., None] == np.arange(seeds)).mean(axis=-2))

    ends = bootstrap(
        (np.arange(seeds),), of_chosen, n_resamples=999, method="BCa", rng=seeds, vectorized=True
    ).confidence_interval
    return Estimate(np.nan, float(ends.low), float(ends.high), seeds, "BCa")


@cache
def _exact(hits: int, seeds: int) -> Estimate:
    return share(np.arange(seeds) < hits)


def all_intervals(runs: Floats, centre: float, edge: float) -> dict[str, dict[str, Estimate]]:
    """Return statistic to kind to interval, from runs (seeds, 4 methods) with one mean."""
    own, *others = runs.T
    low, high = (runs[:, 0] - centre + 30) / 4, runs[:, 1] - centre + 30
    gains = np.stack([own - other for other in others], axis=1)
    return {
        "mean": of_effects([mean_effect(own)], lambda w: w @ own),
        "paired difference": of_effects([mean_effect(gains[:, 0])], lambda w: w @ gains[:, 0]),
        "reduction": of_effects([reduction_effect(low, high)], lambda w: 1 - w @ low / (w @ high)),
        "smallest of three differences": of_effects(
            [mean_effect(gain) for gain in gains.T], lambda w: (w @ gains).min(axis=-1)
        ),
        "interquartile mean": {"Tukey-McLaughlin": estimate(own, "interquartile mean")},
        "share": {"Clopper-Pearson": _exact(int((own < edge).sum()), own.size)},
        "difference of shares": {"two exact": share_difference(own < edge, others[0] < edge)},
    }


def measured(name: str, seeds: int, repeats: int) -> list[dict[str, object]]:
    """Simulate one distribution with one number of seeds."""
    draw, generator = DISTRIBUTIONS[name], np.random.default_rng(seeds)
    many = draw(np.random.default_rng(0), (4_000_000,))
    centre = float(many.mean())
    truths = {
        "mean": centre,
        "paired difference": 0.0,
        "reduction": 0.75,
        "smallest of three differences": 0.0,
        "interquartile mean": float(trim_mean(many, 0.25)),
        "share": FAILING,
    }
    edge = float(np.quantile(many, FAILING))
    truths["difference of shares"] = 0.0
    if name in OF_ONE_METHOD:
        other = draw(np.random.default_rng(1), (1_000_000, 2))[:, 1]
        truths["difference of shares"] = FAILING - float((other < edge).mean())
    hits: dict[tuple[str, str], list[float]] = {}
    odd = 0
    for _ in range(repeats):
        runs = draw(generator, (seeds, 4))
        odd += statistics.two_kinds(runs[:, 0]) is not None
        for statistic, kinds in all_intervals(runs, centre, edge).items():
            if name in OF_ONE_METHOD and statistic not in COMPARISONS:
                continue
            for kind, found in kinds.items():
                hits.setdefault((statistic, kind), []).append(holds(found, truths[statistic]))
    return [
        {
            "statistic": statistic,
            "distribution": name,
            "seeds": seeds,
            "interval": kind,
            **summed_up(inside),
            "two_kinds": "" if name in OF_ONE_METHOD else round(odd / repeats, 4),
        }
        for (statistic, kind), inside in hits.items()
    ]


def holds(found: statistics.Estimate, truth: float) -> float:
    """Say whether an interval holds the truth, 1 or 0; not a number where there is none."""
    if found.interval is None or np.isnan(found.interval).any():
        return np.nan
    low, high = found.interval
    return float(low <= truth <= high)


def summed_up(inside: Sequence[float]) -> dict[str, object]:
    """Return how often intervals held the truth, and how often there was none."""
    defined = ~np.isnan(inside)
    return {
        "coverage": round(float(np.mean(np.asarray(inside)[defined])), 4) if defined.any() else "",
        "undefined": round(float(1 - defined.mean()), 4),
    }


STEPS = np.arange(1, 101)
LEVEL = 0.7


def curves(generator: np.random.Generator, seeds: int, pace: float) -> pd.DataFrame:
    """Draw learning curves, a column per seed: each has a pace, a height and errors of its own."""
    paces = pace * np.exp(0.3 * generator.normal(size=(seeds, 1)))
    heights = 1 + 0.1 * generator.normal(size=(seeds, 1))
    errors = 0.04 * generator.normal(size=(seeds, STEPS.size))
    return pd.DataFrame((heights * (1 - np.exp(-STEPS / paces)) + errors).T, index=STEPS)


Statistics = list[Callable[[Floats], Floats]]
"""One or several functions of weights, of which the smallest is asked for."""


def leads(generator: np.random.Generator, seeds: int, others: int) -> Statistics:
    """Draw methods; return by how much the first reaches the level before each other one."""
    fast = curves(generator, seeds, 20)

    def ahead_of(slow: pd.DataFrame) -> Callable[[Floats], Floats]:
        return lambda w: first_reached(slow, w, LEVEL) - first_reached(fast, w, LEVEL)

    return [ahead_of(curves(generator, seeds, 24)) for _ in range(others)]


def lead(generator: np.random.Generator, seeds: int) -> Statistics:
    """Draw two methods."""
    return leads(generator, seeds, 1)


def lead_of_five(generator: np.random.Generator, seeds: int) -> Statistics:
    """Draw five methods, of which four are alike."""
    return leads(generator, seeds, 4)


UNFAIRNESS = np.array([0.02, 0.05, 0.17, 0.10, 0.0])
REWARD = np.array([0.18, 0.185, 0.147, 0.168, 0.0])
"""Means of five methods; the first two are one family, and the last one does not vary."""


def points(generator: np.random.Generator, seeds: int) -> Floats:
    """Draw unfairness and reward of every method and seed, (2, methods, seeds)."""
    means = np.stack([UNFAIRNESS, REWARD])[..., None]
    return means * (1 + 0.1 * generator.normal(size=(*means.shape[:2], seeds)))


def above(generator: np.random.Generator, seeds: int) -> Statistics:
    """Draw methods; return the reward of the first above the frontier of the last three."""
    return _above(points(generator, seeds)[:, [0, 2, 3, 4]])


def above_alike(generator: np.random.Generator, seeds: int) -> Statistics:
    """Draw four methods of one reward; return that of the first above the others' frontier.

    The first is a little more unfair than the others, so that the best of these is the frontier.
    """
    reward = 0.17 * (1 + 0.1 * generator.normal(size=(4, seeds)))
    unfairness = np.repeat([[0.1], [0.09], [0.09], [0.09]], seeds, axis=1)
    return _above(np.stack([unfairness, reward]))


def _above(drawn: Floats) -> Statistics:
    def effect(weights: Floats) -> Floats:
        unfairness, reward = drawn @ weights.T
        higher: Floats = reward[0] - frontier(unfairness[0], unfairness[1:], reward[1:])
        return higher

    return [effect]


def area(generator: np.random.Generator, seeds: int) -> Statistics:
    """Draw methods; return by how much the first two cover more than the others."""
    drawn = points(generator, seeds)

    def effect(weights: Floats) -> Floats:
        unfairness, reward = drawn @ weights.T
        own = hypervolume(unfairness[:2], reward[:2], 0.2, 0.0)
        larger: Floats = own - hypervolume(unfairness[2:], reward[2:], 0.2, 0.0)
        return larger

    return [effect]


PERCENTILES: dict[tuple[str, str], Callable[[np.random.Generator, int], Statistics]] = {
    ("first to reach a level", "learning curves"): lead,
    ("first to reach a level", "learning curves, four others alike"): lead_of_five,
    ("reward at equal unfairness", "normal points"): above,
    ("reward at equal unfairness", "normal points, all alike"): above_alike,
    ("hypervolume", "normal points"): area,
}
"""Statistics without a standard error, and what is drawn: how."""


def by_percentiles(
    statistic: str, distribution: str, seeds: int, repeats: int
) -> list[dict[str, object]]:
    """Simulate a statistic that has percentiles of resamples only."""
    draw = PERCENTILES[statistic, distribution]
    many = 100_000
    equal = np.full(many, 1 / many)
    truth = min(float(part(equal)) for part in draw(np.random.default_rng(0), many))
    generator = np.random.default_rng(seeds)
    hits: dict[str, list[float]] = {}
    for _ in range(repeats):
        parts = draw(generator, seeds)
        expanded = smallest_percentile([resampled(part, seeds) for part in parts], seeds)
        plain = _percentile(partial(_least, parts), seeds)
        for kind, found in (("expanded percentile", expanded), ("percentile", plain)):
            hits.setdefault(kind, []).append(holds(found, truth))
    return [
        {
            "statistic": statistic,
            "distribution": distribution,
            "seeds": seeds,
            "interval": kind,
            **summed_up(inside),
            "two_kinds": "",
        }
        for kind, inside in hits.items()
    ]


def _least(parts: Statistics, weights: Floats) -> Floats:
    """Return the smallest of several statistics."""
    least: Floats = np.min([part(weights) for part in parts], axis=0)
    return least


LEVELS = (0.99, 0.999)
"""Levels beyond the usual one, at which verdicts are asked for again."""


def at_levels(name: str, seeds: int, repeats: int) -> list[dict[str, object]]:
    """Simulate intervals of a mean at high levels, with as many resamples as verdicts have."""
    draw, generator = ALIKE[name], np.random.default_rng(seeds)
    centre = float(draw(np.random.default_rng(0), (4_000_000,)).mean())
    hits: dict[float, list[float]] = {level: [] for level in LEVELS}
    for _ in range(repeats):
        effect = mean_effect(draw(generator, (seeds,)))
        for level in LEVELS:
            hits[level].append(holds(smallest([effect], level), centre))
    return [
        {
            "statistic": f"mean at {100 * level:g} %",
            "distribution": name,
            "seeds": seeds,
            "interval": "both",
            **summed_up(inside),
            "two_kinds": "",
        }
        for level, inside in hits.items()
    ]


def main() -> None:
    """Simulate everything and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=REPEATS)
    repeats = options.parse_args().repeats
    everything = statistics.RESAMPLES
    statistics.RESAMPLES = RESAMPLES
    lines: list[dict[str, object]] = []
    for name in DISTRIBUTIONS:
        for seeds in SEEDS:
            lines += measured(name, seeds, repeats)
            print(f"{name}, {seeds} seeds", flush=True)
    for statistic, distribution in PERCENTILES:
        for seeds in SEEDS:
            lines += by_percentiles(statistic, distribution, seeds, repeats)
    statistics.RESAMPLES = everything
    statistics._resamples.cache_clear()
    for name in ALIKE:
        lines += at_levels(name, 10, 10 * repeats)
    pd.DataFrame(lines).to_csv(FILE, index=False)


if __name__ == "__main__":
    main()
