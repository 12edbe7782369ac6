"""The words of a verdict: six for what runs show, and one for exact statements.

An exact statement that holds wherever it was computed is *checked*, on as many instances as the
verdict says: no number of them proves a theorem, and none of them is a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Word = Literal[
    "reproduced",
    "checked",
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
    "checked",
)
"""The order in which a conjunction takes the weakest verdict.

The words that speak against a claim come first, because a conjunction with a false part is false
whatever the others say.
"""


AGAINST: tuple[Word, ...] = ("contradicted", "not reproduced")
"""Words that speak against a claim."""

IN_FAVOUR: tuple[Word, ...] = ("reproduced", "direction only")
"""Words of runs that speak for a claim."""


def weakest(words: Sequence[Word]) -> Word:
    """Return the verdict of a conjunction."""
    return min(words, key=FROM_WEAK_TO_STRONG.index)


def within(low: float, high: float, lowest: float, highest: float) -> Word:
    """Judge an interval by whether it lies between two ends, ends included."""
    if lowest <= low and high <= highest:
        return "reproduced"
    return "contradicted" if high < lowest or low > highest else "inconclusive"
