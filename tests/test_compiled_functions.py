"""What Numba compiles is kept until the function's own file changes: no other file may matter."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest

import longfair
from longfair.agents.fair_mdp import compiled_books, memory_q_learning

ROOT = Path(longfair.__file__).parent
DECORATORS = ("njit", "_compiled")
FILES = [
    path
    for path in sorted(ROOT.rglob("*.py"))
    if "@njit" in (text := path.read_text(encoding="utf-8")) or "_compiled = njit" in text
]


def from_elsewhere(source: str) -> set[str]:
    """Name what compiled functions use of other modules of the package, annotations left out."""
    module = ast.parse(source)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("longfair")
        for alias in node.names
    }
    return imported & {name for function in compiled(module) for name in _used(function)}


def compiled(module: ast.Module) -> list[ast.FunctionDef]:
    """List the compiled functions of a module."""
    found = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        and any(name in ast.unparse(one) for one in node.decorator_list for name in DECORATORS)
    ]
    assert found, "no compiled function was found"
    return found


def _used(function: ast.FunctionDef) -> set[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    body = ast.Module(function.body, [])
    return {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_compiled_function_takes_nothing_from_another_file(path: Path) -> None:
    assert from_elsewhere(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("return other(x) + FACTOR", {"other", "FACTOR"}),
        ("y: Array = here(x)", set()),
    ],
)
def test_what_is_from_another_file_is_seen(line: str, found: set[str]) -> None:
    source = f"""
from longfair.compiling import njit
from longfair.metrics.some import FACTOR, Array, other

def here(x): return x

@njit(cache=True)
def loop(x: Array) -> Array:
    {line}
"""
    assert from_elsewhere(source) == found


def test_actions_are_the_same_in_both_files() -> None:
    names = ("DENY", "LEND")
    assert [getattr(compiled_books, name) for name in names] == [
        getattr(memory_q_learning, name) for name in names
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_fields_of_a_record_from_another_file_are_told_again(path: Path) -> None:
    """Compiled code knows them by their order, so a new order must change its own file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(("longfair", *parts)))
    arguments = {
        argument.annotation.id
        for function in compiled(ast.parse(path.read_text(encoding="utf-8")))
        for argument in function.args.args
        if isinstance(argument.annotation, ast.Name)
    }
    kinds: list[Any] = [getattr(module, name, None) for name in arguments]
    records = {
        kind: kind._fields
        for kind in kinds
        if hasattr(kind, "_fields") and kind.__module__ != module.__name__
    }
    assert getattr(module, "FIELDS", {}) == records
