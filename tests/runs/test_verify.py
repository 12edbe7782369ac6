"""Stored results are whole, come out again, and no edit changed a number."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from toy_experiment import ToySettings, halves, toy_experiment, toy_table, toy_work

from longfair.errors import FaultError, UsageError
from longfair.runs import check_memory, files, index, ledger, manifest, verify
from longfair.runs.claims import CheckResult
from longfair.runs.experiment import Arm, Experiment, Run, plan, protocol
from longfair.runs.runner import run_all
from longfair.runs.store import Store
from longfair.runs.tables import SCHEMA
from longfair.runs.verify import Described

TOY = toy_experiment()
ALL = {TOY.id: TOY}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Four seeds of the toy experiment."""
    folder = Store(tmp_path / "results")
    with ThreadPoolExecutor(1) as executor:
        run_all(plan(TOY, "smoke", seeds=4), folder, executor=executor, workers=1)
    return folder


def first_path(store: Store) -> Path:
    return store.path(plan(TOY, "smoke")[0])


def rewrite(path: Path, factor: float = 1.0, **words: Any) -> None:
    """Forge a result: other numbers or words, with the digests that go with them."""
    table, provenance = files.read(path)
    column = table.column("value").to_numpy() * factor
    at = table.schema.get_field_index("value")
    files.write(path, table.set_column(at, table.schema.field(at), [column]), provenance | words)


# Whole ------------------------------------------------------------------------------------------


def test_a_store_as_it_was_written_has_no_problem(store: Store) -> None:
    assert list(verify.problems(store)) == []


def test_a_forgery_with_its_own_digests_is_not_the_file_in_the_manifest(store: Store) -> None:
    path = first_path(store)
    rewrite(path, factor=1.5)
    files.read(path)  # the file alone looks right
    (line,) = verify.problems(store)
    assert f"{path} is not the file in the manifest" in line
    assert verify.write_manifest(store) == 12
    assert list(verify.problems(store)) == []


def test_a_file_more_or_less_than_in_the_manifest_is_named(store: Store) -> None:
    path = first_path(store)
    content = path.read_bytes()
    path.unlink()
    (line,) = verify.problems(store)
    assert line == f"{path} is in the manifest and missing: restore it from git"
    manifest.tidy(store.root)
    path.write_bytes(content)
    (line,) = verify.problems(store)
    assert line.startswith(f"{path} is not in the manifest")


def test_a_result_in_another_folder_is_named(store: Store) -> None:
    for place in (store.root, first_path(store).parents[1], first_path(store).parent / "deeper"):
        place.mkdir(exist_ok=True)
        copy = place / first_path(store).name
        copy.write_bytes(first_path(store).read_bytes())
        (line,) = verify.problems(store)
        assert line.startswith(f"{copy} lies where no result is read: move it")
        copy.unlink()


def test_a_damaged_file_is_named_once(store: Store) -> None:
    first_path(store).write_bytes(b"nonsense")
    (line,) = verify.problems(store)
    assert line.startswith(f"damaged result {first_path(store)}")


def test_nobody_adds_lines_while_the_manifest_is_written(store: Store) -> None:
    with ThreadPoolExecutor(1) as pool:
        with manifest.locked(store.root):
            writing = pool.submit(verify.write_manifest, store)
            with pytest.raises(TimeoutError):
                writing.result(timeout=0.3)
        assert writing.result(timeout=60.0) == len(manifest.read(store.root))


def test_a_line_given_twice_is_named(store: Store) -> None:
    name = first_path(store).relative_to(store.root).as_posix()
    manifest.add(store.root, name, manifest.read(store.root)[name])
    (line,) = verify.problems(store)
    assert line.startswith(f"{first_path(store)} has more than one line in the manifest")
    verify.write_manifest(store)
    assert list(verify.problems(store)) == []


