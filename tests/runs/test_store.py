from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toy_experiment import provenance_of, toy_experiment, toy_table

import longfair
from longfair.errors import UsageError
from longfair.runs import files, manifest
from longfair.runs.experiment import Run, plan
from longfair.runs.files import DamagedResultError, examined, read
from longfair.runs.keys import run_key
from longfair.runs.store import State, Store, default_root
from longfair.runs.tables import SCHEMA
from longfair.runs.verify import problems


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def runs_of(seeds: int = 1, **settings: object) -> list[Run]:
    return plan(toy_experiment(**settings), "smoke", seeds=seeds)


def write(store: Store, run: Run, table: pd.DataFrame | None = None) -> Path:
    return store.write(run, toy_table(0.25) if table is None else table, provenance_of(run))


def test_a_result_comes_back_as_it_went_in(store: Store) -> None:
    run = runs_of()[0]
    path = write(store, run)
    assert path == store.root / "toy/lending/smoke/fair.as_coded.000.parquet"
    table = store.load(experiment="toy/lending")
    assert list(table.columns) == [
        "paper", "experiment", "profile", "method", "variant", "seed",
        "phase", "step", "metric", "group", "value",
    ]  # fmt: skip
    assert table["value"].tolist() == [0.5, 0.25, 0.25]
    assert table["step"].dtype == np.int64
    assert table["group"].dtype == np.int32
    assert table["value"].dtype == np.float64
    first = table.iloc[0]
    identity = ("paper", "experiment", "profile", "method", "variant", "seed")
    assert [first[name] for name in identity] == [
        "toy", "toy/lending", "smoke", "fair", "as_coded", 0,
    ]  # fmt: skip


def test_load_selects(store: Store) -> None:
    for run in runs_of(seeds=3):
        write(store, run)
    chosen = store.load(
        experiment="toy/lending",
        profile="smoke",
        methods=["fair", "reject-all"],
        variants=["as_coded"],
    )
    found = set(zip(chosen["method"], chosen["seed"], strict=True))
    assert found == {("fair", 0), ("fair", 1), ("fair", 2)}
    nothing = store.load(experiment="toy/lending", profile="book")
    assert nothing.empty
    assert list(nothing.columns) == list(chosen.columns)


def test_bytes_are_examined_once_and_a_result_that_took_their_place_is_examined_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = runs_of(seeds=2)[:2]
    path = write(store, run)
    sound = hashlib.sha256(path.read_bytes()).hexdigest()
    seen: list[Path] = []
    monkeypatch.setattr(
        files, "examined", lambda path, content: (seen.append(path), examined(path, content))[1]
    )
    assert files.read_table(path, sound).equals(read(path)[0])
    assert seen == [path]  # by `read`
    store.load(experiment="toy/lending")
    store.load(experiment="toy/lending")
    assert seen == [path]
    path.write_bytes(write(store, other).read_bytes())
    with pytest.raises(DamagedResultError, match="it holds the result of"):
        files.read_table(path, sound)


def test_load_names_the_near_miss(store: Store) -> None:
    write(store, runs_of()[0])
    with pytest.raises(UsageError, match="did you mean 'toy/lending'"):
        store.load(experiment="toy/lendin")


def test_provenance_has_one_row_per_run(store: Store) -> None:
    for run in runs_of(seeds=2):
        write(store, run)
    table = store.provenance(experiment="toy/lending").query("method == 'fair'")
    assert table["seed"].tolist() == [0, 1]
    assert table["wall_seconds"].tolist() == [1.5, 1.5]
    assert table["config"].iloc[0]["bias"] == 0.1
    assert list(table.columns[:5]) == ["experiment", "profile", "method", "variant", "seed"]


def test_nothing_is_pickled_and_provenance_is_plain_json(store: Store) -> None:
    path = write(store, runs_of()[0])
    metadata = pq.read_schema(path).metadata
    assert set(metadata) == {b"longfair", b"longfair.digests"}
    assert json.loads(metadata[b"longfair"])["method"] == "fair"


def test_state_is_fresh_stale_missing_or_damaged(store: Store) -> None:
    run = runs_of()[0]
    assert store.state(run) == State("missing")
    write(store, run)
    assert store.state(run) == State("fresh")
    changed = runs_of(seconds=0.5)[0]
    assert store.state(changed) == State("stale", "other settings")
    store.path(run).write_bytes(b"PAR1 nonsense")
    assert store.status(run) == "damaged"


