"""A rule of equivalence: the method differs from the others by no more than a margin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.one_of import one_of
from longfair.runs.rules.paired import PairedRule, Shared
from longfair.runs.rules.rule import Asked, RuleFields, plain, register
from longfair.runs.rules.words import FROM_WEAK_TO_STRONG
from longfair.runs.statistics import Floats, interquartile_mean, mean_effect, within_ends

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


@register("about_equal")
@dataclass(frozen=True)
class AboutEqualRule(PairedRule):
    """``kind: about_equal``. The method differs from each other one by no more than a margin.

    Each other method has its own interval of the difference; the difference with the weakest
    verdict is the one that counts and is shown. With margin ``m``:

    - *reproduced*: the interval lies within ``[-m, m]``, ends included;
    - *contradicted*: the interval has no point in common with ``[-m, m]``, not even that which has
      its share of the error where there are several others;
    - *inconclusive*: anything else. So a wide interval is never taken for equality. Runs of ours
      that end before the claim's horizon are, too: the less is trained, the more alike all are.
    """

    margin: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        margin = fields.number("margin", low=0.0)
        if margin == 0:
            raise fields.wrong("margin", margin, "above 0: no interval lies within a margin of 0")
        return cls(**cls.keys(fields), margin=margin)

    @property
    def asked(self) -> Asked:
        """No more than the margin, on either side."""
        return Asked(-self.margin, self.margin, f"within {self.margin:g} of 0")

    def words(self, measure: str) -> str:
        """Say by how much the methods may differ."""
        return f"{self.about(measure)} is within {self.margin:g} of {self.each_other}"

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Judge every difference; the weakest verdict counts."""

        def judged(other: str, case: Case) -> Verdict:
            found = self._found(case, shared, other, shared.method - shared.others[other])
            return case.decided(found, self.method, self.word, alike=True)

        verdicts = [
            one_of(len(shared.others), case, partial(judged, other)) for other in shared.others
        ]
        return min(verdicts, key=_strength)

    def _found(self, case: Case, shared: Shared, other: str, difference: Floats) -> Finding:
        found = within_ends(
            case.smallest([mean_effect(difference)]), *self.ends_of_difference(case)
        )
        both = f"{plain(self.method)} less that of {plain(other)}"
        what = f"{case.measured(self.quantity)} of {both} is {found}"
        return Finding(
            estimate=found,
            measured=self.difference(case, self.method, other),
            detail=f"{what}, claimed within {self.margin:g}{shared.left_out}",
            seeds=shared.seeds,
            interquartile_mean=float(interquartile_mean(difference)),
            single=difference,
            missing=shared.missing,
        )


def _strength(verdict: Verdict) -> tuple[int, float]:
    """Order verdicts from weak to strong, and equally strong ones from the largest effect on."""
    size = 0.0 if verdict.estimate is None else abs(verdict.estimate)
    return FROM_WEAK_TO_STRONG.index(verdict.word), -size
