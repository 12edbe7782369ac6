"""What a store holds of the runs that experiments declare: by paper, by experiment, by method."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from longfair.errors import UsageError, near_misses
from longfair.runs.experiment import Arm, Experiment, Run, plan
from longfair.runs.keys import run_key
from longfair.runs.store import State, Store

ELSEWHERE: Final = "elsewhere"
"""State of a run that is stored under another profile, which has the same settings."""

Row = dict[str, str]
"""What the row is about, and for every profile how many of its runs are fresh."""


class Table(NamedTuple):
    """Rows that belong together."""

    title: str
    rows: list[Row]
    missing: Counter[str]
    """How many runs of each profile have no result."""


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
        return [_table("papers", store, experiments.values(), lambda one, arm: one.paper)]
    found = []
    for name in names:
        if name in experiments:
            table = _table(name, store, [experiments[name]], lambda one, arm: arm.name)
        else:
            own = [one for one in experiments.values() if one.paper == name]
            table = _table(name, store, own, lambda one, arm: one.id)
        found.append(table)
    return found


def require_names(names: Sequence[str], experiments: Mapping[str, Experiment]) -> None:
    """Check that names are those of papers and experiments.

    Raises
    ------
    UsageError
        If one is not; the message names the near misses.
    """
    known = [*dict.fromkeys(one.paper for one in experiments.values()), *experiments]
    for name in names:
        if name not in known:
            raise UsageError(f"unknown paper or experiment {name!r}: {near_misses(name, known)}")


def states(store: Store, experiment: Experiment, profile: str) -> Iterator[tuple[Run, State]]:
    """Yield the runs of a profile with their states.

    A run without a file whose very settings are stored under another profile of its experiment is
    ``elsewhere``, not ``missing``: the reason says where. An index that is new knows no other
    profile before it has looked, see `longfair.runs.index.Index.catch_up`.
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


def _table(
    title: str,
    store: Store,
    experiments: Iterable[Experiment],
    about: Callable[[Experiment, Arm], str],
) -> Table:
    """Count the runs of experiments, in a row for each that they are about."""
    counts: dict[str, dict[str, Counter[State]]] = defaultdict(lambda: defaultdict(Counter))
    missing: Counter[str] = Counter()
    for one in experiments:
        for profile in one.arms:
            for run, state in states(store, one, profile):
                told = state if state.status == ELSEWHERE else State(state.status)
                counts[about(one, run.arm)][profile][told] += 1
                missing[profile] += state.status == "missing"
    profiles = sorted({profile for found in counts.values() for profile in found}, key=_order)
    rows = [
        {"runs of": name, **{profile: _cell(found[profile]) for profile in profiles}}
        for name, found in counts.items()
    ]
    return Table(title, rows, +missing)


def _order(profile: str) -> tuple[int, str]:
    """Return where a profile's column stands: the book's first, the smoke runs last."""
    return (("book", "paper").index(profile), "") if profile in ("book", "paper") else (2, profile)


def _cell(counts: Counter[State]) -> str:
    """Write a count as in "188 of 210, 60 with the settings of book, 2 stale"."""
    if not counts:
        return "none"
    of = Counter[str]()
    for state, number in counts.items():
        of[state.status] += number
    others = [f"{of[name]:,} {name}" for name in ("stale", "damaged") if of[name]]
    same = [
        f"{number:,} with the settings of {state.reason}"
        for state, number in sorted(counts.items(), key=lambda told: told[0].reason)
        if state.status == ELSEWHERE
    ]
    return ", ".join([f"{of['fresh'] + of[ELSEWHERE]:,} of {of.total():,}", *same, *others])