def test_a_stale_result_can_still_be_loaded(store: Store) -> None:
    write(store, runs_of()[0])
    assert store.status(runs_of(seconds=0.5)[0]) == "stale"
    assert len(store.load(experiment="toy/lending")) == 3
    states = store.states(runs_of(seconds=0.5))
    assert states["status"].tolist() == ["stale", "missing", "missing"]
    assert states["reason"].tolist() == ["other settings", "", ""]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[40] ^= 0xFF
    path.write_bytes(bytes(content))


def drop_provenance(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)


def drop_column(path: Path) -> None:
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["group"]), path)


def hold_steps_as(kind: pa.DataType, nullable: bool, path: Path) -> None:
    table = pq.read_table(path, partitioning=None)
    steps = pa.field("step", kind, nullable)
    at = table.schema.get_field_index("step")
    pq.write_table(table.set_column(at, steps, table.column("step").cast(kind)), path)


def change(path: Path, **columns: list[object]) -> None:
    """Write other numbers under the words of the old ones, as a hand with a script would."""
    table = pq.read_table(path, partitioning=None)
    pq.write_table(
        pa.table(table.to_pydict() | columns, schema=SCHEMA.with_metadata(table.schema.metadata)),
        path,
    )


def put_nan(path: Path) -> None:
    change(path, value=[float("nan")] * 3)


def add_to_a_value(path: Path) -> None:
    change(path, value=[0.5, 0.25, 0.35])


def rename_a_phase(path: Path) -> None:
    change(path, phase=["curve", "curve", "nonsense"])


def double_the_rows(path: Path) -> None:
    table = pq.read_table(path, partitioning=None)
    pq.write_table(pa.concat_tables([table, table]), path)


def drop_a_row(path: Path) -> None:
    pq.write_table(pq.read_table(path, partitioning=None).slice(0, 2), path)


def say_otherwise(path: Path, **words: object) -> None:
    table = pq.read_table(path, partitioning=None)
    metadata = dict(table.schema.metadata)
    metadata[b"longfair"] = json.dumps(json.loads(metadata[b"longfair"]) | words).encode()
    pq.write_table(table.replace_schema_metadata(metadata), path)


def edit_the_commit(path: Path) -> None:
    say_otherwise(path, commit="0" * 40)


def edit_the_settings(path: Path) -> None:
    say_otherwise(path, config={"class": "ToySettings", "bias": 0.4})


def forge(path: Path, **words: object) -> None:
    """Write other words and the digests that go with them."""
    table, provenance = read(path)
    files.write(path, table, provenance | words)


def forge_the_settings(path: Path) -> None:
    forge(path, config={"class": "ToySettings", "bias": 0.4})


def make_versions_a_list(path: Path) -> None:
    forge(path, versions=["numpy 1.0"])


