"""Prove that stored results are what they say, and that the code still gives them.

Three questions, from cheap to dear. *Is the store whole?* Every file is read and its digests, its
key and its line of the manifest are checked, and every change of the code since must be proven.
*Does a run come out again?* Some stored runs are executed once more. On the class of processor they
were computed on every bit must agree. Elsewhere libraries choose other kernels, and learning makes
much of a last digit: there a number must be one that another seed could give, and no verdict may
change; where that fails, another seed is asked (`longfair.papers.rerunning`). *Did an edit change a
number?* Short probes of every arm are run in two states of the code on this machine; see `against`.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from longfair.errors import FaultError, UsageError
from longfair.runs import check_memory, files, ledger, manifest
from longfair.runs.experiment import Arm, Experiment, Run
from longfair.runs.files import ENDING, printable
from longfair.runs.index import Entry
from longfair.runs.keys import canonical_json, revisions_of
from longfair.runs.machine import class_of, this_machine, unknown_commits
from longfair.runs.sources import arm_digest, library_stamp
from longfair.runs.store import Store
from longfair.runs.tables import ALL_GROUPS, SCHEMA, checked
from longfair.runs.worker import takes, use_one_thread

ALARM = 0.001
"""Chance that a run on another processor is said to be off, if it is what another seed gives and
its numbers are normal. Of the runs stored in November 2026, each held against the other seeds of
its arm, 3.4 % are said to be off: some arms have a rare run that ends far from all others."""

SLACK = {"nothing": 1e-6, "other numbers": 1e-4}
"""How far a number may be off, relatively, in which no seeds differ, by what else differs between
them: a bound at which all seeds stop may be missed by a little."""

FEWEST_SEEDS = 3
"""Stored seeds that a spread is estimated from, at least."""


# Is the store whole? ----------------------------------------------------------------------------


def problems(store: Store) -> Iterator[str]:
    """Check every file of a store, and the manifest.

    Parameters
    ----------
    store
        The store.

    Yields
    ------
    str
        One line per file that is damaged, missing, misplaced, not the one in the manifest, or
        twice in it.
    """
    lines = manifest.read(store.root)
    for name in manifest.repeated(store.root):
        yield (
            f"{store.root / name} has more than one line in the manifest, of which the last "
            "counts: 'longfair verify --write' leaves one"
        )
    everywhere = store.root.rglob(f"*{ENDING}")
    elsewhere = {printable(path.relative_to(store.root).as_posix()) for path in everywhere}
    for name, line, problem in _held(store):
        elsewhere.discard(name)
        path = store.root / name
        listed = lines.pop(name, None)
        if listed is not None and listed != line and listed.file == line.file:
            line, problem = _read_anew(store, name)
        if problem:
            yield problem
        elif listed is None:
            yield f"{path} is not in the manifest: 'longfair verify --write' enters what is there"
        elif listed != line:
            yield (
                f"{path} is not the file in the manifest: restore it from git, or have "
                "'longfair verify --write' enter what is there, which git then shows"
            )
    for name in lines:
        yield f"{store.root / name} is in the manifest and missing: restore it from git"
    for name in sorted(elsewhere):
        yield (
            f"{store.root / name} lies where no result is read: move it to "
            "<paper>/<experiment>/<profile>, or delete it"
        )


def write_manifest(store: Store) -> int:
    """Enter what the store holds into the manifest; return the number of files.

    Raises
    ------
    FaultError
        If a file cannot be trusted.
    """
    lines = {}
    with manifest.locked(store.root):
        for name, line, problem in _held(store):
            if problem:
                raise FaultError(problem)
            lines[name] = line
        manifest.write(store.root, lines)
    return len(lines)


def _read_anew(store: Store, name: str) -> tuple[manifest.Line, str]:
    """Read a file whose bytes are those of the manifest: what the index says of it may be wrong."""
    store.index.forget([name])
    entry = store.index.entry(store.root / name)
    return (manifest.Line(""), "") if entry is None else (manifest.line_of(entry), entry.problem)


class _Held(NamedTuple):
    """What the store holds in one place."""

    name: str
    """Path relative to the store."""
    line: manifest.Line
    """What belongs into the manifest."""
    problem: str
    """Why the file cannot be trusted; empty if it can."""


def _held(store: Store) -> Iterator[_Held]:
    """Open every result and every table of a store."""
    for entry in store.entries(anew=True):
        yield _Held(entry.path, manifest.line_of(entry), entry.problem)
    for name, line in manifest.tables(store.root).items():
        problem = check_memory.problem(store) if name == check_memory.FILE else ""
        yield _Held(name, line, problem)


def unproven(store: Store, experiments: Callable[[], Mapping[str, Experiment]]) -> list[str]:
    """Name the arms whose code has changed since their results, without a proof.

    Parameters
    ----------
    store
        The store.
    experiments
        Gives the experiments by id; asked only where code has changed since the last time.

    Returns
    -------
    list of str
        Sorted names, ``<experiment>/<profile>/<arm>``.
    """
    proofs = ledger.read(store.root)
    digests = _digests(store, experiments)
    known: dict[str, set[str]] = {}
    recorded: dict[str, set[str]] = defaultdict(set)
    for entry in store.index.entries():
        if not entry.problem:
            recorded[entry.path.rsplit(".", 2)[0]].add(entry.code_digest)
    found = []
    for name, digest in digests.items():
        for then in recorded.get(name, ()):
            if then not in known:
                known[then] = ledger.proven(proofs, then)
            if digest not in known[then]:
                found.append(name)
    return sorted(set(found))


def _digests(store: Store, experiments: Callable[[], Mapping[str, Experiment]]) -> dict[str, str]:
    """Return the digest of every arm's code by name, remembered while no file changes."""
    return dict(
        store.index.remembered(
            f"sources {library_stamp()}",
            lambda: {name: arm_digest(arm) for name, arm in arms_by_name(experiments()).items()},
        )
    )


