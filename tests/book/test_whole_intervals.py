"""In a table of a notebook a number and its interval stay in one line."""

from __future__ import annotations

import json
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest

import whole_intervals
from run_notebooks import NOTEBOOKS

SPAN = '<span class="longfair-interval">'


def read(table: pd.DataFrame, suffix: str = "ipynb") -> str:
    """A table after the extension has seen its page."""
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda page: f"{page}.{suffix}"))
    cells = [{"outputs": [{"data": {"text/html": table.to_html().splitlines(keepends=True)}}]}]
    source = [json.dumps({"cells": cells})]
    whole_intervals.mark_intervals(app, "page", source)  # type: ignore[arg-type]  # a stand-in
    return "".join(json.loads(source[0])["cells"][0]["outputs"][0]["data"]["text/html"])


@pytest.mark.parametrize(
    "interval",
    [
        *("0.148 [0.147, 0.149]", "-0.0002 [-0.0020, +0.0022]", "47% [44%, 49%]"),
        *("1,240.5 (-98.0 to 1,800.0)", "[0.1, 0.2]", "-0.3 to 0.42"),
    ],
)
def test_an_interval_is_marked_with_its_number(interval: str) -> None:
    assert f"<td>{SPAN}{interval}</span></td>" in read(pd.DataFrame({"bias": [interval]}))


def test_what_follows_may_stand_in_the_next_line() -> None:
    cells = read(pd.DataFrame({"bias": ["0.2 (0.1 to 0.7), two kinds"]}))
    assert f"<td>{SPAN}0.2 (0.1 to 0.7)</span>, two kinds</td>" in cells


def test_words_may_break() -> None:
    assert SPAN not in read(pd.DataFrame({"what": ["ten [1, 2] of them", "threshold 3 (myopic)"]}))


def test_other_pages_stay() -> None:
    assert SPAN not in read(pd.DataFrame({"bias": ["0.1 [0.0, 0.2]"]}), suffix="md")


def test_tables_of_pages_have_intervals() -> None:
    cells = nbformat.read(NOTEBOOKS / "elbert" / "extensions.ipynb", as_version=4).cells
    found = [
        whole_intervals.INTERVAL.search(output.get("data", {}).get("text/html", ""))
        for cell in cells
        for output in cell.get("outputs", [])
    ]
    assert any(found)
