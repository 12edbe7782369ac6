from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

import longfair.papers
from longfair.cli import main
from longfair.errors import UsageError
from longfair.papers import claim_sheet, registry, rerunning, verification
from longfair.papers.verification import Outcome
from longfair.runs import files, ledger
from longfair.runs.index import Index
from longfair.runs.listing import tables
from longfair.runs.manifest import write_table
from longfair.runs.store import Store
from longfair.runs.verify import Comparison

LOADED = (claim_sheet, rerunning)
"""Commands import these, which stand beside the papers that the toy paper takes the place of."""

TOY_PAPERS = Path(__file__).parent / "runs" / "toy_papers"
CLAIM_KEYS = [
    "id", "paper", "asked", "statement", "source", "reported", "estimate", "interval",
    "interquartile_mean", "seeds", "steps", "instances", "horizon", "profile", "settings",
    "whose", "measure", "variant",
    "verdict", "answer", "fragile", "two_kinds", "one_value", "verdict_99", "verdict_999",
    "answer_99", "answer_999", "error", "better",
    "lacks", "enough_seeds", "changed", "stale", "detail", "measured",
    "parts", "conditions", "beside",
]  # fmt: skip

Command = Callable[..., tuple[int, str, str]]


def forget() -> None:
    for function in (registry.experiments, registry.claims, registry.checks):
        function.cache_clear()


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that takes the place of the papers; it holds a copy of the toy paper."""
    folder = tmp_path / "papers"
    shutil.copytree(TOY_PAPERS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(str(TOY_PAPERS.parent))
    monkeypatch.setattr(longfair.papers, "__path__", [str(folder)])
    monkeypatch.delitem(sys.modules, "longfair.papers.toy", raising=False)
    forget()
    yield folder
    forget()
    sys.modules.pop("longfair.papers.toy", None)


@pytest.fixture
def command(
    papers: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """Run the command in this process; returns exit code, output and error output."""
    monkeypatch.setenv("LONGFAIR_STORE", str(tmp_path / "results"))
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        shown = capsys.readouterr()
        code = caught.value.code
        assert isinstance(code, int)
        return code, shown.out, shown.err

    return call


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the results of the toy paper's book profile are kept, once a test has made them."""
    return tmp_path_factory.mktemp("executed") / "results"


@pytest.fixture
def book_runs(command: Command, tmp_path: Path, executed: Path) -> None:
    """The book profile of the toy paper in the store; it is executed once and then copied."""
    if executed.exists():
        shutil.copytree(executed, tmp_path / "results")
    else:
        assert command("run", "toy/lending", "--profile", "book")[0] == 0
        keep(tmp_path / "results", executed)


def keep(results: Path, executed: Path) -> None:
    """Keep results for the tests that follow, if none are kept."""
    if not executed.exists():
        shutil.copytree(results, executed)


def one_line(text: str) -> str:
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    return text


# --- the way through: list, run, claims -------------------------------------------------------


