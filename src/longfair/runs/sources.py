"""Which modules an arm's numbers can depend on, and a digest of their text.

The digest is a shortcut and a record. `longfair.runs.verify` need not probe an arm whose digest
is the one it had before; every result records the digest it was computed with. Whether a result is
fresh does not depend on it.

The code is read without being run. From the modules that define an arm's work, settings and parts
it follows every import, wherever it stands, inside ``longfair`` and inside the package of the work.
Text that names a module, such as ``"longfair.agents.ppo:FairPPO"``, counts as an import. Of each
module the syntax tree counts, without docstrings, annotations, comments and layout, and without the
methods ``shortened``, which say how an arm is probed and not what it computes. The rooms that run,
show and judge decide no number, and do not count.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import longfair
from longfair.errors import UsageError
from longfair.runs.experiment import Arm
from longfair.runs.keys import classes_of, package_versions, parts_of, sha256

_OWN_PACKAGE = "longfair"
_PARSING = threading.Lock()
_ROOMS_THAT_DO_NOT_COUNT = ("runs", "figures", "cli", "errors", "wording", "__main__")
_SHARED = ("errors.py", "settings.py", "wording.py")
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(:\w+)?")
_LAYOUT_FIELDS = frozenset({"type_comment", "type_params", "ctx", "kind"})
_ANNOTATIONS = frozenset(
    {(ast.arg, "annotation"), (ast.FunctionDef, "returns"), (ast.AsyncFunctionDef, "returns")}
)
_MENTIONS = (ast.Import, ast.ImportFrom, ast.Constant)


def arm_digest(arm: Arm) -> str:
    """Digest of the code that an arm's numbers can depend on.

    Raises
    ------
    UsageError
        If a part was not defined in a file (for instance in a notebook cell).
    """
    return source_digest(arm.work, *classes_of(arm.config), *parts_of(arm))


def source_digest(*roots: Any) -> str:
    """Digest of the modules that functions or classes depend on.

    Parameters
    ----------
    *roots
        Functions or classes defined in modules that are files.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    return _digest_of(frozenset(root.__module__ for root in roots))


@cache
def library_stamp(room: str = "") -> str:
    """Digest of names, sizes and times of the files of the library, and of the packages it uses.

    It changes with every edit, and costs a few milliseconds: what is remembered under it was
    worked out by the very code that is installed now. A copy that keeps the times has the same.

    Parameters
    ----------
    room
        Only the files of this folder, and those that all rooms share; all, and those of packages
        that extend the library, when not given.
    """
    library = Path(longfair.__file__).parent
    roots = [library / room, *([] if room else _outside())]
    shared = ((name, library / name) for name in _SHARED if room)
    found = [(name, path.stat()) for name, path in shared]
    found += [
        (f"{Path(folder).relative_to(root.parent)}/{name}", Path(folder, name).stat())
        for root in roots
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith((".py", ".yaml", ".csv"))
    ]
    stamps = (f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in sorted(found))
    return sha256("\n".join([*stamps, str(dict(package_versions()))]))


def stamp_of_rules(rule: Any) -> str:
    """Stamp of the code that judges by a rule: of this package, or of all where a part is outside.

    Parameters
    ----------
    rule
        A `longfair.runs.rules.rule.Rule`, whose parts may be of another package.
    """
    waiting, own = [rule], True
    while waiting and own:
        one = waiting.pop()
        own = type(one).__module__.startswith(f"{_OWN_PACKAGE}.")
        waiting += getattr(one, "parts", ())
    return library_stamp("runs" if own else "")


def _outside() -> list[Path]:
    """Return the folders of the packages that add methods or papers through entry points."""
    points = [*entry_points(group="longfair.agents"), *entry_points(group="longfair.papers")]
    specs = [importlib.util.find_spec(point.module.partition(".")[0]) for point in points]
    return [Path(at) for spec in specs if spec for at in spec.submodule_search_locations or ()]


@cache
def _digest_of(modules: frozenset[str]) -> str:
    return sha256("\n".join(f"{name} {_read(name).digest}" for name in sorted(_reached(modules))))


