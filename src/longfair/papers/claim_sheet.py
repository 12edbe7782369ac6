"""Everything about a claim: what is said, how it is judged, by which runs, and how to repeat it.

``longfair show`` prints it, and the claim's page in the book shows it.
"""

from __future__ import annotations

import ast
import importlib.util
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from longfair.papers import registry
from longfair.papers.claim_history import history
from longfair.papers.claim_numbers import Pools, beside, numbers
from longfair.papers.setting import Setting
from longfair.runs import board
from longfair.runs.claims import Claim
from longfair.runs.evidence import REFERENCE
from longfair.runs.experiment import Arm, Run, plan
from longfair.runs.rules.by_measure import ByMeasureRule
from longfair.runs.rules.conjunction import AllRule, numbered
from longfair.runs.rules.rule import AtBest, AtWorst, Compound, Rule
from longfair.runs.rules.words import answer
from longfair.runs.store import State, Status, Store
from longfair.runs.verdicts import Verdict


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


EXACT = "none"
"""Environment of a claim that needs no runs."""


def sheets(claims: Iterable[Claim], store: Store) -> list[dict[str, Any]]:
    """Gather everything about claims, as plain values that JSON can hold.

    Parameters
    ----------
    claims
        The claims.
    store
        Where results are.

    Returns
    -------
    list of dict
        One for every claim, with the keys ``id``, ``asked``, ``statement``, ``paper``, ``place``,
        ``environment``, ``reported``, ``rule`` (its ``words`` by every measure, in them those of
        its ``conditions`` where it has several and what is said ``beyond`` them, its ``text`` as it
        stands in the file, and the ``commits`` that wrote it), ``changed``, ``note``, ``verdicts``
        (see `Verdict.as_json`, with ``core_hours``), ``numbers`` (those of single runs, see
        `longfair.papers.claim_numbers`), ``beside`` (what is told beside them and not judged),
        ``runs`` (one row for every arm and profile), ``made``
        (the days of the first and the last run), ``code`` (names with file and lines) and
        ``commands``.
    """
    chosen = list(claims)
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in board.verdicts(chosen, store, registry.experiments(), registry.checks()):
        verdicts[verdict.claim.id].append(verdict)
    held = _Held(store)
    return [_sheet(claim, verdicts[claim.id], held) for claim in chosen]


def runs_of(claim: Claim, store: Store) -> Iterator[tuple[Run, State]]:
    """Go through the runs that a claim may be judged on, smoke runs aside, with their states."""
    if claim.experiment is not None:
        yield from store.states_of(
            run for run in _planned(claim.experiment) if _is_about(claim, run.arm)
        )


def core_seconds(run: Run, store: Store) -> float:
    """Return what a stored run cost; 0 where it does not say."""
    return float(_told(run, store).get("core_seconds", 0.0))


def _told(run: Run, store: Store) -> dict[str, Any]:
    """Return how a stored run came to be; nothing if there is no file that can be trusted."""
    entry = store.index.entry(store.path(run))
    return {} if entry is None or entry.problem else store.index.provenance(entry)


def _planned(experiment: str) -> Iterator[Run]:
    """Go through the runs of an experiment, smoke runs aside."""
    declared = registry.experiment(experiment)
    for profile in declared.arms:
        if profile != "smoke":
            yield from plan(declared, profile)


def code_of(claim: Claim) -> list[str]:
    """Name the objects that make a claim's number: its rule, its check, and what its runs call."""
    kinds = map(type, _within(claim.rule))
    found = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    checks = (registry.checks()[name] for name in claim.rule.checks)
    found += [f"{check.__module__}.{check.__qualname__}" for check in checks]
    if claim.experiment is not None:
        experiment = registry.experiment(claim.experiment)
        for arm in next(iter(experiment.arms.values())):
            if _is_about(claim, arm):
                parts = [arm.work]
                if isinstance(arm.config, Setting):
                    learned = (arm.config.method, arm.config.learning)
                    parts += [type(part) for part in learned if part is not None]
                    parts += arm.config.evaluating.parts()
                found += [f"{part.__module__}.{part.__qualname__}" for part in parts]
    return list(dict.fromkeys(found))


def _within(rule: Rule) -> Iterator[Rule]:
    """Go through a rule and all rules it consists of."""
    yield rule
    for part in rule.parts if isinstance(rule, Compound) else ():
        yield from _within(part)


@cache
def place_of(name: str) -> dict[str, Any]:
    """Say where the code of an object stands.

    Parameters
    ----------
    name
        Dotted name of a function or class at the top of a module.

    Returns
    -------
    dict
        ``name``, ``file`` (with the package's folder), ``first`` and ``last`` line.
    """
    module, _, own = name.rpartition(".")
    spec = importlib.util.find_spec(module)
    assert spec is not None
    path = Path(str(spec.origin))
    found = next(
        part
        for part in ast.parse(path.read_text(encoding="utf-8")).body
        if getattr(part, "name", None) == own
    )
    decorators = getattr(found, "decorator_list", [])
    return {
        "name": name,
        "file": "/".join([*module.split(".")[:-1], path.name])
        if path.stem != "__init__"
        else "/".join([*module.split("."), path.name]),
        "first": min([found.lineno, *(part.lineno for part in decorators)]),
        "last": found.end_lineno,
    }


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


def environment_of(claim: Claim) -> str:
    """Name the environment that a claim's runs take place in, such as ``"Lending"``."""
    if claim.experiment is None:
        return EXACT
    arm = next(iter(registry.experiment(claim.experiment).arms.values()))[0]
    world = getattr(arm.config, "world", None)
    if world is None:  # an experiment of another package that is not a setting of the one protocol
        return ""
    return str(world.environment).partition("/")[2].rpartition("-")[0]