def test_run_then_list_then_claims(command: Command, tmp_path: Path, executed: Path) -> None:
    code, out, err = command("run", "toy/lending", "--profile", "book", "--workers", "2")
    assert (code, err) == (0, "")
    assert "15 executed, 0 kept, 0 failed" in out
    keep(tmp_path / "results", executed)
    code, out, _ = command("run", "toy/lending", "--profile", "book")
    assert "0 executed, 15 kept, 0 failed" in out

    code, out, err = command("list", "--json")
    assert code == 0
    rows = {row["profile"]: row for row in json.loads(out)}
    assert rows["book"] == {
        "experiment": "toy/lending",
        "title": "Toy lending",
        "profile": "book",
        "horizon": 100,
        "seeds": 5,
        "methods": ["fair", "greedy", "reject-all"],
        "variants": ["as_coded", "reference"],
        "runs": 15,
        "fresh": 15,
        "elsewhere": 0,
        "stale": 0,
        "missing": 0,
        "damaged": 0,
    }
    assert (rows["smoke"]["elsewhere"], rows["smoke"]["missing"]) == (6, 0)
    code, out, err = command("list")
    assert "toy" in out
    assert "15 of 15" in out
    assert "6 of 6, 6 with the settings of book" in out
    assert "declared; missing: 0; store:" in " ".join(out.split())
    assert "toy/lending" in command("list", "toy")[1]
    assert "greedy.as_coded" in command("list", "toy/lending")[1]
    assert json.loads(command("list", "--json", "toy")[1]) == list(rows.values())

    code, out, err = command("claims", "--json")
    assert (code, err) == (0, "")
    first, second = json.loads(out)
    assert list(first) == CLAIM_KEYS
    assert list(second) == CLAIM_KEYS
    assert first["id"] == "toy-1"
    assert first["verdict"] == "reproduced"
    assert first["profile"] == "book"
    assert first["variant"] == "as_coded"
    assert first["seeds"] == 5
    assert (first["settings"], first["steps"], first["horizon"]) == ("ours", 100, 100)
    assert first["detail"].startswith("our settings: (1) reproduced: bias of fair is")
    assert first["reported"] == 0.1
    assert first["interval"][0] < first["estimate"] < first["interval"][1]
    assert (second["verdict"], second["answer"]) == ("checked", "yes")
    assert second["estimate"] == 0.5
    assert second["interval"] is None
    assert second["seeds"] == 0

    code, out, _ = command("claims")
    assert "reproduced" in out
    assert "toy-1 (as coded): our settings: (1) reproduced: bias of fair is" in out
    sentences = {claim.id: claim.statement for claim in registry.claims()}
    assert f"toy-1  {sentences['toy-1']}" in out.splitlines()
    (line,) = [one for one in out.splitlines() if one.startswith("    our settings: reproduced ")]
    assert line.split("  ")[-1].startswith("as coded, ")
    assert ", reported 0.1, 5 runs, 100 steps" in line
    assert "    yes             as published, 0.5, on 1 instance" in out.splitlines()
    assert "questions asked here, one count for each variant and measure: 1 yes" in out
    assert "after their runs: 0 of 1 claims of papers and 0 of 1 questions asked here" in out
    assert "checked" not in out
    assert "\x1b" not in out


def test_runs_with_the_settings_of_another_profile_are_not_missing(
    papers: Path, book_runs: None, tmp_path: Path
) -> None:
    toy = registry.experiments()["toy/lending"]
    changed = replace(
        toy,
        arms={**toy.arms, "paper": toy.arms["book"]},
        seeds={**toy.seeds, "paper": toy.seeds["book"] + 1},
        horizon={**toy.horizon, "paper": toy.horizon["book"]},
    )
    (table,) = tables(["toy"], Store(tmp_path / "results"), {"toy/lending": changed})
    (row,) = table.rows
    assert row["paper"] == "15 of 18, 15 with the settings of book"
    assert row["book"] == "15 of 15"
    assert row["smoke"] == "6 of 6, 6 with the settings of book"  # the toy's settings are the same
    assert table.missing == {"paper": 3}


