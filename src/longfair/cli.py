"""The command ``longfair``: list, run, judge, measure, diagnose.

Everything that takes time to import is imported inside the commands, so that help is quick.
Bad input is answered with one line on standard error and exit code 2.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from longfair.errors import FaultError, UsageError
from longfair.wording import (
    by_measure,
    by_middle,
    certainty,
    counted,
    numeral,
    plain,
    steps_of,
    with_interval,
)

if TYPE_CHECKING:
    from longfair.runs.claims import Claim
    from longfair.runs.experiment import Experiment, Run
    from longfair.runs.store import Store
    from longfair.runs.verdicts import Verdict
    from longfair.runs.verify import Rerun

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

_SHOWN = 20
"""Lines about damaged files that are printed without --all, at most."""
_MANY = 500
"""Results whose first reading takes long enough to be announced, if there are more."""
_STORED_SEEDS = 10
"""Evaluations that the stored runs of a policy without training have."""
_TOLD = 20
"""Claims whose verdicts are printed with their reasons, at most."""
_COLOURS = {
    "reproduced": "green",
    "checked": "green",
    "direction only": "cyan",
    "not reproduced": "yellow",
    "contradicted": "red",
    "inconclusive": "blue",
    "not attempted": "dim",
    "yes": "green",
    "in part": "cyan",
    "no": "yellow",
    "cannot be told": "blue",
}
"""Colour of a verdict or an answer on a terminal; in a file or a pipe there is none."""


def _folder(text: str) -> Path:
    if not text or "\0" in text:
        raise typer.BadParameter(f"{text!r} is not a folder: give a path, or leave the option away")
    return Path(text)


StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        parser=_folder,
        metavar="PATH",
        help="Folder of results. [default: LONGFAIR_STORE, else results]",
    ),
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
        Always. Code 0: done. 1: something failed. 2: bad input. 128 and the number of a signal:
        stopped by it.
    """
    sys.stdout, sys.stderr = _printing_all(sys.stdout), _printing_all(sys.stderr)
    given = None if arguments is None else list(arguments)
    try:
        if sys.stdout is None:  # the shell has closed it
            raise FaultError("the output is closed: nothing can be told; leave '>&-' away")
        code = app(args=given, prog_name="longfair", standalone_mode=False) or 0
        sys.stdout.flush()
    except UsageError as error:
        _say(" ".join(str(error).split()))
        code = 1 if isinstance(error, FaultError) else 2
    except typer.Abort:
        code = 130
    except ModuleNotFoundError as error:
        code = _missing(error)
    except OSError as error:
        code = _blamed(error)
    except Exception as error:
        code = _explained(error)
    raise SystemExit(code)


def _printing_all(stream: Any) -> Any:
    """Print what a terminal has no signs for, and all that a pipe does not take at once.

    Without a buffer, as `python -u` wants it, a stream drops what a write has left over when a
    signal comes in between.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    if not isinstance(stream.buffer, io.RawIOBase):
        return stream
    return open(stream.fileno(), "w", 1, stream.encoding, stream.errors, closefd=False)


_OF_THE_AGENTS = ("torch", "numba", "stable_baselines3")
"""Packages that come with the extra `agents`."""


def _require_agents() -> None:
    """Refuse at once what every run would fail at."""
    for package in _OF_THE_AGENTS:
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def _missing(error: ModuleNotFoundError) -> int:
    """Say how to install what agents need; tell the rest as `_of_another_package` does."""
    package = (error.name or "").partition(".")[0]
    if package not in _OF_THE_AGENTS:
        return _of_another_package(error)
    _say(f"this needs the agents, and {package} is missing: pip install '.[agents]' in a clone")
    return 1


def _explained(error: Exception) -> int:
    """Put what typer says of wrong arguments into one line."""
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        return _of_another_package(error)
    text = " ".join(format_message().split())
    if "Usage:" in text:  # a command that was given nothing shows its help
        print(format_message())
    else:
        context = getattr(error, "ctx", None)
        _say(f"{text.rstrip('.')}. See '{context.command_path if context else 'longfair'} --help'.")
    return 2


def _of_another_package(error: Exception) -> int:
    """Say in one line which package that extends the library is broken; raise if it is none."""
    from longfair.outside import blamed

    told = blamed(error)
    if told is None:
        raise error
    _say(" ".join(str(told).split()))
    return 2


def _blamed(error: OSError) -> int:
    """Say in one line what the system refused; nothing when the reader of a pipe has left."""
    if not isinstance(error, BrokenPipeError):
        _say(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    if sys.stdout is not None:
        _give_up(sys.stdout)
    return 1


def _version(asked: bool) -> None:
    if asked:
        print(f"longfair {importlib.metadata.version('longfair')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term fairness in sequential decision making: run, remember, judge."""


