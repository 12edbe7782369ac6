"""Link names in the code of a page to their place in the reference of the library.

A page's code says itself what its names mean: by its imports. So only a name that some code of the
page imports from `longfair` becomes a link, also in a later block, and what is reached through it
by a dot, such as a function of an imported module or a method of an imported class.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sphinx.application import Sphinx

from api_pages import FOLDER, entries, modules

BLOCK = re.compile(
    r'(<div class="(?:[\w-]+ )*highlight-(?:ipython3?|python3?)\b[^>]*>\s*'
    r'<div class="highlight"><pre>)'
    r"(.*?)(</pre>)",
    re.DOTALL,
)
TAG = re.compile(r"<[^>]+>")
NAME = r'<span class="(?:n|nn|nc|nf|fm)">[\w.]+</span>'
CHAIN = re.compile(rf'{NAME}(?:<span class="o">\.</span>{NAME})*')


def imports(code: str) -> Iterator[tuple[str, str]]:
    """Names that code imports from `longfair`, and what they stand for."""
    lines = ("" if line.startswith(("%", "!")) else line for line in code.splitlines())
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:  # output of a terminal, or a part of a function
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("longfair"):
            yield from (
                (each.asname or each.name, f"{node.module}.{each.name}") for each in node.names
            )


def target(path: str) -> str:
    """Page and anchor of an imported name, or of what it holds; empty if it is not documented."""
    if path in modules():
        return f"{path}.html"
    owner, _, name = path.rpartition(".")
    if owner not in modules():
        return _of_class(owner, name)
    thing = getattr(modules()[owner], name, None)
    key = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
    if key in entries():
        entry = entries()[key]
        return f"{entry.page}.html#{entry.address}"
    return f"{owner}.html" if thing is not None else ""


def _of_class(path: str, name: str) -> str:
    """Place of what a class holds: the class, because it may come from a parent."""
    owner, _, own = path.rpartition(".")
    thing = getattr(modules().get(owner), own, None)
    return target(path) if isinstance(thing, type) and hasattr(thing, name) else ""


def linked(found: re.Match[str], names: Mapping[str, str], root: str) -> str:
    """Turn a dotted name into a link if its first part is known."""
    text = TAG.sub("", found[0])
    first, _, rest = text.partition(".")
    path = f"{names[first]}.{rest}".rstrip(".") if first in names else text
    place = target(path) if path.startswith("longfair.") else ""
    if not place:
        return found[0]
    title = html.escape(path)
    return f'<a class="code-link" href="{root}{place}" title="{title}">{found[0]}</a>'


def link_code(body: str, root: str) -> str:
    """Link the code of a page.

    Parameters
    ----------
    body
        The page as HTML.
    root
        Path of the reference as seen from the page, with a slash at its end.
    """
    code = [html.unescape(TAG.sub("", block[2])) for block in BLOCK.finditer(body)]
    names = {name: path for block in code for name, path in imports(block)}

    def one(block: re.Match[str]) -> str:
        inside = CHAIN.sub(lambda found: linked(found, names, root), block[2])
        return f"{block[1]}{inside}{block[3]}"

    return BLOCK.sub(one, body) if names else body


def add_links(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object
) -> None:
    """Link the code of a page of the book."""
    if "body" in context and not page.startswith((str(FOLDER), "_modules")):
        root = context["pathto"](f"{FOLDER}/longfair.envs").removesuffix("longfair.envs.html")
        context["body"] = link_code(context["body"], root)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_links)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