def test_a_pipe_in_the_place_of_a_result_is_not_waited_for(store: Store) -> None:
    path = first_path(store)
    path.unlink()
    os.mkfifo(path)
    (line,) = verify.problems(store)
    assert line.startswith(f"damaged result {path}: it cannot be read, [Errno 22] Not a regular")


def test_a_malformed_manifest_is_explained(store: Store) -> None:
    (store.root / manifest.FILE).write_text("one two\n")
    with pytest.raises(UsageError, match="line 1: 'one two' is not"):
        manifest.read(store.root)


@pytest.mark.parametrize("text", [manifest, ledger])
def test_a_manifest_or_ledger_that_is_no_text_is_explained(text: Any, tmp_path: Path) -> None:
    (tmp_path / text.FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=f"{text.FILE} is no text in UTF-8: restore it from git"):
        text.read(tmp_path)


def forged_table(store: Store, name: str, before: str, after: str) -> Path:
    path = store.root / name
    path.write_text(path.read_text().replace(before, after))
    return path


def test_a_table_is_as_well_guarded_as_a_result(store: Store) -> None:
    for name in ("exact/numbers.json", "benchmarks/speeds.json"):
        manifest.write_table(store.root / name, [{"value": 0.5}])
    assert list(verify.problems(store)) == []
    path = forged_table(store, "exact/numbers.json", "0.5", "0.6")
    assert manifest.differing(store, {"exact/numbers.json", "toy/lending"}) == [
        "exact/numbers.json"
    ]
    (line,) = verify.problems(store)
    assert f"{path} is not the file in the manifest" in line
    path.unlink()
    (line,) = verify.problems(store)
    assert line == f"{path} is in the manifest and missing: restore it from git"
    path.write_text("[]")
    assert verify.write_manifest(store) == 14
    assert list(verify.problems(store)) == []
    (store.root / "exact" / "more.json").write_text("[]")
    (line,) = verify.problems(store)
    assert "more.json is not in the manifest" in line


def test_a_table_elsewhere_has_no_manifest(tmp_path: Path) -> None:
    manifest.write_table(tmp_path / "speeds" / "training.json", [])
    assert list(tmp_path.iterdir()) == [tmp_path / "speeds"]


def test_what_checks_found_is_entered_and_named_once_when_changed(store: Store) -> None:
    assert check_memory.write({"halves": halves}, store) == 1
    assert list(verify.problems(store)) == []
    forged_table(store, check_memory.FILE, "0.5", "0.6")
    (line,) = verify.problems(store)
    assert "checks.json is not what was written (halves)" in line
    with pytest.raises(FaultError, match="is not what was written"):
        verify.write_manifest(store)


def test_a_store_of_ones_own_uses_what_the_repository_remembers(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_memory.write({"halves": halves}, store)
    monkeypatch.setattr(check_memory, "repository_root", lambda: store.root)
    own = Store(tmp_path / "own")
    own.root.mkdir()
    called: list[int] = []

    def counted() -> CheckResult:
        called.append(1)
        return halves()

    code = check_memory.codes_of({"halves": halves}, own)["halves"]
    assert check_memory.remembered("halves", counted, code, own)() == halves()
    assert not called
    assert check_memory.remembered("halves", counted, "other code", own)() == halves()
    assert called == [1]


def test_a_forged_index_blames_no_sound_file(store: Store) -> None:
    assert list(verify.problems(store)) == []
    store.index.close()
    with sqlite3.connect(store.root / index.FILE) as connection:
        connection.execute("update files set key = 'forged', processor = 'none'")
    again = Store(store.root)
    assert list(verify.problems(again)) == []
    assert again.status(plan(TOY, "smoke")[0]) == "fresh"
    lines = manifest.read(store.root)
    name = first_path(store).relative_to(store.root).as_posix()
    manifest.write(store.root, lines | {name: lines[name]._replace(key="forged")})
    (line,) = verify.problems(again)
    assert "is not the file in the manifest" in line


def test_files_that_differ_are_found_part_by_part(store: Store) -> None:
    runs = plan(TOY, "smoke")
    swapped, missing, more = (store.path(run) for run in runs[:3])
    rewrite(swapped, factor=1.5)
    missing.unlink()
    lines = manifest.read(store.root)
    del lines[more.relative_to(store.root).as_posix()]
    manifest.write(store.root, lines)
    expected = sorted(path.relative_to(store.root).as_posix() for path in (swapped, missing, more))
    assert manifest.differing(store, {"toy/lending"}) == expected
    assert manifest.differing(store, {"toy/other"}) == []


def test_a_line_for_which_there_is_no_room_leaves_no_part_behind(tmp_path: Path) -> None:
    """A limit of the size of files does what a full disk does: it writes what still fits."""
    resource = pytest.importorskip("resource", reason="limits of a Unix system")
    manifest.add(tmp_path, "a/b/smoke/first.parquet", manifest.Line("f" * 64))
    before = (tmp_path / manifest.FILE).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            manifest.add(tmp_path, "a/b/smoke/second.parquet", manifest.Line("f" * 64))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / manifest.FILE).read_bytes() == before


