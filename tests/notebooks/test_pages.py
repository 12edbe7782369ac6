"""Every page keeps the order that `CONTRIBUTING.md` describes, and shows early what it found."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import Any

import nbformat
import pandas as pd
import pytest
from alt_texts import contradictions
from visible_words import words

from longfair.figures import Words, folded
from longfair.figures.words import Shown
from run_notebooks import NOTEBOOKS, read_source, sources

NAMES = [source.relative_to(NOTEBOOKS).with_suffix("").as_posix() for source in sources()]
ORDER = [
    "In two minutes",
    "The problem",
    "The idea",
    "Train it yourself",
    "What came out",
    "Text against code",
    "What it means",
    "Exercises",
    "The verdicts",
    "Where this came from",
]

FIRST_FIGURE_WITHIN = 8
"""Cells, the title included, within which the figure comes that answers the question."""

WORDS = 2500
"""Words that are in sight; what is folded and what is a solution does not count."""

LONGER: dict[str, int] = {}
"""Pages that are still longer, with their words, rounded up to hundreds. Only shrinks."""

SENTENCES = 6
"""Sentences between *In two minutes* and the next heading, without what one needs to know."""

SENTENCE, BLOCK = 40, 60
"""Words of a sentence of the box, and of a bullet or paragraph; intervals do not count."""

NUMBERS = 4
"""Numbers in a bullet or paragraph of the box, outside brackets and parentheses."""

NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,./]*")


def cells(name: str) -> list[Any]:
    return list(read_source(NOTEBOOKS / f"{name}.py").cells)


def executed(name: str) -> list[Any]:
    return list(nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells)


def headings(name: str) -> list[str]:
    text = "\n".join(cell.source for cell in cells(name) if cell.cell_type == "markdown")
    return re.findall(r"^## (.+)$", text, re.MULTILINE)


def prose(name: str) -> str:
    return "\n\n".join(cell.source for cell in cells(name) if cell.cell_type == "markdown")


def said(cell: Any) -> list[str]:
    """Text of a cell, or what it printed as text."""
    if cell.cell_type == "markdown":
        return [cell.source]
    data = [output.get("data", {}) for output in cell.outputs]
    printed = [own["text/markdown"] for own in data if "text/markdown" in own]
    return ["".join(text) for text in printed]


def box(cells: list[Any]) -> str:
    """What stands between *In two minutes* and the next heading."""
    text = "\n\n".join(part for cell in cells for part in said(cell))
    inside = text.partition("## In two minutes")[2].partition("\n## ")[0]
    without_labels = re.sub(r"\*\*(Why|What would change our mind)\?\*\*", "", inside)
    return re.sub(r"^\*You need\*.*?(\n\n|\Z)", "", without_labels, flags=re.MULTILINE | re.DOTALL)


def sentences(text: str) -> int:
    """Count sentences: what ends with a point or a mark and is followed by a space or nothing."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", text)
    return len(re.findall(r"[.?!](?=\s|$)", plain))


def blocks(text: str) -> list[str]:
    """Bullets and paragraphs of a box as they are read, without intervals in brackets."""
    plain = re.sub(r"\$[^$]+\$|\{[\w:]+\}`[^`]*`", "x", text)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    plain = re.sub(r"\[[^\]]*\]|[*`]", "", plain)
    return [part for part in re.split(r"\n\s*\n|\n(?=- )", plain) if part.strip()]


