"""Verdicts are remembered, and judged again when a result, a claim or the code changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from toy_experiment import halves, toy_experiment

from longfair.errors import UsageError
from longfair.papers import registry
from longfair.runs import board, check_memory, verify
from longfair.runs.claims import CheckResult, load_claims
from longfair.runs.experiment import plan
from longfair.runs.index import FILE as INDEX
from longfair.runs.runner import run_all
from longfair.runs.sources import source_digest
from longfair.runs.store import Store
from longfair.runs.verdicts import Verdict, judge_all, judge_by_settings

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

    def counted(claims: list[object], *arguments: object, **more: object) -> object:
        counts.append(len(claims))
        return judge_by_settings(claims, *arguments, **more)  # type: ignore[arg-type]  # as given

    monkeypatch.setattr(board, "judge_by_settings", counted)
    return counts


def verdicts(store: Store, seconds: float = 0.0) -> list[Verdict]:
    toy = toy_experiment(seconds=seconds)
    return board.verdicts(CLAIMS, store, {toy.id: toy}, CHECKS, profile="smoke")


def test_remembered_verdicts_are_those_that_were_judged(store: Store, judged: list[int]) -> None:
    expected = judge_all(CLAIMS, store, "smoke", CHECKS)
    for _ in range(2):
        found = verdicts(Store(store.root))
        assert [verdict.word for verdict in found] == [verdict.word for verdict in expected]
        assert [verdict.interval for verdict in found] == [v.interval for v in expected]
        assert found[0].parts
    assert judged == [len(CLAIMS), 0]


def test_a_new_result_is_judged(store: Store, judged: list[int]) -> None:
    assert len(verdicts(store)[0].seeds) == 5
    fill(store, 6)
    assert len(verdicts(store)[0].seeds) == 6
    assert judged[1] > 0


def test_changed_code_judges_again(
    store: Store, judged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts(store)
    monkeypatch.setattr(board, "stamp_of_rules", lambda rule: "other code")
    verdicts(store)
    assert judged == [len(CLAIMS), len(CLAIMS)]


def test_changed_code_of_a_check_judges_its_claims_alone(
    store: Store, judged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts(store)
    monkeypatch.setattr(
        check_memory, "source_digest", lambda check: f"other code of {check.__name__}"
    )
    verdicts(store)
    exact = [claim for claim in CLAIMS if claim.rule.checks]
    assert judged == [len(CLAIMS), len(exact)]
    assert 0 < len(exact) < len(CLAIMS)


def test_a_check_is_run_again_only_if_its_own_code_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    def counted() -> CheckResult:
        runs.append("run")
        return halves()

    monkeypatch.setitem(CHECKS, "halves", counted)
    first = verdicts(store)
    monkeypatch.setattr(board, "stamp_of_rules", lambda rule: "other code")
    second = verdicts(Store(store.root))
    assert runs == ["run"]
    assert [verdict.estimate for verdict in first] == [verdict.estimate for verdict in second]
    monkeypatch.setattr(
        check_memory, "source_digest", lambda check: f"other code of {check.__name__}"
    )
    verdicts(Store(store.root))
    assert len(runs) == 2


def test_what_checks_found_can_be_committed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_memory.write(CHECKS, store) == 1
    (store.root / INDEX).unlink()

    def never() -> CheckResult:
        raise AssertionError("the file knows")

    never.__module__, never.__name__ = halves.__module__, halves.__name__
    monkeypatch.setattr(check_memory, "source_digest", lambda check: source_digest(halves))
    monkeypatch.setitem(CHECKS, "halves", never)
    assert "checked" in {verdict.word for verdict in verdicts(Store(store.root))}
    assert list(verify.problems(store)) == []


def test_what_a_check_found_cannot_be_changed_by_hand(store: Store) -> None:
    check_memory.write(CHECKS, store)
    file = store.root / check_memory.FILE
    file.write_text(file.read_text().replace('"passed": true', '"passed": false'))
    (store.root / INDEX).unlink()
    (line,) = verify.problems(Store(store.root))
    assert line.startswith(f"{file} is not what was written (halves): restore it")
    with pytest.raises(UsageError, match="not what was written"):
        verdicts(Store(store.root))


def test_the_code_of_a_check_is_where_it_is_written() -> None:
    modules = {check.__module__ for check in registry.checks().values()}
    assert "longfair.papers.fairmdp.checks" in modules
    assert registry.__name__ not in modules


def test_runs_that_went_stale_are_judged_again(store: Store, judged: list[int]) -> None:
    assert verdicts(store)[0].stale == 0
    assert verdicts(store, seconds=0.001)[0].stale == 15
    assert judged[1] > 0


def test_headlines_are_counted_by_who_asks(store: Store) -> None:
    found = verdicts(store)
    beside = [replace(found[0], settings="ours", word="contradicted"), *found[1:]]
    assert board.headlines([*found, *beside]) == found
    assert board.counts([*found, *beside]) == {
        "paper": {"reproduced": 1},
        "here": {"yes": 1},
    }


def row(error: float | None, verdict: str = "reproduced", **words: object) -> dict[str, object]:
    same = {"verdict_99": verdict, "verdict_999": verdict, "fragile": False}
    return {"verdict": verdict, "error": error, **same, **words}


def test_a_family_of_verdicts_says_what_it_can_get_wrong() -> None:
    weak = row(0.05, verdict_99="inconclusive", verdict_999="inconclusive", fragile=True)
    others = [row(None, "checked"), row(None, "not attempted"), row(0.05, "not attempted")]
    decided = [row(0.001), row(0.0001), weak, row(0.02)]
    found = board.family([*decided, *others])
    assert (found.words, found.asked, found.fragile) == (4, 4, 1)
    assert found.wrong == pytest.approx(0.2)
    assert found.all_right == pytest.approx(0.95**4)
    assert (found.at_99, found.at_999) == (3, 3)
    # Holm: 0.0001 <= 0.05/4, 0.001 <= 0.05/3, 0.02 <= 0.05/2, 0.05 <= 0.05/1.
    assert found.together == 4
    assert board.family([row(0.02), row(0.02), row(0.05), row(0.0001)]).together == 1
    # An undecided one was a chance to be wrong: the 0.02 would have to be below 0.05/3.
    with_undecided = board.family([*decided, row(0.05, "inconclusive")])
    assert (with_undecided.words, with_undecided.asked, with_undecided.together) == (4, 5, 2)
    assert with_undecided.wrong == pytest.approx(0.25)
    assert board.family([]).together == 0