# Proven -----------------------------------------------------------------------------------------


def test_changed_code_is_unproven_until_the_ledger_says_otherwise(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verify.unproven(store, lambda: ALL) == []
    old = files.read(first_path(store))[1]["source"]
    monkeypatch.setattr(verify, "arm_digest", lambda arm: "newest")
    monkeypatch.setattr(verify, "library_stamp", lambda: "edited")
    assert len(verify.unproven(store, lambda: ALL)) == 3
    for pair in ([old, "newer"], [old, "newer"], ["newer", "newest"]):
        assert "toy/lending/smoke/fair.as_coded" in verify.unproven(store, lambda: ALL)
        ledger.add(store.root, ledger.Proof("abc", "2026-01-31", "x", 1, "b", [pair]))
    assert verify.unproven(store, lambda: ALL) == []
    assert [proof.against for proof in ledger.read(store.root)] == ["abc", "abc"]


@pytest.mark.parametrize("probes", [0, -1, None, True, "1"])
def test_a_line_without_probes_proves_nothing(probes: Any) -> None:
    proof = ledger.Proof("abc", "2026-01-31", "x", 1, "", [["old", "new"]])
    assert not proof.is_baseless
    assert ledger.proven([proof], "old") == {"old", "new"}
    other = replace(proof, same=[("old", "newer")])
    assert ledger.proven([proof, other], "new") == {"old", "new", "newer"}
    baseless = replace(proof, probes=probes)
    assert baseless.is_baseless
    assert ledger.proven([baseless], "old") == {"old"}


def test_one_line_without_probes_is_the_bridge() -> None:
    proofs = ledger.read(Path(__file__).parents[2] / "results")
    (bridge,) = (proof for proof in proofs if proof.probes == 0)
    assert bridge.is_bridge
    assert not any(proof.is_baseless for proof in proofs)
    assert set(bridge.same[0]) <= ledger.proven([bridge], bridge.same[0][0])
    forged = replace(bridge, same=[*bridge.same, ["old", "new"]])
    assert forged.is_baseless
    assert not forged.is_bridge


def test_results_whose_code_no_commit_shows_are_counted(store: Store, tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    repository = tmp_path / "repository"
    repository.mkdir()
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "-m", "first")
    known = git("rev-parse", "HEAD")
    paths = sorted(store.root.rglob("*.parquet"))
    for path in paths:
        rewrite(path, commit=known, dirty=False)
    assert list(store.entries())
    assert verify.unseen_code(store, repository) == (0, 0)
    rewrite(paths[0], dirty=True)
    rewrite(paths[1], commit="0" * 40)
    rewrite(paths[2], commit="HEAD", dirty=True)
    rewrite(paths[3], commit=None, dirty=None)
    assert list(store.entries())
    assert verify.unseen_code(store, repository) == (2, 2)
    first = next(iter(store.index.entries()))
    words = json.dumps(store.index.provenance(first) | {"note": float("nan")})
    store.index.enter({first: words})  # what SQLite cannot read
    assert verify.unseen_code(store, repository) == (2, 2)
    assert verify.unseen_code(store, Path("/")) == (2, 0)


def test_a_damaged_ledger_is_explained(tmp_path: Path) -> None:
    (tmp_path / ledger.FILE).write_text('{"against": "abc"}\n')
    with pytest.raises(UsageError, match="line 1 is no proof"):
        ledger.read(tmp_path)


def test_arms_with_results_are_named_as_arms_are(store: Store) -> None:
    assert verify.stored_arms(store) == set(verify.arms_by_name(ALL)) & verify.stored_arms(store)
    assert "toy/lending/smoke/fair.as_coded" in verify.stored_arms(store)


def test_arms_are_sorted_by_what_must_be_proven() -> None:
    before = {
        "same": Described("s", "{}", {"a": 1}),
        "e/book/edited": Described("s", "{}", {"a": 1}),
        "e/paper/edited": Described("s", "{}", {"a": 1}),
        "e/smoke/edited": Described("s", "{}", {"a": 1}),
        "e/smoke/without results": Described("s", "{}", {"a": 1}),
        "e/book/raised": Described("s", "{}", {"a": 1}),
        "e/book/another part": Described("s", "{}", {"a": 1}),
        "other settings": Described("s", "{}", {"a": 1}),
        "gone": Described("s", "{}", {"a": 1}),
    }
    after = {
        "same": before["same"],
        "e/book/edited": before["e/book/edited"]._replace(source="t"),
        "e/paper/edited": before["e/paper/edited"]._replace(source="t"),
        "e/smoke/edited": before["e/smoke/edited"]._replace(source="t"),
        "e/smoke/without results": before["e/smoke/without results"]._replace(source="t"),
        "e/book/raised": Described("t", "{}", {"a": 2}),
        "e/book/another part": Described("t", "{}", {"a": 1, "b": 1}),
        "other settings": before["other settings"]._replace(settings="[]"),
        "new": before["gone"],
    }
    stored = {"e/book/edited", "e/book/another part", "e/book/raised"}
    assert verify.compared(before, after, stored) == verify.Comparison(
        untouched=["same"],
        declared=["e/book/another part", "e/book/raised", "other settings"],
        new=["gone", "new"],
        to_probe=["e/book/edited", "e/smoke/edited"],
        at_rest=["e/paper/edited", "e/smoke/without results"],
    )


@dataclass(frozen=True)
class Long(ToySettings):
    def shortened(self) -> Long:
        return replace(self, bias=self.bias / 2)


def test_longer_settings_are_probed_shortened() -> None:
    smoke, long = Arm("fair", "x", Long(), toy_work), Arm("fair", "x", Long(bias=0.05), toy_work)
    assert verify.probe(smoke, "toy/book/fair") == verify.probe(long, "toy/smoke/fair")
    assert verify.probe(smoke, "toy/book/fair") != verify.probe(smoke, "toy/smoke/fair")
    assert verify.probe(Arm("fair", "x", ToySettings(), toy_work), "toy/book/fair") is None


ENDED_WITH: list[np.ndarray] = []
"""What the training below ends with."""


def telling_work(settings: ToySettings, seed: int, learned: list[np.ndarray]) -> pd.DataFrame:
    learned += ENDED_WITH
    return toy_table(0.5)


def test_what_was_learned_counts_as_the_table_does_whatever_its_order() -> None:
    def probed(*learned: np.ndarray) -> str | None:
        ENDED_WITH[:] = learned
        return verify.probe(Arm("fair", "x", ToySettings(), telling_work), "toy/smoke/fair")

    weights, last_digit = np.array([1.0, 2.0]), np.array([1.0, np.nextafter(2.0, 3.0)])
    bias = np.zeros(3)
    assert probed(weights, bias) == probed(bias, weights)
    assert probed(weights, bias) != probed(last_digit, bias)
    assert probed(weights) != probed(weights.astype(np.float32)) != probed(weights[None])
    assert probed(weights, bias) != probed(weights) != probed()


def test_an_arm_says_what_its_probe_runs() -> None:
    smoke, long = Arm("fair", "x", Long(), toy_work), Arm("fair", "x", Long(bias=0.05), toy_work)
    assert verify.asked(smoke, "toy/book/fair") == verify.asked(long, "toy/smoke/fair")
    assert verify.asked(smoke, "toy/book/fair") != verify.asked(smoke, "toy/smoke/fair")


# Again ------------------------------------------------------------------------------------------


def words(store: Store, experiment: str, profile: str) -> Mapping[str, str]:
    """A verdict that hangs on every seed."""
    values = store.load(experiment=experiment, profile=profile, methods=["fair"])["value"]
    return {"toy-1": "reproduced" if values.max() < 0.25 else "contradicted"}


def test_a_sample_changes_with_the_turn_and_has_every_arm_once(store: Store) -> None:
    arms = {path.name.rsplit(".", 2)[0] for path in first_path(store).parent.glob("*.parquet")}
    assert len(arms) > 1
    first, *others = (verify.choose(store, 99, turn, 60.0) for turn in "abcdefgh")
    assert sorted(name.split("/")[-1].rsplit(".", 1)[0] for name in first) == sorted(arms)
    assert any(set(other) != set(first) for other in others)
    assert first == verify.choose(store, 99, "a", 60.0)
    assert verify.choose(store, 1, "a", 60.0) == first[:1]
    runs = verify.by_name(ALL, first)
    assert [run.name for run in runs] == first
    with pytest.raises(UsageError, match="no experiment has the run"):
        verify.by_name(ALL, ["toy/lending/smoke/foul.as_coded.000"])


def test_a_sample_is_of_so_much_work_together(store: Store) -> None:
    for path in first_path(store).parent.glob("*.parquet"):
        rewrite(path, core_seconds=40.0)
    verify.write_manifest(store)
    assert len(verify.choose(store, 99, "a", 1e9)) > 1
    assert len(verify.choose(store, 99, "a", 79.0)) == 1
    assert verify.choose(store, 99, "a", 39.0) == []


def test_a_sample_is_of_runs_of_some_length(store: Store) -> None:
    first, *_ = arms = verify.choose(store, 99, "a", 1e9)
    for seed, seconds in enumerate([40.0, 90.0, 90.0, 90.0]):
        rewrite(store.root / f"{first[:-3]}{seed:03}.parquet", core_seconds=seconds)
    verify.write_manifest(store)
    short = verify.choose(store, 99, "a", 1e9, longest=50.0)
    assert sorted(short) == sorted([f"{first[:-3]}000", *arms[1:]])
    assert verify.choose(store, 99, "a", 1e9, longest=0.0) == []


def rerun(store: Store, run: Run, judge: verify.Judge) -> verify.Rerun:
    """Execute a stored run once more and compare."""
    return verify.held_against(store, run, run.arm.work(run.arm.config, run.seed), judge)


def test_a_run_that_comes_out_again_is_sound(store: Store) -> None:
    result = rerun(store, plan(TOY, "smoke")[0], words)
    assert result == ("toy/lending/smoke/fair.as_coded.000", True, "every bit agrees")


def test_other_bits_on_the_same_processor_are_not_sound(store: Store) -> None:
    rewrite(first_path(store), factor=1 + 1e-15)
    result = rerun(store, plan(TOY, "smoke")[0], words)
    assert not result.sound
    assert "other bits on" in result.line


@pytest.mark.parametrize(
    ("factor", "sound", "line"),
    [
        (1 + 1e-12, True, "within the spread over seeds; computed on Other avx2"),
        (5.0, True, "within the spread"),
    ],
)
def test_elsewhere_a_number_must_lie_within_the_spread(
    store: Store, factor: float, sound: bool, line: str
) -> None:
    rewrite(first_path(store), factor=factor, features="Other avx2", kernels={})
    result = rerun(store, plan(TOY, "smoke")[0], lambda *_: {})
    assert (result.sound, result.line[: len(line)]) == (sound, line)


def test_another_seed_is_beyond_the_spread_as_often_as_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verify, "ALARM", 0.1)  # a larger chance needs fewer draws
    runs, seeds, numbers = 1000, 5, 20
    drawn = np.random.default_rng(0).normal(size=(runs, numbers, seeds + 1))
    allowed = [[verify.spread(one[:seeds], numbers) for one in run] for run in drawn]
    off = np.abs(drawn[..., -1] - drawn[..., :-1].mean(axis=2))
    assert abs((off > np.array(allowed)).any(axis=1).mean() - 0.1) < 0.03


