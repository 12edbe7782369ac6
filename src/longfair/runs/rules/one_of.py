"""Speaking against a claim by one of several parts, any of which could."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from longfair.runs.rules.case import Case
from longfair.runs.rules.words import AGAINST

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


def one_of(parts: int, case: Case, judge: Callable[[Case], Verdict]) -> Verdict:
    """Judge one of several parts, any of which alone can speak against the whole.

    With many parts that are true, one of them is easily refuted by chance. So a part speaks against
    the whole only by an interval that has its share of the error. To hold, a claim needs no such
    thing, because all of its parts have to.

    Parameters
    ----------
    parts
        How many there are.
    case
        The case.
    judge
        Judges the part.

    Returns
    -------
    Verdict
        The part's, with the effect and the interval that it has alone.
    """
    found = judge(case)
    heading = found.with_enough if found.word == "inconclusive" else found.word
    if heading not in AGAINST:
        return found
    strict = judge(replace(case, level=1 - (1 - case.level) / parts))
    detail = found.detail
    if found.word in AGAINST and strict.word not in AGAINST:
        detail = f"{detail.rstrip('.')}; not sure enough for one of {parts} parts"
    return replace(
        found,
        word=strict.word,
        lacks=strict.lacks,
        enough_seeds=strict.enough_seeds,
        with_enough=strict.with_enough,
        detail=detail,
    )
