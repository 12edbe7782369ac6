"""Verdicts are remembered, and judged again when a result, a claim or the code changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from toy_experiment import halves, toy_experiment

from longfair.runs import board
from longfair.runs.claims import load_claims
from longfair.runs.experiment import plan
from longfair.runs.runner import run_all
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all

CLAIMS = load_claims(Path(__file__).parent / "toy_papers" / "toy" / "claims.yaml")
CHECKS = {"halves": halves}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    folder = Store(tmp_path / "results")
    fill(folder, 5)
    return folder


def fill(store: Store, seeds: int) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=seeds)
    with ThreadPoolExecutor(1) as executor:
        run_all(runs, store, executor=executor, workers=1)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many claims were judged, call by call."""
    counts: list[int] = []

    def counted(claims: list[object], *arguments: object) -> object:
        counts.append(len(claims))
        return judge_all(claims, *arguments)  # type: ignore[arg-type]  # handed through

    monkeypatch.setattr(board, "judge_all", counted)
    return counts


def test_remembered_verdicts_are_those_that_were_judged(store: Store, judged: list[int]) -> None:
    expected = judge_all(CLAIMS, store, "smoke", CHECKS)
    for _ in range(2):
        assert board.verdicts(CLAIMS, Store(store.root), "smoke", CHECKS) == expected
    assert judged == [len(CLAIMS), 0]


def test_a_new_result_is_judged(store: Store, judged: list[int]) -> None:
    board.verdicts(CLAIMS, store, "smoke", CHECKS)
    fill(store, 6)
    again = board.verdicts(CLAIMS, store, "smoke", CHECKS)
    assert judged[1] > 0
    assert again == judge_all(CLAIMS, store, "smoke", CHECKS)


def test_changed_code_judges_again(
    store: Store, judged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    board.verdicts(CLAIMS, store, "smoke", CHECKS)
    monkeypatch.setattr(board, "library_stamp", lambda: "other code")
    board.verdicts(CLAIMS, store, "smoke", CHECKS)
    assert judged == [len(CLAIMS), len(CLAIMS)]
