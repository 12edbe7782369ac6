"""Elsewhere a second seed decides about a run that ends far from the others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from toy_experiment import toy_experiment

from longfair.papers import rerunning
from longfair.runs import files
from longfair.runs.experiment import Run, plan
from longfair.runs.runner import run_all
from longfair.runs.store import Store
from longfair.runs.verify import Judge, Rerun

RUNS = plan(toy_experiment(), "smoke", seeds=5, methods=["fair"])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Five seeds of one arm."""

    def run_here(runs: list[Run], folder: Store, **_: object) -> None:
        with ThreadPoolExecutor(1) as executor:
            run_all(runs, folder, executor=executor, workers=1)

    folder = Store(tmp_path / "results")
    run_here(RUNS, folder)
    monkeypatch.setattr(rerunning, "run_all", run_here)
    monkeypatch.setattr(rerunning, "words_of_verdicts", lambda *_: {})
    return folder


def forge(store: Store, run: Run, factor: float, **words: object) -> None:
    """Store other numbers than the run gives."""
    table, provenance = files.read(store.path(run))
    column = table.column("value").to_numpy() * factor
    at = table.schema.get_field_index("value")
    forged = table.set_column(at, table.schema.field(at), [column])
    files.write(store.path(run), forged, provenance | words)


def again(run: Run, store: Store, tmp_path: Path) -> Rerun:
    (found,) = rerunning.again([run], store, Store(tmp_path / "own"), 1, Console(quiet=True))
    return found


ELSEWHERE = {"features": "Other avx2", "kernels": {}}


def test_one_run_far_from_its_seeds_is_no_fault_if_the_next_seed_is_near(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge(store, RUNS[1], 1.0, **ELSEWHERE)
    forge(store, RUNS[2], 1.0 + 1e-9, **ELSEWHERE)
    compared = rerunning.held_against

    def far(store: Store, run: Run, table: pd.DataFrame, judge: Judge) -> Rerun:
        if run.seed == 1:
            return Rerun(run.name, False, "beyond the spread over seeds: bias is 9, seeds give 0.1")
        return compared(store, run, table, judge)

    monkeypatch.setattr(rerunning, "held_against", far)
    found = again(RUNS[1], store, tmp_path)
    assert found.sound
    assert "bias is 9" in found.line
    assert "seed 002: within the spread over seeds; computed on Other avx2" in found.line


def test_two_seeds_that_come_out_otherwise_are_a_fault(store: Store, tmp_path: Path) -> None:
    for run in RUNS:
        forge(store, run, 100.0, **ELSEWHERE)
    found = again(RUNS[4], store, tmp_path)
    assert not found.sound
    assert found.line.count("beyond the spread over seeds") == 2
    assert "seed 000" in found.line  # after the last comes the first


def test_other_bits_on_the_same_processor_are_a_fault_at_once(store: Store, tmp_path: Path) -> None:
    forge(store, RUNS[0], 1.0 + 1e-9)
    found = again(RUNS[0], store, tmp_path)
    assert not found.sound
    assert "seed" not in found.line


def test_no_other_seed_excuses_a_run_that_failed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge(store, RUNS[0], 1.0, **ELSEWHERE)
    monkeypatch.setattr(rerunning, "run_all", lambda *_, **__: None)
    assert again(RUNS[0], store, tmp_path) == Rerun(RUNS[0].name, False, rerunning.FAILED)


def test_a_damaged_seed_is_not_asked(store: Store) -> None:
    store.path(RUNS[1]).write_bytes(b"damaged")
    assert rerunning.next_seed(RUNS[0], store) == RUNS[2]


def test_an_arm_with_one_seed_has_no_second_opinion(store: Store) -> None:
    for run in RUNS[1:]:
        store.path(run).unlink()
    assert rerunning.next_seed(RUNS[0], store) is None
