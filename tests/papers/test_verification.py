from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from longfair.errors import UsageError
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


def test_equal_errors_are_no_proof() -> None:
    then = {"sound": "bits", "long": None, "broken": "error: no space", "repaired": "error: x"}
    now = {"sound": "bits", "long": None, "broken": "error: no space", "repaired": "bits"}
    failures = verification._failures(then, now)
    assert failures == {"broken": "error: no space", "repaired": "error: x"}


def test_states_that_probe_with_other_settings_are_not_compared() -> None:
    before = {"a": Described("old", "{}", {}), "b": Described("old", "{}", {}, "two epochs")}
    after = {"a": Described("new", "{}", {}, "x"), "b": Described("new", "{}", {}, "two epochs")}
    verification._refuse_other_probes("abc", ["a", "b"], before, after)
    after["b"] = after["b"]._replace(probe="one epoch")
    with pytest.raises(UsageError, match=r"^since abc 1 arms are probed with other .* such as b"):
        verification._refuse_other_probes("abc", ["a", "b"], before, after)


def two_states(
    monkeypatch: pytest.MonkeyPatch, then: dict[str, str | None], now: dict[str, str | None]
) -> None:
    """Let two states have arms of these bits, whose code differs."""
    before = {name: Described("old", "{}", {}) for name in then}
    after = {name: Described(f"new {name}", "{}", {}) for name in now}
    monkeypatch.setattr(verification, "described", lambda experiments: after)
    monkeypatch.setattr(verification, "stored_arms", lambda store: set(after))
    monkeypatch.setattr(
        verification, "_checked_out", lambda revision: contextlib.nullcontext(("abc", TREE))
    )

    def ask(tree: Path, revision: str, command: str, file: str = "") -> dict[str, Any]:
        if command == "describe":
            return {name: list(one) for name, one in before.items()}
        return then if tree == TREE else now

    monkeypatch.setattr(verification, "_ask", ask)


def test_other_bits_at_the_same_revision_are_named_and_prove_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_states(
        monkeypatch,
        {"e/book/same": "bits", "e/book/other": "bits"},
        {"e/book/same": "bits", "e/book/other": "others"},
    )
    outcome = verification.against("HEAD", Store(tmp_path))
    assert outcome.different == ["e/book/other"]
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_proof_leaves_out_what_gave_no_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"e/book/sound": "bits", "e/book/broken": "error: no space", "e/book/long": None}
    two_states(monkeypatch, answers, answers)
    outcome = verification.against("HEAD", Store(tmp_path))
    assert outcome.different == []
    assert outcome.failed == {"e/book/broken": "error: no space"}
    written = (tmp_path / "ledger.jsonl").read_text(encoding="utf-8")
    assert json.loads(written)["probes"] == 1
