"""What defines a doughnut problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from longfair.settings import EpisodeLength, Length, NonNegative, Probability, validate


@dataclass(frozen=True)
class DoughnutParams:
    """Everything that defines a doughnut problem. The defaults are those of the deep agents."""

    PRESETS: ClassVar[tuple[str, ...]] = ("deep", "tabular")

    presence_probability: Annotated[tuple[Probability, ...], Length(1)] = (0.8, 0.8, 0.8, 0.8, 0.8)
    """Probability that each of the P people stands at the counter, drawn anew at every step."""
    episode_length: EpisodeLength = 100
    """Doughnuts per episode, one a step."""
    smoothing: NonNegative = 1e-4
    """Added inside the logarithm of the reward: 0 in the paper, 0.0001 in the authors' code."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    @classmethod
    def deep(cls) -> DoughnutParams:
        """Return the problem of the deep agents: 5 people, 100 doughnuts."""
        return cls()

    @classmethod
    def tabular(cls) -> DoughnutParams:
        """Return the problem of the tabular agents: 3 people, 12 doughnuts."""
        return cls(presence_probability=(0.8, 0.8, 0.8), episode_length=12)
