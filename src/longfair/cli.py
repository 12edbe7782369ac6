"""The command ``longfair``: list, run, judge, measure, diagnose.

Everything that takes time to import is imported inside the commands, so that help is quick.
Bad input is answered with one line on standard error and exit code 2.
"""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from longfair.errors import UsageError

if TYPE_CHECKING:
    from longfair.runs.experiment import Run
    from longfair.runs.store import Store
    from longfair.runs.verdicts import Verdict

app = typer.Typer(
    help="Long-term fairness in sequential decision making: run, remember, judge.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
bench_app = typer.Typer(
    help="Measure speed on this machine.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(bench_app, name="bench")

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", help="Folder of results. [default: LONGFAIR_STORE, else results]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
QuickOption = Annotated[bool, typer.Option("--quick", help="Fewer repeats and settings.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command.

    Parameters
    ----------
    arguments
        Arguments after the command's name; those of the process when not given.

    Raises
    ------
    SystemExit
        Always. Code 0: done. 1: something failed. 2: bad input. 130: interrupted.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name="longfair")
    except UsageError as error:
        print(f"longfair: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(2) from None


@app.command("list")
def list_experiments(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List experiments, their profiles and methods, and what the store holds of them."""
    from longfair.papers import registry
    from longfair.runs.experiment import plan
    from longfair.runs.store import Store

    folder = Store(store)
    rows = []
    for experiment in registry.experiments().values():
        for profile in experiment.arms:
            counts = Counter(folder.status(run) for run in plan(experiment, profile))
            rows.append(
                {
                    "experiment": experiment.id,
                    "title": experiment.title,
                    "profile": profile,
                    "horizon": experiment.horizon[profile],
                    "seeds": experiment.seeds[profile],
                    "methods": list(experiment.methods(profile)),
                    "variants": list(experiment.variants(profile)),
                    "runs": counts.total(),
                    **{name: counts[name] for name in ("fresh", "stale", "missing", "damaged")},
                }
            )
    if as_json:
        _print_json(rows)
        return
    for experiment in registry.experiments().values():
        _line(f"{experiment.id}: {experiment.title}")
        for profile in experiment.arms:
            _line(f"  {profile}: {', '.join(arm.name for arm in experiment.arms[profile])}")
    hidden = ("title", "methods", "variants")
    _print_table("runs", [{k: v for k, v in row.items() if k not in hidden} for row in rows])
    _line(f"store: {folder.root}")


@app.command()
def run(
    experiments: Annotated[list[str], typer.Argument(help="Ids, such as elbert/lending.")],
    profile: Annotated[str, typer.Option(help="smoke, book or paper.")] = "smoke",
    seeds: Annotated[int | None, typer.Option(help="Number of seeds. [default: profile's]")] = None,
    first_seed: Annotated[int, typer.Option(help="First seed.")] = 0,
    methods: Annotated[str | None, typer.Option(help="Only these, comma-separated.")] = None,
    variant: Annotated[str | None, typer.Option(help="Only these, comma-separated.")] = None,
    workers: Annotated[int | None, typer.Option(help="Runs at a time. [default: cores]")] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    store: StoreOption = None,
) -> None:
    """Execute the runs of experiments that have no fresh result in the store.

    It can be stopped at any moment: finished runs are kept, the others are done next time.
    """
    from longfair.papers import registry
    from longfair.runs.experiment import plan
    from longfair.runs.progress import ConsoleReporter
    from longfair.runs.runner import run_all
    from longfair.runs.store import Store

    runs: list[Run] = []
    for name in dict.fromkeys(experiments):
        runs += plan(
            registry.experiment(name),
            profile,
            seeds=seeds,
            first_seed=first_seed,
            methods=_names(methods),
            variants=_names(variant),
        )
    folder = Store(store)
    reporter = ConsoleReporter(_out())
    try:
        summary = run_all(runs, folder, workers=workers, cluster=cluster, reporter=reporter)
    except KeyboardInterrupt as stopped:
        _say("stopped: finished runs are kept, the same command does the others")
        number = stopped.args[0] if stopped.args else signal.SIGINT
        raise typer.Exit(128 + number) from None
    _line(
        f"{len(summary.finished)} executed, {len(summary.kept)} kept, "
        f"{len(summary.failed)} failed; store: {folder.root}"
    )
    raise typer.Exit(summary.exit_code)


@app.command()
def claims(
    names: Annotated[list[str] | None, typer.Argument(help="Ids of claims; all if none.")] = None,
    paper: Annotated[str | None, typer.Option(help="Only claims of this paper.")] = None,
    profile: Annotated[str, typer.Option(help="smoke, book or paper.")] = "book",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge claims by the results in the store."""
    from longfair.papers import registry
    from longfair.runs.store import Store
    from longfair.runs.verdicts import judge_all

    chosen = registry.select_claims(names, paper)
    _require_profile(profile)
    folder = Store(store)
    verdicts = judge_all(chosen, folder, profile, registry.checks())
    for line in _stale_lines(verdicts, folder, profile):
        _say(line)
    if as_json:
        _print_json([verdict.as_json() for verdict in verdicts])
        return
    _print_table(f"verdicts under profile {profile}", [_verdict_row(part) for part in verdicts])
    for verdict in verdicts:
        steps = "" if verdict.horizon is None else f", {verdict.horizon:,} steps"
        _line(f"{verdict.claim.id} ({verdict.variant}{steps}): {verdict.detail}")


@bench_app.command("env")
def bench_environments(quick: QuickOption = False, as_json: JsonOption = False) -> None:
    """Measure steps per second of the environments."""
    rows = _benchmarks().environment_benchmarks(quick)
    _print_json(rows) if as_json else _print_table("environments", rows)


@bench_app.command("train")
def bench_training(quick: QuickOption = False, as_json: JsonOption = False) -> None:
    """Measure training, also against the machine's own matrix-multiply rate."""
    rows = _benchmarks().training_benchmarks(quick)
    _print_json(rows) if as_json else _print_table("training", rows)


@bench_app.command("networks")
def bench_networks(quick: QuickOption = False, as_json: JsonOption = False) -> None:
    """Measure the compiled gradient of policy and critics against torch."""
    rows = _benchmarks().network_benchmarks(quick)
    _print_json(rows) if as_json else _print_table("networks, microseconds", rows)


@app.command()
def doctor(store: StoreOption = None) -> None:
    """Check this installation and the store, and say what to do."""
    from longfair.papers import registry
    from longfair.runs.doctor import examine
    from longfair.runs.store import Store

    findings = examine(Store(store), registry.experiments())
    for finding in findings:
        _line(f"{'ok  ' if finding.sound else 'FIX '} {finding.line}")
    raise typer.Exit(0 if all(finding.sound for finding in findings) else 1)


def _benchmarks() -> Any:
    """Import the benchmarks, which the papers' room defines."""
    import importlib

    name = "longfair.papers.benchmarks"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError("this installation has no benchmarks: reinstall longfair") from error


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _require_profile(profile: str) -> None:
    from longfair.errors import near_misses
    from longfair.papers import registry

    known = {name for experiment in registry.experiments().values() for name in experiment.arms}
    if known and profile not in known:
        raise UsageError(f"unknown profile {profile!r}: {near_misses(profile, known)}")


def _stale_lines(verdicts: Sequence[Verdict], folder: Store, profile: str) -> list[str]:
    """One line per experiment whose stored results are not what its runs would give now."""
    from longfair.papers import registry
    from longfair.runs.experiment import plan

    lines = []
    for name in dict.fromkeys(verdict.claim.experiment for verdict in verdicts):
        experiment = registry.experiments().get(name or "")
        if experiment is None or profile not in experiment.arms:
            continue
        states = folder.states(plan(experiment, profile))
        stale = states[states["status"] == "stale"]
        if not stale.empty:
            lines.append(
                f"{len(stale)} of {len(states)} results of {name} under {profile} are stale "
                f"({stale['reason'].iloc[0]}): 'longfair run {name} --profile {profile}' "
                "computes them again"
            )
    return lines


def _verdict_row(verdict: Verdict) -> dict[str, Any]:
    reported = verdict.claim.reported
    return {
        "claim": verdict.claim.id,
        "variant": verdict.variant,
        "reported": "" if reported is None else f"{reported.value:g}",
        "estimate": _with_interval(verdict),
        "seeds": str(len(verdict.seeds) or ""),
        "verdict": verdict.word,
    }


def _with_interval(verdict: Verdict) -> str:
    if verdict.estimate is None:
        return ""
    if verdict.interval is None:
        return f"{verdict.estimate:.4g}"
    low, high = verdict.interval
    return f"{verdict.estimate:.4g} [{low:.4g}, {high:.4g}]"


def _print_table(title: str, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        _line(f"no {title}")
        return
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, value in rows[0].items():
        is_number = isinstance(value, int | float)
        table.add_column(
            name.replace("_", " "), overflow="fold", justify="right" if is_number else "left"
        )
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    _out().print(table, markup=False)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _print_json(rows: Sequence[dict[str, Any]]) -> None:
    print(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))


def _line(text: str) -> None:
    _out().print(text, markup=False, highlight=False, soft_wrap=True)


def _out() -> Console:
    """Return a console; a file or a pipe is taken to be wide enough for tables."""
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, 120))


def _say(line: str) -> None:
    print(f"longfair: {line}", file=sys.stderr)
