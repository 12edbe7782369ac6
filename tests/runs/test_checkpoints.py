"""A checkpoint gives back what was written, to the run that wrote it and to no other."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_experiment import ToySettings, toy_table

from longfair.runs.checkpoints import Checkpoint
from longfair.runs.experiment import Arm, Experiment, plan
from longfair.runs.runner import run_all
from longfair.runs.stopwatch import Seconds
from longfair.runs.store import Store


def test_arrays_and_settings_come_back(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "deep" / "run.npz", "key")
    assert checkpoint.read() is None
    arrays = {"settings": np.arange(3), "file": np.eye(2, dtype=np.float32)}
    checkpoint.write(arrays, {"steps": 7, "state": {"big": 2**100}})
    found = checkpoint.read()
    assert found is not None
    assert found[1] == {"steps": 7, "state": {"big": 2**100}}
    assert set(found[0]) == set(arrays)
    assert all(np.array_equal(found[0][name], arrays[name]) for name in arrays)
    assert found[0]["file"].dtype == np.float32
    assert list((tmp_path / "deep").iterdir()) == [checkpoint.path]
    checkpoint.remove()
    assert checkpoint.read() is None


def test_another_key_does_not_find_it(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "run.npz", "old").write({}, {})
    assert Checkpoint(tmp_path / "run.npz", "old").read() == ({}, {})
    assert Checkpoint(tmp_path / "run.npz", "new").read() is None


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04" + b"\0" * 50])
def test_a_damaged_one_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.npz").write_bytes(content)
    assert Checkpoint(tmp_path / "run.npz", "key").read() is None


def test_objects_are_never_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        Checkpoint(tmp_path / "run.npz", "key").write({"bad": np.array([{}])}, {})


def test_it_is_due_after_a_while(tmp_path: Path) -> None:
    assert not Checkpoint(tmp_path / "run.npz", "key", seconds=100.0).due()
    checkpoint = Checkpoint(tmp_path / "run.npz", "key", seconds=0.0)
    assert checkpoint.due()
    checkpoint.seconds = 100.0
    checkpoint.write({}, {})
    assert not checkpoint.due()


def test_a_full_disk_costs_nothing_now(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    Checkpoint(tmp_path / "file" / "run.npz", "key").write({}, {})


def stops_once(settings: ToySettings, seed: int, checkpoint: Checkpoint | None) -> pd.DataFrame:
    assert checkpoint is not None
    found = checkpoint.read()
    if found is None:
        checkpoint.write({"bias": np.array(settings.bias)}, {})
        raise RuntimeError("stopped")
    return toy_table(float(found[0]["bias"]))


def test_a_run_goes_on_from_its_checkpoint_which_then_goes(tmp_path: Path) -> None:
    arm = Arm("fair", "as_coded", ToySettings(bias=0.75), stops_once)
    one = {"smoke": 1}
    runs = plan(Experiment("toy/stops", "Stops", {"smoke": (arm,)}, one, one), "smoke")
    store = Store(tmp_path / "results")
    with ThreadPoolExecutor(1) as executor:
        assert run_all(runs, store, executor=executor, workers=1).failed
        assert store.checkpoint(runs[0]).path.exists()
        assert run_all(runs, store, executor=executor, workers=1).finished
    assert store.load(experiment="toy/stops")["value"].iloc[-1] == 0.75
    assert not store.checkpoint(runs[0]).path.exists()


def stops_twice(settings: ToySettings, seed: int, checkpoint: Checkpoint | None) -> pd.DataFrame:
    """Work for 0.2 and idle for 0.2 seconds in each of the first two parts, and then be quick."""
    assert checkpoint is not None
    found = checkpoint.read()
    parts = 0 if found is None else found[1]["parts"]
    if parts == 2:
        return toy_table(settings.bias)
    start = time.thread_time()
    while time.thread_time() - start < 0.2:
        pass
    time.sleep(0.2)
    checkpoint.write({}, {"parts": parts + 1})
    raise RuntimeError("stopped")


def test_the_time_of_stopped_parts_counts(tmp_path: Path) -> None:
    arm = Arm("fair", "as_coded", ToySettings(), stops_twice)
    one = {"smoke": 1}
    runs = plan(Experiment("toy/stops", "Stops", {"smoke": (arm,)}, one, one), "smoke")
    store = Store(tmp_path / "results")
    with ThreadPoolExecutor(1) as executor:
        for _ in range(2):
            assert run_all(runs, store, executor=executor, workers=1).failed
        assert run_all(runs, store, executor=executor, workers=1).finished
    row = store.provenance(experiment="toy/stops").iloc[0]
    assert row["wall_seconds"] >= 0.8
    assert 0.4 <= row["core_seconds"] <= row["wall_seconds"] - 0.39
    assert row["steps_per_second"] == pytest.approx(row["steps"] / row["wall_seconds"])


def test_a_checkpoint_that_tells_no_time_is_read(tmp_path: Path) -> None:
    """Those of earlier versions."""
    checkpoint = Checkpoint(tmp_path / "run.npz", "key")
    np.savez(checkpoint.path, settings=np.array('{"key": "key", "settings": {"steps": 7}}'))
    assert checkpoint.read() == ({}, {"steps": 7})
    assert checkpoint.watch.earlier == Seconds()