@pytest.mark.usefixtures("book_runs")
def test_verdicts_have_colours_on_a_terminal(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for told in (command("claims")[1], command("show", "toy-1")[1]):
        assert "\x1b[32mreproduced" in told


def test_claims_without_results_are_not_attempted(command: Command, tmp_path: Path) -> None:
    code, _, err = command("claims", "toy-1")
    assert code == 2
    assert "results does not exist: give an existing folder" in one_line(err)
    (tmp_path / "results").mkdir()
    code, out, _ = command("claims", "toy-1", "--paper", "toy", "--json")
    assert code == 0
    (claim,) = json.loads(out)
    assert claim["verdict"] == "not attempted"
    assert claim["estimate"] is None


def test_a_part_of_an_experiment_can_be_run(command: Command) -> None:
    options = ["--methods", "fair, greedy", "--seeds", "1", "--first-seed", "7", "--workers", "1"]
    code, out, _ = command("run", "toy/lending", *options, "--variant", "as_coded")
    assert code == 0
    assert "2 executed" in out
    assert "toy/lending/smoke/fair.as_coded.007" in out


def test_a_store_can_be_named(command: Command, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    store = ("--store", str(elsewhere))
    code, _, _ = command("run", "toy/lending", "--seeds", "1", "--workers", "1", *store)
    assert code == 0
    assert len(list(elsewhere.rglob("*.parquet"))) == 3


@pytest.mark.usefixtures("book_runs")
def test_stale_results_are_judged_but_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toy_experiment import toy_experiment

    changed = toy_experiment(seconds=0.001)
    monkeypatch.setitem(registry.experiments(), changed.id, changed)
    code, out, err = command("claims", "toy-1", "--json")
    assert code == 0
    assert json.loads(out)[0]["verdict"] == "reproduced"
    assert "15 of 15 results of toy/lending under book are stale (other settings)" in one_line(err)


@pytest.mark.parametrize("how", ["removed", "swapped"])
@pytest.mark.usefixtures("book_runs")
def test_claims_say_that_a_result_is_not_that_of_the_manifest(
    command: Command, tmp_path: Path, how: str
) -> None:
    assert command("claims", "toy-1")[2] == ""
    (path,) = tmp_path.rglob("book/fair.as_coded.001.parquet")
    if how == "removed":
        path.unlink()
    else:
        table, provenance = files.read(path)
        values = pa.array(3.0 * table.column("value").to_numpy())
        files.write(path, table.set_column(4, table.schema.field(4), values), provenance)
    for arguments in (["claims", "toy-1"], ["claims", "--json"]):
        code, out, err = command(*arguments)
        assert code == 0
        assert "toy-1" in out
        assert f"{path} missing, or not the file that it names" in one_line(err)


@pytest.mark.usefixtures("book_runs")
def test_list_says_that_results_are_not_those_of_the_manifest(
    command: Command, tmp_path: Path
) -> None:
    assert command("list")[2] == ""
    paths = sorted(tmp_path.rglob("book/fair.as_coded.*.parquet"))[:2]
    for path in paths:
        table, provenance = files.read(path)
        values = pa.array(3.0 * table.column("value").to_numpy())
        files.write(path, table.set_column(4, table.schema.field(4), values), provenance)
    for arguments in (["list"], ["list", "toy"], ["list", "toy/lending", "--json"]):
        code, _, err = command(*arguments)
        assert code == 0
        assert f"2 results are not those of the manifest, first: {paths[0]};" in one_line(err)
    command("verify", "--write")
    assert command("list")[2] == ""


# --- bad input: one line, exit code 2 ---------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "toy/lendin"], "unknown experiment 'toy/lendin': did you mean 'toy/lending'"),
        (["run", "toy/lending", "--profile", "boook"], "unknown profile 'boook'.*'book'"),
        (["run", "toy/lending", "--methods", "fiar"], "unknown method 'fiar'.*'fair'"),
        (["run", "toy/lending", "--variant", "coded"], "unknown variant 'coded'.*'as_coded'"),
        (["run", "toy/lending", "--seeds", "0"], "seeds is 0: at least 1 is needed"),
        (["run", "toy/lending", "--seeds", "-2"], "seeds is -2: at least 1 is needed"),
        (["run", "toy/lending", "--first-seed", "-1"], "first seed is -1"),
        (["run", "toy/lending", "--first-seed", "9" * 20], "first seed is 9{20}: .*4294967295"),
        (["run", "toy/lending", "--seeds", "9" * 20], "last of the seeds is 9{19}8: .*4294967295"),
        (["run", "toy/lending", "--workers", "0"], "workers is 0: at least 1 is needed"),
        (["claims", "toy-3"], "unknown claim 'toy-3': did you mean 'toy-"),
        (["claims", "--paper", "tyo"], "unknown paper 'tyo': did you mean 'toy'"),
        (["claims", "--profile", "bok"], "unknown profile 'bok': did you mean 'book'"),
        (["nonsense"], "No such command 'nonsense'. See 'longfair --help'."),
        (["run"], "Missing argument 'experiments'. See 'longfair run --help'."),
        (["run", "toy/lending", "--seeds", "2.5"], "Invalid value for '--seeds': .*valid integer"),
        (["run", "toy/lending", "--workers", "abc"], "Invalid value for '--workers'"),
        (["run", "toy/lending", "--store", ""], "'' is not a folder: give a path"),
        (["run", "toy/lending", "--store", "a\0b"], "is not a folder: give a path"),
        (["list", "toi"], "unknown paper or experiment 'toi': did you mean 'toy'"),
        (["list", "--unknown"], "No such option: --unknown"),
        (["bench", "nope"], "No such command 'nope'"),
        (["verify", "--sample", "-1"], "Invalid value for '--sample'"),
        (["verify", "--against", "HEAD", "--write"], "--write says nothing beside --against"),
        (["verify", "--against", "HEAD", "--sample", "0"], "--sample says nothing beside --aga"),
        (["verify", "--into", "x"], "--into says which runs to execute again: give --sample, too"),
        (["verify", "--turn", "x"], "--turn says which runs to execute again: give --sample, too"),
        (["verify", "--seconds", "5"], "--seconds says which runs to execute again"),
        (["rerun", "toy-1", "--into", ""], "'' is not a folder: give a path, or leave the option"),
        (["verify", "--store", "nowhere"], "the store nowhere does not exist"),
    ],
)
def test_unknown_names_and_bad_numbers(
    command: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert re.search(message, one_line(err)), err
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_unwritable_store(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = str(tmp_path / "file" / "results")
    code, out, err = command("run", "toy/lending", "--store", store)
    assert (code, out) == (2, "")
    assert "cannot write to the store" in one_line(err)
    code, out, err = command("doctor", "--store", store)
    assert (code, out) == (2, "")
    assert "does not exist" in one_line(err)


@pytest.mark.usefixtures("book_runs")
def test_a_damaged_result(command: Command, tmp_path: Path) -> None:
    (path,) = tmp_path.rglob("book/fair.as_coded.001.parquet")
    path.write_bytes(path.read_bytes()[:100])

    code, out, err = command("claims", "--json")
    assert (code, out) == (1, "")
    assert "fair.as_coded.001.parquet" in one_line(err)
    assert path.exists()

    code, out, _ = command("doctor")
    assert code == 1
    assert "FIX  damaged result" in out
    code, out, _ = command("list", "--json")
    assert [row["damaged"] for row in json.loads(out)] == [0, 1]

    code, out, err = command("run", "toy/lending", "--profile", "book")
    assert (code, err) == (0, "")
    assert "1 executed, 14 kept, 0 failed" in out
    assert "it is now fair.as_coded.001.parquet.damaged" in out
    assert command("claims", "--json")[0] == 0


def test_a_result_that_is_not_a_number(command: Command, papers: Path) -> None:
    (papers / "toy" / "__init__.py").write_text(
        "from toy_experiment import toy_experiment\n"
        "EXPERIMENTS = (toy_experiment(trouble='nan'),)\n"
    )
    (papers / "toy" / "claims.yaml").unlink()
    code, out, _ = command("run", "toy/lending", "--seeds", "1", "--methods", "fair")
    assert code == 1
    assert "fair.as_coded.000: bias (curve) at step 50 is nan" in out


def test_a_run_that_fails(command: Command, papers: Path) -> None:
    (papers / "toy" / "__init__.py").write_text(
        "from toy_experiment import toy_experiment\n"
        "EXPERIMENTS = (toy_experiment(trouble='raises'),)\n"
    )
    (papers / "toy" / "claims.yaml").unlink()
    code, out, _ = command("run", "toy/lending", "--seeds", "1", "--workers", "1")
    assert code == 1
    assert out.count("RuntimeError: the loan officer left") == 3
    assert "0 executed, 0 kept, 3 failed" in out


def test_a_missing_optional_dependency(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = command("run", "toy/lending", "--cluster", "tcp://127.0.0.1:1")
    assert code == 2
    assert "needs the package 'distributed'" in one_line(err)


def test_claims_that_name_what_does_not_exist(command: Command, papers: Path) -> None:
    file = papers / "toy" / "claims.yaml"
    content = file.read_text()
    file.write_text(content.replace("toy/lending", "toy/landing"))
    code, _, err = command("claims")
    assert code == 2
    assert "unknown experiment 'toy/landing' of claim toy-1" in one_line(err)
    forget()
    file.write_text(content.replace("check: halves", "check: halfs"))
    code, _, err = command("claims")
    assert code == 2
    assert "unknown check 'halfs' of claim toy-2: did you mean 'halves'" in one_line(err)


def test_an_experiment_must_belong_to_its_paper(
    command: Command, papers: Path, tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    (papers / "toy").rename(papers / "other")
    code, _, err = command("list")
    assert code == 2
    assert "its id must start with 'other/'" in one_line(err)


# --- bench and doctor -------------------------------------------------------------------------


def test_bench_prints_what_the_papers_measure(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmarks: Any = ModuleType("longfair.papers.benchmarks")
    row = {"environment": "Lending", "preset": "elbert", "copies": 256, "steps_per_second": 1e6}
    benchmarks.environment_benchmarks = lambda quick: [{**row, "copies": 1 if quick else 256}]
    benchmarks.training_benchmarks = lambda quick: [{"method": "elbert-po"}]
    monkeypatch.setitem(sys.modules, "longfair.papers.benchmarks", benchmarks)
    code, out, _ = command("bench", "env", "--json")
    assert (code, json.loads(out)) == (0, [row])
    assert json.loads(command("bench", "env", "--json", "--quick")[1])[0]["copies"] == 1
    assert json.loads(command("bench", "train", "--json")[1]) == [{"method": "elbert-po"}]
    code, out, _ = command("bench", "env")
    assert "1,000,000" in out


def test_bench_prints_what_the_store_costs(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    benchmarks: Any = ModuleType("longfair.papers.store_benchmarks")
    benchmarks.store_benchmarks = lambda quick, store: [{"list": 1.5, "of": store.root.name}]
    monkeypatch.setitem(sys.modules, "longfair.papers.store_benchmarks", benchmarks)
    (tmp_path / "other").mkdir()
    code, out, _ = command("bench", "store", "--json", "--store", str(tmp_path / "other"))
    assert (code, json.loads(out)) == (0, [{"list": 1.5, "of": "other"}])


def test_bench_without_benchmarks_is_explained(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "longfair.papers.benchmarks", None)
    code, _, err = command("bench", "env")
    assert code == 2
    assert "no benchmarks" in one_line(err)


def test_no_line_of_the_help_is_cut(command: Command) -> None:
    _, out, _ = command("--help")
    assert "..." not in out.partition("Commands:")[2]


def test_doctor_finds_nothing_wrong_with_a_new_store(command: Command) -> None:
    _, out, _ = command("doctor")
    assert "ok   python" in out
    assert "can be written to" in out
    assert "ok   declared runs: 21 missing" in out
    assert "distributed" in out


# --- verify -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("book_runs")
def test_verify_checks_files_manifest_and_a_sample(command: Command, tmp_path: Path) -> None:
    code, out, err = command("verify", "--sample", "2", "--turn", "any")
    assert (code, err) == (0, "")
    assert "15 results, 0 damaged or not in the manifest; code of 0 arms not proven" in out
    assert out.count("every bit agrees") == 2
    assert "no probe" not in out
    few = ("--sample", "2", "--turn", "any", "--workers", "1", "--into", str(tmp_path / "again"))
    assert command("verify", *few)[1].count("every bit agrees") == 2
    once = {path: path.stat().st_mtime_ns for path in (tmp_path / "again").rglob("*.parquet")}
    assert len(once) == 2
    assert command("verify", *few)[1].count("every bit agrees") == 2
    assert {path: path.stat().st_mtime_ns for path in once} == once  # goes on, not again
    (path,) = (tmp_path / "results").rglob("book/fair.as_coded.001.parquet")
    path.unlink()
    code, out, err = command("verify")
    assert code == 1
    assert "is in the manifest and missing" in one_line(err)
    assert command("verify", "--write")[0] == 0
    assert command("verify")[0] == 0
    write_table(tmp_path / "results" / "exact" / "numbers.json", {"value": 0.5})
    assert command("verify")[0] == 0
    table = tmp_path / "results" / "exact" / "numbers.json"
    table.write_text(table.read_text().replace("0.5", "0.6"))
    code, _, err = command("verify")
    assert code == 1
    assert f"{table} is not the file in the manifest" in one_line(err)


def test_verify_refuses_lines_of_the_ledger_without_probes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "results"
    root.mkdir()
    proof = ledger.Proof("abcdef012", "", "", 0, "", [["old", "new"]])
    ledger.add(root, proof)
    code, out, err = command("verify")
    assert code == 1
    assert "lines of the ledger without a probe: 1 (first: against abcdef01)" in one_line(err)
    assert "no probe" not in out
    monkeypatch.setattr(ledger, "BRIDGE", hashlib.sha256(proof.line().encode()).hexdigest())
    code, out, err = command("verify")
    assert (code, err) == (0, "")
    assert "no probe: the ledger's line against abcdef01 pairs the digests" in out


@pytest.mark.usefixtures("book_runs")
def test_verify_tells_of_results_whose_code_no_commit_shows(
    command: Command, tmp_path: Path
) -> None:
    paths = sorted(tmp_path.rglob("book/*.parquet"))
    for path in paths:
        table, provenance = files.read(path)
        files.write(path, table, provenance | {"commit": None, "dirty": False})
    command("verify", "--write")
    code, out, err = command("verify")
    assert (code, err) == (0, "")
    assert "vouches" not in out
    table, provenance = files.read(paths[0])
    files.write(paths[0], table, provenance | {"commit": None, "dirty": True})
    command("verify", "--write")
    code, out, err = command("verify")
    assert (code, err) == (0, "")
    assert "results stored 1 from a tree with changes that were not committed: only" in out


@pytest.mark.usefixtures("book_runs")
def test_show_tells_everything_about_a_claim(command: Command) -> None:
    code, out, err = command("show", "toy-1")
    assert (code, err) == (0, "")
    assert "repeat: longfair rerun toy-1" in out
    assert "method: fair, shares alike" in out
    assert re.search("^data: toy/[a-z]+/book in the store", out, re.MULTILINE)
    assert "reproduced" in out
    question = command("show", "toy-2")[1]
    assert "yes" in question
    assert "checked" not in question
    told = json.loads(command("show", "toy-1", "--json")[1])
    assert told["verdicts"][0]["verdict"] == "reproduced"
    assert ("fair", 5) in {(row["method"], row["fresh"]) for row in told["runs"]}
    assert any("rules" in part["file"] and part["first"] < part["last"] for part in told["code"])
    assert told["rule"]["words"]
    assert "rule: " in out
    fair = [row["value"] for row in told["numbers"] if row["method"] == "fair"]
    assert fair
    assert len(set(fair)) > 1
    assert told["verdicts"][0]["core_hours"] > 0
    code, _, err = command("show", "toy-9")
    assert code == 2
    assert "unknown claim 'toy-9': did you mean 'toy-" in one_line(err)


@pytest.mark.usefixtures("book_runs")
def test_rerun_executes_again_and_says_what_differs(command: Command, tmp_path: Path) -> None:
    stored = sorted((tmp_path / "results").rglob("*.parquet"))
    times = [path.stat().st_mtime_ns for path in stored]
    code, out, _ = command("rerun", "toy-1", "--runs", "2", "--into", str(tmp_path / "own"))
    assert code == 0
    assert out.count("every bit agrees") == 2
    assert re.search(r"toy-1: 2 of 15 runs come out again; 13 not tried", out)
    assert len(list((tmp_path / "own").rglob("*.parquet"))) == 2
    assert [path.stat().st_mtime_ns for path in stored] == times
    code, out, _ = command("rerun", "toy-2")
    assert "ok   halves" in out
    code, _, err = command("rerun", "toy-1", "--into", str(tmp_path / "results"))
    assert code == 2
    assert "is the store itself" in one_line(err)


def test_rerun_without_stored_runs_says_so(command: Command, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    code, _, err = command("rerun", "toy-1")
    assert code == 2
    assert "no fresh run" in one_line(err)


def test_verify_against_names_arms_with_other_numbers(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    comparison = Comparison(["a"], ["b"], [], ["c", "d"], ["e"])
    different = Outcome(comparison, ["c"], 1, {"c": {"Lending": 1}})
    monkeypatch.setattr(verification, "against", lambda *_, **__: different)
    code, out, err = command("verify", "--against", "abc")
    assert code == 1
    assert "c gives other numbers than at abc: raise a revision (Lending 1) or undo" in one_line(
        err
    )
    assert "2 arms with changed code probed, 1 differ; 1 with the same source" in out
    assert "1 without a result" in one_line(out)


def test_verify_against_names_some_of_many_arms(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    names = [f"arm-{number}" for number in range(300)]
    failed = {f"lost-{number}": "no module" for number in range(22)}
    parts = Comparison([], [], [], names, [])
    different = Outcome(parts, names, 0, {name: {} for name in names}, failed)
    monkeypatch.setattr(verification, "against", lambda *_, **__: different)
    code, out, err = command("verify", "--against", "abc")
    assert code == 1
    assert "300 differ" in one_line(out)
    assert err.count("gives other numbers") == 20
    assert err.endswith("and 282 more\n")


def test_the_version_is_printed(command: Command) -> None:
    code, out, _ = command("--version")
    assert (code, out) == (0, f"longfair {importlib.metadata.version('longfair')}\n")


# --- as a process -----------------------------------------------------------------------------


def process(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "COLUMNS": "100", **environment},
    )


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store that has been listed: its index knows the revisions of all parts."""
    store = str(tmp_path_factory.mktemp("listed"))
    assert process(sys.executable, "-m", "longfair", "list", "--store", store).returncode == 0
    return store


def test_python_m_longfair_is_the_command(listed: str) -> None:
    script = Path(sys.executable).with_name("longfair")
    if not script.exists():
        found = shutil.which("longfair")
        assert found is not None
        script = Path(found)
    listing = ["list", "elbert/lending", "--json"]
    for arguments in (["--help"], ["run", "--help"], ["run", "no/such"], listing):
        by_name = process(str(script), *arguments, LONGFAIR_STORE=listed)
        by_module = process(sys.executable, "-m", "longfair", *arguments, LONGFAIR_STORE=listed)
        assert by_name.returncode == by_module.returncode
        assert by_name.stdout == by_module.stdout
        assert by_name.stderr == by_module.stderr
        assert by_name.returncode == (2 if "no/such" in arguments else 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_or_closed_output_ends_in_one_line_or_none(listed: str) -> None:
    called = [sys.executable, "-m", "longfair", "list", "elbert/lending"]
    longfair_list = [*called, "--store", listed]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            longfair_list, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120
        )
    assert (done.returncode, one_line(done.stderr)) == (1, "longfair: No space left on device\n")
    with subprocess.Popen(
        longfair_list, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as closed:
        assert closed.stdout is not None
        assert closed.stderr is not None
        closed.stdout.close()
        assert closed.stderr.read() == ""
    assert closed.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["nonsense"], ["list", "--store", "/nowhere/at/all"]])
def test_a_full_or_closed_error_output_leaves_the_exit_code(arguments: list[str]) -> None:
    called = [sys.executable, "-m", "longfair", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            called, stdout=subprocess.PIPE, stderr=full, text=True, check=False, timeout=120
        )
    assert (done.returncode, done.stdout) == (2, "")
    closed = ["sh", "-c", '"$@" 2>&-', "sh", *called]
    done = subprocess.run(closed, stdout=subprocess.PIPE, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")


def test_help_is_quick_and_does_not_load_torch() -> None:
    code = (
        "import sys\n"
        "from longfair.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'pandas', 'scipy', 'pyarrow'} & set(sys.modules)))\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    shown = process(sys.executable, "-c", code)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert shown.stdout.splitlines()[-1] == "[]"
    assert "doctor" in shown.stdout
    assert seconds < 5.0


def test_list_loads_nothing_that_computes(listed: str) -> None:
    """Once the index knows the revisions of all parts, which it asks of them the first time."""
    code = (
        "import sys\n"
        "from longfair.cli import main\n"
        f"try:\n    main(['list', '--store', {listed!r}])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'numba', 'pandas', 'scipy', 'networkx'} & set(sys.modules)))\n"
    )
    assert process(sys.executable, "-c", code).stdout.splitlines()[-1] == "[]"


def test_the_first_list_finds_what_another_profile_has(tmp_path: Path) -> None:
    """Here the profile that has nothing of its own comes before the one whose runs it shares."""
    ours = Path(__file__).parents[1] / "results" / "fairmdp" / "exploration" / "book"
    (tmp_path / "fairmdp" / "exploration").mkdir(parents=True)
    shutil.copytree(ours, tmp_path / "fairmdp" / "exploration" / "book")
    arguments = ("list", "fairmdp/exploration", "--json", "--store", str(tmp_path))
    shown = process(sys.executable, "-m", "longfair", *arguments)
    paper = next(row for row in json.loads(shown.stdout) if row["profile"] == "paper")
    assert paper["missing"] == 0
    assert paper["elsewhere"] == 105


@pytest.mark.usefixtures("book_runs")
def test_a_claim_of_another_paper_is_bad_input(command: Command) -> None:
    code, _, err = command("claims", "toy-1", "--paper", "nothing")
    assert (code, "unknown paper 'nothing'" in one_line(err)) == (2, True)


def test_a_claim_must_be_of_the_paper_that_is_named() -> None:
    forget()
    with pytest.raises(UsageError, match="'elbert-01' is of paper 'elbert', not of 'fairmdp'"):
        registry.select_claims(["elbert-01"], "fairmdp")


@pytest.mark.parametrize("arguments", [["--version"], ["agents"]])
def test_a_closed_output_is_told_in_one_line(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 1
    assert "the output is closed" in one_line(capsys.readouterr().err)


def test_verify_names_every_fault_when_asked(
    command: Command, tmp_path: Path, book_runs: None
) -> None:
    folder = tmp_path / "results/toy/lending/book"
    whole = next(folder.glob("*.parquet")).read_bytes()
    for number in range(100, 130):
        (folder / f"fair.as_coded.{number}.parquet").write_bytes(whole[:-9])
    _, _, few = command("verify")
    assert "more: 'longfair verify --all' names every one" in few
    assert "fair.as_coded.129" not in few
    _, _, every = command("verify", "--all")
    assert "more:" not in every
    for number in range(100, 130):
        assert f"fair.as_coded.{number}" in every


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lending", "that names a world: 'longfair list' tells of its runs"),
        ("toy/lending", "'longfair list toy/lending' tells of its runs"),
        ("toy", "'longfair list toy' tells of its runs"),
    ],
)
def test_a_world_in_place_of_a_claim_is_sent_to_list(
    command: Command, name: str, hint: str
) -> None:
    code, _, err = command("show", name)
    assert code == 2
    assert f"unknown claim '{name}': {hint}" in one_line(err)


@pytest.mark.parametrize("width", [60, 100])
def test_long_lines_fold_on_a_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from longfair import cli

    text = "one word after the other " * 20
    monkeypatch.setattr(cli, "_out", lambda: Console(width=width, force_terminal=True))
    cli._wrapped(text)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()) == text.strip()
    monkeypatch.setattr(cli, "_out", lambda: Console(width=width, force_terminal=False))
    cli._wrapped(text)
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.usefixtures("book_runs")
def test_a_sample_is_of_short_runs(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Index, "provenance", lambda *_: {"core_seconds": 30.0})
    assert "agrees" not in command("verify", "--sample", "1", "--longest", "20")[1]
    assert "agrees" in command("verify", "--sample", "1", "--longest", "40", "--workers", "1")[1]


@pytest.mark.parametrize("seconds", ["nan", "-5", "0"])
def test_a_sample_takes_some_work(command: Command, seconds: str) -> None:
    code, _, err = command("verify", "--sample", "1", "--seconds", seconds)
    assert code == 2
    assert "--seconds" in one_line(err)


def test_doctor_makes_no_store(command: Command, tmp_path: Path) -> None:
    code, _, err = command("doctor", "--store", str(tmp_path / "nowhere"))
    assert code == 2
    assert "does not exist" in one_line(err)
    assert not (tmp_path / "nowhere").exists()


def test_nothing_is_lost_without_a_buffer_when_a_signal_comes(tmp_path: Path) -> None:
    called = [sys.executable, "-u", "-m", "longfair", "claims", "--paper", "elbert", "--json"]
    command = [*called, "--store", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        full, waiting = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ), bytearray(4)
        while int.from_bytes(waiting, sys.byteorder) < full:
            assert process.poll() is None, "all that it printed fits into a pipe"
            time.sleep(0.05)
            fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        rows = json.loads(process.stdout.read())
    assert process.returncode == 0
    assert len(rows) > 100
