"""A plugin for pytest: nbval compares the run that papermill made, so a notebook runs only once.

nbval reads a committed notebook, has a kernel execute it cell by cell, and compares what comes
back with what is stored. Here a recording takes the kernel's place: it answers with the outputs of
`run_notebooks.py --check`, which executes every notebook from its source with papermill. Which
cells are compared, and how, stays nbval's.

Usage: python -m pytest -p executed_notebooks --nbval-lax notebooks
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbval.plugin import IPyNbFile

from run_notebooks import executed_copy


class Recording:
    """What nbval asks of a kernel, answered from an executed notebook.

    Parameters
    ----------
    path
        The executed notebook.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise FileNotFoundError(f"no {path}: run scripts/run_notebooks.py --check first")
        notebook = nbformat.read(path, as_version=4)
        self._path = path
        self._cells = iter([cell for cell in notebook.cells if cell.cell_type == "code"])
        self._messages: deque[dict[str, Any]] = deque()
        self._asked = 0

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        """Go on to the cell with this text; return the number of the request."""
        for cell in self._cells:
            if cell.source.strip() == source.strip():
                break
        else:
            raise LookupError(f"{self._path} has other cells: run scripts/run_notebooks.py --check")
        self._asked += 1
        self._messages = deque(_messages(cell.outputs, str(self._asked)))
        return str(self._asked)

    def await_reply(self, request: str, timeout: float | None = None) -> None:
        """Return at once: the cell has been executed."""

    def await_idle(self, request: str, timeout: float | None = None) -> None:
        """Forget what the cell gave besides."""
        self._messages.clear()

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the next message of the cell."""
        return self._messages.popleft()

    def is_alive(self) -> bool:
        """Say that there are answers."""
        return True

    def stop(self) -> None:
        """Do nothing: no process is running."""


class ExecutedFile(IPyNbFile):  # type: ignore[misc]  # nbval has no types
    """A committed notebook, beside the one that was executed."""

    def setup(self) -> None:
        """Put the recording where the kernel would be."""
        self.kernel = Recording(executed_copy(self.path))
        self.setup_sanitize_files()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Put our collector in the place of nbval's."""
    return [
        ExecutedFile.from_parent(parent, path=file_path)
        if isinstance(collector, IPyNbFile)
        else collector
        for collector in (yield)
    ]


def _messages(outputs: list[NotebookNode], request: str) -> Iterator[dict[str, Any]]:
    """Give the messages of a kernel that led to these outputs, up to the last."""
    parent = {"msg_id": request}
    for output in outputs:
        yield {"msg_type": output.output_type, "parent_header": parent, "content": output}
    idle = {"execution_state": "idle"}
    yield {"msg_type": "status", "parent_header": parent, "content": idle}
