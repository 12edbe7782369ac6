"""The arrows between the rooms of the library, read from the source.

``cli -> papers -> {agents, envs, figures, metrics, runs}``. Agents know environments only through
the Gymnasium interface. Metrics, figures and runs know no other room.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import longfair

ROOT = Path(longfair.__file__).parent
SHARED = {"arrays", "compiling", "errors", "settings", "wording"}
ARROWS: dict[str, set[str]] = {
    "cli": {"outside", "papers", "runs"},
    "__main__": {"cli"},
    "__init__": {"envs"},
    "papers": {"agents", "envs", "figures", "metrics", "outside", "runs"},
    "agents": {"lazy", "metrics", "outside"},
    "envs": set(),
    "metrics": set(),
    "figures": set(),
    "runs": set(),
    "arrays": set(),
    "compiling": set(),
    "errors": set(),
    "lazy": set(),
    "outside": set(),
    "settings": set(),
    "testing": {"envs"},
    "wording": set(),
}
FILES = sorted(ROOT.rglob("*.py"))


def room_of(module: str) -> str:
    """Room of a dotted name inside the package; the package itself is ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str, package: list[str]) -> set[str]:
    """Dotted names of the library's own modules that a text imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{origin}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "longfair"}


def rooms_imported(source: str, package: list[str]) -> set[str]:
    return {room_of(name) for name in imported(source, package)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_the_rooms_it_may(path: Path) -> None:
    module = module_of(path)
    room = room_of(module)
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    allowed = ARROWS[room] | SHARED | {room}
    if room in {"runs", "papers"}:
        # They ask the package itself where it is installed, which says nothing about rooms.
        allowed = allowed | {"__init__"}
    assert rooms_imported(path.read_text(encoding="utf-8"), package) <= allowed


def test_every_room_of_the_package_is_known() -> None:
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    assert rooms <= set(ARROWS)


@pytest.mark.parametrize(
    ("source", "room"),
    [
        ("import longfair.papers.registry", "papers"),
        ("from longfair import envs", "envs"),
        ("from longfair.agents import ppo", "agents"),
        ("def inside():\n    from ..figures import style", "figures"),
        ("from .store import Store", "runs"),
    ],
)
def test_every_way_to_import_is_seen(source: str, room: str) -> None:
    assert rooms_imported(source, ["longfair", "runs"]) == {room}
