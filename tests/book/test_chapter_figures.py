"""A chapter shows the first figure of its main notebook."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from chapter_figures import NOTEBOOKS, first_figure, fragment, pictures
from longfair.figures.display import ON_A_PHONE
from longfair.papers import registry

ROOT = Path(__file__).parents[2]


def written(folder: Path, *outputs: dict[str, object]) -> Path:
    notebook = folder / "page.ipynb"
    notebook.write_text(json.dumps({"cells": [{}, {"outputs": outputs}]}), encoding="utf-8")
    return notebook


def picture(content: bytes) -> dict[str, object]:
    return {
        "data": {"image/png": base64.b64encode(content).decode()},
        "metadata": {"image/png": {"alt": "words", "width": 720}},
    }


def test_it_is_the_first_one_with_a_caption(tmp_path: Path) -> None:
    caption = {"data": {"text/html": ['<p class="longfair-caption"><em>A &amp; B.</em></p>']}}
    other = {"data": {"text/plain": "a table"}}
    found = first_figure(
        written(tmp_path, picture(b"none"), other, picture(b"one"), caption, picture(b"two"))
    )
    assert (found.caption, found.marks) == ("A & B.", "")
    assert base64.b64decode(found.picture["data"]["image/png"]) == b"one"


def test_what_lines_and_bands_are_is_told_as_in_the_notebook(tmp_path: Path) -> None:
    markup = '<p><em>A.</em> Drawn: median; of two kinds: B &amp; C, 2.5. <a href="x">Data</a></p>'
    found = first_figure(written(tmp_path, picture(b"one"), {"data": {"text/html": markup}}))
    assert (found.caption, found.marks) == ("A.", " Drawn: median; of two kinds: B & C, 2.5.")


def test_a_notebook_without_figures_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"page\.ipynb has no figure with a caption; execute it"):
        first_figure(written(tmp_path, {"data": {"text/plain": "a table"}}))


@pytest.mark.parametrize("paper", registry.papers())
def test_every_chapter_shows_one_and_folds_its_claims(paper: str) -> None:
    chapter = (ROOT / "book" / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    assert f"_generated/chapter_{paper}.md" in chapter
    for part in ("claims", "asked"):
        before = chapter.split(f"```{{include}} ../_generated/{part}_{paper}.md")[0]
        assert before.rstrip().splitlines()[-1].startswith("````{dropdown}")
    shown = fragment(ROOT, paper)
    assert f"/notebooks/{NOTEBOOKS[paper]}.ipynb" in shown
    figure = first_figure(ROOT / "notebooks" / f"{NOTEBOOKS[paper]}.ipynb")
    assert f"*{figure.caption}*{figure.marks}" in shown
    assert figure.marks.startswith(" Drawn: ")


def test_a_phone_gets_its_own_drawing() -> None:
    files = pictures(ROOT)
    for paper, name in NOTEBOOKS.items():
        data = first_figure(ROOT / "notebooks" / f"{name}.ipynb").picture["data"]
        assert base64.b64decode(data[ON_A_PHONE]) == files[f"chapter_{paper}.phone.png"]
