"""The text of a function, for showing it beside the equation it implements."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from longfair.figures.display import Words


@dataclass(frozen=True)
class Source:
    """Python text that a page shows highlighted and a terminal plain.

    Attributes
    ----------
    text
        The text.
    heading
        What is read before it is opened, without markup; empty if it is in sight.
    note
        What a reader should know of it, as Markdown; stands above it.
    """

    text: str
    heading: str = ""
    note: str = ""

    def __repr__(self) -> str:
        """Return the text itself, below heading and note if there are any."""
        return "\n".join(part for part in (self.heading, self.note, self.text) if part)

    def _repr_markdown_(self) -> str:
        code = f"```python\n{self.text}\n```"
        return Words(
            f"{self.note}\n\n{code}" if self.note else code, self.heading
        )._repr_markdown_()


def source_of(*functions: Callable[..., Any], heading: str = "", note: str = "") -> Source:
    """Return the current text of functions without their docstrings.

    Parameters
    ----------
    *functions
        Functions written in Python.
    heading, note
        As for `Source`.

    Returns
    -------
    Source
        Shows itself as the last line of a cell.
    """
    text = "\n\n\n".join(_without_docstring(function) for function in functions)
    return Source(text, heading, note)


def _without_docstring(function: Callable[..., Any]) -> str:
    text = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(text).body
    lines = text.splitlines()
    if isinstance(definition, ast.FunctionDef) and ast.get_docstring(definition) is not None:
        docstring = definition.body[0]
        del lines[docstring.lineno - 1 : docstring.end_lineno]
    return "\n".join(lines)
