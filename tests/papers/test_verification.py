from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longfair.papers import verification
from longfair.runs.store import Store
from longfair.runs.verify import Described

TREE = Path("tree")


def test_a_probe_is_run_once_for_the_same_source_and_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def ask(tree: Path, revision: str, command: str, file: str) -> dict[str, Any]:
        asked.append(Path(file).read_text().split())
        return {name: None if name == "long" else f"bits of {name}" for name in asked[-1]}

    monkeypatch.setattr(verification, "_ask", ask)
    store = Store(tmp_path)
    arms = {"first": Described("source", "{}", {"part": 1}), "long": Described("s", "{}", {})}
    expected = {"first": "bits of first", "long": None}
    assert verification._bits(TREE, "HEAD", arms, store) == expected
    assert verification._bits(TREE, "HEAD", arms, store) == expected
    edited = {**arms, "first": arms["first"]._replace(source="another")}
    assert verification._bits(TREE, "HEAD", edited, store) == expected
    raised = {"first": arms["first"]._replace(revisions={"part": 2})}
    assert verification._bits(TREE, "HEAD", raised, store) == {"first": "bits of first"}
    assert asked == [["first", "long"], ["first"], ["first"]]
