"""Write the reference of the library from its docstrings.

Public is what has no leading underscore in its name or in that of its module. What a package
exports has a page of its own; the rest stands on the page of its module, below what the module's
docstring explains. A page holds nothing but names and directives of autodoc, which write
signatures, docstrings and types. The pages stand in no table of contents, because the side bar of
every page would list them all; *The library* leads to them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.ext.autodoc import AttributeDocumenter

from markdown_table import table

FOLDER = Path("book/api")
_SHORT = "short__"
"""Stands for the tilde with which Sphinx shortens a name, where Python has to read the text."""
ROOMS = ("envs", "metrics", "agents", "papers", "runs", "figures")
ALSO = ("longfair.testing", "longfair.settings", "longfair.errors", "longfair.wording")


@dataclass(frozen=True)
class Entry:
    """A public function or class.

    Attributes
    ----------
    address
        Under which readers import it.
    module
        Where it is defined.
    thing
        The function or class itself.
    """

    address: str
    module: str
    thing: Any

    @property
    def own_page(self) -> bool:
        """Whether a package exports it."""
        return not self.address.startswith(f"{self.module}.")

    @property
    def page(self) -> str:
        """Name of the page on which it stands, without ending."""
        return self.address if self.own_page else self.module


@cache
def modules() -> dict[str, ModuleType]:
    """Import all public modules of the rooms, packages before what is in them."""
    found = {name: importlib.import_module(name) for name in ALSO}
    for room in ROOMS:
        package = importlib.import_module(f"longfair.{room}")
        found[package.__name__] = package
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not any(part.startswith("_") for part in each.name.split(".")):
                found[each.name] = importlib.import_module(each.name)
    return found


def own_names(module: ModuleType) -> Iterator[str]:
    """List the public functions and classes that a module defines itself."""
    for name, thing in vars(module).items():
        public = not name.startswith("_") and (inspect.isclass(thing) or _is_function(thing))
        if public and thing.__module__ == module.__name__:
            yield name


def _is_function(thing: Any) -> bool:
    """Say whether something is a function, also one that is compiled or keeps its results."""
    return callable(thing) and inspect.isfunction(inspect.unwrap(thing))


def address(module: str, name: str) -> str:
    """Shortest address under which packages around a module export an object of it.

    A function of the same name as its module keeps its own, because the module has that one.
    """
    parts = module.split(".")
    for end in range(2, len(parts)):
        package = modules()[".".join(parts[:end])]
        short = f"{package.__name__}.{name}"
        if name in getattr(package, "__all__", ()) and short not in modules():
            return short
    return f"{module}.{name}"


@cache
def entries() -> dict[str, Entry]:
    """All public objects, by the names of their module and their own."""
    return {
        f"{name}.{own}": Entry(address(name, own), name, getattr(module, own))
        for name, module in modules().items()
        for own in own_names(module)
    }


@cache
def functions() -> frozenset[str]:
    """Addresses of all public functions."""
    return frozenset(one.address for one in entries().values() if not inspect.isclass(one.thing))


def heading(text: str) -> str:
    """Title of a page, and the line that keeps it out of the table of contents."""
    return f":orphan:\n\n{text}\n{'=' * len(text)}\n"


def described(thing: Any, name: str) -> str:
    """Write the directive that documents a function or class."""
    if inspect.isclass(thing):
        return f".. autoclass:: {name}\n   :members:\n   :show-inheritance:\n"
    return f".. autofunction:: {name}\n"


def object_page(entry: Entry) -> str:
    """Write the page of a function or class."""
    where = f"Defined in :doc:`{entry.module} <{entry.module}>`."
    return f"{heading(entry.address)}\n{where}\n\n{described(entry.thing, entry.address)}"


def module_page(name: str, own: list[Entry]) -> str:
    """Write the page of a module: its docstring, the ways to what is in it, and the rest."""
    links = [f"- :doc:`{entry.address} <{entry.address}>`" for entry in own if entry.own_page]
    rest = [described(entry.thing, entry.address) for entry in own if not entry.own_page]
    inside = [
        f"- :doc:`{path} <{path}>`: {purpose(module)}"
        for path, module in modules().items()
        if path.rpartition(".")[0] == name
    ]
    exported = "\n".join(["Exported by its package:", "", *links, ""]) if links else ""
    held = "\n".join(["In this package:", "", *inside, ""]) if inside else ""
    return "\n".join([heading(name), f".. automodule:: {name}\n", exported, held, *rest])


def purpose(module: ModuleType) -> str:
    """Return what the first line of a docstring says a module is for."""
    first, _, _ = (inspect.getdoc(module) or "").partition("\n")
    return first.rstrip(".")


def room(name: str) -> str:
    """Write what a room offers: what its packages export, and folded what only its modules have."""
    inside = [entry for entry in entries().values() if entry.module.startswith(f"longfair.{name}.")]
    exported = [entry for entry in inside if entry.own_page]
    rest = [entry for entry in inside if not entry.own_page]
    first = offered(name, exported) if exported else "Its packages export nothing.\n"
    title = f"{len(rest)} names that only a module offers"
    return f"{first}\n:::::{{dropdown}} {title}\n\n{offered(name, rest)}\n:::::\n"


def offered(room: str, own: Sequence[Entry]) -> str:
    """Write a table of functions and classes of a room, each beside what its module is for."""
    rows = []
    for path, module in modules().items():
        names = ", ".join(
            link(entry.page, entry.thing.__name__) for entry in own if entry.module == path
        )
        short = link(path, path.removeprefix(f"longfair.{room}."))
        if names:
            rows.append([f"{purpose(module)}<br>{short}", names])
    written = table(["What it is for, and its module", "Names"], rows)
    return f"::::{{container}} longfair-reference\n\n{written}\n::::"


def link(page: str, text: str) -> str:
    """Write a link to a page, as a page of the folder `book` needs it."""
    return f"[`{text}`](api/{page}.rst)"


def pages() -> dict[str, str]:
    """Text of all pages, by name."""
    written = {entry.page: object_page(entry) for entry in entries().values() if entry.own_page}
    for name in modules():
        own = [entry for entry in entries().values() if entry.module == name]
        written[name] = module_page(name, own)
    return written


@cache
def last_parts() -> Counter[str]:
    """Count the public objects of every name, whatever their modules."""
    return Counter(name.rpartition(".")[2] for name in entries())


def known_as(name: str, module: str) -> str | None:
    """Address of what a docstring calls by some name.

    Parameters
    ----------
    name
        A name of the module, or the full one of the place where it is defined.
    module
        Where the docstring stands.

    Returns
    -------
    str or None
        The address; empty for what exists and has no place in the reference, such as the name of a
        type; None if nothing of this name is known.
    """
    if "(" in name:  # a call, to be read and not to be followed
        return ""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        key, rest = ".".join(parts[:end]), parts[end:]
        if key in entries():
            return ".".join([entries()[key].address, *rest])
        if name.startswith("longfair.") and key in modules():
            return name if not rest else ""
    thing = getattr(modules()[module], parts[0], None)
    own = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
    if own in entries():
        return ".".join([entries()[own].address, *parts[1:]])
    return "" if last_parts()[parts[0]] > 1 else None


def direct(app: Sphinx, document: nodes.document) -> None:
    """Lead the references of a page to the addresses that objects are documented under."""
    folder, _, page = app.env.docname.rpartition("/")
    if folder != str(FOLDER):
        return
    own = [entry.module for entry in entries().values() if entry.own_page and entry.page == page]
    module = own[0] if own else page
    for reference in list(document.findall(addnodes.pending_xref)):
        if reference.get("refdomain") == "py":
            address = known_as(reference["reftarget"], module)
            if reference.get("reftype") == "class" and address in functions():
                address = ""  # a result that is called like a function
            if address:
                reference["reftarget"] = address
                reference["refspecific"] = False
            elif address == "":
                resolved = reference.findall(addnodes.pending_xref_condition)
                short = [part for part in resolved if part["condition"] == "resolved"]
                reference.replace_self((short or [reference])[0].children)


def write(app: Sphinx, config: Config) -> None:
    """Write the pages that changed, and let the build see them although no table lists them."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    wanted = {f"{name}.rst": text for name, text in pages().items()}
    for old in folder.iterdir():
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    config.exclude_patterns = [
        pattern for pattern in config.exclude_patterns if not str(pattern).startswith(str(FOLDER))
    ]


