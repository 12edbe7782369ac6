"""Execute again what a claim is judged on, into a store of its own, and compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
from longfair.runs.verify import Rerun, held_against


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
    run_all(runs, own, workers=workers, reporter=ConsoleReporter(console))
    for run in runs:
        if own.path(run).is_file():
            table, _ = files.read(own.path(run))
            yield held_against(store, run, table.to_pandas(), words_of_verdicts)
        else:
            yield Rerun(run.name, False, "failed this time")


def check_again(claim: Claim, tell: Callable[[str], None]) -> bool:
    """Compute the executable checks of a claim again, say what they found, and whether all hold."""
    sound = True
    for name in claim.rule.checks:
        result = registry.checks()[name]()
        sound &= result.passed
        tell(f"{'ok  ' if result.passed else 'FIX '} {name}: {result.detail}")
    return sound
