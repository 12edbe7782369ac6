from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longfair.agents.ppo import elbert_po
from longfair.errors import UsageError
from longfair.papers import registry, verification
from longfair.runs import verify
from longfair.runs.store import Store
from longfair.runs.verify import Described

TREE = Path("tree")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record which arms are probed; one of them always fails."""
    calls: list[list[str]] = []

    def ask(tree: Path, revision: str, command: str, file: str, workers: str) -> dict[str, Any]:
        calls.append(Path(file).read_text().split())
        known = {"long": None, "broken": "error: disk full"}
        return {name: known.get(name, f"bits of {name}") for name in calls[-1]}

    monkeypatch.setattr(verification, "_ask", ask)
    return calls


def bits(arms: dict[str, Described], store: Store, *, anew: bool = False) -> dict[str, Any]:
    (found,) = verification._bits([verification._State(TREE, arms)], "HEAD", store, anew=anew)
    return found


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


def test_two_states_share_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def ask(tree: Path, revision: str, command: str, file: str, workers: str) -> dict[str, str]:
        calls.append((tree, workers))
        return {name: f"{tree} {name}" for name in Path(file).read_text().split()}

    monkeypatch.setattr(verification, "_ask", ask)
    monkeypatch.setattr(verification, "default_workers", lambda: 4)
    old, new = Described("old", "{}", {}), Described("new", "{}", {})
    store, other = Store(tmp_path), Path("other")
    both = [verification._State(TREE, {"arm": old}), verification._State(other, {"arm": new})]
    assert verification._bits(both, "HEAD", store, anew=False) == [
        {"arm": "tree arm"},
        {"arm": "other arm"},
    ]
    assert sorted(calls) == [(other, "2"), (TREE, "2")]
    edited = [both[0], verification._State(other, {"arm": new._replace(source="newer")})]
    verification._bits(edited, "HEAD", store, anew=False)
    assert calls[2:] == [(other, "4")], "who works alone has all cores"


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


ELBERT = "elbert/lending/book/elbert-po.as_coded"
"""Its probe plays the same episodes, whatever the weights of the advantages are."""


@pytest.mark.parametrize("factor", [1.0, 1.0001])
def test_a_probe_finds_a_change_that_its_episodes_do_not_show(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = verify.arms_by_name(registry.experiments())[ELBERT]
    before = verify.probe(arm, ELBERT)
    weights = elbert_po.advantage_weights

    def changed(supply: Any, *others: Any) -> Any:
        found = weights(supply, *others).copy()
        found[1 : 1 + len(supply)] *= factor
        return found

    monkeypatch.setattr(elbert_po, "advantage_weights", changed)
    assert (verify.probe(arm, ELBERT) == before) == (factor == 1.0)


def _one_of_each_learning() -> list[str]:
    """Name an arm of every kind of learning, and of learner."""
    arms = verify.arms_by_name(registry.experiments())
    smoke = {name: arm.config for name, arm in arms.items() if "/smoke/" in name}
    learning = {name: config for name, config in smoke.items() if config.learning is not None}
    kinds = {
        (type(config.learning), type(config.method).__module__): name
        for name, config in reversed(learning.items())
    }
    return sorted(kinds.values())


@pytest.mark.parametrize("name", _one_of_each_learning())
def test_every_training_says_what_it_ended_with(name: str) -> None:
    setting = verify.arms_by_name(registry.experiments())[name].config.shortened()
    ended, other = (setting.learning.train(setting, s, s, None).learned for s in (1, 2))
    assert sum(array.size for array in ended) > 0
    assert any(not np.array_equal(*pair) for pair in zip(ended, other, strict=True))


def test_states_that_probe_with_other_settings_are_not_compared() -> None:
    before = {"a": Described("old", "{}", {}), "b": Described("old", "{}", {}, "two epochs")}
    after = {"a": Described("new", "{}", {}, "x"), "b": Described("new", "{}", {}, "two epochs")}
    verification._refuse_other_probes("abc", ["a", "b"], before, after)
    after["b"] = after["b"]._replace(probe="one epoch")
    with pytest.raises(UsageError, match=r"^since abc 1 arms are probed otherwise, such as b"):
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

    def ask(tree: Path, revision: str, command: str, *run: str) -> dict[str, Any]:
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
