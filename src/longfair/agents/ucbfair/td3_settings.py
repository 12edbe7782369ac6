"""Settings of R-TD3, as published and as coded; `longfair.agents.ucbfair.td3` has the method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypedDict

from longfair.agents.policies.notions import Notion
from longfair.settings import (
    Count,
    Length,
    Natural,
    NonNegative,
    OneOf,
    Positive,
    Range,
    changed,
    validate,
)


class Inherited(TypedDict, total=False):
    """Arguments of Stable-Baselines3's TD3 that have nothing to do with what is learned."""

    stats_window_size: Count
    tensorboard_log: str | None
    verbose: Annotated[int, Range(0, 2)]
    replay_buffer_class: type[Any] | None
    optimize_memory_usage: bool


@dataclass(frozen=True)
class RTD3Settings:
    """Settings of TD3, with the names of Stable-Baselines3, and of its reward."""

    PRESETS: ClassVar[tuple[str, ...]] = ("as_published", "as_coded")
    name: ClassVar[str] = "r-td3"
    revision: ClassVar[int] = 1

    weight: Annotated[str, OneOf("rising", "none")] = "rising"
    """Lambda: ``"rising"``, from 1/H to 1; ``"none"``, always 0."""
    exponent: Count = 1
    """Power p of the fairness: disparities count as 1 - (1 - Delta)^p."""
    notion: Notion = "demographic-parity"
    """The disparity."""
    learning_rate: Positive = 1e-3
    batch_size: Count = 100
    learning_starts: Natural = 100
    buffer_size: Count = 1_000_000
    action_noise: NonNegative = 0.1
    """Standard deviation, on the scale from -1 to 1 on which the actor acts."""
    gradient_steps: Annotated[int, Range(-1)] = -1
    """Gradient steps after an episode of one copy, or after every step of several; -1: as many as
    they made steps."""
    hidden: Annotated[tuple[Count, ...], Length(1)] = (400, 300)

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    @classmethod
    def as_published(cls, **changes: Any) -> RTD3Settings:
        """Return Equation 6 and the defaults of Stable-Baselines3 at the time."""
        return changed(cls(), changes)

    @classmethod
    def as_coded(cls, **changes: Any) -> RTD3Settings:
        """Return the numbers of the released script."""
        coded = cls(exponent=20, learning_rate=5e-4, batch_size=128, learning_starts=300)
        return changed(coded, changes)
