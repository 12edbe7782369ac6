"""The runner: from `.py` to executed `.ipynb`, never back, and the same file every time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest

import run_notebooks
from run_notebooks import Outcome, in_step, main, read_source, signature

SOURCE = """# %% [markdown]
# # A title

# %% tags=["parameters"]
profile = "book"

# %% tags=["nbval-check-output"]
print("profile", profile)

# %% tags=["nbval-ignore-output"]
import os

from longfair.figures.display import DRAFT
from longfair.papers.live import SHORT

for name in {SHORT, DRAFT} & set(os.environ):
    print("set")
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one notebook."""
    folder = tmp_path / "notebooks" / "paper"
    folder.mkdir(parents=True)
    monkeypatch.setattr(run_notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(run_notebooks, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(run_notebooks, "CHECKED", tmp_path / "_build" / "notebooks")
    path = folder / "short.py"
    path.write_text(SOURCE)
    return path


def printed(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [out.text for cell in cells for out in cell.get("outputs", [])]


def test_write_makes_the_same_file_twice(source: Path) -> None:
    executed = source.with_suffix(".ipynb")
    assert main(["--write", "--jobs", "1"]) == 0
    first = executed.read_bytes()
    assert printed(executed) == ["profile book\n"]
    assert main(["--write", "--jobs", "1"]) == 0
    assert executed.read_bytes() == first
    assert source.read_text() == SOURCE


def test_check_leaves_the_committed_file_alone(source: Path) -> None:
    main(["--write", "--jobs", "1"])
    executed = source.with_suffix(".ipynb")
    before = (executed.read_bytes(), executed.stat().st_mtime_ns)
    assert main(["--check", "--profile", "smoke", "--jobs", "1"]) == 0
    assert (executed.read_bytes(), executed.stat().st_mtime_ns) == before
    checked = run_notebooks.CHECKED / "paper" / "short.ipynb"
    assert printed(checked) == ["profile smoke\n", "set\nset\n"]
    assert signature(nbformat.read(checked, as_version=4)) == signature(read_source(source))


def test_check_refuses_a_pair_out_of_step(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--write", "--jobs", "1"])
    source.write_text(SOURCE.replace("A title", "Another title"))
    assert main(["--check", "--jobs", "1"]) == 1
    assert "notebooks/paper/short.py" in capsys.readouterr().out


def test_stale_runs_only_what_changed(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not in_step(source)
    assert main(["--write", "--stale", "--jobs", "1"]) == 0
    assert in_step(source)
    capsys.readouterr()
    assert main(["--write", "--stale", "--jobs", "1"]) == 0
    assert capsys.readouterr().out == "0 notebooks are out of step with their source\n"
    source.write_text(SOURCE.replace('tags=["nbval-check-output"]', ""))
    assert not in_step(source)


def test_failure_is_named_and_keeps_the_old_file(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--write", "--jobs", "1"])
    before = source.with_suffix(".ipynb").read_bytes()
    source.write_text(SOURCE + '\n# %%\nraise ValueError("too bad")\n')
    assert main(["--write", "--jobs", "1"]) == 1
    assert "too bad" in capsys.readouterr().out
    assert source.with_suffix(".ipynb").read_bytes() == before


def test_unknown_notebook_is_refused(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(source.with_name("missing.ipynb"))]) == 2
    assert "missing.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("errors", "attempts", "fails"),
    [
        ([run_notebooks.NOT_STARTED[0]], 2, False),
        (["Kernel didn't respond in 60 seconds"], 2, False),
        ([run_notebooks.NOT_STARTED[1]] * 2, 2, True),
        (["Kernel died"], 1, True),
    ],
)
def test_a_kernel_that_never_started_is_started_once_more(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    errors: list[str],
    attempts: int,
    fails: bool,
) -> None:
    calls = []

    def execute(source: Path, unfinished: Path, profile: str | None) -> None:
        calls.append(profile)
        if len(calls) <= len(errors):
            raise RuntimeError(errors[len(calls) - 1])
        nbformat.write(read_source(source), unfinished)

    monkeypatch.setattr(run_notebooks, "execute", execute)
    outcome = run_notebooks.run(source, tmp_path / "done.ipynb", tmp_path / "begun.ipynb", "smoke")
    assert len(calls) == attempts
    assert bool(outcome.error) == fails
    assert (tmp_path / "done.ipynb").exists() != fails


def test_the_longest_notebooks_exist_and_come_first(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebooks = Path(run_notebooks.__file__).parents[1] / "notebooks"
    assert all((notebooks / f"{name}.py").exists() for name in run_notebooks.LONGEST)
    source.with_name("a.py").write_text(SOURCE)
    monkeypatch.setattr(run_notebooks, "LONGEST", ("paper/short",))
    monkeypatch.setattr(run_notebooks, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(run_notebooks, "run", lambda source, *_, **__: Outcome(source, 0.0))
    main(["--write", "--jobs", "1"])
    ran = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert ran == ["notebooks/paper/short.py", "notebooks/paper/a.py"]
