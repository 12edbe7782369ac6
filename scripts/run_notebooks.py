"""Run the notebooks: `name.py` is the source, `name.ipynb` the executed copy that is committed.

The direction is always from `.py` to `.ipynb`. jupytext's own two-way synchronisation goes by file
times, which mean nothing after a clone, and can overwrite an edit.

    --check   run into `_build/notebooks`; the committed files stay as they are (default).
              `executed_notebooks` then compares the outputs, but for those of runs in front of the
              reader, which are cut short
    --write   run and refresh the committed `.ipynb`; with --stale only where its cells are not
              those of the `.py`

Executed notebooks are stripped of everything that changes from run to run, so that running one
twice gives the same file unless its results changed.

Usage: python scripts/run_notebooks.py [--check | --write [--stale]] [--profile NAME] [PATH ...]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
CHECKED = ROOT / "_build" / "notebooks"
NOT_STARTED = ("Kernel died before replying to kernel_info", "Kernel didn't respond in")
"""What is said of a kernel whose port another one took first. Nothing has run, so we try again."""
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
PROFILE = ROOT / "_build" / "ipython"
KERNEL_SETTINGS = {"IPKernelApp": {"log_level": 50}, "HistoryManager": {"enabled": False}}
KERNEL_VARIABLES = {
    "IPYTHONDIR": str(PROFILE),  # the reader's own start-up files must not change a result
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "POT_BACKEND_DISABLE_PYTORCH": "1",  # POT would load torch, 2 s, for arrays nobody gives it
}
"""What the kernels find in their environment, unless the caller has set something else."""
ONLY_CHECKED = {"LONGFAIR_SHORT_LIVE_RUNS": "1", "LONGFAIR_DRAFT_FIGURES": "1"}
"""What they find there, too, where nobody reads what they make."""
LONGEST = (
    "elbert/lending",
    "fairqcm/lending",  # second: its kernel compiles other functions than that of the first
    "elbert/ablations",
    "fppo/lending",
    "fppo/epidemic",
    "ucbfair/l_ucbfair",
    "ucbfair/r_td3",
    "fairqcm/tabular",
)
"""Notebooks that take longest. They come first, so that processes that share them end together."""
CELL_SECONDS = 300
"""A cell may take this long; the live training of a notebook should take a fifth of it."""

Signature = list[tuple[str, str, tuple[str, ...]]]


@dataclass(frozen=True)
class Outcome:
    """How the run of one notebook went."""

    source: Path
    seconds: float
    error: str = ""


def sources(paths: Sequence[Path] = ()) -> list[Path]:
    """Notebook sources: all of them, or the named ones (either file of a pair will do).

    Raises
    ------
    FileNotFoundError
        If a named notebook has no `.py` source.
    """
    found = [path.resolve().with_suffix(".py") for path in paths]
    for path in found:
        if not (path.exists() and path.is_relative_to(NOTEBOOKS)):
            raise FileNotFoundError(f"no notebook source {path}: name a file under notebooks/")
    return found or sorted(NOTEBOOKS.rglob("*.py"))


def read_source(source: Path) -> NotebookNode:
    """Read a percent-format source as a notebook without outputs and with positional cell ids."""
    notebook: NotebookNode = jupytext.read(source)
    stem = source.stem[:20].replace("_", "-")
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"{stem}-{index:02d}"
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata["kernelspec"] = dict(KERNEL)
    return notebook


def signature(notebook: NotebookNode) -> Signature:
    """Return what must be equal in both files of a pair: kind, text and tags of every cell."""
    return [
        (cell.cell_type, cell.source.strip(), tuple(sorted(cell.metadata.get("tags", []))))
        for cell in notebook.cells
        if "injected-parameters" not in cell.metadata.get("tags", [])
    ]


def in_step(source: Path) -> bool:
    """Say whether the executed copy exists and has the cells of its source."""
    executed = source.with_suffix(".ipynb")
    if not executed.exists():
        return False
    return signature(nbformat.read(executed, as_version=4)) == signature(read_source(source))


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Drop from an executed notebook what differs between two equal runs."""
    for key in ("papermill", "widgets"):
        notebook.metadata.pop(key, None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags", True):
            cell.metadata.pop("tags")
    nbformat.validate(notebook)
    return notebook


def run(source: Path, target: Path, unfinished: Path, profile: str | None) -> Outcome:
    """Execute one notebook; the target is written only when every cell ran.

    Parameters
    ----------
    source
        The `.py` file.
    target
        Where the executed notebook goes.
    unfinished
        Where it is kept while it runs, and where it stays for inspection when a cell fails.
    profile
        Value of the notebook's parameter `profile`; None keeps the default in its source.
    """
    begun = time.monotonic()
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    try:
        try:
            execute(source, unfinished, profile)
        except RuntimeError as error:
            if not any(words in str(error) for words in NOT_STARTED):
                raise
            execute(source, unfinished, profile)
    except Exception as error:  # a cell may raise anything; the report below names the notebook
        return Outcome(source, time.monotonic() - begun, f"{type(error).__name__}: {error}")
    nbformat.write(normalise(nbformat.read(unfinished, as_version=4)), unfinished)
    unfinished.replace(target)
    return Outcome(source, time.monotonic() - begun)


def execute(source: Path, unfinished: Path, profile: str | None) -> None:
    """Execute a notebook from its source, in a kernel of its own."""
    import papermill  # here, because the staleness check does not need it and it is slow to import

    nbformat.write(read_source(source), unfinished)
    papermill.execute_notebook(
        str(unfinished),
        str(unfinished),
        parameters={} if profile is None else {"profile": profile},
        cwd=str(source.parent),
        kernel_name="python3",
        progress_bar=False,
        request_save_on_cell_execute=False,  # twice a cell, megabytes each; it is saved at the end
        execution_timeout=CELL_SECONDS,
    )


def prepare_kernels(write: bool) -> None:
    """Let this process give its kernels an environment that is the same on every machine."""
    variables = KERNEL_VARIABLES | ({} if write else ONLY_CHECKED)
    os.environ.update({k: v for k, v in variables.items() if k not in os.environ})


def prepare_profile() -> None:
    """Write the profile that the kernels use."""
    settings = PROFILE / "profile_default" / "ipython_kernel_config.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps(KERNEL_SETTINGS), encoding="utf-8")


def below(folder: Path, source: Path) -> Path:
    """Path of a notebook in a folder that mirrors `notebooks/`."""
    return (folder / source.relative_to(NOTEBOOKS)).with_suffix(".ipynb")


def executed_copy(notebook: Path) -> Path:
    """Path of what --check made of a notebook."""
    return below(CHECKED, notebook)


def run_all(todo: Sequence[Path], write: bool, profile: str | None, jobs: int) -> list[Outcome]:
    """Execute notebooks, `jobs` at a time, and say of each how it went."""
    places = {NOTEBOOKS / f"{name}.py": place for place, name in enumerate(LONGEST)}
    todo = sorted(todo, key=lambda source: places.get(source, len(places)))
    outcomes = []
    targets = [s.with_suffix(".ipynb") if write else executed_copy(s) for s in todo]
    unfinished = [below(CHECKED / "unfinished", s) for s in todo]
    with ProcessPoolExecutor(jobs, initializer=prepare_kernels, initargs=(write,)) as pool:
        for outcome in pool.map(partial(run, profile=profile), todo, targets, unfinished):
            name = outcome.source.relative_to(ROOT)
            state = f"FAILED\n{outcome.error}" if outcome.error else "ran"
            print(f"{name}: {state} ({outcome.seconds:.0f} s)", flush=True)
            outcomes.append(outcome)
    return outcomes


def arguments_of(command_line: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="run into _build/notebooks (default)")
    mode.add_argument("--write", action="store_true", help="refresh the committed .ipynb files")
    parser.add_argument("--stale", action="store_true", help="only where the pair is out of step")
    parser.add_argument("--profile", help="value for the notebooks' parameter 'profile'")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at the same time")
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks to run; default all")
    return parser.parse_args(command_line)


def main(command_line: Sequence[str] | None = None) -> int:
    """Run what the command line names; 1 if one failed or a pair is out of step, 2 if unknown."""
    options = arguments_of(command_line)
    prepare_profile()
    try:
        todo = sources(options.paths)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    if options.stale:
        todo = [source for source in todo if not in_step(source)]
        print(f"{len(todo)} notebooks are out of step with their source", flush=True)
    elif not options.write:
        for source in (apart := [source for source in todo if not in_step(source)]):
            print(f"{source.relative_to(ROOT)}: its .ipynb has other cells: make notebooks")
        if apart:
            return 1
        for source in todo:  # nobody shall compare the outputs of an earlier run
            executed_copy(source).unlink(missing_ok=True)
    outcomes = run_all(todo, options.write, options.profile, options.jobs)
    return int(any(outcome.error for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
