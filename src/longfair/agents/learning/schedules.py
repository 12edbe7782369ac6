"""Settings that change while learning, such as a learning rate that falls to zero.

Any function of the remaining part of the training (1 at the start, 0 at the end) will do for
learning. These ones can be written down, so that a saved agent comes back with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from longfair.errors import UsageError
from longfair.settings import NonNegative, checked, validate

Schedule = Callable[[float], float]


@dataclass(frozen=True)
class Annealed:
    """Falls to zero in a straight line.

    Parameters
    ----------
    start
        The value at the start.
    """

    name: ClassVar[str] = "annealed"
    start: NonNegative

    def __post_init__(self) -> None:
        """Raise `UsageError` for values that have no meaning."""
        validate(self)

    def __call__(self, remaining: float) -> float:
        """Return the value where `remaining` of the training is still to come."""
        return self.start * remaining


def schedule_to_json(schedule: Any) -> Any:
    """Describe a number or a schedule; a function that nothing can describe becomes None.

    Parameters
    ----------
    schedule
        A number, a schedule of this module, or what Stable-Baselines3 has wrapped around either.
    """
    schedule = getattr(schedule, "value_schedule", schedule)  # FloatSchedule
    schedule = getattr(schedule, "val", schedule)  # ConstantSchedule
    if isinstance(schedule, Annealed):
        return {"name": Annealed.name, **asdict(schedule)}
    return None if callable(schedule) else float(schedule)


def schedule_from_json(name: str, content: Any) -> float | Schedule:
    """Return what `schedule_to_json` described.

    Parameters
    ----------
    name
        What the error calls the setting.
    content
        The description.

    Raises
    ------
    UsageError
        When it was a function that could not be described.
    """
    if content is None:
        raise UsageError(f"{name} was a function, which is not saved: give {name}= when loading")
    if isinstance(content, dict) and content.get("name") == Annealed.name:
        return Annealed(content["start"])
    return float(checked(name, content, NonNegative))


def value_of(name: str, schedule: Schedule, remaining: float) -> float:
    """Return what a schedule gives where `remaining` of the training is still to come.

    Parameters
    ----------
    name
        What the error calls the setting.

    Raises
    ------
    UsageError
        If it is no finite number of at least 0, with which learning would go astray in silence.

    Notes
    -----
    A last rollout that goes past the steps asked for leaves less than nothing to come, as in
    Stable-Baselines3. A line that falls to zero is a hair below zero there, and only there it may.
    """
    value = getattr(schedule, "value_schedule", schedule)(remaining)  # FloatSchedule
    allowed: Any = NonNegative if remaining >= 0 else float
    return float(checked(f"{name}({remaining:.3g})", value, allowed))