def _reached(modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(modules)
    packages = {_OWN_PACKAGE, *(module.partition(".")[0] for module in waiting)}
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        waiting += [
            target
            for target in _imports(module)
            if target.partition(".")[0] in packages and not _is_left_out(target)
        ]
    return found


def _is_left_out(module: str) -> bool:
    package, _, rest = module.partition(".")
    return package == _OWN_PACKAGE and rest.partition(".")[0] in _ROOMS_THAT_DO_NOT_COUNT


@cache
def _imports(module: str) -> frozenset[str]:
    """Modules that a module imports, anywhere in it, or names in a text."""
    return frozenset(name for name in _named(module) if _file(name) is not None)


def _named(module: str) -> Iterator[str]:
    for node in _read(module).mentions:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            yield from (_defining_module(source, alias.name) for alias in node.names)
        elif _DOTTED_NAME.fullmatch(str(node.value)):
            yield str(node.value).partition(":")[0]


def _defining_module(source: str, name: str) -> str:
    """Find the module that defines what ``from source import name`` gives."""
    if _file(f"{source}.{name}") is not None:
        return f"{source}.{name}"
    path = _file(source)
    if path is not None and path.name == "__init__.py":
        for statement in _read(source).brought_in:
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return _defining_module(_absolute(source, statement), alias.name)
    return source


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """Absolute name of the module that an import statement draws from."""
    if node.level == 0:
        return node.module or ""
    path = _file(module)
    is_package = path is not None and path.name == "__init__.py"
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*kept, *([node.module] if node.module else [])])


@cache
def _file(module: str) -> Path | None:
    """File of a module, found without importing it; None if it is not a Python source file."""
    top, *rest = module.split(".")
    for directory in _search_path(top):
        path = directory.joinpath(*rest)
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if rest and candidate.is_file():
                return candidate
        if not rest and (directory / "__init__.py").is_file():
            return directory / "__init__.py"
    origin = getattr(sys.modules.get(module), "__file__", None)
    return Path(origin) if origin and origin.endswith(".py") else None


@cache
def _search_path(top: str) -> tuple[Path, ...]:
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return ()
    locations = spec.submodule_search_locations if spec is not None else None
    return tuple(Path(location) for location in locations or ())


class _Read(NamedTuple):
    """What one pass over a module finds."""

    digest: str
    """Of its text."""
    mentions: list[ast.Import | ast.ImportFrom | ast.Constant]
    """Imports anywhere in it, and constants."""
    brought_in: list[ast.ImportFrom]
    """Imports among its own statements."""


@cache
def _read(module: str) -> _Read:
    """Read a module, without what has no part in what a run computes."""
    path = _file(module)
    if path is None:
        raise UsageError(
            f"the work is defined in {module!r}, which is not a file: put it into a module, so "
            "that its source can be recorded"
        )
    with _PARSING:  # two threads that parse at once end in an error of Python 3.11
        tree = ast.parse(path.read_text(encoding="utf-8"))
    mentions: list[Any] = []
    digest = sha256(_dump(tree, mentions))
    return _Read(digest, mentions, [part for part in tree.body if isinstance(part, ast.ImportFrom)])


def _says_nothing(node: ast.AST, in_class: bool) -> bool:
    """Say whether a statement has no part in what a run computes."""
    is_probe = in_class and isinstance(node, ast.FunctionDef) and node.name == "shortened"
    return is_probe or _is_text(node) or _is_type_checking(node)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_type_checking(node: ast.AST) -> bool:
    names = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(node, ast.If) and ast.unparse(node.test) in names


def _dump(node: Any, mentions: list[Any]) -> str:
    """Text of a syntax tree that is the same for every Python version that can parse it.

    `ast.dump` is not: newer versions add fields. Absent and empty fields are left out here.

    Parameters
    ----------
    node
        A node, a list of nodes or a value.
    mentions
        Receives the imports and constants that are part of the text.
    """
    if isinstance(node, list):
        return f"[{','.join([_dump(part, mentions) for part in node])}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, _MENTIONS):
        mentions.append(node)
    parts = [
        f"{name}={_dump(value, mentions)}"
        for name, value in _counted(node)
        if value or type(value) in (bool, int, float, str, bytes)
    ]
    return f"{type(node).__name__}({','.join(parts)})"


def _counted(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Fields of a node without what has no part in what a run computes."""
    kind = type(node)
    for name in kind._fields:
        if name in _LAYOUT_FIELDS or (kind, name) in _ANNOTATIONS:
            continue
        value = getattr(node, name, None)
        if name == "body" and isinstance(value, list):
            in_class = kind is ast.ClassDef
            value = [part for part in value if not _says_nothing(part, in_class)]
        elif kind is ast.AnnAssign and name == "annotation":
            value = ast.Constant(None)
        yield name, value
