"""The index remembers what files say, notices every change, and may be deleted at any time."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest
from toy_experiment import provenance_of, toy_experiment, toy_table

from longfair.runs import index as module
from longfair.runs.experiment import Run, plan
from longfair.runs.index import FILE, Entry, Index
from longfair.runs.keys import run_key
from longfair.runs.store import Store


@pytest.fixture
def runs() -> list[Run]:
    return plan(toy_experiment(), "smoke", seeds=2)


@pytest.fixture
def store(tmp_path: Path, runs: list[Run]) -> Store:
    folder = Store(tmp_path / "results")
    for run in runs:
        folder.write(run, toy_table(0.25), provenance_of(run))
    return folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read and checked."""
    opened: list[Path] = []
    original = module.examined

    def counted(path: Path, content: bytes) -> object:
        opened.append(path)
        return original(path, content)

    monkeypatch.setattr(module, "examined", counted)
    return opened


def test_a_file_is_read_once_also_by_the_next_process(store: Store, reads: list[Path]) -> None:
    entries = list(Index(store.root).entries())
    assert len(entries) == 6
    assert reads == []
    assert [entry.path for entry in entries] == sorted(entry.path for entry in entries)


def test_a_changed_file_is_read_again(store: Store, runs: list[Run], reads: list[Path]) -> None:
    path = store.path(runs[0])
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[40] ^= 0xFF
    path.write_bytes(bytes(content))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as if nothing had happened
    assert "cannot be read" in store.state(runs[0]).reason
    assert reads == [path]
    assert store.state(runs[1]).status == "fresh"


def test_files_opened_anew_are_checked_again_only_where_bytes_changed(
    store: Store, runs: list[Run], reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.path(runs[0])
    content = path.read_bytes()
    # A disk whose times say nothing.
    monkeypatch.setattr(module, "stamp_of", lambda file: "the same")
    list(store.index.entries())
    reads.clear()
    assert not any(entry.problem for entry in store.index.entries(anew=True))
    assert reads == []
    path.write_bytes(content[:40] + bytes([content[40] ^ 0xFF]) + content[41:])
    assert not any(entry.problem for entry in store.index.entries())
    (problem,) = (entry.problem for entry in store.index.entries(anew=True) if entry.problem)
    assert str(path) in problem
    assert reads == [path]


def test_a_removed_file_is_forgotten(store: Store, runs: list[Run]) -> None:
    store.path(runs[0]).unlink()
    assert len(list(store.index.entries())) == 5
    assert store.state(runs[0]).status == "missing"
    assert store.index.with_key(run_key(runs[0]).digest) == []


def test_a_folder_of_the_store_can_be_looked_at_alone(store: Store, runs: list[Run]) -> None:
    assert len(list(store.index.entries("toy/lending/smoke"))) == 6
    assert len(list(store.index.entries("toy/lending"))) == 6
    assert list(store.index.entries("toy/lend")) == []
    assert len(store.index.with_key(run_key(runs[0]).digest)) == 1


def test_the_present_folder_can_be_the_store(
    store: Store, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.root)
    names = [entry.path for entry in Index(Path(".")).entries("toy/lending")]
    assert names == sorted(f"{run.name}.parquet" for run in runs)
    Index(Path(".")).catch_up()
    assert [Store(".").status(run) for run in runs] == ["fresh"] * len(runs)


@pytest.mark.parametrize("damage", ["delete", "nonsense", "folder"])
def test_the_index_is_safe_to_delete(store: Store, runs: list[Run], damage: str) -> None:
    file = store.root / FILE
    store.index.close()
    file.unlink()
    if damage == "nonsense":
        file.write_bytes(b"nonsense" * 1000)
    if damage == "folder":
        file.mkdir()
    fresh = Store(store.root)
    assert all(fresh.status(run) == "fresh" for run in runs)
    assert len(list(fresh.index.entries())) == 6


def test_answers_are_remembered(store: Store) -> None:
    assert store.index.answer("what?") is None
    store.index.remember({"what?": [1, {"a": None}]})
    assert Index(store.root).answer("what?") == [1, {"a": None}]


def test_what_is_remembered_is_not_computed_again(store: Store) -> None:
    computed = iter([[1], [2]])
    assert store.index.remembered("what?", lambda: next(computed)) == [1]
    assert Index(store.root).remembered("what?", lambda: next(computed)) == [1]
    assert store.index.remembered("what else?", lambda: next(computed)) == [2]


def test_a_store_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    store = Store(tmp_path / "nowhere")
    assert list(store.index.entries()) == []
    assert not store.root.exists()


def test_looking_up_a_run_costs_the_same_in_a_large_store(tmp_path: Path, runs: list[Run]) -> None:
    seconds = []
    for number in (100, 20_000):
        store = Store(tmp_path / str(number))
        store.write(runs[0], toy_table(0.25), provenance_of(runs[0]))
        store.index.enter({Entry(f"a/b/c/{n}", "1 2 3", "f", f"{n}"): "{}" for n in range(number)})
        start = time.process_time()
        for _ in range(300):
            store.index.entry(store.path(runs[0]))
            store.index.with_key(run_key(runs[1]).digest)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 3 * seconds[0] + 0.05


def test_catching_up_looks_only_into_folders_that_changed(
    store: Store, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(store.root)
    index.catch_up()
    looked: list[str] = []
    original = Index.entries

    def counted(self: Index, folder: str = "", *, anew: bool = False) -> object:
        looked.append(folder)
        return original(self, folder, anew=anew)

    monkeypatch.setattr(Index, "entries", counted)
    index.catch_up()
    assert looked == []
    digest = run_key(runs[0]).digest
    target = store.root / "toy" / "other" / "smoke" / store.path(runs[0]).name
    target.parent.mkdir(parents=True)
    target.write_bytes(b"another")
    store.path(runs[0]).unlink()
    index.catch_up()
    assert sorted(looked) == ["toy/lending/smoke", "toy/other/smoke"]
    assert index.with_key(digest) == []
    assert index._known("toy/other").keys() == {target.relative_to(store.root).as_posix()}


def test_a_full_disk_costs_the_index_only(
    store: Store, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a database works on a full disk, and writing to it does not."""
    original = module._connected

    class Full(sqlite3.Connection):
        def executemany(self, *arguments: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("database or disk is full")

    def connected(name: str) -> sqlite3.Connection:
        if name == ":memory:":
            return original(name)
        return sqlite3.connect(name, factory=Full)

    store.index.close()
    (store.root / FILE).unlink()
    monkeypatch.setattr(module, "_connected", connected)
    index = Index(store.root)
    index.remember({"question": [1]})
    assert index.answer("question") == [1]
