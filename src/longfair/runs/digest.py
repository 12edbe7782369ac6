"""The key of a run: what must be unchanged for a stored result to be used again.

A result is the product of four things: the settings, the seed, the code, and the versions of
the packages that do the arithmetic. The key is a SHA-256 digest over all four.

The code part is the difficult one. Counting every file would throw away hours of results
whenever a docstring changes; counting too little would keep results that the present code
would not give. The source digest therefore reads the code without running it:

1. It starts at the work function and at the classes of the settings. In the modules that
   define these, only the definitions they reach count. An experiment added beside another one
   changes nothing.
2. It follows the imports from there, inside the same package and inside ``longfair``. These
   modules count whole. ``from package import Name`` follows the name through the package's
   ``__init__`` to the module that defines it; a package file that is merely passed through
   does not count.
3. Text can be an import too. ``"longfair.module:Name"`` counts as one, and an environment id
   such as ``"longfair/LoanPool-v0"`` counts as an import of ``longfair.envs.loan_pool``. Code
   that imports the register of environments may make any of them, so it depends on them all.
4. Of each module the syntax tree counts, without docstrings, annotations, comments and layout.

The rooms that run, show and judge decide no number, and do not count.
"""

from __future__ import annotations

import ast
import enum
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from longfair.errors import UsageError
from longfair.runs.experiment import Run

PACKAGES_THAT_DECIDE = ("numpy", "scipy", "torch", "gymnasium", "stable-baselines3", "POT")
"""Distributions whose version can change a number in a result."""

_OWN_PACKAGE = "longfair"
_ROOMS_THAT_DO_NOT_COUNT = ("runs", "figures", "cli", "errors", "__main__")
_DOTTED_NAME = re.compile(rf"{_OWN_PACKAGE}(\.[A-Za-z_]\w*)+(:\w+)?")
_ENVIRONMENT_ID = re.compile(rf"{_OWN_PACKAGE}/(\w+)-v\d+")
_ENVIRONMENT_ROOM = f"{_OWN_PACKAGE}.envs"
_ENVIRONMENT_REGISTER = (_ENVIRONMENT_ROOM, f"{_ENVIRONMENT_ROOM}.registration")
_LAYOUT_FIELDS = frozenset({"type_comment", "type_params", "ctx", "kind"})

Names = frozenset[str] | None
"""Top-level names of a module that count; None when the whole module does."""


