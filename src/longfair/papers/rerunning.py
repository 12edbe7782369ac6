"""Execute stored runs again, into a store of their own, and compare.

On another class of processor a run may end where another seed could, and some arms have a rare seed
that ends far from all others. Such a run says nothing about the code, which is the same for every
seed. So one other seed of the arm is executed, too, and decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rich.console import Console

from longfair.papers import registry
from longfair.papers.claim_sheet import core_seconds, runs_of
from longfair.papers.verification import words_of_verdicts
from longfair.runs import files
from longfair.runs.claims import Claim
from longfair.runs.experiment import Run
from longfair.runs.progress import ConsoleReporter
from longfair.runs.runner import run_all
from longfair.runs.store import Store
from longfair.runs.verify import Rerun, computed_elsewhere, held_against

FAILED = "failed this time"


def stored_runs(claim: Claim, store: Store) -> list[Run]:
    """Return the fresh runs that a claim is judged on, cheapest first.

    Runs of the rule's methods come before those of policies that need no training, which cost
    next to nothing and decide little.
    """
    fresh = [run for run, state in runs_of(claim, store) if state.status == "fresh"]
    return sorted(fresh, key=lambda run: (run.arm.variant == "reference", core_seconds(run, store)))


def again(
    runs: Sequence[Run], store: Store, own: Store, workers: int | None, console: Console
) -> Iterator[Rerun]:
    """Execute runs into a store of their own and hold them against the stored ones.

    Parameters
    ----------
    runs
        The runs.
    store
        Where they are stored; nothing is written there.
    own
        Where the new results go.
    workers
        Runs at a time; one per core by default.
    console
        Where progress is told.

    Yields
    ------
    Rerun
        One for every run, in their order; not sound where the run failed.
    """
    own.root.mkdir(parents=True, exist_ok=True)
    reporter = ConsoleReporter(console)
    run_all(runs, own, workers=workers, reporter=reporter)
    for run in runs:
        found = _compared(run, store, own)
        strayed = not found.sound and found.line != FAILED and computed_elsewhere(store, run)
        if strayed and (other := next_seed(run, store)):
            run_all([other], own, workers=workers, reporter=reporter)
            found = told_by_two(found, _compared(other, store, own))
        yield found


def _compared(run: Run, store: Store, own: Store) -> Rerun:
    """Hold what a run gave this time against what is stored."""
    if not own.path(run).is_file():
        return Rerun(run.name, False, FAILED)
    table, _ = files.read(own.path(run))
    return held_against(store, run, table.to_pandas(), words_of_verdicts)


def next_seed(run: Run, store: Store) -> Run | None:
    """Return the stored run of the same arm with the next seed, after the last the first."""
    arm, _, _ = run.name.rpartition(".")
    parts = [entry.path.rsplit(".", 2) for entry in store.entries() if not entry.problem]
    seeds = {int(seed) for name, seed, _ in parts if name == arm}
    others = sorted(seeds - {run.seed}, key=lambda seed: (seed < run.seed, seed))
    return replace(run, seed=others[0]) if others else None


def told_by_two(first: Rerun, second: Rerun) -> Rerun:
    """Let another seed of an arm decide whether a run that came out otherwise is a fault."""
    seed = second.name.rsplit(".", 1)[1]
    return Rerun(first.name, second.sound, f"{first.line}; asked then, seed {seed}: {second.line}")


def check_again(claim: Claim, tell: Callable[[str], None]) -> bool:
    """Compute the executable checks of a claim again, say what they found, and whether all hold."""
    sound = True
    for name in claim.rule.checks:
        result = registry.checks()[name]()
        sound &= result.passed
        tell(f"{'ok  ' if result.passed else 'FIX '} {name}: {result.detail}")
    return sound
