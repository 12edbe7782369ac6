"""Take the keys of a mapping one by one, and say in one line what is wrong with them.

A file is read strictly: a key that nobody asked for is an error, because a misspelt key would
otherwise silently be a weaker rule.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

from longfair.errors import UsageError, near_misses
from longfair.runs.experiment import require_name


class Fields:
    """Reads a mapping; what is not given is an error unless there is a default.

    Parameters
    ----------
    content
        What a file holds at this place.
    where
        File and place, for messages.
    """

    def __init__(self, content: Any, where: str) -> None:
        self.where = where
        if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
            raise UsageError(f"{where}: expected keys and values, found {_short(content)}")
        self._left = dict(content)
        self._asked: list[str] = []

    def take(self, key: str, default: Any = ...) -> Any:
        """Return a value of any type."""
        self._asked.append(key)
        if key in self._left:
            return self._left.pop(key)
        if default is not ...:
            return default
        hint = f" (found {', '.join(self._left)})" if self._left else ""
        raise UsageError(f"{self.where}: key {key!r} is missing{hint}")

    def text(self, key: str, default: Any = ...) -> str:
        """Return text with every run of white space as one space."""
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, value, "text")
        if default is ... and not value.strip():
            raise self.wrong(key, value, "text, not empty")
        return " ".join(value.split())

    def name(self, key: str) -> str:
        """Return a name as ids are made of."""
        value = self.text(key)
        require_name(f"{self.where}: {key}", value)
        return value

    def number(self, key: str, default: Any = ..., low: float = -math.inf) -> float:
        """Return a finite number."""
        value = self.take(key, default)
        if not is_number(value) or value < low:
            least = "" if math.isinf(low) else f", at least {low:g}"
            raise self.wrong(key, value, f"a number{least}")
        return float(value)

    def integer(self, key: str, default: Any = ..., low: int = 0) -> int:
        """Return a whole number."""
        value = self.take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise self.wrong(key, value, f"a whole number, at least {low}")
        return value

    def choice(self, key: str, allowed: Collection[str], default: Any = ...) -> Any:
        """Return one of several words."""
        value = self.take(key, default)
        if not isinstance(value, str) or value not in allowed:
            raise UsageError(
                f"{self.where}: {key} is {value!r}: {near_misses(str(value), allowed)}"
            )
        return value

    def sequence(self, key: str) -> list[Any]:
        """Return a list of anything."""
        value = self.take(key)
        if not isinstance(value, list):
            raise self.wrong(key, value, "a list")
        return value

    def ends(self, key: str) -> tuple[float, float]:
        """Return the two ends of an interval, the lower one first."""
        value = self.take(key)
        ends = [part for part in value if is_number(part)] if isinstance(value, list) else []
        if len(ends) != 2 or len(value) != 2 or not ends[0] < ends[1]:
            raise self.wrong(key, value, "[low, high] with low < high")
        return float(ends[0]), float(ends[1])

    def mapping(self, key: str, default: Any = ...) -> dict[str, Any]:
        """Return keys and values of anything."""
        value = self.take(key, default)
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise self.wrong(key, value, "keys and values")
        return value

    def has(self, key: str) -> bool:
        """Whether a key is given and was not taken yet."""
        return key in self._left

    def wrong(self, key: str, value: Any, wanted: str) -> UsageError:
        """Return the error for a value that is not what is wanted."""
        return UsageError(f"{self.where}: {key} is {_short(value)}; it must be {wanted}")

    def finish(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._left:
            raise UsageError(f"{self.where}: unknown key {key!r}: {near_misses(key, self._asked)}")


def is_number(value: Any) -> bool:
    """Say whether a value is a finite number, and no truth value."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
