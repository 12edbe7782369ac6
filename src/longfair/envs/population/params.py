"""What defines a population problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import (
    Axes,
    Count,
    EpisodeLength,
    OneOf,
    Probability,
    Range,
    checked,
    require_distribution,
    validate,
    validated,
)

GROUPS = 2
"""Number of groups."""

SCORES = (
    "adult",
    "adult_race",
    "adult_weak_ridge",
    "adult_strong_ridge",
    "adult_16_bins",
    "adult_64_bins",
)
"""Features that are scores fitted to the Adult data; each has a table and a preset of its name."""

_Fitness = Annotated[float, Range(1e-100, 1e100)]
"""Numbers whose products with rates neither vanish nor overflow."""
_Share = Annotated[float, Range(0.0, 1.0, above=True)]
Rows = Annotated[ArrayLike, Axes(2), Range(0.0, 1.0)]
"""Rows of numbers in [0, 1], such as states (N, 2)."""


@dataclass(frozen=True)
class FitnessTable:
    """How well an individual's type spreads, by qualification and decision.

    Only ratios matter: a type that is twice as fit as another doubles its odds in one step. The
    numbers are positive.
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("cited", "mild", "adult_1", "adult_2")

    unqualified_rejected: _Fitness
    """Fitness of the unqualified who are rejected."""
    unqualified_accepted: _Fitness
    """Fitness of the unqualified who are accepted."""
    qualified_rejected: _Fitness
    """Fitness of the qualified who are rejected."""
    qualified_accepted: _Fitness
    """Fitness of the qualified who are accepted."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    @classmethod
    def cited(cls) -> FitnessTable:
        """Return the table of earlier published work of the same authors (Raab and Liu, 2021)."""
        return cls(0.1, 5.5, 0.5, 1.0)

    @classmethod
    def mild(cls) -> FitnessTable:
        """Return a table under which accepting the unqualified does less harm."""
        return replace(cls.cited(), unqualified_accepted=2.0)

    @classmethod
    def adult_1(cls) -> FitnessTable:
        """Return the table `cited` with the one number changed that suits the Adult scores."""
        return replace(cls.cited(), unqualified_accepted=1.25)

    @classmethod
    def adult_2(cls) -> FitnessTable:
        """Return the default table for the Adult scores, with all four numbers chosen for them."""
        return cls(0.3, 1.2, 0.4, 1.0)


_CITED = FitnessTable.cited()


@dataclass(frozen=True)
class PopulationParams:
    """Everything that defines a population problem. The defaults are the synthetic features."""

    PRESETS: ClassVar[tuple[str, ...]] = (
        "synthetic",
        "synthetic_mild",
        "adult",
        "adult_easier",
        "adult_cited",
        *SCORES[1:],
    )

    features: Annotated[str, OneOf("gaussian", *SCORES)] = "gaussian"
    """`"gaussian"`: features of the qualified and the unqualified are normal with means 1 and -1
    and standard deviation 1. Each name of `SCORES`: scores fitted to the Adult data."""
    threshold_range: tuple[float, float] = (-4.0, 4.0)
    """Thresholds that the actions 0 and 1 stand for."""
    fitness: FitnessTable = _CITED
    """How qualification reacts to decisions."""
    group_probability: tuple[_Share, _Share] = (0.5, 0.5)
    """Shares of the two groups; they never change."""
    true_positive_weight: Probability = 1.0
    """Worth of accepting the whole population if everybody is qualified."""
    true_negative_weight: Probability = 0.0
    """Worth of rejecting the whole population if nobody is qualified."""
    start_range: tuple[Probability, Probability] = (0.01, 0.99)
    """Qualification rates at the start of an episode are uniform in this range, independently."""
    starts: tuple[tuple[Probability, Probability], ...] = ()
    """Given states instead: copy i starts every episode in state number i, counted in a circle."""
    rate_margin: Annotated[float, Range(0.0, 0.5, below=True)] = 0.001
    """Rates are kept this far from 0 and 1, which a group could never leave."""
    episode_length: EpisodeLength = 100
    """Steps per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        require_distribution("group_probability", self.group_probability, GROUPS)
        rate = Annotated[float, Range(self.rate_margin, 1.0 - self.rate_margin)]
        checked("starts", self.starts, tuple[tuple[rate, rate], ...])
        checked("start_range", self.start_range, tuple[rate, rate])
        if self.features in SCORES:
            checked("threshold_range", self.threshold_range, tuple[Probability, Probability])
        for field in ("threshold_range", "start_range"):
            low, high = getattr(self, field)
            checked(f"{field}[1]", high, Annotated[float, Range(low)])

    @classmethod
    def synthetic(cls) -> PopulationParams:
        """Return Gaussian features, fitness table `cited`, 100 steps."""
        return cls()

    @classmethod
    def synthetic_mild(cls) -> PopulationParams:
        """Return Gaussian features with the easier fitness table `mild`, 100 steps."""
        return cls(fitness=FitnessTable.mild())

    @classmethod
    def adult(cls) -> PopulationParams:
        """Return scores fitted to the Adult data, fitness table `adult_2`, 150 steps."""
        return cls(
            features="adult",
            threshold_range=(1 / 32, 31 / 32),
            fitness=FitnessTable.adult_2(),
            episode_length=150,
        )

    @classmethod
    def adult_easier(cls) -> PopulationParams:
        """Return scores fitted to the Adult data, fitness table `adult_1`, 150 steps."""
        return replace(cls.adult(), fitness=FitnessTable.adult_1())

    @classmethod
    def adult_cited(cls) -> PopulationParams:
        """Return scores fitted to the Adult data, fitness table `cited`, 150 steps."""
        return replace(cls.adult(), fitness=FitnessTable.cited())

    @classmethod
    def adult_race(cls) -> PopulationParams:
        """Return `adult` with the groups White and everybody else in place of Male and Female."""
        return replace(cls.adult(), features="adult_race")

    @classmethod
    def adult_weak_ridge(cls) -> PopulationParams:
        """Return `adult` with a tenth of the penalty on the regression's coefficients."""
        return replace(cls.adult(), features="adult_weak_ridge")

    @classmethod
    def adult_strong_ridge(cls) -> PopulationParams:
        """Return `adult` with ten times the penalty on the regression's coefficients."""
        return replace(cls.adult(), features="adult_strong_ridge")

    @classmethod
    def adult_16_bins(cls) -> PopulationParams:
        """Return `adult` with 16 bins of the score in place of 32; thresholds as there."""
        return replace(cls.adult(), features="adult_16_bins")

    @classmethod
    def adult_64_bins(cls) -> PopulationParams:
        """Return `adult` with 64 bins of the score in place of 32; thresholds as there."""
        return replace(cls.adult(), features="adult_64_bins")

    def starting_at(self, states: ArrayLike) -> PopulationParams:
        """Return these parameters with given starts.

        Parameters
        ----------
        states
            Shape (M, 2): qualification rates. Copy i of a batch starts in state i modulo M.

        Raises
        ------
        UsageError
            If there is no state, or one is not a pair of rates that the margin allows.
        """
        rows = np.asarray(checked("states", states, Rows), dtype=np.float64)
        if rows.shape[1] != GROUPS:
            raise UsageError(f"states have shape {rows.shape}: give (M, {GROUPS})")
        return replace(self, starts=tuple(tuple(row) for row in rows.tolist()))


@validated
def start_grid(size: Count = 4) -> FloatArray:
    """Return the states (size * size, 2) of a square grid of rates from 0.01 to 0.99.

    The paper evaluates all its algorithms from the same 16 states; with the default size these
    are the ones that fit what is known about them.
    """
    rates = np.linspace(0.01, 0.99, size)
    return np.stack(np.meshgrid(rates, rates, indexing="ij"), axis=-1).reshape(-1, GROUPS)
