"""Every figure of a notebook reaches the page with its words, or the build complains."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from alt_texts import contradictions

import alt_text
import generated
from longfair.figures.words import shown_axes
from longfair.papers.live_worlds import WORLDS, LiveWorld


def image(**metadata: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"image/png": "AA=="}, "metadata": metadata}


def notebook(*outputs: dict[str, Any]) -> str:
    cell = {"cell_type": "code", "metadata": {}, "outputs": list(outputs)}
    return json.dumps({"cells": [{"cell_type": "markdown", "metadata": {}, "source": []}, cell]})


def read(text: str, suffix: str = "ipynb") -> tuple[list[dict[str, Any]], list[str]]:
    """Cells and complaints after the extension has seen a page."""
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda page: f"{page}.{suffix}"))
    source, complaints = [text], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alt_text.logger, "warning", lambda text, **_: complaints.append(text))
        alt_text.describe_images(app, "page", source)  # type: ignore[arg-type]  # a stand-in
    return json.loads(source[0])["cells"] if suffix == "ipynb" else [], complaints


@pytest.mark.parametrize("metadata", [{"image/png": {"alt": "A line."}}, {"alt": "A line."}])
def test_words_go_from_the_output_to_the_cell(metadata: dict[str, Any]) -> None:
    (_, cell), complaints = read(notebook(image(**metadata)))
    assert cell["metadata"]["mystnb"]["image"]["alt"] == "A line."
    assert complaints == []


def test_what_is_said_below_the_first_figure_comes_first() -> None:
    said = "- *Fairer* is `PPO`, see [there](a.md).\n- It earns less."
    words = {"output_type": "display_data", "data": {"text/markdown": said}, "metadata": {}}
    pages = json.loads(notebook(image(alt="A line.")))["cells"]
    cells = [*pages, {"cell_type": "code", "metadata": {}, "outputs": [words]}, pages[1]]
    (_, first, _, second), complaints = read(json.dumps({"cells": cells}))
    assert first["metadata"]["mystnb"]["image"]["alt"] == "Fairer is PPO, see there. A line."
    assert second["metadata"]["mystnb"]["image"]["alt"] == "A line."
    assert complaints == []


def test_what_another_section_says_is_not_the_message() -> None:
    words = {"output_type": "display_data", "data": {"text/markdown": "- Far."}, "metadata": {}}
    cells = json.loads(notebook(image(alt="A line.")))["cells"]
    cells += [
        {"cell_type": "markdown", "metadata": {}, "source": ["## Next"]},
        {"cell_type": "code", "metadata": {}, "outputs": [words]},
    ]
    (_, figure, *_), _ = read(json.dumps({"cells": cells}))
    assert figure["metadata"]["mystnb"]["image"]["alt"] == "A line."


def test_figure_without_words_is_a_warning() -> None:
    _, (complaint,) = read(notebook(image()))
    assert complaint.startswith("cell 1: a figure without alternative text")


def test_two_figures_with_different_words_are_a_warning() -> None:
    two = notebook(image(alt="A line."), image(alt="Another line."))
    _, (complaint,) = read(two)
    assert "two figures in one cell" in complaint


def test_cell_without_figures_stays_as_it_is() -> None:
    (_, cell), complaints = read(notebook({"output_type": "stream", "text": "x"}))
    assert cell["metadata"] == {}
    assert complaints == []


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_words_of_still_figures_agree_with_the_axes(world: LiveWorld) -> None:
    figure = world.still()
    shown = shown_axes(figure.figure)
    assert shown
    assert contradictions(figure.alt_text, shown) == []


def test_words_of_the_landing_page_agree_with_the_axes() -> None:
    figure = generated.overview_figure()
    shown = shown_axes(figure.figure)
    assert len(shown) >= 8
    assert contradictions(figure.alt_text, shown) == []


def test_other_pages_are_not_touched() -> None:
    assert read("# Not a notebook", suffix="md") == ([], [])
