"""nbval judges the run that papermill made as it would judge one of its own."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

import executed_notebooks
from executed_notebooks import Recording

pytest_plugins = ["pytester"]

CHECKED = {"tags": ["nbval-check-output"]}


def write(path: Path, outputs: list[str], sources: tuple[str, str] = ("a()", "b()")) -> None:
    """Write a notebook with one cell that is compared and one that is not."""
    cells = [
        new_code_cell(
            source,
            execution_count=count,
            outputs=[new_output("stream", name="stdout", text=text)],
            metadata=metadata,
        )
        for count, (source, text, metadata) in enumerate(
            zip(sources, outputs, (CHECKED, {}), strict=True), 1
        )
    ]
    path.parent.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=cells), path)


@pytest.fixture
def judged(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose committed notebook says "one" and "two"."""
    executed = pytester.path / "executed"
    monkeypatch.setattr(executed_notebooks, "executed_copy", lambda path: executed / path.name)
    write(pytester.path / "notebooks" / "page.ipynb", ["one", "two"])
    return pytester


def outcomes(pytester: pytest.Pytester, *arguments: str) -> dict[str, int]:
    result = pytester.inline_run(
        "-p", "executed_notebooks", "--nbval-lax", *(arguments or ["notebooks"])
    )
    passed, skipped, failed = result.listoutcomes()
    return {"passed": len(passed), "skipped": len(skipped), "failed": len(failed)}


@pytest.mark.parametrize(
    ("outputs", "failed"),
    [(["one", "two"], 0), (["one", "other"], 0), (["other", "two"], 1), (["", "two"], 1)],
)
def test_checked_outputs_must_agree(
    judged: pytest.Pytester, outputs: list[str], failed: int
) -> None:
    write(judged.path / "executed" / "page.ipynb", outputs)
    assert outcomes(judged) == {"passed": 2 - failed, "skipped": 0, "failed": failed}


def test_what_the_patterns_name_may_differ(judged: pytest.Pytester) -> None:
    patterns = judged.path / "patterns.cfg"
    patterns.write_text("[any]\nregex: o[a-z]+\nreplace: WORD\n")
    write(judged.path / "executed" / "page.ipynb", ["other", "two"])
    assert outcomes(judged, f"--nbval-sanitize-with={patterns}", "notebooks")["failed"] == 0


def test_a_notebook_nobody_executed_fails(judged: pytest.Pytester) -> None:
    assert outcomes(judged)["failed"] == 2


def test_a_run_of_other_cells_fails(judged: pytest.Pytester) -> None:
    write(judged.path / "executed" / "page.ipynb", ["one", "two"], ("a()", "c()"))
    assert outcomes(judged) == {"passed": 1, "skipped": 0, "failed": 1}


def test_one_cell_can_be_judged_alone(judged: pytest.Pytester) -> None:
    write(judged.path / "executed" / "page.ipynb", ["one", "other"])
    alone = outcomes(judged, "notebooks/page.ipynb::Cell 0")
    assert alone == {"passed": 1, "skipped": 0, "failed": 0}


def test_an_error_in_a_cell_is_shown(tmp_path: Path) -> None:
    error = new_output("error", ename="ValueError", evalue="too bad", traceback=["too bad"])
    notebook = new_notebook(cells=[new_code_cell("a()", outputs=[error])])
    nbformat.write(notebook, tmp_path / "page.ipynb")
    recording = Recording(tmp_path / "page.ipynb")
    request = recording.execute_cell_input("a()")
    message = recording.get_message("iopub")
    assert (message["msg_type"], message["parent_header"]["msg_id"]) == ("error", request)
    assert message["content"]["evalue"] == "too bad"
