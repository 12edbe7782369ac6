"""Judge claims: from results over seeds, by their rules, to one word each.

`longfair.runs.rules` says how each kind of rule judges, `longfair.runs.evidence` on which runs.
Where there are runs with the authors' settings, the verdict on them comes first, and the one on
cheaper runs of ours stands beside it: does it hold under other settings, too? Where there are
only ours, the verdict says so in its first words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal

import pandas as pd

from longfair.runs.claims import Check, Claim
from longfair.runs.evidence import OURS, SETTINGS_IN_WORDS, Evidence, Settings, farthest
from longfair.runs.outcomes import Outcomes
from longfair.runs.rules.case import Case
from longfair.runs.rules.rule import methods_of
from longfair.runs.rules.words import Lacks, Word, answer
from longfair.runs.statistics import Kind
from longfair.runs.store import Store, no_results
from longfair.wording import plain


@dataclass(frozen=True)
class Verdict:
    """The judgement of one claim in one variant, by one measure, on one kind of runs.

    Parameters
    ----------
    claim
        The claim.
    variant, measure
        What was judged; the measure has no name where there is but one.
    profile
        Profile of the runs it rests on, or several with commas.
    settings
        Whose settings these runs have, those farthest from the authors' if they differ. Empty for
        exact claims, and where it is not known.
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
    instances
        Instances on which an exact statement was checked; 0 for what runs decide.
    detail
        One sentence: what the effect is, what it was compared with.
    missing
        Methods named in the rule that have no results.
    two_kinds
        Whether the runs behind a mean are of two kinds, so that it describes neither.
    better
        The share of seeds on which the method is better than the one that decides, and the two
        ends of its Clopper-Pearson interval; None where nothing is compared.
    lacks
        What an *inconclusive* lacks, as `longfair.runs.rules.words` lists it. Empty where that is
        not known, and for all other words.
    enough_seeds
        How many seeds the rule asks for, or about how many would decide if the effect stays as it
        is; None where seeds are not what is lacking.
    with_enough
        The word that those would give; None where that is not known.
    word_99, word_999
        The word by intervals at 99 and at 99.9 %.
    error
        Smallest error of an interval, of those that were asked for, that still gives the word.
    fragile
        Whether the studentised bootstrap or Student's t alone would give another word, or the runs
        behind a mean are of two kinds.
    stale
        How many of the runs are stale: settings, a revision or a version changed since.
    one_value
        Whether nothing is random: no method of the rule learns or draws, so all runs are the same,
        and there is one value in place of an interval.
    parts
        Verdicts of the parts of a conjunction; empty otherwise.
    conditions
        What `detail` says of each of them; empty where one sentence is said for all.
    """

    claim: Claim
    variant: str
    measure: str
    profile: str
    settings: Settings | Literal[""]
    word: Word
    estimate: float | None = None
    measured: str = ""
    interval: tuple[float, float] | None = None
    interquartile_mean: float | None = None
    seeds: tuple[int, ...] = ()
    steps: int | None = None
    instances: int = 0
    detail: str = ""
    missing: tuple[str, ...] = ()
    two_kinds: bool = False
    better: tuple[float, float, float] | None = None
    lacks: Lacks = ""
    enough_seeds: int | None = None
    with_enough: Word | None = None
    word_99: Word | None = None
    word_999: Word | None = None
    error: float | None = None
    fragile: bool = False
    stale: int = 0
    one_value: bool = False
    parts: tuple[Verdict, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The claim's id with variant and measure."""
        which = ", ".join(map(plain, filter(None, (self.variant, self.measure))))
        return f"{self.claim.id} ({which})"

    @property
    def whose(self) -> str:
        """Whose settings the runs have, in words; empty if there are none."""
        return SETTINGS_IN_WORDS.get(self.settings, "")

    @property
    def answer(self) -> str:
        """What a reader sees: the word, or the answer to a question of ours."""
        return answer(self.word, self.claim.asked)

    @property
    def first(self) -> str:
        """What stands before the word of runs that have not the authors' settings and steps."""
        return f"{self.whose}: " if self.settings not in ("", "authors") else ""

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as the plain object that ``longfair claims --json`` prints."""
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "asked": claim.asked,
            "statement": claim.statement,
            "source": claim.source,
            "reported": claim.reported_by(self.measure),
            "estimate": self.estimate,
            "interval": list(self.interval) if self.interval is not None else None,
            "interquartile_mean": self.interquartile_mean,
            "seeds": len(self.seeds),
            "steps": self.steps,
            "instances": self.instances,
            "horizon": claim.horizon,
            "profile": self.profile,
            "settings": self.settings,
            "whose": self.whose,
            "measure": self.measure,
            "variant": self.variant,
            "verdict": self.word,
            "answer": self.answer,
            "fragile": self.fragile,
            "two_kinds": self.two_kinds,
            "one_value": self.one_value,
            "verdict_99": self.word_99,
            "verdict_999": self.word_999,
            "answer_99": self.word_99 and answer(self.word_99, claim.asked),
            "answer_999": self.word_999 and answer(self.word_999, claim.asked),
            "error": self.error,
            "better": None if self.better is None else list(self.better),
            "lacks": self.lacks,
            "enough_seeds": self.enough_seeds,
            "changed": [asdict(change) for change in claim.changed],
            "stale": self.stale,
            "detail": self.detail,
            "measured": self.measured,
            "parts": [part.number() for part in self.parts],
            "conditions": list(self.conditions),
        }

    def number(self) -> dict[str, Any]:
        """Return what was measured and what it was, as JSON has it for parts."""
        return {
            "verdict": self.word,
            "answer": self.answer,
            "measured": self.measured,
            "estimate": self.estimate,
            "interval": list(self.interval) if self.interval is not None else None,
            "interquartile_mean": self.interquartile_mean,
            "seeds": len(self.seeds),
            "better": None if self.better is None else list(self.better),
            "detail": self.detail,
        }


def judge_all(
    claims: Iterable[Claim], store: Store, profile: str, checks: Mapping[str, Check]
) -> list[Verdict]:
    """Judge claims by what a store holds under one profile, whatever the settings.

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
    known = store.experiments()
    outcomes = {
        name: Outcomes(
            store.load(experiment=name, profile=profile, methods=methods)
            if name in known
            else no_results()
        )
        for name, methods in _needed(chosen).items()
    }
    return [
        verdict
        for claim in chosen
        for verdict in _judged(claim, outcomes[claim.experiment or ""], profile, checks)
    ]