class Unseen(NamedTuple):
    """How many results were computed with code that no commit shows."""

    uncommitted: int
    """From a tree with changes that were not committed."""
    unknown: int
    """From a commit that the repository does not have; none where there is no repository."""


def unseen_code(store: Store, directory: Path) -> Unseen:
    """Count the results whose code cannot be looked up, as the index knows them.

    Parameters
    ----------
    store
        The store.
    directory
        Any directory of the repository.
    """
    counts = store.index.counts_by_commit()
    names = {name for name, _ in counts if name is not None}
    missing = unknown_commits(directory, names)
    return Unseen(
        sum(number for (_, dirty), number in counts.items() if dirty),
        sum(number for (name, _), number in counts.items() if name in missing),
    )


# Does a run come out again? ---------------------------------------------------------------------


class Rerun(NamedTuple):
    """How the second execution of a stored run compares with the first."""

    name: str
    sound: bool
    """Whether it agrees as well as it must."""
    line: str
    """What was found."""


Judge = Callable[[Store, str, str], Mapping[str, str]]
"""Gives the words of all verdicts of an experiment, by claim, from store, experiment, profile."""


def choose(
    store: Store, number: int, turn: str, seconds: float, longest: float = math.inf
) -> list[str]:
    """Choose stored runs to execute again, of other arms at every turn.

    Parameters
    ----------
    store
        The store.
    number
        How many, at most. No arm is chosen twice.
    turn
        Any text; decides which.
    seconds
        Core seconds that they took together, at most.
    longest
        Core seconds that one of them took, at most.

    Returns
    -------
    list of str
        Names of runs.
    """

    def at_this_turn(name: str) -> bytes:
        return hashlib.sha256(f"{turn} {name}".encode()).digest()

    def cost(entry: Entry) -> float:
        return float(store.index.provenance(entry).get("core_seconds", 0.0))

    of_arms: dict[str, list[Entry]] = defaultdict(list)
    for entry in store.index.entries():
        if not entry.problem:
            of_arms[entry.path.rsplit(".", 2)[0]].append(entry)
    chosen: list[str] = []
    for arm in sorted(of_arms, key=at_this_turn):
        if len(chosen) == number:
            break
        costs = {entry.path: cost(entry) for entry in of_arms[arm]}
        short = {path: core for path, core in costs.items() if core <= longest}
        path = min(short, key=at_this_turn, default="")
        if path and short[path] <= seconds:
            seconds -= short[path]
            chosen.append(path.removesuffix(ENDING))
    return chosen


def held_against(store: Store, run: Run, table: pd.DataFrame, judge: Judge) -> Rerun:
    """Compare what a second execution of a stored run gave with what is stored.

    Parameters
    ----------
    store
        Where it is stored.
    run
        The run.
    table
        The result of the second execution.
    judge
        Judges the claims of an experiment.

    Returns
    -------
    Rerun
        Every bit must agree on the same class of processor, see the module elsewhere.
    """
    stored, provenance = files.read(store.path(run))
    again = pa.Table.from_pandas(table, SCHEMA, preserve_index=False)
    if files.content_digest(stored) == files.content_digest(again):
        return Rerun(run.name, True, "every bit agrees")
    then, here = class_of(provenance), this_machine().processor_class
    if then == here:
        return Rerun(run.name, False, f"other bits on {here}: {_largest(stored, again)}")
    far = _beyond_spread(store, run, table)
    if far:
        return Rerun(run.name, False, f"beyond the spread over seeds: {far}")
    changed = _changed_verdicts(store, run, again, provenance, judge)
    if changed:
        return Rerun(run.name, False, f"the verdict changes: {changed}")
    return Rerun(run.name, True, f"within the spread over seeds; computed on {then}")


