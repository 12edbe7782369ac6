"""Judge claims: from results over seeds, by their rules, to one of six words.

`longfair.runs.rules` says how each kind of rule judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from longfair.runs.claims import Check, Claim
from longfair.runs.outcomes import Outcomes
from longfair.runs.rules.case import REFERENCE as REFERENCE
from longfair.runs.rules.case import Case
from longfair.runs.rules.rule import methods_of
from longfair.runs.rules.words import Word
from longfair.runs.store import Store, no_results


@dataclass(frozen=True)
class Verdict:
    """The judgement of one claim in one variant, by one measure, under one profile.

    Parameters
    ----------
    claim
        The claim.
    variant, measure, profile
        What was judged; the measure has no name where there is but one.
    word
        The verdict.
    estimate
        Point estimate of the rule's effect; None if there is none.
    measured
        What the estimate is an estimate of, in words; empty if there is none.
    interval
        Its interval over seeds; None if there is none.
    interquartile_mean
        The effect with interquartile means in place of means; None if there is none.
    seeds
        Seeds the judgement rests on, in ascending order; empty for exact claims.
    steps
        Training steps of the judged method's runs; None if there are none.
    detail
        One sentence: what the effect is, what it was compared with.
    missing
        Methods named in the rule that have no results.
    parts
        Verdicts of the parts of a conjunction; empty otherwise.
    """

    claim: Claim
    variant: str
    measure: str
    profile: str
    word: Word
    estimate: float | None = None
    measured: str = ""
    interval: tuple[float, float] | None = None
    interquartile_mean: float | None = None
    seeds: tuple[int, ...] = ()
    steps: int | None = None
    detail: str = ""
    missing: tuple[str, ...] = ()
    parts: tuple[Verdict, ...] = ()

    @property
    def name(self) -> str:
        """The claim's id with variant and measure."""
        which = ", ".join(filter(None, (self.variant.replace("_", " "), self.measure)))
        return f"{self.claim.id} ({which})"

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as the plain object that ``longfair claims --json`` prints."""
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "asked": claim.asked,
            "statement": claim.statement,
            "source": claim.source,
            "reported": claim.reported.value if claim.reported is not None else None,
            "estimate": self.estimate,
            "interval": list(self.interval) if self.interval is not None else None,
            "seeds": len(self.seeds),
            "steps": self.steps,
            "horizon": claim.horizon,
            "profile": self.profile,
            "measure": self.measure,
            "variant": self.variant,
            "verdict": self.word,
            "changed": [asdict(change) for change in claim.changed],
            "measured": self.measured,
        }


def judge_all(
    claims: Iterable[Claim], store: Store, profile: str, checks: Mapping[str, Check]
) -> list[Verdict]:
    """Judge claims by what a store holds.

    Parameters
    ----------
    claims
        The claims.
    store
        Where the results are.
    profile
        Profile whose results are used.
    checks
        Executable checks by name.

    Returns
    -------
    list of Verdict
        One per claim, variant and measure, in this order.

    Raises
    ------
    UsageError
        If a result that a claim needs is damaged, or a rule names a metric, phase or check that
        does not exist.
    """
    chosen = list(claims)
    needed: dict[str, set[str]] = {}
    for claim in chosen:
        needed.setdefault(claim.experiment or "", set()).update(methods_of(claim.rule))
    known = store.experiments()
    outcomes = {
        name: Outcomes(
            store.load(experiment=name, profile=profile, methods=sorted(methods))
            if name in known
            else no_results()
        )
        for name, methods in needed.items()
    }
    return [
        verdict
        for claim in chosen
        for verdict in _judged(claim, outcomes[claim.experiment or ""], profile, checks)
    ]


def judge(
    claim: Claim, results: pd.DataFrame, *, profile: str, checks: Mapping[str, Check] | None = None
) -> list[Verdict]:
    """Judge one claim in each of its variants, by each of its measures.

    Parameters
    ----------
    claim
        The claim.
    results
        Results of the claim's experiment under the profile, as from `Store.load`.
    profile
        Name of the profile.
    checks
        Executable checks by name; needed for exact claims.

    Returns
    -------
    list of Verdict
        One per variant and measure.

    Raises
    ------
    UsageError
        If the rule names a metric, phase or check that does not exist.
    """
    return _judged(claim, Outcomes(results), profile, checks or {})


def _judged(
    claim: Claim, outcomes: Outcomes, profile: str, checks: Mapping[str, Check]
) -> list[Verdict]:
    blanks = [
        Verdict(claim, variant, measure, profile, "not attempted")
        for variant in claim.variants
        for measure in claim.measures[variant]
    ]
    return [claim.rule.judge(Case(blank, outcomes, checks), claim.id) for blank in blanks]