@app.command("list")
def list_experiments(
    names: Annotated[
        list[str] | None, typer.Argument(help="Papers or experiments; an overview if none.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count stored runs by paper, experiment or method.

    A number is that of fresh runs; stale and damaged ones are added where there are any.
    """
    from longfair.papers import registry
    from longfair.runs.listing import require_names, tables

    names = names or []
    require_names(names, registry.experiments())
    folder = _existing(store)
    folder.index.catch_up()  # what one profile lacks another may have
    chosen = [
        experiment
        for experiment in registry.experiments().values()
        if not names or {experiment.id, experiment.paper} & set(names)
    ]
    if as_json:
        _print_json(_all_profiles(chosen, folder))
    else:
        found = tables(names, folder, registry.experiments())
        for table in found:
            _print_table(table.title, table.rows)
        missing = sum((table.missing for table in found), Counter[str]())
        told = ", ".join(f"{number:,} of {profile}" for profile, number in sorted(missing.items()))
        more = "" if names else "; 'longfair list PAPER' and 'longfair list EXPERIMENT' tell more"
        _wrapped(
            f"fresh runs of all that are declared; missing: {missing.total():,}"
            f"{f' ({told})' if told else ''}; store: {folder.root}{more}"
        )
    _say_what_was_replaced(chosen, folder)


def _say_what_was_replaced(chosen: Sequence[Experiment], folder: Store) -> None:
    """Say in one line, if any, how many results are not those that the manifest lists."""
    from longfair.runs.manifest import differing

    names = differing(folder, {experiment.id for experiment in chosen})
    if names:
        _say(
            f"{len(names):,} results are not those of the manifest, first: "
            f"{folder.root / names[0]}; 'longfair verify' says what to do"
        )


def _all_profiles(chosen: Sequence[Experiment], folder: Store) -> list[dict[str, Any]]:
    """Return one row for every profile of experiments."""
    from longfair.runs.listing import ELSEWHERE, states

    rows = []
    for experiment in chosen:
        for profile in experiment.arms:
            counts = Counter(state.status for _, state in states(folder, experiment, profile))
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
                    **{
                        name: counts[name]
                        for name in ("fresh", ELSEWHERE, "stale", "missing", "damaged")
                    },
                }
            )
    return rows


@app.command("agents")
def list_agents(as_json: JsonOption = False) -> None:
    """List who can decide, and where each can act."""
    from longfair.papers.who_acts_where import who_acts_where

    rows = who_acts_where()
    if as_json:
        _print_json(rows)
        return
    told = [{name: row[name] for name in ("agent", "label", "revision")} for row in rows]
    _print_table(
        "agents",
        [
            {**short, "acts in": ", ".join(row["acts_in"])}
            for short, row in zip(told, rows, strict=True)
        ],
    )


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
    """Execute the runs that have no fresh result in the store.

    It can be stopped at any moment: finished runs are kept, the others are done next time.
    """
    from longfair.papers import registry
    from longfair.runs.experiment import plan
    from longfair.runs.progress import ConsoleReporter
    from longfair.runs.runner import run_all
    from longfair.runs.store import Store

    _require_agents()
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
    profile: Annotated[
        str | None, typer.Option(help="Only runs of smoke, book or paper. [default: see above]")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge claims by the results in the store.

    On runs with the authors' settings where there are any; the verdict on our cheaper runs of the
    profile book stands in the next line.
    """
    from longfair.papers import registry
    from longfair.papers.claim_numbers import Pools, with_beside
    from longfair.runs import board

    chosen = registry.select_claims(names, paper)
    if profile is not None:
        _require_profile(profile)
    folder = _existing(store)
    verdicts = board.verdicts(
        chosen, folder, registry.experiments(), registry.checks(), profile=profile
    )
    if as_json:
        _print_json(with_beside(verdicts, Pools(folder, profile)))
    else:
        _print_verdicts(chosen, verdicts)
    for line in (*_stale_lines(verdicts, folder), *_differing_lines(chosen, folder)):
        _say(line)


@app.command()
def show(
    claim: Annotated[str, typer.Argument(help="Id of a claim, such as elbert-01.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell a claim's words, rule, verdicts, runs, code and command."""
    from longfair.papers import registry
    from longfair.papers.claim_sheet import sheets

    (told,) = sheets(registry.select_claims([claim]), _existing(store))
    if as_json:
        _print_json(told)
        return
    _say_rule(told)
    _print_table("verdicts", [_verdict_row(told["asked"], row) for row in told["verdicts"]])
    for row in told["verdicts"]:
        which = filter(None, (plain(row["variant"]), by_measure(row["measure"])))
        _line(f"{', '.join(which)}: {row['detail']}")
        _print_certainty(row)
    if told["beside"]:
        _print_table("beside it, not judged", [_shortened(row) for row in told["beside"]])
    if told["runs"]:
        _print_table("runs it is judged on", told["runs"])
    for method, what in told["methods"].items():
        _line(f"method: {method}, {what}")
    for folder in told["data"]:
        _line(f"data: {folder} in the store, a file for each run")
    for part in told["code"]:
        _line(f"code: {part['name']}, {part['file']}, lines {part['first']} to {part['last']}")
    for command in told["commands"]:
        _line(f"repeat: {command}")


def _say_rule(told: Mapping[str, Any]) -> None:
    """Print what a claim says, who says it where, and its rule with that rule's history."""
    paper = told["paper"]
    cited = f"{paper['authors']}, {paper['title']}, doi:{paper['doi']}" if "doi" in paper else ""
    _line(f"{told['id']}: {told['statement']}")
    _line(f"asked {'by the paper' if told['asked'] == 'paper' else 'here'}: {told['place']}")
    _line(f"paper: {cited or paper['id']}")
    for measure, words in told["rule"]["words"].items():
        rule = f"rule{f' {by_measure(measure)}' if measure else ''}: "
        conditions = told["rule"]["conditions"][measure]
        if not conditions:
            _wrapped(rule + words)
            continue
        _line(f"{rule}all of these hold")
        for number, condition in enumerate(conditions, start=1):
            _wrapped(f"rule {number}: {condition}")
        if beyond := told["rule"]["beyond"][measure]:
            _wrapped(f"rule, {beyond}")
    for event, commit in enumerate(told["rule"]["commits"]):
        what = "changed" if event else "written"
        _line(f"rule {what} {commit['date']} by {commit['commit'][:12]}")
    if told["made"]:
        _line(f"runs made {' to '.join(dict.fromkeys(told['made']))}")
    for change in told["changed"]:
        _line(f"marked {change['date']}: was {change['was']}; now {change['now']}. {change['why']}")
    if told["note"]:
        _line(f"note: {told['note']}")


def _verdict_row(asked: str, row: Mapping[str, Any]) -> dict[str, str]:
    """Return a line of the table of verdicts; a question of ours has an answer."""
    instances = counted(row["instances"], "instance") if row["instances"] else ""
    return {
        "variant": row["variant"],
        "measure": plain(row["measure"]),
        "settings": row["settings"],
        "verdict" if asked == "paper" else "answer": _coloured(row["answer"], row["fragile"]),
        "estimate": _short(row["estimate"]),
        "interval": " to ".join(_short(end) for end in row["interval"] or ()),
        "runs": instances or f"{row['seeds']}",
        "steps": steps_of(row),
        "core hours": _short(row["core_hours"]),
    }


def _shortened(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _short(cell) if isinstance(cell, float) else cell for name, cell in row.items()}


def _short(number: float | None) -> str:
    return "" if number is None else numeral(number)


@app.command("rerun")
def rerun_claim(
    claim: Annotated[str, typer.Argument(help="Id of a claim, such as elbert-01.")],
    number: Annotated[int, typer.Option("--runs", min=1, help="How many, cheapest first.")] = 1,
    everything: Annotated[bool, typer.Option("--all", help="All runs it is judged on.")] = False,
    workers: Annotated[int | None, typer.Option(help="Runs at a time. [default: cores]")] = None,
    into: Annotated[
        Path | None,
        typer.Option(parser=_folder, metavar="PATH", help="Keep the new results in this folder."),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Repeat what a claim is judged on, and compare the results.

    The new results go into a folder of their own, never into the store. An exact claim is computed
    again. Exit code 1 if anything comes out otherwise.
    """
    from longfair.papers import registry
    from longfair.papers.claim_sheet import core_seconds
    from longfair.papers.rerunning import check_again, stored_runs
    from longfair.runs.progress import duration

    (chosen,) = registry.select_claims([claim])
    folder = _existing(store)
    _require_another(into, folder)
    _require_agents()
    sound = held = check_again(chosen, _line)
    if chosen.experiment is not None:
        runs = stored_runs(chosen, folder)
        if not runs:
            raise UsageError(f"claim {claim}: the store has no fresh run that it is judged on")
        few = runs if everything else runs[:number]
        cost = [duration(sum(core_seconds(run, folder) for run in part)) for part in (few, runs)]
        _line(
            f"{len(few)} of {counted(len(runs), 'run')}, {cost[0]} of {cost[1]} of core time; "
            "--runs N takes more of them, --all takes all"
        )
        found = _run_again(few, folder, into, workers)
        alike = sum(result.sound for result in found)
        sound &= alike == len(found)
        told = f"{alike} of {counted(len(runs), 'run')} {'comes' if alike == 1 else 'come'} out"
        other = f", {len(found) - alike} otherwise" if alike < len(found) else ""
        rest = f"; {len(runs) - len(found)} not tried" if len(found) < len(runs) else ""
        _line(f"{claim}: {told} again{other}{rest}")
    if chosen.rule.checks:
        _line(f"{claim}: {'all checks hold' if held else 'not all checks hold'}")
    raise typer.Exit(0 if sound else 1)


@app.command()
def evaluate(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME", help="An object with predict, or what makes one, in this folder."
        ),
    ],
    seeds: Annotated[int, typer.Option(help="Evaluations, each with its own episodes.")] = 3,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Experiment whose world is played; repeat.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play any policy wherever it can act, and tell how good it is.

    It stands beside a trivial policy and the best one known. Each world is judged by the notions
    of its own paper. Exit code 1 if a world named with --only was not played, or none was.
    """
    from longfair.papers.card import Played, card

    def show(played: Played) -> None:
        seen = ", plain observations" if played.plain else ""
        _print_table(f"{played.course.experiment}, evaluations: {seeds}{seen}", played.rows())

    sys.path.insert(0, os.getcwd())
    found = card(policy, seeds, only or (), _say, _nothing if as_json else show)
    unplayed = found.refused | found.failed
    code = 1 if not found.played or set(only or ()) & unplayed.keys() else 0
    if as_json:
        _print_json(found.as_json())
        raise typer.Exit(code)
    for experiment, reason in found.refused.items():
        _line(f"{experiment}: cannot act there: {reason}")
    for experiment, reason in found.failed.items():
        _line(f"{experiment}: {reason}")
    if found.played:
        _line(
            "of the way: 0 % is the trivial policy, 100 % the best one that is known without "
            "learning; negative is worse than trivial"
        )
        if seeds < _STORED_SEEDS:
            _line(
                f"intervals are over {counted(seeds, 'evaluation')}; '--seeds {_STORED_SEEDS}' "
                "takes as many as the stored runs, and longer"
            )
    raise typer.Exit(code)


def _nothing(played: Any) -> None:
    """Show nothing: JSON is printed whole, at the end."""


@bench_app.command("env")
def bench_environments(quick: QuickOption = False, as_json: JsonOption = False) -> None:
    """Measure steps per second of the environments."""
    rows = _benchmarks("benchmarks").environment_benchmarks(quick)
    _print_json(rows) if as_json else _print_table("environments", rows)


@bench_app.command("train")
def bench_training(quick: QuickOption = False, as_json: JsonOption = False) -> None:
    """Measure training, also against the machine's own matrix-multiply rate."""
    rows = _benchmarks("benchmarks").training_benchmarks(quick)
    _print_json(rows) if as_json else _print_table("training", rows)


@bench_app.command("store")
def bench_store(
    quick: QuickOption = False, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Measure list, claims and run with 100 and 100,000 simulated runs beside the store."""
    rows = _benchmarks("store_benchmarks").store_benchmarks(quick, _existing(store))
    _print_json(rows) if as_json else _print_table("seconds of processor time", rows)


@app.command()
def verify(
    context: typer.Context,
    against: Annotated[
        str | None, typer.Option(help="A commit: prove that no number changed since.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Name every fault; with --against: probe all arms."),
    ] = False,
    sample: Annotated[
        int, typer.Option(min=0, help="Execute stored runs of so many arms again.")
    ] = 0,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=1e9, help="With --sample: core seconds of them together.")
    ] = 60.0,
    longest: Annotated[
        float, typer.Option(min=0.1, max=1e9, help="With --sample: core seconds of each.")
    ] = 1e9,
    turn: Annotated[str, typer.Option(help="With --sample: which ones. [default: commit]")] = "",
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --sample: runs at a time. [default: cores]")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            parser=_folder, metavar="PATH", help="With --sample: keep new results here, to go on."
        ),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Enter what the store holds into the manifest.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Check the store, and prove that no edit changed a number.

    Stored results have to be whole, come out again, and be of code that is proven to compute what
    it computed then. Without options it checks every file, its digests and the manifest, and that
    every change of the code since the results is proven. Exit code 1 if anything is wrong.
    """
    from longfair.papers import registry
    from longfair.runs.machine import commit_of
    from longfair.runs.verify import by_name, choose, write_manifest

    _require_used(context, against, sample)
    folder = _existing(store)
    _require_another(into, folder)
    if against is not None:
        raise typer.Exit(_verify_against(against, folder, everything))
    if write:
        _line(f"{write_manifest(folder):,} files entered into {folder.root / 'MANIFEST'}")
    sound = _verify_store(folder, everything)
    if sample:
        chosen_by = turn or commit_of(Path(__file__).parent).name or ""
        names = choose(folder, sample, chosen_by, seconds, longest)
        found = _run_again(by_name(registry.experiments(), names), folder, into, workers)
        sound &= all(result.sound for result in found)
    raise typer.Exit(0 if sound else 1)


def _require_used(context: typer.Context, against: str | None, sample: int) -> None:
    """Refuse options of `verify` that the others would leave without an effect."""
    of_sample = ("seconds", "longest", "turn", "workers", "into")
    names = ("write", "sample", *of_sample)
    sources = {name: context.get_parameter_source(name) for name in names}
    given = [
        f"--{name}"
        for name, source in sources.items()
        if source is not None and source.name != "DEFAULT"
    ]
    if against is not None and given:
        raise UsageError(f"{given[0]} says nothing beside --against: leave one of them away")
    if not sample and (idle := [name for name in given if name[2:] in of_sample]):
        raise UsageError(f"{idle[0]} says which runs to execute again: give --sample, too")


def _verify_store(folder: Store, everything: bool) -> bool:
    from longfair.papers import registry
    from longfair.runs import ledger
    from longfair.runs.verify import problems, unproven

    wrong = list(problems(folder))
    shown = wrong if everything else wrong[:_SHOWN]
    for line in shown:
        _say(line)
    if len(wrong) > len(shown):
        _say(f"... and {len(wrong) - len(shown):,} more: 'longfair verify --all' names every one")
    proofs = ledger.read(folder.root)
    for proof in proofs:
        if proof.is_bridge:
            _line(
                f"no probe: the ledger's line against {proof.against[:8]} pairs the digests of "
                f"{len(proof.same)} pieces of code before and after the digest was defined anew"
            )
    baseless = [proof for proof in proofs if proof.is_baseless]
    if baseless:
        _say(
            f"lines of the ledger without a probe: {len(baseless)} (first: against "
            f"{baseless[0].against[:8]}): they prove nothing, restore {folder.root / ledger.FILE} "
            "from git"
        )
    _say_what_vouches(folder)
    changed = unproven(folder, registry.experiments)
    if changed:
        _say(
            f"the code of {len(changed)} arms ({changed[0]}, ...) changed since their results and "
            "nobody proved that numbers stay: 'longfair verify --against COMMIT', with the last "
            "commit that was proven"
        )
    _line(
        f"{len(folder.result_paths()):,} results, {len(wrong)} damaged or not in the manifest; "
        f"code of {len(changed)} arms not proven; store: {folder.root}"
    )
    return not wrong and not changed and not baseless


def _say_what_vouches(folder: Store) -> None:
    """Say in one line, if there are any, how many results have code that no commit shows."""
    from longfair.runs.verify import unseen_code

    unseen = unseen_code(folder, Path(__file__).parent)
    parts = []
    if unseen.uncommitted:
        parts.append(f"{unseen.uncommitted:,} from a tree with changes that were not committed")
    if unseen.unknown:
        parts.append(f"{unseen.unknown:,} from a commit that this repository does not have")
    if parts:
        _line(
            f"results stored {', '.join(parts)}: only the proof of their code, the ledger, vouches "
            "for these"
        )


def _run_again(
    runs: Sequence[Run], folder: Store, into: Path | None, workers: int | None
) -> list[Rerun]:
    """Execute stored runs again, and say of each how it came out."""
    import tempfile

    from longfair.papers.rerunning import again
    from longfair.runs.store import Store

    with tempfile.TemporaryDirectory() as own:
        found = list(again(runs, folder, Store(into or own), workers, _out()))
    for result in found:
        _line(f"{'ok  ' if result.sound else 'FIX '} {result.name}: {result.line}")
    return found


def _require_another(into: Path | None, folder: Store) -> None:
    """Refuse to execute stored runs again into the store that holds them."""
    if into is not None and into.resolve() == folder.root.resolve():
        raise UsageError(f"--into {into} is the store itself: give another folder")


_NAMED = 20
"""How many arms are named one by one."""


def _verify_against(revision: str, folder: Store, everything: bool) -> int:
    from longfair.papers.verification import against

    outcome = against(revision, folder, everything=everything)
    parts = outcome.comparison
    for name in outcome.different[:_NAMED]:
        declared = ", ".join(f"{part} {n}" for part, n in outcome.revisions[name].items())
        _say(
            f"{name} gives other numbers than at {revision}: raise a revision ({declared}) or undo"
        )
    for name, error in list(outcome.failed.items())[:_NAMED]:
        _say(f"the probe of {name} failed ({error}): nothing is proven of it")
    more = sum(max(0, len(arms) - _NAMED) for arms in (outcome.different, outcome.failed))
    if more:
        _say(f"and {more} more")
    _line(
        f"{len(parts.to_probe)} arms with changed code probed, {len(outcome.different)} differ; "
        f"{len(parts.untouched)} with the same source, {len(parts.declared)} declared to differ, "
        f"{len(parts.new)} in one state only, {len(parts.at_rest)} without a result; "
        f"{outcome.without} longer settings have no probe"
    )
    return 1 if outcome.different or outcome.failed else 0


@app.command()
def doctor(store: StoreOption = None) -> None:
    """Check this installation and the store, and say what to do."""
    from longfair.papers import registry
    from longfair.runs.doctor import examine
    from longfair.runs.store import Store

    folder = Store() if store is None else _existing(store)
    findings = examine(folder, registry.experiments())
    for finding in findings:
        _line(f"{finding.word.ljust(4)} {finding.line}")
    raise typer.Exit(0 if all(finding.sound for finding in findings) else 1)


def _existing(path: Path | None) -> Store:
    from longfair.runs.index import FILE as INDEX
    from longfair.runs.store import Store

    folder = Store(path)
    folder.require_existing()
    if not (folder.root / INDEX).exists() and len(folder.result_paths()) > _MANY:
        _say("reading the store once, which takes some seconds")
    return folder


def _benchmarks(module: str) -> Any:
    """Import the benchmarks, which the papers' room defines."""
    import importlib

    name = f"longfair.papers.{module}"
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


def _stale_lines(verdicts: Sequence[Verdict], folder: Store) -> list[str]:
    """One line per experiment whose stored results are not what its runs would give now."""
    from longfair.papers import registry
    from longfair.runs.experiment import plan

    lines = []
    resting = [
        (verdict.claim.experiment or "", profile)
        for verdict in verdicts
        for profile in verdict.profile.split(", ")
        if verdict.stale
    ]
    for name, profile in dict.fromkeys(resting):
        experiment = registry.experiment(name)
        states = [state for _, state in folder.states_of(plan(experiment, profile))]
        stale = [state.reason for state in states if state.status == "stale"]
        lines.append(
            f"{len(stale)} of {len(states)} results of {name} under {profile} are stale "
            f"({', '.join(stale[:1])}): 'longfair run {name} --profile {profile}' computes them "
            "again"
        )
    return lines


def _differing_lines(chosen: Sequence[Claim], folder: Store) -> list[str]:
    """Say in one line, if any, which files that verdicts rest on are not those of the manifest."""
    from longfair.runs import check_memory
    from longfair.runs.manifest import differing

    parts = {claim.experiment for claim in chosen if claim.experiment}
    if any(claim.rule.checks for claim in chosen):
        parts.add(check_memory.FILE)
    names = [str(folder.root / name) for name in differing(folder, parts)]
    if not names:
        return []
    more = f" and {len(names) - 1} more" if names[1:] else ""
    return [
        f"these verdicts do not rest on what the manifest lists: {names[0]}{more} missing, or not "
        "the file that it names; 'longfair verify' says what to do"
    ]


def _print_verdicts(chosen: Sequence[Claim], verdicts: Sequence[Verdict]) -> None:
    """Print every claim with its verdicts or answers, and then how many there are of each."""
    from longfair.runs import board

    few = len(chosen) <= _TOLD
    for claim in chosen:
        _print_claim([verdict for verdict in verdicts if verdict.claim is claim], few)
    if not few:
        _line("what decides each of them: 'longfair claims ID' and 'longfair show ID'")
    for asked, words in board.counts(verdicts).items():
        whose = "claims of papers" if asked == "paper" else "questions asked here"
        listed = ", ".join(f"{number} {word}" for word, number in words.most_common())
        _line(f"{whose}, one count for each variant and measure: {listed or 'none'}")
    changed = [
        f"{sum(bool(claim.changed) for claim in own)} of {len(own)} {whose}"
        for asked, whose in (("paper", "claims of papers"), ("here", "questions asked here"))
        if (own := [claim for claim in chosen if claim.asked == asked])
    ]
    _line(
        f"rules written or changed after their runs: {' and '.join(changed) or 'none'}; "
        "'longfair show ID' says what was changed and why"
    )


def _print_claim(verdicts: Sequence[Verdict], reasons: bool) -> None:
    """Print a claim with its sentence, and below it a line for every verdict."""
    claim = verdicts[0].claim
    _out().print(Text.assemble((claim.id, "bold"), "  ", claim.statement), soft_wrap=True)
    for verdict in verdicts:
        reported = claim.reported_by(verdict.measure)
        told = [
            plain(verdict.variant),
            by_measure(verdict.measure),
            "" if verdict.first else verdict.whose,
            "" if verdict.estimate is None else with_interval(verdict.estimate, verdict.interval),
            "" if reported is None else f"reported {numeral(reported)}",
            f"on {counted(verdict.instances, 'instance')}" if verdict.instances else "",
            counted(len(verdict.seeds), "run") if verdict.seeds else "",
            f"{steps} steps" if (steps := steps_of(verdict.as_json())) else "",
        ]
        answer = _coloured(verdict.answer, verdict.fragile)
        line = Text.assemble(f"    {verdict.first}", answer, "  ", ", ".join(filter(None, told)))
        _out().print(line, soft_wrap=True)
        if reasons:
            _line(f"        {verdict.name}: {verdict.detail}")
            _print_certainty(verdict.as_json())


def _print_certainty(row: Mapping[str, Any]) -> None:
    """Print how sure a verdict is, if there is anything to say."""
    told = filter(None, (by_middle(row), *certainty(row)))
    if line := ", ".join(told):
        _line(f"        how sure: {line}")


def _coloured(word: str, fragile: bool) -> Text:
    """Return a word or an answer in its colour, as wide as the longest."""
    told = f"{word} (fragile)" if fragile else word
    return Text(told.ljust(14), style=_COLOURS[word])


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


def _cell(value: Any) -> str | Text:
    if isinstance(value, Text):
        return value
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, float):
        return numeral(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _print_json(rows: Sequence[dict[str, Any]] | dict[str, Any]) -> None:
    print(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))


def _line(text: str) -> None:
    _out().print(text, markup=False, highlight=False, soft_wrap=True)


def _wrapped(text: str) -> None:
    """Print a long line, folded at words where it is read on a terminal; whole in a pipe."""
    console = _out()
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def _out() -> Console:
    """Return a console; a file or a pipe is taken to be wide enough for tables."""
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, 120))


def _say(line: str) -> None:
    """Print a line to standard error; where that cannot be written the exit code must do."""
    if sys.stderr is None:  # where the shell has closed it
        return
    try:
        print(f"longfair: {line}", file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Keep what is in a stream's buffer from being tried once more when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