class _Known(NamedTuple):
    """A run, how it stands, what it cost, and the day on which it was made; empty if unknown."""

    run: Run
    status: Status
    core_seconds: float
    day: str


class _Held:
    """What the runs of experiments cost and how fresh they are, asked of the store once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.pools = Pools(store)
        self._runs: dict[str, list[_Known]] = {}

    def runs_of(self, claim: Claim) -> list[_Known]:
        """Return the runs that a claim may be judged on."""
        if claim.experiment is None:
            return []
        if claim.experiment not in self._runs:
            states = self.store.states_of(_planned(claim.experiment))
            self._runs[claim.experiment] = [self._known(run, state) for run, state in states]
        return [one for one in self._runs[claim.experiment] if _is_about(claim, one.run.arm)]

    def _known(self, run: Run, state: State) -> _Known:
        told = _told(run, self.store)
        seconds, day = told.get("core_seconds", 0.0), str(told.get("finished", ""))[:10]
        return _Known(run, state.status, float(seconds), day)


def _sheet(claim: Claim, verdicts: Sequence[Verdict], held: _Held) -> dict[str, Any]:
    written = history(claim.paper, claim.id)
    paper = PAPERS.get(claim.paper)
    measures = dict.fromkeys(name for names in claim.measures.values() for name in names)
    runs = held.runs_of(claim)
    days = {one.day for one in runs if one.day}
    reported = claim.reported
    found = numbers(claim, verdicts, held.pools)
    words = {measure: _rule_in_words(claim, measure) for measure in measures}
    conditions = {measure: _conditions(claim.rule, measure) for measure in measures}
    return {
        "id": claim.id,
        "asked": claim.asked,
        "statement": claim.statement,
        "paper": {"id": claim.paper} if paper is None else {"id": claim.paper, **paper._asdict()},
        "place": claim.source,
        "environment": environment_of(claim),
        "reported": None if reported is None else asdict(reported),
        "rule": {
            "words": words,
            "conditions": conditions,
            "beyond": {measure: _beyond(words[measure], conditions[measure]) for measure in words},
            "text": written[-1].rule if written else repr(claim.rule),
            "commits": [{"commit": e.commit, "date": e.date} for e in written],
        },
        "changed": [asdict(change) for change in claim.changed],
        "note": claim.note,
        "verdicts": [
            {**verdict.as_json(), "core_hours": _core_hours(verdict, runs)} for verdict in verdicts
        ],
        "numbers": found,
        "beside": beside(found),
        "runs": _rows(runs),
        "methods": _methods(one.run.arm for one in runs),
        "data": list(dict.fromkeys(f"{claim.experiment}/{one.run.profile}" for one in runs)),
        "made": [min(days), max(days)] if days else [],
        "code": [place_of(name) for name in code_of(claim)],
        "commands": commands_of(claim),
    }


def _methods(arms: Iterable[Arm]) -> dict[str, str]:
    """Say what methods are, each once, or in every variant where its variants differ."""
    told: dict[str, dict[str, str]] = {}
    for arm in arms:
        told.setdefault(arm.method, {}).setdefault(arm.description, arm.variant)
    return {
        method if len(own) == 1 else f"{method} {variant.replace('_', ' ')}": description
        for method, own in told.items()
        for description, variant in own.items()
        if description
    }


def _rule_in_words(claim: Claim, measure: str) -> str:
    """Say what a reader is told of a rule: how bad a word can be says nothing of an answer."""
    if claim.asked == "paper":
        return claim.rule.words(measure)
    rule = claim.rule.rule if isinstance(claim.rule, AtWorst) else claim.rule
    if isinstance(rule, AtBest):
        return rule.told(measure, lambda word: answer(word, claim.asked))
    return rule.words(measure)


def _conditions(rule: Rule, measure: str) -> list[str]:
    """Say what each of several conditions asks that all have to hold; none where there is one."""
    if isinstance(rule, AllRule):
        return [part.words(measure) for part in rule.rules]
    if isinstance(rule, ByMeasureRule):
        return _conditions(rule.rules[measure], measure)
    return _conditions(rule.parts[0], measure) if isinstance(rule, Compound) else []


def _beyond(words: str, conditions: Sequence[str]) -> str:
    """Return what a rule's words say beyond its conditions, such as how good its word can be."""
    if not conditions:
        return ""
    return words.partition(numbered(conditions))[2].strip(" ()").replace(") (", "; ")


def _is_about(claim: Claim, arm: Arm) -> bool:
    """Say whether a rule reads an arm: in a judged variant, a pinned one, or as a reference."""
    return any(_reads(claim, variant, arm) for variant in claim.variants)


def _reads(claim: Claim, variant: str, arm: Arm) -> bool:
    """Say whether a rule reads an arm when it judges one variant."""
    for name in claim.rule.methods:
        method, _, pinned = name.partition(":")
        if arm.method == method and arm.variant in ((pinned,) if pinned else (variant, REFERENCE)):
            return True
    return False


def _core_hours(verdict: Verdict, runs: Iterable[_Known]) -> float | None:
    """Return what the runs behind a verdict cost; None where there are none."""
    profiles = verdict.profile.split(", ")
    seconds = [
        one.core_seconds
        for one in runs
        if one.run.profile in profiles
        and one.run.seed in verdict.seeds
        and _reads(verdict.claim, verdict.variant, one.run.arm)
    ]
    return sum(seconds) / 3600.0 if seconds else None


def _rows(runs: Iterable[_Known]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for run, status, cost, _ in runs:
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
        row[status] += 1
        row["core_hours"] += cost / 3600.0
    return [row for row in rows.values() if row["fresh"] + row["stale"] + row["damaged"]]
