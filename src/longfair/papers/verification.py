"""Hold the present code against an older commit: same bits, or a declared revision."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import longfair
from longfair.errors import UsageError
from longfair.papers import registry
from longfair.papers.probe import failed
from longfair.runs import ledger
from longfair.runs.keys import canonical_json, package_versions
from longfair.runs.machine import class_of, this_machine
from longfair.runs.runner import default_workers
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all
from longfair.runs.verify import (
    Comparison,
    Described,
    compared,
    described,
    proof_of,
    stored_arms,
)

MODULE = "longfair.papers.probe"


class Outcome(NamedTuple):
    """What holding the code against a commit found."""

    comparison: Comparison
    different: list[str]
    """Arms that give other bits although they declare the same revisions."""
    without: int
    """Arms of longer settings that have no probe; their smoke runs were probed."""
    revisions: dict[str, dict[str, int]]
    """Declared revisions of every arm that differs."""
    failed: Mapping[str, str] = MappingProxyType({})
    """Arms whose probe ended in an error, in either state, and the error: nothing is proven."""


def against(revision: str, store: Store, *, everything: bool = False) -> Outcome:
    """Run the probes of the present code and of a commit, and enter a proof into the ledger.

    What a probe gave with the same source, settings, versions and class of processor is
    remembered, so a second edit needs the probes of one state only. With `everything` nothing is
    taken from memory, because it asks whether the same source gives the same bits.

    Parameters
    ----------
    revision
        Any name of a commit.
    store
        Its ledger gets a line on the arms that gave the same bits, if none gave others.
    everything
        Probe also the arms whose source is the same text, and longer settings without a result.

    Returns
    -------
    Outcome
        What was found.

    Raises
    ------
    UsageError
        If there is no repository or no such commit, or its code cannot be probed, or is probed
        with other settings.
    """
    with _checked_out(revision) as (commit, tree):
        with ThreadPoolExecutor() as pool:
            asking = pool.submit(_ask, tree, revision, "describe")
            after = described(registry.experiments())
        before = {name: Described(*parts) for name, parts in asking.result().items()}
        comparison = compared(before, after, stored_arms(store))
        names = comparison.to_probe
        if everything:
            names = names + comparison.at_rest + comparison.untouched
        _refuse_other_probes(revision, names, before, after)
        states = [
            _State(path, {name: arms[name] for name in names})
            for path, arms in ((tree, before), (_own_tree(), after))
        ]
        then, now = _bits(states, revision, store, anew=everything)
    failures = _failures(then, now)
    sound = [name for name in names if name not in failures]
    different = [name for name in sound if then[name] is not None and then[name] != now[name]]
    probed = [name for name in sound if then[name] is not None and now[name] is not None]
    if probed and not different:
        day = datetime.now(UTC).date().isoformat()
        ledger.add(store.root, proof_of(commit, day, probed, now, before, after))
    return Outcome(
        comparison,
        different,
        sum(now[name] is None or then[name] is None for name in names),
        {name: after[name].revisions for name in different},
        failures,
    )


def _refuse_other_probes(
    revision: str,
    names: Iterable[str],
    before: Mapping[str, Described],
    after: Mapping[str, Described],
) -> None:
    """Refuse to compare what two states compute from different settings."""
    others = [name for name in names if before[name].probe not in ("", after[name].probe)]
    if others:
        raise UsageError(
            f"since {revision} {len(others)} arms are probed otherwise, such as "
            f"{others[0]}: give a commit that probes like the present code"
        )


def _failures(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Return the arms whose probe ended in an error: two equal errors are no equal numbers."""
    answers = [*then.items(), *now.items()]
    return {name: answer for name, answer in answers if failed(answer)}


def words_of_verdicts(store: Store, experiment: str, profile: str) -> Mapping[str, str]:
    """Judge all claims of an experiment; return the words by claim, variant and measure."""
    claims = [claim for claim in registry.claims() if claim.experiment == experiment]
    verdicts = judge_all(claims, store, profile, registry.checks())
    return {verdict.name: verdict.word for verdict in verdicts}


@contextlib.contextmanager
def _checked_out(revision: str) -> Iterator[tuple[str, Path]]:
    repository = _own_tree().parent
    commit = _git(repository, revision, "rev-parse", "--verify", f"{revision}^{{commit}}")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        archive = subprocess.run(
            ["git", "-C", str(repository), "archive", commit, "src"],
            capture_output=True,
            check=True,
        )
        tree.mkdir()
        subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
        yield commit, tree / "src"


def _git(repository: Path, revision: str, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(
            f"git knows no commit {revision!r} in {repository}: give one that 'git log' shows"
        )
    return done.stdout.strip()


def _own_tree() -> Path:
    return Path(longfair.__file__).resolve().parents[1]


class _State(NamedTuple):
    """Arms of one state of the code."""

    tree: Path
    """Where its `src` lies."""
    arms: Mapping[str, Described]


def _bits(
    states: Sequence[_State], revision: str, store: Store, *, anew: bool
) -> list[dict[str, Any]]:
    """Return the digest of every arm's probe in every state.

    The index knows those that this machine has run. Probes that failed are not remembered: the
    reason may be the machine's. The states are probed beside each other and share the cores, so
    that fewer processes compile the same.
    """
    here = f"{class_of(asdict(this_machine()))} {canonical_json(dict(package_versions()))}"
    questions = [
        {name: f"probe {name} {canonical_json(arm)} {here}" for name, arm in state.arms.items()}
        for state in states
    ]
    known: list[dict[str, Any]] = [
        {} if anew else {name: store.index.answer(question) for name, question in asked.items()}
        for asked in questions
    ]
    unknown = [
        [name for name in state.arms if answers.get(name) is None]
        for state, answers in zip(states, known, strict=True)
    ]
    workers = max(1, default_workers() // max(1, sum(map(bool, unknown))))
    with ThreadPoolExecutor() as pool:
        probing = [
            pool.submit(_probed, state.tree, revision, names, workers)
            for state, names in zip(states, unknown, strict=True)
        ]
    for asked, answers, running in zip(questions, known, probing, strict=True):
        found = running.result()
        sound = {name: bits for name, bits in found.items() if not failed(bits[0])}
        store.index.remember({asked[name]: bits for name, bits in sound.items()})
        answers |= found
    return [{name: answer[0] for name, answer in answers.items()} for answers in known]


def _probed(tree: Path, revision: str, names: list[str], workers: int) -> dict[str, list[Any]]:
    """Run the probes of arms with the code of a tree; each digest is a list of one."""
    if not names:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "names"
        file.write_text("\n".join(names), encoding="utf-8")
        answers = _ask(tree, revision, "run", str(file), str(workers))
    return {name: [bits] for name, bits in answers.items()}


def _ask(tree: Path, revision: str, *arguments: str) -> dict[str, Any]:
    """Ask the code of a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", MODULE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        if tree == _own_tree():
            raise UsageError(f"the present code cannot be probed ({last}): mend it, then ask again")
        raise UsageError(f"the code of {revision} cannot be probed ({last}): give a later commit")
    return dict(json.loads(done.stdout.splitlines()[-1]))
