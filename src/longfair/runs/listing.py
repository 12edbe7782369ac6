"""What a store holds of the runs that experiments declare: by paper, by experiment, by method."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from longfair.errors import UsageError, near_misses
from longfair.runs.experiment import Experiment, Run, plan
from longfair.runs.keys import run_key
from longfair.runs.store import State, Store

ELSEWHERE = "elsewhere"
"""State of a run that is stored under another profile, which has the same settings."""

Row = dict[str, str]
"""What the row is about, and for every profile how many of its runs are fresh."""


class Table(NamedTuple):
    """Rows that belong together."""

    title: str
    rows: list[Row]
    missing: Counter[str]
    """How many runs of each profile have no result."""


class _Held(NamedTuple):
    """The state of one run."""

    experiment: str
    profile: str
    arm: str
    status: str
    reason: str


def tables(
    names: Sequence[str], store: Store, experiments: Mapping[str, Experiment]
) -> list[Table]:
    """Count runs by their state.

    Parameters
    ----------
    names
        Papers, whose experiments are listed, and experiments, whose methods are. None: one row for
        every paper.
    store
        Where the results are.
    experiments
        All experiments by id.

    Returns
    -------
    list of Table
        One, or one for every name.
    """
    if not names:
        held = _held(store, experiments.values())
        return [_table("papers", [(_paper(one.experiment), one) for one in held])]
    found = []
    for name in names:
        if name in experiments:
            held = _held(store, [experiments[name]])
            found.append(_table(name, [(one.arm, one) for one in held]))
        else:
            own = [experiment for key, experiment in experiments.items() if _paper(key) == name]
            held = _held(store, own)
            found.append(_table(name, [(one.experiment, one) for one in held]))
    return found


def require_names(names: Sequence[str], experiments: Mapping[str, Experiment]) -> None:
    """Check that names are those of papers and experiments.

    Raises
    ------
    UsageError
        If one is not; the message names the near misses.
    """
    known = list(dict.fromkeys(_paper(name) for name in experiments)) + list(experiments)
    for name in names:
        if name not in known:
            raise UsageError(f"unknown paper or experiment {name!r}: {near_misses(name, known)}")


def _paper(experiment: str) -> str:
    return experiment.partition("/")[0]


def states(store: Store, experiment: Experiment, profile: str) -> Iterator[tuple[Run, State]]:
    """Yield the runs of a profile with their states.

    A run without a file whose very settings are stored under another profile of its experiment is
    ``elsewhere``, not ``missing``: the reason says where.
    """
    others = [other for other in experiment.arms if other != profile]
    stored = any((store.root / experiment.id / other).is_dir() for other in others)
    for run, state in store.states_of(plan(experiment, profile)):
        where = _elsewhere(store, run) if stored and state.status == "missing" else None
        yield run, state if where is None else State(ELSEWHERE, where)


def _elsewhere(store: Store, run: Run) -> str | None:
    """Return the other profile of the experiment under which the very same run is stored."""
    for entry in store.index.with_key(run_key(run).digest):
        experiment, _, profile = entry.path.rpartition("/")[0].rpartition("/")
        if experiment == run.experiment and not entry.problem:
            return profile
    return None


def _held(store: Store, experiments: Iterable[Experiment]) -> list[_Held]:
    return [
        _Held(experiment.id, profile, run.arm.name, state.status, state.reason)
        for experiment in experiments
        for profile in experiment.arms
        for run, state in states(store, experiment, profile)
    ]


def _table(title: str, held: Sequence[tuple[str, _Held]]) -> Table:
    missing = Counter(one.profile for _, one in held if one.status == "missing")
    return Table(title, _rows(held), missing)


def _rows(held: Sequence[tuple[str, _Held]]) -> list[Row]:
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for about, one in held:
        told = f"{one.status} {one.reason}" if one.status == ELSEWHERE else one.status
        counts[about][one.profile][told] += 1
    profiles = sorted(dict.fromkeys(one.profile for _, one in held), key=_order)
    return [
        {"runs of": about, **{profile: _cell(found[profile]) for profile in profiles}}
        for about, found in counts.items()
    ]


def _order(profile: str) -> tuple[int, str]:
    """Return where a profile's column stands: the book's first, the smoke runs last."""
    return (("book", "paper").index(profile), "") if profile in ("book", "paper") else (2, profile)


def _cell(counts: Counter[str]) -> str:
    """Write a count as in "188 of 210, 60 of them as book, 2 stale"."""
    if not counts:
        return "none"
    others = [f"{counts[name]:,} {name}" for name in ("stale", "damaged") if counts[name]]
    twins = {
        told.removeprefix(ELSEWHERE).strip(): number
        for told, number in counts.items()
        if told.startswith(ELSEWHERE)
    }
    stored = counts["fresh"] + sum(twins.values())
    same = [f"{number:,} of them as {profile}" for profile, number in sorted(twins.items())]
    return ", ".join([f"{stored:,} of {counts.total():,}", *same, *others])
