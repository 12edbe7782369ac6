"""The text of a function, for showing it beside the equation it implements."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """Python text that a page shows highlighted and a terminal plain."""

    text: str

    def __repr__(self) -> str:
        """Return the text itself."""
        return self.text

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}\n```"


def source_of(*functions: Callable[..., Any]) -> Source:
    """Return the current text of functions without their docstrings.

    Parameters
    ----------
    *functions
        Functions written in Python.

    Returns
    -------
    Source
        Shows itself as the last line of a cell.
    """
    return Source("\n\n\n".join(_without_docstring(function) for function in functions))


def _without_docstring(function: Callable[..., Any]) -> str:
    text = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(text).body
    lines = text.splitlines()
    if isinstance(definition, ast.FunctionDef) and ast.get_docstring(definition) is not None:
        docstring = definition.body[0]
        del lines[docstring.lineno - 1 : docstring.end_lineno]
    return "\n".join(lines)
