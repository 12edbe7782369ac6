"""The words of a verdict: six for what runs show, and one for exact statements.

An exact statement that holds wherever it was computed is *checked*, on as many instances as the
verdict says: no number of them proves a theorem, and none of them is a run.

Rules speak in these words, whoever asks. A reader sees them beside a paper's claims only. Nobody
has claimed what we ask ourselves, so nothing contradicts it: a question of ours has an `answer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

Lacks = Literal["runs", "width", "effect", "steps", "paper", ""]
"""What an *inconclusive* lacks.

Runs that the rule asks for; a narrower interval, by more runs than that; an effect that is not at
the very edge of what is asked; training steps; or a word of the paper, so that nothing that is run
here decides. Empty where that cannot be told.
"""

LACKS: tuple[Lacks, ...] = ("runs", "width", "effect", "steps", "paper", "")
"""From the easiest to get to the hardest."""

Asked = Literal["paper", "here"]
"""Whether a paper says a claim, or it is a question of ours."""

ANSWERS: Mapping[Word, str] = {
    "reproduced": "yes",
    "checked": "yes",
    "direction only": "in part",
    "contradicted": "no",
    "not reproduced": "no",
    "inconclusive": "cannot be told",
    "not attempted": "not attempted",
}
"""What each word says of a question of ours."""

AGAINST: tuple[Word, ...] = ("contradicted", "not reproduced")
"""Words that speak against a claim."""

IN_FAVOUR: tuple[Word, ...] = ("reproduced", "direction only")
"""Words of runs that speak for a claim."""


CANNOT_REFUTE = "cannot refute"
"""What is said of runs that end before the moment a claim is about."""

CANNOT_SHOW = "cannot show that nothing changes"
"""The same where they are claimed to be alike: the less is trained, the more alike they are."""


def weakest(words: Sequence[Word]) -> Word:
    """Return the verdict of a conjunction."""
    return min(words, key=FROM_WEAK_TO_STRONG.index)


def answer(word: Word, asked: Asked) -> str:
    """Return what a reader sees for a word: an answer to a question of ours, or the word itself."""
    return ANSWERS[word] if asked == "here" else word


def sentence(detail: str, asked: Asked) -> str:
    """Return what a reader sees for a rule's sentence: of a question, what is asked for."""
    if asked == "paper":
        return detail
    return detail.replace(", claimed ", ", asked for: ").replace(CANNOT_REFUTE, "cannot say no")


def within(low: float, high: float, lowest: float, highest: float) -> Word:
    """Judge an interval by whether it lies between two ends, ends included."""
    if lowest <= low and high <= highest:
        return "reproduced"
    return "contradicted" if high < lowest or low > highest else "inconclusive"