@pytest.mark.parametrize("name", [*files._FORM, *files._FORM_IF_THERE])
def test_every_word_of_a_provenance_has_its_type(store: Store, name: str) -> None:
    run = runs_of()[0]
    path = write(store, run)
    table, provenance = read(path)
    types = (files._FORM | files._FORM_IF_THERE)[name]
    wrong: list[Any] = [7, 0.5, True, "x", [1], {"a": [1]}, {"x": "y", "z": 1.5}, None]
    for value in [one for one in wrong if type(one) not in types or isinstance(one, dict)]:
        if name in {"config", "carried"} and isinstance(value, dict):
            continue  # these hold anything
        if name in {"core_seconds", "wall_seconds", "compile_seconds"} and value == 7:
            continue
        files.write(path, table, provenance | {name: value})
        assert store.status(run) == "damaged"
        (message,) = store.damaged()
        assert f"its provenance has {name}=" in message or "its key does not" in message
        assert len(message.splitlines()) == 1
        with pytest.raises(DamagedResultError):
            store.load(experiment="toy/lending")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_seconds_of_a_provenance_are_finite(store: Store, value: float) -> None:
    path = write(store, runs_of()[0])
    table = pq.read_table(path, partitioning=None)
    words = json.dumps(read(path)[1] | {"core_seconds": value}).encode()
    digests = json.loads(table.schema.metadata[b"longfair.digests"])
    digests["provenance"] = hashlib.sha256(words).hexdigest()
    metadata = {b"longfair": words, b"longfair.digests": json.dumps(digests).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    assert "core_seconds=" in store.damaged()[0]


def test_a_name_that_is_not_in_utf_8_is_reported(store: Store) -> None:
    path = write(store, runs_of()[0])
    odd = os.fsdecode(os.fsencode(path.parent) + b"/\xff.as_coded.000.parquet")
    Path(odd).write_bytes(path.read_bytes())
    (message,) = store.damaged()
    assert r"\xff.as_coded.000.parquet: its name is not in UTF-8" in message
    assert message.isprintable()
    with pytest.raises(DamagedResultError, match="not in UTF-8"):
        store.load(experiment="toy/lending")
    assert list(problems(store)) == [message]
    assert store.strangers("toy/lending", "smoke") == [Path(odd)]
    store.index.catch_up()
    store.set_aside(Path(odd))
    assert len(store.load(experiment="toy/lending")) == 3
    folder = os.fsdecode(os.fsencode(store.root) + b"/toy/\xfe/smoke")
    Path(folder).mkdir(parents=True)
    path.rename(Path(folder) / path.name)
    store.index.catch_up()
    assert r"\xfe" in store.damaged()[0]
    assert store.experiments() == [r"toy/\xfe"]


def put_a_folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def swap_with_another_run(path: Path) -> None:
    other = path.with_name("greedy.as_coded.000.parquet")
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncate, "cannot be read"),
        (empty, "cannot be read"),
        (flip, "cannot be read"),
        (drop_provenance, "no provenance"),
        (drop_column, "its columns are phase, step, metric, value"),
        (partial(hold_steps_as, pa.float64(), False), "column step is double, where .* has int64;"),
        (partial(hold_steps_as, pa.int64(), True), "column step is int64 or null, where .* int64;"),
        (put_nan, "its numbers are not those that were written"),
        (add_to_a_value, "its numbers are not those that were written"),
        (rename_a_phase, "its numbers are not those that were written"),
        (double_the_rows, "its numbers are not those that were written"),
        (drop_a_row, "its numbers are not those that were written"),
        (edit_the_commit, "its provenance is not what was written"),
        (edit_the_settings, "its provenance is not what was written"),
        (forge_the_settings, "its key does not follow from its settings"),
        (make_versions_a_list, r"its provenance has versions=\['numpy 1.0'\]"),
        (put_a_folder_in_its_place, "cannot be read"),
        (swap_with_another_run, "holds the result of .*greedy"),
    ],
)
def test_damage_is_noticed_and_explained_in_one_line(
    store: Store, damage: object, reason: str
) -> None:
    run, other, _ = runs_of()
    path = write(store, run)
    write(store, other)
    damage(path)  # type: ignore[operator]  # one of the functions above
    with pytest.raises(DamagedResultError, match=reason) as caught:
        store.load(experiment="toy/lending")
    message = str(caught.value)
    assert "\n" not in message
    assert "fair.as_coded.000.parquet" in message
    assert "longfair run" in message
    assert store.status(run) == "damaged"
    assert store.damaged() == [message]


def test_a_damaged_file_is_set_aside_and_never_deleted(store: Store) -> None:
    run = runs_of()[0]
    for content in (b"first", b"second"):
        store.path(run).parent.mkdir(parents=True, exist_ok=True)
        store.path(run).write_bytes(content)
        store.set_aside(store.path(run))
    kept = sorted(store.path(run).parent.iterdir())
    assert [path.name for path in kept] == [
        "fair.as_coded.000.parquet.damaged",
        "fair.as_coded.000.parquet.damaged.2",
    ]
    assert [path.read_bytes() for path in kept] == [b"first", b"second"]
    assert store.status(run) == "missing"


