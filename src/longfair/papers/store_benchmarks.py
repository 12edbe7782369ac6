"""What `longfair bench store` measures: commands on the present store beside many simulated runs.

The results of the present store are linked into a folder for the time of measuring. Beside them
stand the runs of ten simulated experiments, which a package outside this one declares. Their files
are empty, but index and manifest say of them what they would say of results, with the keys that
the runs have. So everything is as it is after the first call has read all files, except that no
claim judges the simulated runs: `claims` judges the present ones, and looks through all.

Times are processor time of whole commands, started like a user's, children included.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from longfair.papers import registry
from longfair.runs import manifest
from longfair.runs.experiment import Run, plan
from longfair.runs.index import Entry, stamp_of
from longfair.runs.keys import run_key, sha256
from longfair.runs.store import Store

SIZES = (100, 100_000)
"""Simulated runs beside the present store."""

EXPERIMENTS, ARMS = 10, 10
"""Simulated experiments, and arms of each; the rest are seeds."""

MORE = 20
"""Runs by which two calls differ, to find what one run costs beside its call."""

_PACKAGE = """
from dataclasses import dataclass

from longfair.runs.experiment import Arm, Experiment, protocol


@dataclass(frozen=True)
class Number:
    number: int


@protocol("simulated")
def work(config, seed):
    from longfair.runs.tables import rows

    return rows("final", [1], "value", [float(seed)])


EXPERIMENTS = tuple(
    Experiment(
        id=f"simulated/experiment-{{number}}",
        title="Simulated",
        arms={{"book": tuple(
            Arm(f"method-{{arm}}", "as_coded", Number(arm), work) for arm in range({arms})
        )}},
        seeds={{"book": {seeds}}},
        horizon={{"book": 1}},
    )
    for number in range({experiments})
)
"""
_ENTRY = "[longfair.papers]\nsimulated = simulated_paper\n"
_METADATA = "Metadata-Version: 2.1\nName: simulated-paper\nVersion: 1\n"


def store_benchmarks(quick: bool, store: Store | None = None) -> list[dict[str, Any]]:
    """Measure what listing, judging and starting runs cost in small and large stores.

    Parameters
    ----------
    quick
        A hundredth of the runs, and each command once.
    store
        The present store; the default one if not given.

    Returns
    -------
    list of dict
        `simulated_runs`; seconds of `list`, of `claims`, of `call_of_one_run`: `longfair run` that
        executes one run of no work; and of `one_run_more` in the same call.
    """
    present = store or Store()
    sizes = tuple(max(size // 100, EXPERIMENTS * ARMS) for size in SIZES) if quick else SIZES
    return [_row(size, present, 1 if quick else 3) for size in sizes]


def simulate(root: Path) -> None:
    """Fill a store with what stands for the results of all simulated experiments.

    Parameters
    ----------
    root
        Folder of the store.
    """
    store = Store(root)
    lines, entries = manifest.read(root), {}
    for experiment in registry.experiments().values():
        if experiment.paper == "simulated":
            (root / experiment.id / "book").mkdir(parents=True)
            for run in plan(experiment, "book"):
                entry = _entry(store, run)
                entries[entry] = "{}"
                lines[entry.path] = manifest.line_of(entry)
    store.index.enter(entries)
    store.index.close()
    manifest.write(root, lines)


def _entry(store: Store, run: Run) -> Entry:
    """Make the empty file of a run, and say of it what is said of a result."""
    path = store.path(run)
    path.touch()
    stamp = stamp_of(path)
    assert stamp is not None
    name = path.relative_to(store.root).as_posix()
    return Entry(name, stamp, sha256(name), run_key(run).digest, "", "simulated", "simulated")


def _row(size: int, present: Store, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_package(folder, size // (EXPERIMENTS * ARMS))
        _link(present.root, folder / "results")
        filling = "import pathlib, sys; from longfair.papers.store_benchmarks import simulate; "
        _python(folder, "-c", f"{filling} simulate(pathlib.Path(sys.argv[1]))", folder / "results")
        for command in ("list", "claims"):
            _longfair(folder, command)
        one = min(_call(folder, size + number, 1) for number in range(repeats))
        many = min(_call(folder, 2 * size + 100 * number, 1 + MORE) for number in range(repeats))
        return {
            "simulated_runs": size,
            "list": round(min(_longfair(folder, "list") for _ in range(repeats)), 2),
            "claims": round(min(_longfair(folder, "claims") for _ in range(repeats)), 2),
            "call_of_one_run": round(one, 2),
            "one_run_more": round((many - one) / MORE, 3),
        }


def _write_package(folder: Path, seeds: int) -> None:
    """Write a package whose paper is found like that of any other distribution."""
    text = _PACKAGE.format(arms=ARMS, seeds=seeds, experiments=EXPERIMENTS)
    described = folder / "simulated_paper-1.dist-info"
    for place in (folder / "simulated_paper", described):
        place.mkdir()
    (folder / "simulated_paper" / "__init__.py").write_text(text, encoding="utf-8")
    (described / "entry_points.txt").write_text(_ENTRY, encoding="utf-8")
    (described / "METADATA").write_text(_METADATA, encoding="utf-8")


def _link(present: Path, root: Path) -> None:
    """Link the folders of a store into another, and copy its index, manifest and other files."""
    root.mkdir()
    for entry in present.iterdir():
        if entry.is_file():
            shutil.copy2(entry, root)
        elif not entry.name.startswith("."):
            (root / entry.name).symlink_to(entry.resolve())


def _call(folder: Path, first_seed: int, runs: int) -> float:
    """Execute runs that are not stored yet, one at a time."""
    chosen = ("simulated/experiment-0", "--profile", "book", "--methods", "method-0")
    seeds = ("--first-seed", str(first_seed), "--seeds", str(runs))
    return _longfair(folder, "run", *chosen, *seeds, "--workers", "1")


def _longfair(folder: Path, command: str, *arguments: str) -> float:
    """Return the seconds of a command on the store."""
    return _python(
        folder, "-m", "longfair", command, *arguments, "--store", str(folder / "results")
    )


def _python(folder: Path, *arguments: str | Path) -> float:
    """Return the processor time of a call of Python that finds the simulated paper."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    before = os.times()
    subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
    )
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])
