"""The six words of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Word = Literal[
    "reproduced",
    "direction only",
    "not reproduced",
    "contradicted",
    "inconclusive",
    "not attempted",
]

FROM_WEAK_TO_STRONG: tuple[Word, ...] = (
    "contradicted",
    "not reproduced",
    "not attempted",
    "inconclusive",
    "direction only",
    "reproduced",
)
"""The order in which a conjunction takes the weakest verdict.

The words that speak against a claim come first, because a conjunction with a false part is false
whatever the others say.
"""


AGAINST: tuple[Word, ...] = ("contradicted", "not reproduced")
"""Words that speak against a claim."""


def weakest(words: Sequence[Word]) -> Word:
    """Return the verdict of a conjunction."""
    return min(words, key=FROM_WEAK_TO_STRONG.index)


def within(low: float, high: float, lowest: float, highest: float) -> Word:
    """Judge an interval by whether it lies between two ends, ends included."""
    if lowest <= low and high <= highest:
        return "reproduced"
    return "contradicted" if high < lowest or low > highest else "inconclusive"