def computed_elsewhere(store: Store, run: Run) -> bool:
    """Say whether a stored run was computed on another class of processor than this one."""
    _, provenance = files.read(store.path(run))
    return class_of(provenance) != this_machine().processor_class


def _largest(stored: pa.Table, again: pa.Table) -> str:
    """Say which number is off most, relatively."""
    if stored.num_rows != again.num_rows:
        return f"{stored.num_rows} rows then, {again.num_rows} now"
    then, now = stored.column("value").to_numpy(), again.column("value").to_numpy()
    off = np.abs(now - then) / np.maximum(np.abs(then), 1e-300)
    row = int(off.argmax())
    metric = stored.column("metric")[row].as_py()
    changed = int((now != then).sum())
    return f"{changed} of {len(then)} numbers, {metric} {then[row]} then, {now[row]} now"


def _beyond_spread(store: Store, run: Run, table: pd.DataFrame) -> str:
    """Name a final number that the arm's stored seeds make implausible; empty if there is none."""
    seeds = store.load(
        experiment=run.experiment,
        profile=run.profile,
        methods=[run.arm.method],
        variants=[run.arm.variant],
    )
    final = seeds[seeds["phase"] == "final"].groupby(["metric", "group"])["value"]
    rows = table[table["phase"] == "final"]
    differ = "other numbers" if final.nunique().gt(1).any() else "nothing"
    for row in rows.itertuples():
        if (row.metric, row.group) not in final.groups:
            return f"{row.metric} is not among the stored numbers"
        values = final.get_group((row.metric, row.group)).to_numpy()
        if len(values) < FEWEST_SEEDS:
            continue
        slack = SLACK[differ] * np.abs(values).max()
        if abs(row.value - values.mean()) > max(spread(values, len(rows)), slack):
            group = "" if row.group == ALL_GROUPS else f" of group {row.group}"
            return f"{row.metric}{group} is {row.value:.6g}, seeds give {values.mean():.6g}"
    return ""


def spread(values: NDArray[np.float64], numbers: int) -> float:
    """Return how far from the mean of some seeds another seed may be, so that `ALARM` holds.

    Parameters
    ----------
    values
        (n,): what the seeds gave.
    numbers
        How many numbers of a run are asked at once; each gets an equal part of the chance.

    Returns
    -------
    float
        Half of Student's prediction interval.
    """
    from scipy.stats import t

    n = len(values)
    wide = t.isf(ALARM / (2 * numbers), n - 1)
    return float(wide * values.std(ddof=1) * math.sqrt(1 + 1 / n))


def _changed_verdicts(
    store: Store, run: Run, again: pa.Table, provenance: Mapping[str, Any], judge: Judge
) -> str:
    """Judge with the new table in place of the stored one; name a claim whose word changes."""
    before = judge(store, run.experiment, run.profile)
    with tempfile.TemporaryDirectory() as folder:
        other = Store(folder)
        target = other.path(run)
        shutil.copytree(store.path(run).parent, target.parent)
        target.unlink()
        files.write(target, again, provenance)
        after = judge(other, run.experiment, run.profile)
    changed = [name for name, word in before.items() if after.get(name) != word]
    return (
        f"{changed[0]}, {before[changed[0]]} then, {after.get(changed[0])} now" if changed else ""
    )


# Did an edit change a number? -------------------------------------------------------------------


class Described(NamedTuple):
    """What one state of the code says of an arm."""

    source: str
    """Digest of the source."""
    settings: str
    """Settings as canonical JSON."""
    revisions: dict[str, int]
    """Declared revisions of its parts."""
    probe: str = ""
    """What its probe runs, as canonical JSON; empty where a state of the code does not tell."""


class Comparison(NamedTuple):
    """What holding two states of the code against each other asks for, and finds."""

    untouched: list[str]
    """Arms whose source is the same text: nothing to prove."""
    declared: list[str]
    """Arms whose settings or revisions are declared to be others."""
    new: list[str]
    """Arms that only one of the states has."""
    to_probe: list[str]
    """Arms whose code changed although they declare the same: to be proven."""
    at_rest: list[str]
    """The same, but there is no stored result that could go stale."""


def described(experiments: Mapping[str, Experiment]) -> dict[str, Described]:
    """Describe all arms of the present code, by name."""
    return {
        name: Described(
            arm_digest(arm), canonical_json(arm.config), revisions_of(arm), asked(arm, name)
        )
        for name, arm in arms_by_name(experiments).items()
    }


