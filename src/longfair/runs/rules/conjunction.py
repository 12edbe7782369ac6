"""A rule of rules: every one of them must hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from longfair.runs.rules.case import Case
from longfair.runs.rules.one_of import one_of
from longfair.runs.rules.rule import Compound, Found, Rule, RuleFields, register
from longfair.runs.rules.words import AGAINST, LACKS, Word, weakest
from longfair.wording import better_in, part_of

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


def numbered(conditions: Iterable[str]) -> str:
    """Say one condition after the other, each with its number."""
    return "; ".join(f"({number}) {words}" for number, words in enumerate(conditions, start=1))


@register("all")
@dataclass(frozen=True)
class AllRule(Compound):
    """``kind: all``. Every one of the rules; the verdict is the weakest of theirs.

    Any part alone can speak against the whole, so each of k parts does so only by an interval with
    a k-th of the error. To hold the whole needs no such thing: all parts have to hold.

    The effect shown is that of the part that decides, the first of those with the weakest
    verdict. A claim with a reported value shows the first part's, to stand beside that value.
    """

    rules: tuple[Rule, ...]

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule and its parts."""
        parts = fields.sequence("rules")
        if len(parts) < 2:
            raise fields.wrong("rules", parts, "a list of at least two rules")
        return cls(tuple(fields.part(part, f"part {n}") for n, part in enumerate(parts, start=1)))

    @property
    def parts(self) -> tuple[Rule, ...]:
        """All of them."""
        return self.rules

    def leaves(self, measure: str, found: Found) -> Iterator[tuple[Rule, Found]]:
        """Go through all of them."""
        parts = (found or {}).get("parts") or [None] * len(self.rules)
        for rule, own in zip(self.rules, parts, strict=True):
            yield from rule.leaves(measure, own)

    def words(self, measure: str) -> str:
        """Say what every part asks."""
        return numbered(part.words(measure) for part in self.rules)

    def judge(self, case: Case) -> Verdict:
        """Judge every part."""
        parts = tuple(one_of(len(self.rules), case, rule.judge) for rule in self.rules)
        words = [part.word for part in parts]
        word = weakest(words)
        reported = case.blank.claim.reported_by(case.blank.measure)
        shown = words.index(word) if reported is None else 0
        measured = parts[shown].measured
        instances = [part.instances for part in parts]
        deciding = [part for part in parts if part.word == word]
        refuting = [part for part in deciding if part.with_enough in AGAINST and part.enough_seeds]
        if refuting:
            deciding = [min(refuting, key=lambda part: part.enough_seeds or 0)]
        lacks = max((part.lacks for part in deciding), key=LACKS.index)
        enough = [part.enough_seeds or 0 for part in deciding]
        sides = (better_in(part.number()) for part in parts)
        conditions = tuple(
            f"{case.told(part.word)}: {part.detail.rstrip('.')}{side and ', '}{side}"
            for part, side in zip(parts, sides, strict=True)
        )
        missing = tuple(dict.fromkeys(method for part in parts for method in part.missing))
        nothing = set(words) == {"not attempted"}
        return replace(
            parts[shown],
            word=word,
            measured=part_of(measured, shown + 1, len(parts)),
            detail=case.not_attempted(missing).detail if nothing else numbered(conditions),
            conditions=() if nothing else conditions,
            lacks=lacks,
            enough_seeds=max(enough) if lacks in ("runs", "width") else None,
            with_enough=_with_enough(parts) if word == "inconclusive" else None,
            two_kinds=any(part.two_kinds for part in parts),
            instances=sum(instances) if all(instances) else 0,
            missing=missing,
            parts=parts,
        )


def _with_enough(parts: Sequence[Verdict]) -> Word:
    """Return the word if enough runs decided every part."""
    return weakest([part.with_enough or part.word for part in parts])