def length(text: str) -> int:
    """Count words: what stands between spaces and has a letter or a digit."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def too_much(block: str) -> list[str]:
    """Say what of a bullet or paragraph is more than a reader takes in at once."""
    counts = {
        "words in a sentence": (max(map(length, re.split(r"(?<=[.?!])\s", block))), SENTENCE),
        "words": (length(block), BLOCK),
        "numbers": (len(NUMBER.findall(re.sub(r"\([^()]*\)", "", block))), NUMBERS),
    }
    start = " ".join(block.split()[:8])
    return [f"{found} {what}: {start}" for what, (found, most) in counts.items() if found > most]


def definitions(code: str) -> list[str]:
    magic_free = "\n".join(line for line in code.splitlines() if not line.startswith(("%", "!")))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node.name for node in ast.walk(ast.parse(magic_free)) if isinstance(node, kinds)]


def shown(cell: Any) -> list[str]:
    """Kinds of what a cell shows."""
    return [kind for output in cell.get("outputs", ()) for kind in output.get("data", {})]


def only_folded(cell: Any) -> bool:
    """Say whether all that a cell shows is folded away, as by `longfair.figures.folded`."""
    data = [output.get("data", {}) for output in cell.get("outputs", ())]
    texts = ["".join(own.get("text/html", own.get("text/markdown", ""))) for own in data]
    return bool(texts) and all(text.startswith('<details class="longfair-') for text in texts)


def code_outside_solutions(name: str) -> str:
    """Code of a page without the solutions of its exercises."""
    code, inside = [], False
    for cell in cells(name):
        if cell.cell_type == "markdown":
            starts, ends = (cell.source.rfind(f"{{solution-{at}}}") for at in ("start", "end"))
            inside = starts > ends if max(starts, ends) >= 0 else inside
        elif not inside:
            code.append(cell.source)
    return "\n".join(code)


@pytest.mark.parametrize("name", NAMES)
def test_no_function_stands_in_a_page(name: str) -> None:
    assert definitions(code_outside_solutions(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_sections_come_in_the_order_of_every_page(name: str) -> None:
    found = [heading for heading in headings(name) if heading in ORDER]
    assert found == [heading for heading in ORDER if heading in found]
    first, *_, verdicts, origin = headings(name)
    assert (first, verdicts, origin) == (ORDER[0], *ORDER[-2:])
    assert {"The problem", "The idea", "What it means", "Exercises"} <= set(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_figure_that_answers_comes_at_once(name: str) -> None:
    early = executed(name)[:FIRST_FIGURE_WITHIN]
    assert any("image/png" in shown(cell) for cell in early)
    before, _, after = prose(name).partition("## In two minutes")
    assert words(before) < 60
    assert "would change our mind" in after.partition("\n## ")[0]
    assert "*You need*" in after.partition("\n## ")[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_box_takes_two_minutes(name: str) -> None:
    assert 3 <= sentences(box(executed(name))) <= SENTENCES


@pytest.mark.parametrize("name", NAMES)
def test_the_box_is_no_log(name: str) -> None:
    assert "stored runs" not in box(executed(name)).lower()
    assert [fault for block in blocks(box(executed(name))) for fault in too_much(block)] == []


@pytest.mark.parametrize("name", NAMES)
def test_words_of_figures_begin_with_the_message_and_agree_with_the_axes(name: str) -> None:
    """What the axes show was written down when they were drawn."""
    found = 0
    for cell in executed(name):
        outputs = cell.get("outputs", [])
        for output, following in pairwise([*outputs, {}]):
            if "image/png" in output.get("data", {}):
                found += 1
                words = output["metadata"]["image/png"]["alt"]
                caption, _, _ = following["data"]["text/plain"].rpartition(" [")
                assert words.startswith(caption)
                axes = [Shown(**axis) for axis in output["metadata"]["axes"]]
                assert contradictions(words, axes) == []
    assert found


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_are_folded_at_the_end(name: str) -> None:
    tables = [
        (place, output)
        for place, cell in enumerate(executed(name))
        for output in cell.get("outputs", ())
        if "longfair-claims" in output.get("data", {}).get("text/html", "")
    ]
    assert all("<details" in output["data"]["text/html"] for _, output in tables)
    (place,) = [p for p, cell in enumerate(cells(name)) if "## The verdicts" in cell.source]
    assert tables
    assert tables[-1][0] > place


@pytest.mark.parametrize("name", NAMES)
def test_no_box_of_code_stands_over_a_fold(name: str) -> None:
    """Both closed, they would say nothing: such a cell carries `remove-input`."""
    for cell in executed(name):
        if only_folded(cell):
            assert "hide-input" not in cell.metadata.get("tags", []), cell.source


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_short_enough_to_be_read(name: str) -> None:
    count = words("\n\n".join(part for cell in executed(name) for part in said(cell)))
    if name in LONGER:
        assert count > LONGER[name] - 100, f"{count} words: lower the number in LONGER"
    assert count <= LONGER.get(name, WORDS)


@pytest.mark.parametrize("name", NAMES)
def test_exercises_are_called_by_their_labels(name: str) -> None:
    """The book numbers them through all pages, so a number within a page misleads."""
    assert not re.search(r"\b(first|second|third|fourth) exercise\b", prose(name))


def test_what_is_folded_does_not_count() -> None:
    text = "one two\n\n:::{dropdown} Not seen\nthree four\n:::\n\n$x + y$ five"
    assert words(text) == 3
    solved = "one\n```{solution-start} label\n```\ntwo\n```{solution-end}\n```"
    assert words(solved) == 1


def test_what_is_only_folded_is_told_from_what_is_in_sight() -> None:
    fold, table = (
        nbformat.v4.new_output("display_data", data)
        for data in (
            {"text/html": folded(pd.DataFrame({"a": [1]}), "a table")._repr_html_()},
            {"text/html": "<table></table>"},
        )
    )
    words = nbformat.v4.new_output(
        "display_data", {"text/markdown": Words("text", heading="more")._repr_markdown_()}
    )
    assert only_folded(nbformat.v4.new_code_cell("x", outputs=[fold, words]))
    assert not only_folded(nbformat.v4.new_code_cell("x", outputs=[table, fold]))
    assert not only_folded(nbformat.v4.new_code_cell("x"))


def test_sentences_of_a_box_are_counted() -> None:
    first = nbformat.v4.new_markdown_cell(
        "# A\n\nNot. Yet.\n\n## In two minutes\n\nOne 0.5. **Two?**"
    )
    output = nbformat.v4.new_output("display_data", {"text/markdown": "- Three is [x](y.ipynb)."})
    printed = nbformat.v4.new_code_cell("x", outputs=[output])
    last = nbformat.v4.new_markdown_cell("Four.\n\n*You need* it. *Time:* it.\n\n## More\n\nNo.")
    assert sentences(box([first, printed, last])) == 4


def test_words_and_numbers_of_a_box_are_counted_as_a_reader_meets_them() -> None:
    first, second = blocks(
        "A gap of 0.1 [0.05, 1.2] in [the\nloan](x.ipynb) of {cite:t}`y`.\n- $x + 1$ **is** 2."
    )
    assert (length(first), length(second)) == (9, 3)
    assert len(NUMBER.findall(first)) == len(NUMBER.findall(second)) == 1
    assert too_much("1 of 2 and +3 and 1,000.5 (5 and 6).") == []
    assert too_much("1 of 2, 3, 4 and 5.") == ["5 numbers: 1 of 2, 3, 4 and 5."]
    forty = "word " * 39 + "word."
    assert too_much(forty) == []
    assert [fault[:8] for fault in too_much("More " + forty)] == ["41 words"]
    assert [fault[:8] for fault in too_much(f"{forty} {forty}")] == ["80 words"]


def test_definitions_are_found_wherever_they_stand() -> None:
    assert definitions("x = 1\nif x:\n    def f():\n        pass\nclass C: ...") == ["C", "f"]


def test_every_exception_names_a_page() -> None:
    assert set(LONGER) <= set(NAMES)
