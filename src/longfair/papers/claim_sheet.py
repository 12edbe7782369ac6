"""Everything about one claim: what is said, how it is judged, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from longfair.papers import registry
from longfair.papers.claim_history import history
from longfair.runs import board
from longfair.runs.claims import Claim
from longfair.runs.evidence import REFERENCE
from longfair.runs.experiment import Arm, Run, plan
from longfair.runs.store import State, Store


class Paper(NamedTuple):
    """One of the papers, as it is cited."""

    authors: str
    title: str
    doi: str


PAPERS = {
    "elbert": Paper(
        "Xu et al. (2024)",
        "Adapting Static Fairness to Sequential Decision-Making",
        "10.48550/arXiv.2309.03426",
    ),
    "fairmdp": Paper(
        "Wen, Bastani and Topcu (2021)",
        "Algorithms for Fairness in Sequential Decision Making",
        "10.48550/arXiv.1901.08568",
    ),
    "fairqcm": Paper(
        "Alamdari et al. (2024)",
        "Remembering to Be Fair: Non-Markovian Fairness in Sequential Decision Making",
        "10.48550/arXiv.2312.04772",
    ),
    "fppo": Paper(
        "Hu, Lear and Zhang (2024)",
        "Striking a Balance in Fairness for Dynamic Systems Through Reinforcement Learning",
        "10.48550/arXiv.2401.06318",
    ),
    "ucbfair": Paper(
        "Yin, Raab, Liu and Liu (2023)",
        "Long-Term Fairness with Unknown Dynamics",
        "10.48550/arXiv.2304.09362",
    ),
}
"""The papers of this package, by id. One from outside has no entry."""


def sheet(claim: Claim, store: Store) -> dict[str, Any]:
    """Gather everything about a claim, as plain values that JSON can hold.

    Parameters
    ----------
    claim
        The claim.
    store
        Where results are.

    Returns
    -------
    dict
        Keys ``id``, ``asked``, ``statement``, ``paper``, ``place``, ``rule`` (its words, and the
        commits that wrote it), ``changed``, ``note``, ``verdicts`` (see `Verdict.as_json`),
        ``runs`` (one row for every arm and profile), ``code`` (dotted names) and ``commands``.
    """
    written = history(claim.paper, claim.id)
    paper = PAPERS.get(claim.paper)
    verdicts = board.verdicts([claim], store, registry.experiments(), registry.checks())
    return {
        "id": claim.id,
        "asked": claim.asked,
        "statement": claim.statement,
        "paper": {"id": claim.paper} if paper is None else {"id": claim.paper, **paper._asdict()},
        "place": claim.source,
        "rule": {
            "words": written[-1].rule if written else repr(claim.rule),
            "commits": [{"commit": e.commit, "date": e.date} for e in written],
        },
        "changed": [asdict(change) for change in claim.changed],
        "note": claim.note,
        "verdicts": [verdict.as_json() for verdict in verdicts],
        "runs": _rows(claim, store),
        "code": code_of(claim),
        "commands": commands_of(claim),
    }


def runs_of(claim: Claim, store: Store) -> Iterator[tuple[Run, State]]:
    """Go through the runs that a claim may be judged on, smoke runs aside, with their states."""
    if claim.experiment is None:
        return
    experiment = registry.experiment(claim.experiment)
    for profile in experiment.arms:
        if profile != "smoke":
            chosen = [run for run in plan(experiment, profile) if _is_about(claim, run.arm)]
            yield from store.states_of(chosen)


def core_seconds(run: Run, store: Store) -> float:
    """Return what a stored run cost; 0 where it does not say."""
    entry = store.index.entry(store.path(run))
    if entry is None or entry.problem:
        return 0.0
    return float(entry.provenance.get("core_seconds", 0.0))


def code_of(claim: Claim) -> list[str]:
    """Name the objects that make a claim's number: its rule, its check, and what its runs call."""
    kinds = [type(claim.rule), *(type(part) for part in getattr(claim.rule, "rules", ()))]
    found = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    checks = (registry.checks()[name] for name in claim.rule.checks)
    found += [f"{check.__module__}.{check.__qualname__}" for check in checks]
    if claim.experiment is not None:
        experiment = registry.experiment(claim.experiment)
        for arm in next(iter(experiment.arms.values())):
            if _is_about(claim, arm):
                method = getattr(arm.config, "method", None)
                parts: list[Any] = [arm.work, *([] if method is None else [type(method)])]
                found += [f"{part.__module__}.{part.__qualname__}" for part in parts]
    return list(dict.fromkeys(found))


def commands_of(claim: Claim) -> list[str]:
    """Return the commands that repeat a claim: some of its runs, and all of them."""
    commands = [f"longfair rerun {claim.id}"]
    if claim.experiment is not None:
        methods = ",".join(dict.fromkeys(name.partition(":")[0] for name in claim.rule.methods))
        commands += [
            f"longfair run {claim.experiment} --profile book --methods {methods} --store mine",
            f"longfair claims {claim.id} --store mine",
        ]
    return commands


def _is_about(claim: Claim, arm: Arm) -> bool:
    """Say whether a rule reads an arm: in a judged variant, a pinned one, or as a reference."""
    for name in claim.rule.methods:
        method, _, pinned = name.partition(":")
        if arm.method == method and arm.variant in (
            (pinned,) if pinned else (*claim.variants, REFERENCE)
        ):
            return True
    return False


def _rows(claim: Claim, store: Store) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for run, state in runs_of(claim, store):
        row = rows.setdefault(
            (run.profile, run.arm.name),
            {
                "profile": run.profile,
                "method": run.arm.method,
                "variant": run.arm.variant,
                **dict.fromkeys(("fresh", "stale", "missing", "damaged"), 0),
                "core_hours": 0.0,
            },
        )
        row[state.status] += 1
        row["core_hours"] += core_seconds(run, store) / 3600.0
    return [row for row in rows.values() if row["fresh"] + row["stale"] + row["damaged"]]
