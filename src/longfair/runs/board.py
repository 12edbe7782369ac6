"""Verdicts of many claims, remembered: judged again only when something they rest on changed.

A verdict follows from the claim with its rule, the results of its experiment, and the code that
judges. The index of the store remembers verdicts under a digest of all three, so the second look
at the board costs nothing, and a new run costs the claims of its experiment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from longfair.runs.claims import Check, Claim
from longfair.runs.keys import sha256
from longfair.runs.sources import library_stamp
from longfair.runs.store import Store
from longfair.runs.verdicts import Verdict, judge_all

_NOT_KEPT = ("claim", "parts")


def verdicts(
    claims: Iterable[Claim], store: Store, profile: str, checks: Mapping[str, Check]
) -> list[Verdict]:
    """Judge claims as `longfair.runs.verdicts.judge_all` does, remembering the verdicts.

    Parameters
    ----------
    claims, store, profile, checks
        As there.

    Returns
    -------
    list of Verdict
        As there.
    """
    code = _code(checks)
    results: dict[str, str] = {}
    found: list[list[Verdict]] = []
    waiting: list[tuple[int, str, Claim]] = []
    for claim in claims:
        name = claim.experiment or ""
        if name not in results:
            results[name] = _results(store, name, profile)
        question = sha256(f"{code}\n{results[name]}\n{profile}\n{claim!r}")
        known = store.index.answer(question)
        if known is None:
            waiting.append((len(found), question, claim))
        found.append([_verdict(claim, kept) for kept in known or ()])
    judged = judge_all([claim for _, _, claim in waiting], store, profile, checks)
    answers = {}
    for place, question, claim in waiting:
        found[place] = [verdict for verdict in judged if verdict.claim.id == claim.id]
        answers[question] = [_plain(verdict) for verdict in found[place]]
    store.index.remember(answers)
    return [verdict for group in found for verdict in group]


def _results(store: Store, experiment: str, profile: str) -> str:
    """Digest of what the store holds of an experiment: which files, with which stamps and words."""
    if not experiment:
        return ""
    entries = store.index.entries(f"{experiment}/{profile}")
    return sha256("\n".join(f"{entry.path} {entry.stamp} {entry.problem}" for entry in entries))


def _code(checks: Mapping[str, Check]) -> str:
    """Digest of the judging code; checks of other packages count by their names only."""
    return sha256(library_stamp() + " ".join(sorted(checks)))


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