@dataclass(frozen=True)
class Key:
    """The parts of a run's key, and their digest.

    Parameters
    ----------
    config
        Canonical JSON of the settings.
    seed
        Seed of the run.
    source
        Digest of the code.
    versions
        Version of each package that decides numbers; ``"absent"`` if it is not installed.
    """

    config: str
    seed: int
    source: str
    versions: Mapping[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 over all parts, in hexadecimal."""
        parts = [self.config, self.seed, self.source, dict(self.versions)]
        return _sha256(json.dumps(parts, sort_keys=True))

    def differences(self, stored: Mapping[str, Any]) -> list[str]:
        """Say in which parts a stored result differs from this key.

        Parameters
        ----------
        stored
            Provenance of the stored result.

        Returns
        -------
        list of str
            One clause per part; empty when the stored result is fresh.
        """
        clauses = []
        if json.dumps(stored.get("config"), sort_keys=True) != _resorted(self.config):
            clauses.append("other settings")
        if stored.get("seed") != self.seed:
            clauses.append("other seed")
        if stored.get("source") != self.source:
            clauses.append("other code")
        old = stored.get("versions") or {}
        clauses += [
            f"{name} {old.get(name)} then, {version} now"
            for name, version in self.versions.items()
            if old.get(name) != version
        ]
        return clauses


def run_key(run: Run) -> Key:
    """Compute the key of a run from its settings, seed, code and installed versions.

    Parameters
    ----------
    run
        The run.

    Returns
    -------
    Key
        Its key. The same on any machine with the same code and versions.
    """
    arm = run.arm
    source = source_digest(arm.work, *classes_of(arm.config))
    return Key(canonical_json(arm.config), run.seed, source, package_versions())


@lru_cache(maxsize=1)
def package_versions() -> Mapping[str, str]:
    """Versions of the packages that decide numbers, without local labels such as ``+cpu``.

    Returns
    -------
    mapping of str to str
        Distribution name to version, or to ``"absent"``.
    """
    return {name: _version(name) for name in PACKAGES_THAT_DECIDE}


def canonical_json(value: Any) -> str:
    """Write settings as JSON in one fixed way.

    Parameters
    ----------
    value
        Dataclass, mapping with text keys, list, tuple, enumeration member, text, number, truth
        value or None, nested as needed.

    Returns
    -------
    str
        JSON with sorted keys. A dataclass carries the name of its class under ``"class"``.

    Raises
    ------
    UsageError
        If a value has another type; the message names the field.
    """
    return json.dumps(_plain(value, "config"), sort_keys=True, separators=(",", ":"))


def classes_of(value: Any) -> list[type]:
    """Dataclasses that occur in settings, each once, in order of appearance.

    Parameters
    ----------
    value
        Settings as accepted by `canonical_json`.

    Returns
    -------
    list of type
        The classes.
    """
    return list(dict.fromkeys(_walk_classes(value)))


def source_digest(*roots: Any) -> str:
    """Digest of the code that functions or classes depend on.

    Parameters
    ----------
    *roots
        Functions or classes defined at the top of a module that is a file.

    Returns
    -------
    str
        SHA-256 in hexadecimal.

    Raises
    ------
    UsageError
        If a root was not defined in a file (for instance in a notebook cell).
    """
    return _source_digest(tuple((root.__module__, root.__qualname__) for root in roots))


def source_modules(*roots: Any) -> list[str]:
    """Names of the modules that enter `source_digest`, sorted."""
    return sorted(_closure(tuple((root.__module__, root.__qualname__) for root in roots)))


@lru_cache(maxsize=256)
def _source_digest(roots: tuple[tuple[str, str], ...]) -> str:
    lines = [
        f"{module} {_sha256(_dump(_reached(_tree(module), names)))}"
        for module, names in sorted(_closure(roots).items())
    ]
    return _sha256("\n".join(lines))


def _closure(roots: tuple[tuple[str, str], ...]) -> dict[str, Names]:
    """Modules reached from the roots, each with the names that count."""
    packages = {_OWN_PACKAGE} | {module.partition(".")[0] for module, _ in roots}
    found: dict[str, Names] = {}
    waiting: list[tuple[str, Names]] = [
        (module, frozenset({name.partition(".")[0]})) for module, name in roots
    ]
    while waiting:
        module, names = waiting.pop()
        if module in found:
            known = found[module]
            merged = None if names is None or known is None else names | known
            if merged == known:
                continue
            names = merged
        found[module] = names
        for target in _followed(module, _reached(_tree(module), names)):
            is_own = target.partition(".")[0] in packages and _file(target) is not None
            if is_own and not _is_left_out(target):
                waiting.append((target, None))
    return found


def _is_left_out(module: str) -> bool:
    package, _, rest = module.partition(".")
    return package == _OWN_PACKAGE and rest.partition(".")[0] in _ROOMS_THAT_DO_NOT_COUNT


def _followed(module: str, statements: list[ast.stmt]) -> Iterator[str]:
    """Modules that statements of a module import, directly or through text."""
    if module in _ENVIRONMENT_REGISTER:
        yield from _modules_beside(module)
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            yield from (_defining_module(source, alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _modules_in_text(node.value)


def _modules_in_text(text: str) -> Iterator[str]:
    environment = _ENVIRONMENT_ID.fullmatch(text)
    if environment is not None:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", environment[1]).lower()
        module = f"{_ENVIRONMENT_ROOM}.{words}"
        yield module if _file(module) is not None else _ENVIRONMENT_ROOM
    elif _DOTTED_NAME.fullmatch(text):
        yield text.partition(":")[0]


def _modules_beside(module: str) -> Iterator[str]:
    path = _file(module)
    if path is not None:
        for other in sorted(path.parent.glob("*.py")):
            if other.name != "__init__.py":
                yield f"{_ENVIRONMENT_ROOM}.{other.stem}"


def _defining_module(source: str, name: str) -> str:
    """Find the module that defines what ``from source import name`` gives."""
    if _file(f"{source}.{name}") is not None:
        return f"{source}.{name}"
    path = _file(source)
    if path is not None and path.name == "__init__.py" and name != "*":
        for statement in _tree(source):
            if isinstance(statement, ast.ImportFrom):
                alias = statement.names[0]
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
    loaded = sys.modules.get(module)
    origin = getattr(loaded, "__file__", None)
    return Path(origin) if origin and origin.endswith(".py") else None


@cache
def _search_path(top: str) -> tuple[Path, ...]:
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return ()
    locations = spec.submodule_search_locations if spec is not None else None
    return tuple(Path(location) for location in locations or ())


@cache
def _tree(module: str) -> tuple[ast.stmt, ...]:
    """Top-level statements of a module, imports split by name, type-checking blocks dropped."""
    path = _file(module)
    if path is None:
        raise UsageError(
            f"the work is defined in {module!r}, which is not a file: put it into a module, so "
            "that its source can be part of the key"
        )
    statements: list[ast.stmt] = []
    for statement in _without_docstrings(ast.parse(path.read_text(encoding="utf-8"))).body:
        if isinstance(statement, ast.Import):
            statements += [ast.Import([alias]) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            if statement.module != "__future__":
                statements += [
                    ast.ImportFrom(statement.module, [alias], statement.level)
                    for alias in statement.names
                ]
        elif not _is_type_checking(statement):
            statements.append(statement)
    return tuple(statements)


def _is_type_checking(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING")


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Drop every statement that is only a piece of text, and every annotation."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]  # every node with a body list
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
    return tree


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _reached(statements: tuple[ast.stmt, ...], names: Names) -> list[ast.stmt]:
    """Statements that the given names depend on, in source order; all when names is None.

    A statement that binds no name (a call, a loop) always counts, because it acts on others.
    """
    if names is None:
        return list(statements)
    bound = [_bound(statement) for statement in statements]
    chosen = [names_here is None for names_here in bound]
    wanted = set(names)
    waiting = [statements[index] for index, taken in enumerate(chosen) if taken]
    while True:
        for statement in waiting:
            wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        waiting = []
        for index, names_here in enumerate(bound):
            if not chosen[index] and names_here is not None and names_here & wanted:
                chosen[index] = True
                waiting.append(statements[index])
        if not waiting:
            return [part for part, taken in zip(statements, chosen, strict=True) if taken]


def _bound(statement: ast.stmt) -> set[str] | None:
    """Names that a top-level statement binds; None for a statement that always counts."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        alias = statement.names[0]
        if alias.name == "*":
            return None
        return {alias.asname or alias.name.partition(".")[0]}
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return None
    parts = [node for target in targets for node in ast.walk(target)]
    return {node.id for node in parts if isinstance(node, ast.Name)} or None


def _dump(statements: Iterable[ast.stmt]) -> str:
    """Text of statements: imports sorted, everything else in source order."""
    imports: list[str] = []
    others: list[str] = []
    for statement in statements:
        target = imports if isinstance(statement, ast.Import | ast.ImportFrom) else others
        target.append(_dump_node(statement))
    return "\n".join([*sorted(imports), *others])


def _dump_node(node: Any) -> str:
    """Text of a syntax tree that is the same for every Python version that can parse it.

    `ast.dump` is not: newer versions add fields. Absent and empty fields are left out here.
    """
    if isinstance(node, list):
        return f"[{','.join(_dump_node(part) for part in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = [
        f"{name}={_dump_node(value)}"
        for name, value in ast.iter_fields(node)
        if name not in _LAYOUT_FIELDS and value is not None and value != []
    ]
    if isinstance(node, ast.Constant) and node.value is None:
        parts = ["value=None"]
    return f"{type(node).__name__}({','.join(parts)})"


def _plain(value: Any, where: str) -> Any:
    """Reduce settings to what JSON can hold, or name the field that cannot be reduced."""
    if isinstance(value, enum.Enum):
        return _plain(value.value, where)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        named = {
            field.name: _plain(getattr(value, field.name), f"{where}.{field.name}")
            for field in fields(value)
        }
        return {"class": type(value).__name__, **named}
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(part, f"{where}[{name!r}]") for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{where}[{index}]") for index, part in enumerate(value)]
    raise UsageError(
        f"{where} is a {type(value).__name__}: settings hold only numbers, text, truth values, "
        "None, tuples, lists, mappings with text keys, enumerations and dataclasses of these"
    )


def _walk_classes(value: Any) -> Iterator[type]:
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        for field in fields(value):
            yield from _walk_classes(getattr(value, field.name))
    elif isinstance(value, enum.Enum):
        yield type(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _walk_classes(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _walk_classes(part)


def _resorted(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
