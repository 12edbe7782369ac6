"""A rule for each measure: what a method is compared with hangs on how it is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from longfair.runs.rules.rule import Compound, Found, Rule, RuleFields, register

if TYPE_CHECKING:
    from longfair.runs.rules.case import Case
    from longfair.runs.verdicts import Verdict


@register("by_measure")
@dataclass(frozen=True)
class ByMeasureRule(Compound):
    """``kind: by_measure``. One rule under the name of every measure of the claim."""

    rules: Mapping[str, Rule]

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule of every measure."""
        return cls(
            {
                measure: fields.part(fields.take(measure), f"by {measure}")
                for measure in fields.measures
            }
        )

    @property
    def parts(self) -> tuple[Rule, ...]:
        """Those of all measures."""
        return tuple(self.rules.values())

    def leaves(self, measure: str, found: Found) -> Iterator[tuple[Rule, Found]]:
        """Go through the rule of the measure."""
        yield from self.rules[measure].leaves(measure, found)

    def words(self, measure: str) -> str:
        """Say what the rule of this measure asks."""
        return self.rules[measure].words(measure)

    def judge(self, case: Case) -> Verdict:
        """Judge by the rule of the measure."""
        return self.rules[case.blank.measure].judge(case)