def plain_types(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, args: Any, returns: Any
) -> None:
    """Shorten the types that autodoc noted: what a setting allows beyond its type, errors say."""
    noted = app.env.temp_data.get("annotations", {}).get(name, {})
    noted.update({parameter: without_extras(text) for parameter, text in noted.items()})


class PlainAttribute(AttributeDocumenter):
    """Documents an attribute, with its type as `plain_types` writes those of parameters."""

    def add_line(self, line: str, source: str, *lineno: int) -> None:
        """Add a line of the directive, or of what it holds."""
        option, said, text = line.partition(":type: ")
        typed = bool(said) and not option.strip()
        super().add_line(option + said + without_extras(text) if typed else line, source, *lineno)


def without_extras(text: str) -> str:
    """Leave out of a type, as it is written, what `Annotated` adds; unread if it is no Python."""
    try:
        tree = ast.parse(text.replace("~", _SHORT), mode="eval")
    except SyntaxError:
        return text
    return ast.unparse(_Bare().visit(tree)).replace(_SHORT, "~")


class _Bare(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        annotated = ast.unparse(node.value).endswith("Annotated")
        return node.slice.elts[0] if annotated and isinstance(node.slice, ast.Tuple) else node


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; the table of contents excludes what it does not list at 900."""
    app.connect("config-inited", write, priority=950)
    app.connect("doctree-read", direct)
    app.connect("autodoc-process-signature", plain_types, priority=600)
    app.add_autodocumenter(PlainAttribute, override=True)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
