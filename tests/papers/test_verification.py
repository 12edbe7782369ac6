from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longfair.papers import verification
from longfair.runs.store import Store
from longfair.runs.verify import Described

TREE = Path("tree")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record which arms are probed; one of them always fails."""
    calls: list[list[str]] = []

    def ask(tree: Path, revision: str, command: str, file: str) -> dict[str, Any]:
        calls.append(Path(file).read_text().split())
        known = {"long": None, "broken": "error: disk full"}
        return {name: known.get(name, f"bits of {name}") for name in calls[-1]}

    monkeypatch.setattr(verification, "_ask", ask)
    return calls


def bits(arms: dict[str, Described], store: Store, *, anew: bool = False) -> dict[str, Any]:
    return verification._bits(TREE, "HEAD", arms, store, anew=anew)


def test_a_probe_is_run_once_for_the_same_source_and_settings(
    tmp_path: Path, asked: list[list[str]]
) -> None:
    store = Store(tmp_path)
    arms = {"first": Described("source", "{}", {"part": 1}), "long": Described("s", "{}", {})}
    expected = {"first": "bits of first", "long": None}
    assert bits(arms, store) == expected
    assert bits(arms, store) == expected
    edited = {**arms, "first": arms["first"]._replace(source="another")}
    assert bits(edited, store) == expected
    raised = {"first": arms["first"]._replace(revisions={"part": 2})}
    assert bits(raised, store) == {"first": "bits of first"}
    assert asked == [["first", "long"], ["first"], ["first"]]


def test_what_the_same_source_gives_is_not_taken_from_memory(
    tmp_path: Path, asked: list[list[str]]
) -> None:
    """Else an arm would be held against itself."""
    arms = {"first": Described("source", "{}", {})}
    for _ in range(2):
        assert bits(arms, Store(tmp_path), anew=True) == {"first": "bits of first"}
    assert asked == [["first"], ["first"]]


def test_a_probe_that_failed_is_run_again(tmp_path: Path, asked: list[list[str]]) -> None:
    arms = {"broken": Described("source", "{}", {})}
    for _ in range(2):
        assert bits(arms, Store(tmp_path)) == {"broken": "error: disk full"}
    assert asked == [["broken"], ["broken"]]


def test_equal_errors_are_no_proof(asked: list[list[str]], tmp_path: Path) -> None:
    with pytest.raises(verification.ProbeError, match="1 of 2 probes of the present code failed"):
        verification._require_answers(
            "HEAD", {"sound": "bits", "long": None}, {"sound": "bits", "broken": "error: no space"}
        )
    with pytest.raises(verification.ProbeError, match=r"broken \(error: no space\): nothing is"):
        verification._require_answers("HEAD", {"broken": "error: no space"}, {})
    verification._require_answers("HEAD", {"sound": "bits"}, {"long": None})
