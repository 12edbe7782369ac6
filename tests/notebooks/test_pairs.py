"""Both files of every notebook say the same, and the committed one is fit to be shown."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

from run_notebooks import NOTEBOOKS, read_source, signature, sources

SOURCES = sources()
NAMES = [source.relative_to(NOTEBOOKS).with_suffix("").as_posix() for source in SOURCES]
KNOWN_TAGS = {
    "parameters",
    "nbval-check-output",
    "nbval-ignore-output",
    "hide-input",
    "hide-output",
    "hide-cell",
    "remove-input",
    "remove-cell",
    "raises-exception",
}


def executed(source: Path) -> Any:
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def code(source: Path) -> list[Any]:
    return [cell for cell in executed(source).cells if cell.cell_type == "code"]


def tags(cell: Any) -> set[str]:
    return set(cell.metadata.get("tags", []))


def test_there_are_notebooks() -> None:
    assert SOURCES


def test_no_notebook_lacks_its_source() -> None:
    assert set(NOTEBOOKS.rglob("*.ipynb")) == {s.with_suffix(".ipynb") for s in SOURCES}


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_cells_are_those_of_the_source(source: Path) -> None:
    assert signature(executed(source)) == signature(read_source(source)), "make notebooks"


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_source_survives_a_round_trip(source: Path) -> None:
    """Otherwise a cell would be lost on the way, without an error."""
    text = source.read_text(encoding="utf-8")
    again = jupytext.reads(jupytext.writes(jupytext.read(source), "py:percent"), "py:percent")
    assert signature(again) == signature(jupytext.reads(text, "py:percent"))


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_no_text_stands_beside_the_mark_of_a_cell(source: Path) -> None:
    """It would be taken for the name of the cell, and the page would begin in mid-sentence."""
    cells = jupytext.read(source).cells
    assert [cell.metadata["title"] for cell in cells if "title" in cell.metadata] == []


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_every_cell_was_executed_in_order(source: Path) -> None:
    counts = [cell.execution_count for cell in code(source) if cell.source.strip()]
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_no_cell_failed_or_warned(source: Path) -> None:
    for cell in code(source):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_nothing_of_one_run_stays_behind(source: Path) -> None:
    notebook = executed(source)
    assert not {"papermill", "widgets"} & set(notebook.metadata)
    for cell in notebook.cells:
        assert not {"papermill", "execution"} & set(cell.metadata)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_first_parameter_is_the_book_profile(source: Path) -> None:
    (cell,) = [cell for cell in code(source) if "parameters" in tags(cell)]
    assert 'profile = "book"' in cell.source
    assert "remove-input" in tags(cell), "a reader of the book cannot set it"


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_something_is_checked_and_tags_are_spelled_right(source: Path) -> None:
    assert any("nbval-check-output" in tags(cell) for cell in code(source))
    for cell in executed(source).cells:
        assert tags(cell) <= KNOWN_TAGS


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_checked_cells_have_an_output(source: Path) -> None:
    for cell in code(source):
        if "nbval-check-output" in tags(cell):
            assert cell.outputs, cell.source


def made_from(source: Path) -> str:
    """The commit that the page says it was made from, and whether with changes."""
    tables = [
        output.data["text/plain"]
        for cell in code(source)
        for output in cell.outputs
        if output.output_type == "execute_result" and "text/plain" in output.data
    ]
    (found,) = (
        line.removeprefix("commit the page was made from").strip()
        for table in tables
        for line in table.splitlines()
        if line.startswith("commit the page was made from")
    )
    return found


def test_all_pages_are_made_from_one_clean_commit_that_history_has() -> None:
    commits = {made_from(source) for source in SOURCES}
    assert len(commits) == 1, "run all notebooks from one commit"
    (commit,) = commits
    assert re.fullmatch("[0-9a-f]{12}", commit), f"{commit}: commit the changes, then run"
    require_history()
    assert any(known.startswith(commit) for known in git("rev-list", "HEAD").split()), (
        f"{commit} is not in the history: run all notebooks again"
    )


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_the_code_of_a_page_is_that_of_its_commit(source: Path) -> None:
    """Only what nobody executes may have changed since."""
    require_history()
    then = git("show", f"{made_from(source)}:./{source.relative_to(NOTEBOOKS).as_posix()}")
    ran = jupytext.reads(then, fmt="py:percent")
    codes = [
        [cell.source.strip() for cell in notebook.cells if cell.cell_type == "code"]
        for notebook in (ran, read_source(source))
    ]
    assert codes[0] == codes[1], "run all notebooks again"


def require_history() -> None:
    """Skip where the clone has none, because the commit of the pages cannot be looked up there."""
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("a shallow clone cannot know the commit")


def git(*arguments: str) -> str:
    """What git prints in the folder of the notebooks."""
    command = ["git", "-C", str(NOTEBOOKS), *arguments]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()
