"""A rule about an exact statement: an executable check decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from longfair.errors import UsageError, near_misses
from longfair.runs.rules.case import Case
from longfair.runs.rules.rule import Rule, RuleFields, plain, register

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


@register("exact")
@dataclass(frozen=True)
class ExactRule(Rule):
    """``kind: exact``. A named check passes. ``shows`` names the computed number to print.

    ``settings: ours`` says that it computes with settings of ours, such as a population that stands
    in for the authors'; without it, none decide.

    A check either passes (*checked*, on the instances that it looked at) or does not
    (*contradicted*, or *not reproduced* where the check says that the paper leaves open what it
    computed).
    """

    check: str
    shows: str | None = None
    settings: Literal["ours", ""] = ""

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        return cls(
            fields.name("check"),
            fields.text("shows") if fields.has("shows") else None,
            "ours" if fields.choice("settings", ("ours", ""), "") == "ours" else "",
        )

    @property
    def checks(self) -> tuple[str, ...]:
        """The check."""
        return (self.check,)

    def words(self, measure: str) -> str:
        """Name the check."""
        return f"the check {self.check} passes wherever it is computed"

    def judge(self, case: Case) -> Verdict:
        """Run the check."""
        claim = case.blank.claim.id
        if self.check not in case.checks:
            near = near_misses(self.check, case.checks)
            raise UsageError(f"claim {claim}: unknown check {self.check!r}: {near}")
        result = case.checks[self.check]()
        if self.shows is not None and self.shows not in result.computed:
            near = near_misses(self.shows, result.computed)
            raise UsageError(
                f"claim {claim}: check {self.check} computes no {self.shows!r}: {near}"
            )
        return replace(
            case.blank,
            settings=self.settings,
            word="checked" if result.passed else result.otherwise,
            instances=result.instances,
            estimate=None if self.shows is None else float(result.computed[self.shows]),
            measured=plain(self.shows or ""),
            detail=result.detail,
        )
