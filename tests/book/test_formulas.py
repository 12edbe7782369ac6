"""No formula of a page falls apart: what Markdown makes of it leaves no dollar sign in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from run_notebooks import NOTEBOOKS, read_source, sources

ROOT = Path(__file__).parents[2]
PROSE = sorted(
    path
    for path in (ROOT / "book").rglob("*.md")
    if not {"_generated", "api", "claims"} & set(path.relative_to(ROOT / "book").parts)
)
PAGES = [source.relative_to(NOTEBOOKS).with_suffix("").as_posix() for source in sources()]
LITERAL = re.compile(r"\{(code|code-block|code-cell|literalinclude|raw|math|image|include)\}")
"""Directives whose content is not Markdown."""

PARSER = (
    MarkdownIt("commonmark")
    .enable("table")
    .use(dollarmath_plugin, allow_labels=True, allow_space=True, allow_digits=True)
    .use(amsmath_plugin)
    .use(colon_fence_plugin)
)


def torn(text: str) -> Iterator[str]:
    """What a reader sees with a dollar sign in it, also in what is folded or an exercise."""
    for token in PARSER.parse(text):
        directive = token.type in ("fence", "colon_fence") and token.info.startswith("{")
        if directive and not LITERAL.match(token.info):
            yield from torn(token.content)
        for child in token.children or ():
            if child.type == "text" and "$" in child.content:
                yield child.content


def printed(name: str) -> Iterator[str]:
    """Markdown that the cells of a page have printed."""
    for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells:
        for output in cell.get("outputs", ()):
            if "text/markdown" in output.get("data", {}):
                yield "".join(output["data"]["text/markdown"])


@pytest.mark.parametrize("name", PAGES)
def test_no_formula_of_a_notebook_is_torn(name: str) -> None:
    cells = read_source(NOTEBOOKS / f"{name}.py").cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert [part for text in [*texts, *printed(name)] for part in torn(text)] == []


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_formula_of_a_chapter_is_torn(page: Path) -> None:
    assert list(torn(page.read_text(encoding="utf-8"))) == []


def test_a_torn_formula_is_found() -> None:
    assert list(torn("It is $b = 0.5^{i\n- 17}$.")) == ["It is $b = 0.5^{i", "17}$."]
    assert list(torn(":::{dropdown} Fold\nIt is $b\n- c$.\n:::")) == ["It is $b", "c$."]
    assert list(torn("A $b$.\n\n$$\nc\n$$ (eq-c)\n\n`$d`\n\n```bash\necho $e\n```")) == []