def stored_arms(store: Store) -> set[str]:
    """Name the arms that a store has results of, as ``<experiment>/<profile>/<arm>``."""
    return {entry.path.rsplit(".", 2)[0] for entry in store.index.entries()}


def compared(
    before: Mapping[str, Described], after: Mapping[str, Described], stored: Collection[str]
) -> Comparison:
    """Sort arms by what must be proven of them.

    Parameters
    ----------
    before, after
        Both states, as from `described`.
    stored
        Arms that have results, as from `stored_arms`. Their smoke runs are probed, too.
    """
    comparison = Comparison([], [], sorted(set(before) ^ set(after)), [], [])
    with_results = {_smoke_run(name) for name in stored}
    for name in sorted(set(before) & set(after)):
        then, now = before[name], after[name]
        if (then.settings, then.revisions) != (now.settings, now.revisions):
            comparison.declared.append(name)
        elif then.source == now.source:
            comparison.untouched.append(name)
        elif name in stored or name in with_results:
            comparison.to_probe.append(name)
        else:
            comparison.at_rest.append(name)
    return comparison


def _smoke_run(name: str) -> str:
    """Return the name of the same arm in the smoke profile."""
    experiment, _, arm = name.rsplit("/", 2)
    return f"{experiment}/smoke/{arm}"


def probed(arm: Arm, name: str) -> Any:
    """Return the settings that the probe of an arm runs.

    Parameters
    ----------
    arm
        The arm.
    name
        ``<experiment>/<profile>/<arm>``. The smoke profile is its own probe. Longer settings are
        probed by what their method ``shortened`` makes of them, about two rollouts.

    Returns
    -------
    object
        None if the settings cannot be shortened.
    """
    if name.split("/")[-2] == "smoke":
        return arm.config
    shortened = getattr(arm.config, "shortened", None)
    return shortened() if shortened else None


def asked(arm: Arm, name: str) -> str:
    """Say what the probe of an arm computes: arms with the same answer need one probe."""
    work = f"{arm.work.__module__}.{arm.work.__qualname__}"
    answer = "table and learned" if takes(arm.work, "learned") else "table"
    return f"{work} {canonical_json(probed(arm, name))} {answer}"


def probe(arm: Arm, name: str) -> str | None:
    """Run the probe of an arm and return the digest of what came out; parameters as of `probed`.

    A short run hardly acts differently where its networks differ in a fifth digit. So all numbers
    that training ended with count, next to the table.

    Returns
    -------
    str or None
        None if the settings cannot be shortened.
    """
    config = probed(arm, name)
    if config is None:
        return None
    use_one_thread()
    learned: list[NDArray[Any]] = []
    arguments = {"learned": learned} if takes(arm.work, "learned") else {}
    table = checked(arm.work(config, 0, **arguments), arm.name)
    content = files.content_digest(pa.Table.from_pandas(table, SCHEMA, preserve_index=False))
    parts = [content, *sorted(map(_digest_of, learned))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _digest_of(array: NDArray[Any]) -> str:
    """Digest of an array's bits; what it is called, or where it stands, may change."""
    kind = f"{array.dtype} {array.shape} ".encode()
    return hashlib.sha256(kind + np.ascontiguousarray(array).tobytes()).hexdigest()


def proof_of(
    against: str, date: str, names: Sequence[str], bits: Mapping[str, str | None],
    before: Mapping[str, Described], after: Mapping[str, Described],
) -> ledger.Proof:  # fmt: skip
    """Make the ledger's line for probes that gave the same bits in both states."""
    pairs = {(before[name].source, after[name].source) for name in names}
    digest = hashlib.sha256(json.dumps(dict(sorted(bits.items()))).encode()).hexdigest()
    probes = sum(bits[name] is not None for name in names)
    here = this_machine().processor_class
    return ledger.Proof(against, date, here, probes, digest, [list(p) for p in sorted(pairs)])


def by_name(experiments: Mapping[str, Experiment], names: Iterable[str]) -> list[Run]:
    """Return runs by their names.

    Raises
    ------
    UsageError
        If a name belongs to no arm of the present code.
    """
    arms = arms_by_name(experiments)
    runs = []
    for name in names:
        arm, _, seed = name.rpartition(".")
        if arm not in arms:
            raise UsageError(f"no experiment has the run {name}: it may be of an older commit")
        experiment, profile, _ = arm.rsplit("/", 2)
        runs.append(Run(experiment, profile, arms[arm], int(seed)))
    return runs


def arms_by_name(experiments: Mapping[str, Experiment]) -> dict[str, Arm]:
    """Return all arms, by ``<experiment>/<profile>/<arm>``."""
    return {
        f"{experiment.id}/{profile}/{arm.name}": arm
        for experiment in experiments.values()
        for profile, arms in experiment.arms.items()
        for arm in arms
    }
