"""A folded figure says on its fold what it shows."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

import folded_figures
from run_notebooks import NOTEBOOKS, sources

NAMES = [source.relative_to(NOTEBOOKS).with_suffix("").as_posix() for source in sources()]


def cell(caption: str, *tags: str, **metadata: Any) -> dict[str, Any]:
    shown = [{"data": {"image/png": "AA=="}}, {"data": {"text/plain": f"{caption} [2 rows]"}}]
    return {"metadata": {"tags": list(tags), **metadata}, "outputs": shown}


def read(*cells: dict[str, Any], suffix: str = "ipynb") -> list[dict[str, Any]]:
    """Metadata of the cells after the extension has seen a page."""
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda page: f"{page}.{suffix}"))
    source = [json.dumps({"cells": cells})]
    folded_figures.name_folds(app, "page", source)  # type: ignore[arg-type]  # a stand-in
    return [one["metadata"] for one in json.loads(source[0])["cells"]]


def test_the_first_sentence_of_the_caption_stands_on_the_fold() -> None:
    (metadata,) = read(cell("Bias, as coded. Thin lines are runs.", "hide-cell"))
    assert metadata["mystnb"]["code_prompt_show"] == "Figure: Bias, as coded"
    assert metadata["mystnb"]["code_prompt_hide"] == "Figure: Bias, as coded"


def test_a_figure_of_the_paper_is_named_once() -> None:
    (metadata,) = read(cell("Figure 1b as published: the cash.", "hide-cell"))
    assert metadata["mystnb"]["code_prompt_show"] == "Figure 1b as published"


def test_what_is_not_folded_or_has_words_of_its_own_stays() -> None:
    own = {"code_prompt_show": "The search"}
    open_cell, named, listing = read(
        cell("Bias.", "hide-input"),
        cell("Bias.", "hide-cell", mystnb=own),
        {"metadata": {"tags": ["hide-cell"]}, "outputs": []},
    )
    assert "mystnb" not in open_cell
    assert named["mystnb"] == own
    assert "mystnb" not in listing


def test_other_pages_stay() -> None:
    (metadata,) = read(cell("Bias.", "hide-cell"), suffix="md")
    assert metadata == {"tags": ["hide-cell"]}


@pytest.mark.parametrize("name", NAMES)
def test_every_fold_says_what_it_holds(name: str) -> None:
    for one in nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells:
        if folded_figures.HIDDEN in one.metadata.get("tags", []):
            given = one.metadata.get("mystnb", {}).get("code_prompt_show")
            assert given or folded_figures.prompt(one), one.source