def test_a_bound_where_all_seeds_stop_may_be_missed_by_a_little(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(first_path(store), features="Other avx2", kernels={})
    run = plan(TOY, "smoke")[0]
    stored = store.load(experiment="toy/lending", profile="smoke", methods=["fair"])
    final = stored[stored["phase"] == "final"]
    luck = final.assign(metric="luck", value=[0.1, 0.2, 0.3, 0.4])
    seeds = pd.concat([final.assign(value=0.5), luck])
    monkeypatch.setattr(Store, "load", lambda *_, **__: seeds)
    table = seeds[seeds["seed"] == 0]
    for off, sound in ((1e-5, True), (1e-3, False)):
        other = table.assign(value=table["value"] * (1 + off))
        found = verify.held_against(store, run, other[SCHEMA.names], lambda *_: {})
        assert found.sound is sound, found.line


def drifting_work(settings: ToySettings, seed: int) -> pd.DataFrame:
    """Give what the seeds gave when they were stored, and something far off now."""
    return toy_table(settings.bias + 0.01 * seed + DRIFT[0])


DRIFT = [0.0]


@pytest.mark.parametrize(
    ("drift", "expected"),
    [(0.001, "the verdict changes: toy-1, reproduced then, contradicted now"), (1.0, "beyond")],
)
def test_elsewhere_implausible_numbers_and_changed_verdicts_are_not_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drift: float, expected: str
) -> None:
    work = protocol("drifting")(drifting_work)
    arm = Arm("fair", "as_coded", ToySettings(), work)
    one = {"smoke": 4}
    experiment = Experiment("toy/drift", "Drift", {"smoke": (arm,)}, one, one)
    store = Store(tmp_path / "drifting")
    runs = plan(experiment, "smoke")
    with ThreadPoolExecutor(1) as executor:
        run_all(runs, store, executor=executor, workers=1)
    path = store.path(runs[3])
    rewrite(path, features="Other avx2", kernels={})
    monkeypatch.setattr(sys.modules[__name__], "DRIFT", [drift])

    def judged(folder: Store, name: str, profile: str) -> Mapping[str, str]:
        stored = folder.load(experiment=name, profile=profile)
        final = stored.loc[stored["seed"] == 3, "value"].iloc[-1]
        return {"toy-1": "reproduced" if final <= 0.13 else "contradicted"}

    result = rerun(store, Run("toy/drift", "smoke", arm, 3), judged)
    assert not result.sound
    assert result.line.startswith(expected)
    assert np.isclose(files.read(path)[0].column("value")[2].as_py(), 0.13)  # left as it was


def test_a_number_that_no_stored_seed_has_is_named(store: Store) -> None:
    (run,) = plan(toy_experiment(), "smoke", seeds=1, methods=["fair"])
    with ThreadPoolExecutor(1) as executor:
        run_all([run], store, executor=executor, workers=1)
    new = toy_table(0.1).replace({"metric": {"bias": "brand_new"}})
    said = verify._beyond_spread(store, run, new)
    assert said == "brand_new is not among the stored numbers"
