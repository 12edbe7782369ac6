"""Verdicts of many claims, remembered: judged again only when something they rest on changed.

A verdict follows from the claim with its rule, the stored runs of its experiment, and the code that
judges: this room, and for an exact claim what its check reaches. The index of the store remembers
verdicts under a digest of all three, so the second look at the board costs nothing, a new run costs
the claims of its experiment, and an edit elsewhere in the library costs nothing. What a check found
is remembered by itself, see `longfair.runs.check_memory`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from longfair.runs import check_memory
from longfair.runs.claims import Check, Claim
from longfair.runs.evidence import Evidence, digest_of
from longfair.runs.experiment import Experiment
from longfair.runs.keys import sha256
from longfair.runs.rules.words import Asked
from longfair.runs.sources import stamp_of_rules
from longfair.runs.store import Store
from longfair.runs.verdicts import Verdict, judge_by_settings

_NOT_KEPT = ("claim", "parts")


def verdicts(
    claims: Iterable[Claim],
    store: Store,
    experiments: Mapping[str, Experiment],
    checks: Mapping[str, Check],
    *,
    profile: str | None = None,
) -> list[Verdict]:
    """Judge claims as `longfair.runs.verdicts.judge_by_settings` does, remembering the verdicts.

    Parameters
    ----------
    claims, store, checks, profile
        As there.
    experiments
        All experiments by id, as from `longfair.papers.registry.experiments`.

    Returns
    -------
    list of Verdict
        As there, claim by claim.
    """
    chosen = list(claims)
    names = dict.fromkeys(claim.experiment for claim in chosen if claim.experiment)
    digests = {name: digest_of(store, experiments[name]) for name in names}
    codes = check_memory.codes_of(checks, store)
    questions = {
        claim.id: sha256(
            f"{_code(claim, codes)}\n{profile}\n{digests.get(claim.experiment or '')}\n{claim!r}"
        )
        for claim in chosen
    }
    known = {claim.id: store.index.answer(questions[claim.id]) for claim in chosen}
    waiting = [claim for claim in chosen if known[claim.id] is None]
    remembered = {
        name: check_memory.remembered(name, check, codes[name], store)
        for name, check in checks.items()
    }
    asked = dict.fromkeys(claim.experiment for claim in waiting if claim.experiment)
    evidence = {name: Evidence.of(store, experiments[name]) for name in asked}
    judged = judge_by_settings(waiting, store, evidence, remembered, profile=profile)
    store.index.remember(
        {questions[name]: [_plain(verdict) for verdict in found] for name, found in judged.items()}
    )
    return [
        verdict
        for claim in chosen
        for verdict in judged.get(claim.id) or [_verdict(claim, kept) for kept in known[claim.id]]
    ]


def headlines(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Keep the first verdict of every claim, variant and measure.

    Parameters
    ----------
    verdicts
        As from `verdicts`: on the authors' settings first, where there are such runs.
    """
    first: dict[tuple[str, str, str], Verdict] = {}
    for verdict in verdicts:
        first.setdefault((verdict.claim.id, verdict.variant, verdict.measure), verdict)
    return list(first.values())


def counts(verdicts: Iterable[Verdict]) -> dict[Asked, Counter[str]]:
    """Count the words of headlines on papers' claims, and apart the answers to our questions.

    Parameters
    ----------
    verdicts
        As from `verdicts`.
    """
    found: dict[Asked, Counter[str]] = {"paper": Counter(), "here": Counter()}
    for verdict in headlines(verdicts):
        found[verdict.claim.asked][verdict.answer] += 1
    return found


@dataclass(frozen=True)
class Family:
    """What many verdicts together can get wrong.

    Parameters
    ----------
    words
        Verdicts that an interval decided, whatever the word; exact checks are not among them.
    asked
        Verdicts that an interval could have decided: these, and those that stayed undecided.
    wrong
        How many intervals of all that were asked are expected to miss the truth if each holds as
        often as it says: one in twenty, dependent or not.
    all_right
        Probability that none misses, if they were independent.
    at_99, at_999
        How many words stay the same by intervals at 99 and at 99.9 %.
    together
        How many stay if all together may be wrong with a probability of 5 % (Holm). Undecided ones
        are chances to be wrong, too, so they count among what is divided by.
    fragile
        How many are fragile, by the kind of interval or because runs are of two kinds.
    """

    words: int
    asked: int
    wrong: float
    all_right: float
    at_99: int
    at_999: int
    together: int
    fragile: int


def family(rows: Iterable[Mapping[str, Any]]) -> Family:
    """Say what many verdicts together can get wrong.

    Parameters
    ----------
    rows
        Verdicts as printed by ``longfair claims --json``.
    """
    asked = [row for row in rows if row["error"] is not None and row["verdict"] != "not attempted"]
    decided = [row for row in asked if row["verdict"] != "inconclusive"]
    number = len(asked)
    ranked = enumerate(sorted(row["error"] for row in decided))
    together = itertools.takewhile(lambda one: one[1] <= 0.05 / (number - one[0]), ranked)
    return Family(
        words=len(decided),
        asked=number,
        wrong=0.05 * number,
        all_right=0.95**number,
        at_99=sum(row["verdict_99"] == row["verdict"] for row in decided),
        at_999=sum(row["verdict_999"] == row["verdict"] for row in decided),
        together=sum(1 for _ in together),
        fragile=sum(row["fragile"] for row in decided),
    )


def _code(claim: Claim, codes: Mapping[str, str]) -> str:
    """Say which code judges a claim: this room, its rules, and what the executable checks reach."""
    reached = (codes[name] for name in claim.rule.checks if name in codes)
    return " ".join((stamp_of_rules(claim.rule), *reached))


def _plain(verdict: Verdict) -> dict[str, Any]:
    kept = {
        part.name: getattr(verdict, part.name)
        for part in fields(verdict)
        if part.name not in _NOT_KEPT
    }
    return {**kept, "parts": [_plain(part) for part in verdict.parts]}


def _verdict(claim: Claim, kept: Mapping[str, Any]) -> Verdict:
    plain: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in kept.items()}
    plain["parts"] = tuple(_verdict(claim, part) for part in kept["parts"])
    return Verdict(claim=claim, **plain)