def judge_by_settings(
    claims: Iterable[Claim],
    store: Store,
    evidence: Mapping[str, Evidence],
    checks: Mapping[str, Check],
    *,
    profile: str | None = None,
) -> dict[str, list[Verdict]]:
    """Judge claims on runs with the authors' settings, and beside it on ours.

    Parameters
    ----------
    claims, store, checks
        As for `judge_all`.
    evidence
        The stored runs of every experiment that the claims name, by its id.
    profile
        Judge on the runs of this profile only.

    Returns
    -------
    dict of str to list of Verdict
        By claim. For every variant and measure the verdict on the authors' settings if the methods
        of the rule were run with them, then the one on ours if they were run; never none.

    Raises
    ------
    UsageError
        As for `judge_all`.
    """
    chosen = list(claims)
    pools: dict[str, list[tuple[str, Outcomes]]] = {"": [(OURS, Outcomes(no_results()))]}
    for name, methods in _needed(chosen).items():
        if name:
            pools[name] = [
                (which, Outcomes(part.results(store, methods)))
                for which, part in evidence[name].pools(profile).items()
            ]
    return {
        claim.id: _by_settings(claim, pools[claim.experiment or ""], checks) for claim in chosen
    }


def judge(
    claim: Claim, results: pd.DataFrame, *, profile: str, checks: Mapping[str, Check] | None = None
) -> list[Verdict]:
    """Judge one claim in each of its variants, by each of its measures.

    Parameters
    ----------
    claim
        The claim.
    results
        Results of the claim's experiment under the profile, as from `Store.load` or
        `longfair.runs.evidence.Evidence.results`.
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


def _needed(claims: Iterable[Claim]) -> dict[str, list[str]]:
    """Methods that claims need, by experiment; exact claims need none of the experiment ``""``."""
    needed: dict[str, set[str]] = {}
    for claim in claims:
        needed.setdefault(claim.experiment or "", set()).update(methods_of(claim.rule))
    return {name: sorted(methods) for name, methods in needed.items()}


def _by_settings(
    claim: Claim, pools: list[tuple[str, Outcomes]], checks: Mapping[str, Check]
) -> list[Verdict]:
    """Judge on every pool of runs; keep what was attempted, and what differs from the first.

    A verdict that lacks a method and rests on the same number as one that lacks none is left out.
    Where nothing was attempted, the pool that lacks the fewest methods tells which.
    """
    found = [_judged(claim, outcomes, profile, checks) for profile, outcomes in pools]
    kept = []
    for first, *others in zip(*found, strict=True):
        rows = [first, *(other for other in others if other.settings != first.settings)]
        attempted = [row for row in rows if row.word != "not attempted"]
        whole = [row.estimate for row in attempted if not row.missing]
        attempted = [row for row in attempted if not (row.missing and row.estimate in whole)]
        kept += attempted or [min((first, *others), key=lambda row: len(row.missing))]
    return kept


def _judged(
    claim: Claim, outcomes: Outcomes, profile: str, checks: Mapping[str, Check]
) -> list[Verdict]:
    return [
        _one(Verdict(claim, variant, measure, profile, "", "not attempted"), outcomes, checks)
        for variant in claim.variants
        for measure in claim.measures[variant]
    ]


def _one(blank: Verdict, outcomes: Outcomes, checks: Mapping[str, Check]) -> Verdict:
    """Judge in one variant by one measure, and say first what the reader must know of the runs."""
    found = (outcomes.arm(name, blank.variant) for name in dict.fromkeys(blank.claim.rule.methods))
    arms = [arm for arm in found if arm is not None]
    if arms:
        blank = replace(
            blank,
            profile=", ".join(arms[0].profiles) or blank.profile,
            settings=farthest(arm.settings for arm in arms),
            stale=sum(arm.stale for arm in arms),
        )
    case = Case(blank, outcomes, checks)
    verdict = blank.claim.rule.judge(case)
    if verdict.word == "not attempted":
        return replace(verdict, settings="", stale=0)
    if arms and all(arm.nothing_random for arm in arms):
        verdict = _of_one_value(verdict)
    elif arms:
        verdict = _doubted(verdict, case)
    after = f"; {verdict.stale} of the runs are stale" if verdict.stale else ""
    return replace(verdict, detail=f"{verdict.first}{verdict.detail}{after}")


_NO_WIDTH = re.compile(r" \[([^][]+), \1\]")
"""An interval of no width, as sentences have it."""


def _of_one_value(verdict: Verdict) -> Verdict:
    """Leave out intervals where nothing is random: they have no width, and no other level has."""
    return replace(
        verdict,
        interval=None,
        better=None,
        one_value=True,
        detail=_NO_WIDTH.sub("", verdict.detail),
        conditions=tuple(_NO_WIDTH.sub("", condition) for condition in verdict.conditions),
        parts=tuple(map(_of_one_value, verdict.parts)),
    )


ERRORS = (0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001, 0.00005)
"""Errors of an interval, one less its level, at which a word is asked for again."""


def _doubted(verdict: Verdict, case: Case) -> Verdict:
    """Ask what the word would be by other intervals; each rule is judged anew, guards and all."""

    @cache
    def word(level: float = case.level, kind: Kind = case.kind) -> Word:
        claim = case.blank.claim
        return claim.rule.judge(replace(case, level=level, kind=kind)).word

    kept = itertools.takewhile(lambda error: word(1 - error) == verdict.word, ERRORS)
    others = {word(kind="studentised"), word(kind="t")}
    at_99 = word(1 - 0.01)
    return replace(
        verdict,
        word_99=at_99,
        # With few runs the bootstrap has no quantile so far out, and Student's alone is narrower.
        word_999=at_99 if at_99 == "inconclusive" else word(1 - 0.001),
        error=min(kept, default=round(1 - case.level, 12)),
        fragile=verdict.two_kinds or others != {verdict.word},
    )