def test_a_write_that_fails_leaves_the_old_result_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs_of()[0]
    path = write(store, run)
    before = path.read_bytes()

    def broken(number: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        write(store, run, toy_table(0.5))
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert len(store.load(experiment="toy/lending")) == 3


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_is_refused(store: Store, value: float) -> None:
    run = runs_of()[0]
    table = toy_table(0.1)
    table.loc[1, "value"] = value
    with pytest.raises(
        UsageError, match=r"toy/lending/smoke/fair\.as_coded\.000: bias \(curve\) at step 100"
    ):
        write(store, run, table)
    assert store.status(run) == "missing"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (toy_table(0.1).drop(columns="group"), "must have phase, step, metric, group, value"),
        (toy_table(0.1).assign(extra=1), "the result has columns .*extra"),
        (toy_table(0.1).iloc[:0], "no rows"),
        (toy_table(0.1).assign(step=0.5), "column step is float64"),
        (toy_table(0.1).assign(group=0.0), "column group is float64"),
        (toy_table(0.1).assign(metric=1), "column metric must hold text"),
        (toy_table(0.1).assign(value="much"), "column value must hold numbers"),
        (toy_table(0.1).assign(phase="middle"), "unknown phase 'middle'"),
        (toy_table(0.1).assign(phase="final", step=1), "appears twice"),
        ("a table", "the work returned a str"),
    ],
)
def test_a_malformed_table_is_refused(store: Store, table: pd.DataFrame, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        write(store, runs_of()[0], table)


def test_an_unwritable_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(tmp_path / "file" / "results")
    with pytest.raises(UsageError, match=r"cannot write to the store .*--store") as caught:
        store.require_writable()
    assert "\n" not in str(caught.value)


def test_a_writable_store_is_left_as_it_was(store: Store) -> None:
    store.require_writable()
    assert list(store.root.iterdir()) == []


def test_other_files_in_the_store_are_left_alone(store: Store) -> None:
    path = write(store, runs_of()[0])
    path.with_name("notes.parquet").write_text("mine")
    path.with_name(".fair.as_coded.001.parquet.tmp").write_text("half")
    assert len(store.load(experiment="toy/lending")) == 3
    assert store.experiments() == ["toy/lending"]


def test_seeds_beyond_a_thousand_have_files_too(store: Store) -> None:
    run = replace(runs_of()[0], seed=12345)
    write(store, run)
    assert store.load(experiment="toy/lending")["seed"].unique().tolist() == [12345]


def test_the_default_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGFAIR_STORE", str(tmp_path / "named"))
    assert default_root() == tmp_path / "named"
    monkeypatch.delenv("LONGFAIR_STORE")
    inside = tmp_path / "checkout" / "notebooks"
    inside.mkdir(parents=True)
    (tmp_path / "checkout" / "pyproject.toml").write_text('[project]\nname = "longfair"\n')
    monkeypatch.chdir(inside)
    assert default_root() == tmp_path / "checkout" / "results"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(longfair, "__file__", str(tmp_path / "checkout/src/longfair/__init__.py"))
    assert default_root() == tmp_path / "checkout" / "results"
    monkeypatch.setattr(longfair, "__file__", str(tmp_path / "installed/longfair/__init__.py"))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\n')
    assert default_root() == Path("results")


def test_reading_does_not_depend_on_the_working_directory(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(store, runs_of()[0])
    monkeypatch.chdir(path.parent.parent)
    table, provenance = read(Path(os.path.relpath(path)))
    assert len(table) == 3
    assert provenance["method"] == "fair"


def test_a_copy_whose_seed_is_written_otherwise_is_reported(store: Store) -> None:
    path = write(store, runs_of()[0])
    copy = path.with_name("fair.as_coded.0000.parquet")
    copy.write_bytes(path.read_bytes())
    with pytest.raises(DamagedResultError, match="seed in its name is not written"):
        store.load(experiment="toy/lending")
    assert store.strangers("toy/lending", "smoke") == [copy]


def test_a_raised_revision_makes_a_result_stale(store: Store) -> None:
    run = runs_of()[0]
    write(store, run)
    key = run_key(run)
    raised = replace(key, revisions={**key.revisions, "Lending": 2})
    forge(store.path(run), revisions=dict(raised.revisions), key=raised.digest)
    assert store.state(run) == State("stale", "revision of Lending 2 then, none now")


def test_writing_enters_the_result_into_the_manifest(store: Store) -> None:
    runs = runs_of()
    for run in runs:
        write(store, run)
    lines = manifest.read(store.root)
    assert set(lines) == {f"{run.name}.parquet" for run in runs}
    line = lines[f"{runs[0].name}.parquet"]
    assert line.file == hashlib.sha256(store.path(runs[0]).read_bytes()).hexdigest()
    assert run_key(runs[0]).digest.startswith(line.key)
